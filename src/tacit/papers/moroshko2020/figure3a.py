"""Figure 3a of Moroshko et al. 2020: directions that separate the data, on the sphere.

Errata
------
### Section 5: two sentences that depend on the data
- "The trajectories always remain inside" the separating cone: this is not always the case. On two support
  vectors and α = 0.001 the smallest margin falls to −0.095 before it finally increases
  (`moroshko2020/fig3a`).
- Figure 5(b), slope 1 also at small α: this holds if the flow of the average sample reaches the 5% level, as
  here. Otherwise γ̃ tends to a constant, and the slope over α^D in [1e-4, 1] is below 0.2 on the other
  data of the figure.
- **Test.** Both, with flows written from scratch: `tests/test_errata_classification.py`
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import least, ratio
from tacit.papers.moroshko2020 import data as samples
from tacit.papers.moroshko2020.drawing import L1, colour_of, label_at, power_of_ten
from tacit.papers.moroshko2020.trajectories import (
    ONE_SUPPORT,
    Setting,
    azimuth_pitch,
    common_claims,
    flow,
    margins,
    traces,
    unit,
)
from tacit.papers.reproduction import presets
from tacit.show.figures import TRUTH

VIEW = np.radians([66.0, 28.0])  # azimuth and pitch of the viewpoint
OTHER = Setting(samples.TWO_SUPPORT_VECTORS, 2, (0.1,), 1e-6)
_DENSE = 60  # points on an arc
_SPARE = 0.06  # margin around the trajectories, relative to the size of Figure 3b


def direction(azimuth: Any, pitch: Any) -> Float:
    """The unit vector with this azimuth and pitch."""
    flat = np.cos(pitch)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(pitch) + 0 * azimuth], axis=-1)


def corners(normals: Float) -> Float:
    """The corners of {w on the sphere: every normal·w ≥ 0} in cyclic order."""
    crossings = [np.cross(a, b) for a, b in combinations(normals, 2)]
    ends = unit([sign * c for c in crossings for sign in (1, -1) if np.linalg.norm(c) > 1e-9])
    ends = ends[(ends @ normals.T >= -1e-12).all(axis=1)]
    centre = unit(ends.sum(axis=0))
    first = unit(np.cross(centre, ends[0]))
    return ends[np.argsort(np.arctan2(ends @ first, ends @ np.cross(first, centre)))]


def outline(ends: Float) -> Float:
    """Arcs of great circles between consecutive corners."""
    arcs = []
    for a, b in zip(ends, np.roll(ends, -1, axis=0), strict=True):
        angle = np.arccos(np.clip(a @ b, -1, 1))
        share = np.linspace(0, 1, _DENSE)[:, None]
        arcs.append((np.sin((1 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle))
    return np.vstack(arcs)


def area(ends: Float) -> float:
    """The area of the polygon with these corners, as a share of the sphere (Girard's theorem)."""
    angles = []
    for before, here, after in zip(np.roll(ends, 1, axis=0), ends, np.roll(ends, -1, axis=0), strict=True):
        ways = unit([w - (w @ here) * here for w in (before, after)])
        angles.append(np.arccos(np.clip(ways[0] @ ways[1], -1, 1)))
    return float((sum(angles) - (len(ends) - 2) * np.pi) / (4 * np.pi))


@figure(
    "moroshko2020/fig3a",
    **presets(scales=([0.001, 1.0, 1e4], [0.001, 1.0, 3.0, 1e4]), instants=(60, 200)),
    figsize=(5.1, 3.2),
    seconds=4,
    short="directions that separate",
)
class SeparatingDirections:
    """The sphere of directions, the part that separates the data, and flows in it (Figure 3a)."""

    def data(self, scales: list[float], instants: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute the trajectories of Figure 3b, its outline, and that of the separating directions."""
        seen = traces(ONE_SUPPORT, scales, instants, (), progress)
        ends = margins(ONE_SUPPORT)
        grey = corners(ONE_SUPPORT.rows)
        box = np.array([_range(angle) for angle in azimuth_pitch(seen["flow"][1])])
        front = np.vstack([ONE_SUPPORT.rows, direction(*VIEW)])
        other, _ = flow(OTHER, 0.001, np.geomspace(1e-9, 10, instants))
        return xr.Dataset(
            {
                **seen,
                "l2": ends["l2"],
                "l1": ends["l1"],
                "visible": (("boundary", "feature"), outline(corners(front))),
                "separating": area(grey),
                "plane": (("axis", "side"), box + _SPARE * np.diff(box) * [-1, 1]),
                "other_margin": ("step", (other @ OTHER.rows.T).min(axis=1)),
            },
            coords={"scale": scales},
            attrs={"depth": ONE_SUPPORT.depth},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the front of the sphere in orthographic projection."""
        from matplotlib.patches import Circle

        ax.add_patch(Circle((0, 0), 1, fc="0.98", ec="0.3", lw=0.9, zorder=0))
        ax.fill(*_seen(data.visible.values), color="0.78", lw=0, zorder=1, label="separates the data")
        _draw_grid(ax)
        _draw_box(data, ax)
        for scale, curve in zip(data.scale.values, data.flow.values, strict=True):
            name = rf"$\alpha=${power_of_ten(scale)}"
            ax.plot(*_seen(curve), color=colour_of(scale), lw=1.7, zorder=3, label=name)
        outlined = {"mec": "k", "mew": 0.6, "ls": "none", "zorder": 5}
        ax.plot(*_seen(data.start.values), "^", color="k", ms=5, label="start", **outlined)
        ax.plot(*_seen(data.l2.values), "o", color=TRUTH, ms=6, label=r"$\ell_2$ margin", **outlined)
        ax.plot(*_seen(data.l1.values), "*", color=L1, ms=9.5, label=r"$\ell_1$ margin", **outlined)
        ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
        ax.axis("off")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.86))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Panel 3(a); flows do not separate all data at all times."""
        yield from common_claims(data)
        (left, right), (bottom, top) = data.plane.values
        share = (right - left) * (np.sin(top) - np.sin(bottom)) / (4 * np.pi)
        yield at_most(0.02).claim("Figure 3b is a small part of the sphere (fraction)", share)
        text = "and a small part of the directions that separate the data (fraction)"
        yield at_most(0.05).claim(text, ratio(share, float(data.separating)))
        margin = np.nan_to_num(data.flow.values @ data.rows.values.T, nan=-np.inf).min()
        yield at_least(0.1).claim("all trajectories separate the data at all times (smallest margin)", margin)
        other = data.other_margin.values
        text = "on other data, the flow from α = 0.001 separates the data initially (margin)"
        yield at_least(0.1).claim(text, other[0])
        yield at_most(-0.05).claim("but not later (smallest margin)", least(other))
        yield at_least(0.1).claim("and again at the end (last margin)", other[-1])


def _range(values: Float) -> tuple[float, float]:
    """The smallest and the largest value, ignoring NaN."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)


