"""Figure 6 of Moroshko et al. 2020: the accuracy along trajectories in the azimuth-pitch plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import ratio, share
from tacit.papers.moroshko2020.drawing import (
    colour_of,
    draw_ends,
    draw_flows,
    draw_path,
    frame,
    label,
    legend_beside,
)
from tacit.papers.moroshko2020.margins import levels, raw_weights_claim, reached_at
from tacit.papers.moroshko2020.trajectories import (
    KERNEL_END,
    LEAVING,
    MANY_ENDS,
    ONE_SUPPORT,
    apart,
    arc,
    azimuth_pitch,
    margins,
    off_curve,
    q_path,
    recorded,
    trace,
    unit,
)
from tacit.papers.reproduction import presets

PANELS = {"3b": ONE_SUPPORT, "3c": MANY_ENDS, "3d": LEAVING}
DECADES = (-9, 16)  # powers of ten of γ̃ that are marked, first and last
_APART, _CLEAR = 0.075, 0.11  # least distance between marks, and from the ends, relative to the axes
_AXES, _NUMBER = np.array([240.0, 175.0]), np.array([7.5, 4.5])  # and half of a number, in points
_SIDES = ((-7.0, 4.0), (7.0, -4.0), (4.0, -7.0), (8.0, 0.0))  # possible offsets of a number from its mark
# Of the numbers from the marks, in points, by panel and scale.
_OFFSETS: dict[str, dict[float, tuple[float, float]]] = {
    "3b": {1e4: (8, 1), 100.0: (-7, -4), 1.0: (3, 6), 0.001: (0, 7)},
    "3c": {100.0: (8, 0), 1.0: (7, 0), 0.001: (-7, 2)},
    "3d": {100.0: (7, -4), 1.0: (6, -3), 0.001: (-6, 4)},
}


@figure(
    "moroshko2020/fig6",
    **presets(scales=([0.001, 1.0, 100.0, 1e4], [0.001, 1.0, 100.0, 1e4]), instants=(76, 300)),
    nrows=3,
    figsize=(5.6, 9.6),
    seconds=22,
)
class AccuracyAlongTheWay:
    """The trajectories of Figures 3b to 3d with the accuracy γ̃ = −log ε marked on them (Figure 6)."""

    def data(self, scales: list[float], instants: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute flows of all three datasets at powers of ten of the accuracy, and in between."""
        decades = 10.0 ** np.arange(DECADES[0], DECADES[1] + 1)
        panels = []
        for setting in progress(list(PANELS.values()), "fig6"):
            runs = [trace(setting, s, (decades[0], decades[-1]), decades, instants) for s in scales]
            mu = levels(setting.rows, setting.depth, (KERNEL_END, setting.last), instants)
            ends = margins(setting)
            faces = ends["l1_face"][1][[0, -1]]  # the same number of rows if the margin is unique
            found = {
                **recorded(setting, scales, runs),
                "reached": ("scale", np.array([good for _, _, good in runs], dtype=int)),
                "path": (("step", "feature"), unit(q_path(setting, mu).predictors)),
                "l1_face": (("end", "feature"), faces),
            }
            panels.append(xr.Dataset({**found, "l1": ends["l1"], "l2": ends["l2"]}))
        data = xr.concat(panels, dim="panel", join="exact").assign_attrs(depth=2)
        return data.assign_coords(panel=list(PANELS), scale=scales)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw a plane for each dataset, with numbers beside the marks."""
        for name, axes in zip(data.panel.values, ax, strict=True):
            one = data.sel(panel=name)
            offsets = _OFFSETS[str(name)]
            draw_flows(one, axes, sorted(offsets))
            draw_path(one, axes)
            draw_ends(one, axes)
            frame(one, axes, margin=0.07)
            _mark(one, axes, offsets)
            axes.set_title(rf"data of Figure {name}, numbers are $\tilde\gamma$", loc="left")
            legend_beside(axes)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Appendix H.1."""
        text = "flows reach the required accuracy (fraction)"
        yield at_least(1.0).claim(text, share(data.reached.values))
        for name, scale in (("3b", 100.0), ("3c", 100.0), ("3d", 100.0), ("3b", 1e4)):
            one = data.sel(panel=name)
            near = float(apart(_at(one, scale, scale**2), one.l2))
            text = f"{name}: near the ℓ2 margin α = {scale:g} has γ̃ = α² (distance, relative to ℓ1 and ℓ2)"
            yield at_most(0.05).claim(text, ratio(near, float(apart(one.l1, one.l2))))
        middle = data.sel(panel="3c")
        for scale, accuracy in ((100.0, 1e8), (0.001, 0.1)):
            yield at_most(0.02).claim(
                f"3c: α = {scale:g} is close to an ℓ1 margin at γ̃ = {accuracy:g} (distance)",
                off_curve(_at(middle, scale, accuracy)[None], arc(middle.l1_face.values))[0],
            )
        for name in data.panel.values:
            small, large = (_needed(data.sel(panel=name), scale) for scale in (0.001, 100.0))
            text = f"{name}: near ℓ1 a large scale needs more accuracy (ratio of γ̃ at 0.1, α = 100 and 0.001)"
            yield at_least(1e8).claim(text, ratio(large, small))
        yield raw_weights_claim(data)