def _seen(directions: Float) -> tuple[Float, Float]:
    """The coordinates in orthographic projection."""
    azimuth, pitch = VIEW
    right = direction(azimuth + np.pi / 2, 0.0)
    up = direction(azimuth, pitch + np.pi / 2)
    front = directions @ direction(azimuth, pitch) >= -1e-9
    shown = np.where(front[..., None], directions, np.nan)
    return shown @ right, shown @ up


def _draw_grid(ax: Any) -> None:
    """Draw meridians and circles of latitude every 30 degrees, and the three axes."""
    around, steps = np.linspace(-np.pi, np.pi, 181), np.radians(np.arange(-150, 181, 30))
    for angle in steps:
        for line in (direction(angle, around / 2), direction(around, angle / 2 if abs(angle) < 3 else 0.0)):
            ax.plot(*_seen(line), color="0.55", lw=0.35, zorder=2)
    for k, axis in enumerate(np.eye(3)):
        x, y = _seen(axis)
        ax.plot(x, y, ".", color="0.25", ms=4, zorder=4)
        label_at(ax, (x, y), f"$w_{k + 1}$", (5, 5))


def _draw_box(data: xr.Dataset, ax: Any) -> None:
    """Draw the outline of the part of the sphere in Figure 3b."""
    (left, right), (bottom, top) = data.plane.values
    share = np.linspace(0, 1, _DENSE)
    across, along = left + share * (right - left), bottom + share * (top - bottom)
    azimuth = np.concatenate([across, 0 * share + right, across[::-1], 0 * share + left])
    pitch = np.concatenate([0 * share + bottom, along, 0 * share + top, along[::-1]])
    ax.fill(*_seen(direction(azimuth, pitch)), fc="w", ec="k", lw=0.8, zorder=2.5, label="Figure 3b")