def _at(data: xr.Dataset, scale: float, accuracy: float) -> Float:
    """The direction of a flow at a recorded accuracy."""
    one = data.sel(scale=scale)
    instant = int(np.abs(np.log(one.accuracy.values / accuracy)).argmin())
    return np.asarray(one.flow.values[instant])


def _needed(data: xr.Dataset, scale: float) -> float:
    """The accuracy at which a flow comes within 0.1 of the ℓ1 margins."""
    one = data.sel(scale=scale)
    return reached_at(one.accuracy.values, off_curve(one.flow.values, arc(data.l1_face.values)), 0.1)


def _mark(data: xr.Dataset, ax: Any, offsets: dict[float, tuple[float, float]]) -> None:
    """Draw rings at powers of ten of γ̃ with numbers: at α², and elsewhere if there is enough space.

    Numbers are placed such that they do not cover curves, or omitted.
    """
    size = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])

    def place(directions: Any) -> Float:
        return np.stack(azimuth_pitch(directions), axis=-1) / size

    curves = [place(data.path), *(place(data.flow.sel(scale=scale)) for scale in offsets)]
    ends = place(np.vstack([data.start, data.l2, data.l1_face]))
    numbers: list[Float] = [np.full(2, np.inf)]
    for scale, preferred in offsets.items():
        last = np.full(2, np.inf)
        ring = {"mfc": "w", "mec": colour_of(scale), "mew": 1.2, "ms": 4, "zorder": 6.5}
        for exponent in range(DECADES[0], DECADES[1] + 1):
            w = _at(data, scale, 10.0**exponent)
            here = place(w)
            sides = [side for side in (preferred, *_SIDES) if not _blocked(here, side, curves, numbers)]
            room = sides and _nearest(here, ends) > _CLEAR and _nearest(here, [last]) > _APART
            if room or (scale > 1 and exponent == round(2 * np.log10(scale))):
                last, offset = here, (sides or [preferred])[0]
                numbers += [_centre(here, offset), here]
                ax.plot(*azimuth_pitch(w), "o", **ring)
                dark = [0.7 * value for value in colour_of(scale)[:3]]
                label(ax, w, f"$10^{{{exponent}}}$", offset, fontsize=7.5, color=dark)


def _centre(here: Float, offset: tuple[float, float]) -> Float:
    """The centre of a number with this offset from a mark."""
    right, up = offset
    width, height = _NUMBER
    beside = (np.sign(right) * width, 0.0) if abs(right) >= abs(up) else (0.0, np.sign(up) * height)
    return np.asarray(here + (np.array(offset) + beside) / _AXES)


def _blocked(here: Float, offset: tuple[float, float], curves: list[Float], numbers: list[Float]) -> bool:
    """Whether a number with this offset would cover a curve, a ring or another number."""
    middle = _centre(here, offset)

    def on(points: Any, size: Float) -> bool:
        return bool((np.abs(points - middle) * _AXES <= size).all(axis=1).any())

    return on(np.array(numbers), 1.7 * _NUMBER) or any(on(_dense(curve), _NUMBER) for curve in curves)


def _dense(curve: Float) -> Float:
    """The curve with additional points between its vertices."""
    fine, steps = np.linspace(0, len(curve) - 1, 8 * len(curve)), np.arange(len(curve))
    return np.stack([np.interp(fine, steps, each) for each in curve.T], axis=-1)


def _nearest(place: Float, others: Any) -> float:
    return float(np.linalg.norm(np.asarray(others) - place, axis=-1).min())
