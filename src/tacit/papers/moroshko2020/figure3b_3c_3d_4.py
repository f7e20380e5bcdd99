"""Trajectories in the azimuth-pitch plane: Figures 3b to 3d (depth 2) and 4 (depth 3), Moroshko et al. 2020.

Distances are between directions: the length of the difference of unit vectors. "At the same μ" compares a
flow of accuracy γ̃ with the point μ = α^D/γ̃ of a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent, first, least, ratio
from tacit.papers.moroshko2020.drawing import draw_plane, frame, label, label_squares, legend_beside, zoom
from tacit.papers.moroshko2020.margins import reached_at
from tacit.papers.moroshko2020.trajectories import (
    DEEP,
    DEEP_LOCAL,
    LEAVING,
    MANY_ENDS,
    ONE_SUPPORT,
    Setting,
    apart,
    arc,
    azimuth_pitch,
    common_claims,
    off_curve,
    scene,
    worst,
)
from tacit.papers.reproduction import presets


def run(data: xr.Dataset, scale: float) -> xr.Dataset:
    """The flow of one scale, with level: μ = α^D/γ̃ at its recorded states."""
    one = data.sel(scale=scale)
    return one.assign(level=scale ** data.attrs["depth"] / one.accuracy)


def closest(data: xr.Dataset, scale: float, end: str) -> float:
    """The smallest distance between the flow of this scale and a margin."""
    return float(apart(run(data, scale).flow, data[end]).min())


def length(curve: Float) -> float:
    """The length of a polygonal curve."""
    return float(apart(curve[1:], curve[:-1]).sum())


def departure(data: xr.Dataset) -> float:
    """The μ at which a sample first leaves the support of the flow at infinite scale; 0 if none does."""
    leaves = data.event_mu.values[data.event_enters.values == 0]
    return float(leaves.max()) if leaves.size else 0.0


def large_scale_claims(data: xr.Dataset, near: dict[float, float]) -> Iterator[Claim]:
    """Claims for each scale: distance to the ℓ2 margin, then to the Q_μ path until a sample leaves."""
    leaves = departure(data)
    until = f", until a sample leaves at μ = {leaves:.3g}" if leaves else ""
    for scale, distance in near.items():
        one = run(data, scale)
        followed = worst(one.off_path, (one.level <= 10) & (one.level > leaves))
        text = f"α = {scale:g} first approaches the ℓ2 margin (smallest distance)"
        yield at_most(distance).claim(text, closest(data, scale, "l2"))
        text = f"α = {scale:g} then follows the Q_μ path{until} (largest distance at the same μ ≤ 10)"
        yield at_most(distance).claim(text, followed)


def steady_support_claim(data: xr.Dataset) -> Claim:
    """If the support never changes, Condition 5 holds at every accuracy."""
    changes = data.sizes["kink"] + data.sizes["event"]
    return at_most(0).claim(
        "changes of the support on the Q_μ path and on the flow at infinite scale", changes
    )


def differing_support(data: xr.Dataset) -> tuple[str, int]:
    """Text and number for a claim about the samples at which ℓ2 and ℓ1 margins differ."""
    differ = int((data.l2_support != data.l1_support).sum())
    return "number of samples that support one of the ℓ2 and ℓ1 margins but not the other", differ


def crossing_claims(data: xr.Dataset, target: str, name: str, power: tuple[float, float]) -> Iterator[Claim]:
    """Ends of flows at fixed μ converge to a point of a path, as a power of α."""
    large = data.cross_scale.values >= 10
    errors = apart(data.crossing, data[target]).max(axis=1)
    text = f"at fixed μ flows of larger scales end closer to {name} (largest distance at the largest α)"
    yield at_most(1e-6).claim(text, errors[-1])
    text = f"at fixed μ the distance to {name} is a power of α (exponent)"
    yield within(power[0], power[1]).claim(text, exponent(data.cross_scale.values[large], errors[large]))


class Plane:
    """Base class of the figures with one setting."""

    setting: ClassVar[Setting]
    # Of the values of μ from their squares, in points.
    offsets: ClassVar[tuple[tuple[float, float] | None, ...]]
    infinite: ClassVar[bool] = False  # whether the flow at infinite scale is drawn
    margin: ClassVar[float] = 0.06

    def data(
        self, scales: list[float], instants: int, crossings: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute flows, paths and margins as directions."""
        return scene(self.setting, scales, instants, crossings, progress)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw flows, paths and margins, with μ beside the squares."""
        draw_plane(data, ax, infinite=self.infinite)
        label_squares(data, ax, self.offsets)
        frame(data, ax, margin=self.margin)
        legend_beside(ax)


SHALLOW = presets(
    scales=([0.001, 1.0, 100.0, 1e4], [0.001, 0.1, 1.0, 3.0, 10.0, 100.0, 1e4]),
    instants=(80, 200),
    crossings=(22, 30),
) | {"figsize": (5.8, 3.9)}


def deep(quick: list[float], paper: list[float]) -> dict[str, Any]:
    """Presets and layout of a figure of depth 3, at these scales."""
    return {**presets(scales=(quick, paper), instants=(80, 280), crossings=(22, 45)), "figsize": (5.8, 3.9)}


@figure(
    "moroshko2020/fig3b", **SHALLOW, about=("Theorem 4", "Theorem 6"), seconds=11, short="one support vector"
)
class OneSupport(Plane):
    """Flows of depth 2 on data whose ℓ2 and ℓ1 margins have the same support vector (Figure 3b)."""

    setting = ONE_SUPPORT
    offsets = (*[(-7.0, -5.0)] * 4, (-3.0, -9.0))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Panel 3(b)."""
        yield from common_claims(data)
        yield within(1, 1).claim("number of ℓ1 maximum margins", data.sizes["vertex"])
        yield at_most(0).claim(*differing_support(data))
        yield at_least(0.1).claim("the ℓ2 and ℓ1 margins differ (distance)", apart(data.l1, data.l2))
        yield steady_support_claim(data)
        yield from large_scale_claims(data, {100.0: 5e-3, 1e4: 5e-5})
        pair = data.flow.sel(scale=100.0).values, data.flow.sel(scale=1e4).values
        between = max(off_curve(*pair).max(), off_curve(*pair[::-1]).max())
        yield at_most(0.01).claim("α = 100 and α = 10000 coincide (largest distance)", between)
        ends = apart(data.flow[:, -1], data.l1)
        yield at_most(5e-3).claim("every scale ends at the ℓ1 margin (largest distance)", ends.max())
        yield from self._small_scales(data)
        yield from crossing_claims(data, "marked", "the square", (-2.1, -1.9))
        yield from self._digits(data)

    def _small_scales(self, data: xr.Dataset) -> Iterator[Claim]:
        text = "α = 0.001 does not approach the ℓ2 margin (smallest distance, relative to that of ℓ1 and ℓ2)"
        yield at_least(0.25).claim(text, ratio(closest(data, 0.001, "l2"), float(apart(data.l1, data.l2))))
        curves = (data.flow.sel(scale=scale).values for scale in (0.001, 1e4))
        small, large = (ratio(length(w), float(apart(w[0], w[-1]))) for w in curves)
        text = "α = 0.001 moves straight towards the ℓ1 margin (length over distance)"
        yield at_most(1.05).claim(text, small)
        yield at_least(1.3).claim("the path of α = 10000 is longer (factor)", ratio(large, small))
        same = apart(data.crossing.sel(cross_scale=1.0), data.l1) / apart(data.marked, data.l1)
        text = "at α = 1, too, μ determines the distance to ℓ1 (largest relative difference to the squares)"
        yield at_most(0.1).claim(text, np.abs(same - 1).max())

    def _digits(self, data: xr.Dataset) -> Iterator[Claim]:
        """Number of digits of 1/ε at which flows are as close to ℓ1 as the last square: four million, and
        434."""
        near = float(apart(data.marked[-1], data.l1))
        for scale, digits in ((100.0, 4.34e6), (1.0, 434.0)):
            one = run(data, scale)
            yield within(digits / 1.2, digits * 1.2).claim(
                f"α = {scale:g} is as close to ℓ1 as the last square at a loss of 10^−k (k)",
                reached_at(one.accuracy.values, apart(one.flow, data.l1), near) / np.log(10),
            )


@figure("moroshko2020/fig3c", **SHALLOW, about=("Theorem 4",), seconds=10, short="many ℓ1 margins")
class ManyEnds(Plane):
    """Flows of depth 2 on data whose ℓ1 maximum margin is not unique (Figure 3c)."""

    setting = MANY_ENDS
    offsets = ((8.0, 0.0),) * 5

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Panel 3(c)."""
        yield from common_claims(data)
        edge = arc(data.l1_face.values)
        yield at_least(0.5).claim("the ℓ1 maximum margins form an edge (length)", length(edge))
        yield steady_support_claim(data)
        ends = data.flow.values[:, -1]
        text = "every scale ends at an ℓ1 maximum margin (largest distance)"
        yield at_most(1e-3).claim(text, off_curve(ends, edge).max())
        text = (
            "the end depends on the scale (distance between the ends of the smallest and the largest scale)"
        )
        yield at_least(0.5).claim(text, apart(ends[0], ends[-1]))
        azimuth, _ = azimuth_pitch(ends)
        text = "the end moves monotonically as the scale grows (smallest step)"
        yield at_least(0.0).claim(text, least(np.diff(azimuth)))
        yield from large_scale_claims(data, {100.0: 5e-3, 1e4: 5e-5})
        text = "α = 10000 ends at the end of the Q_μ path (distance)"
        yield at_most(1e-6).claim(text, apart(ends[-1], data.path[-1]))
        yield from crossing_claims(data, "marked", "the square", (-2.1, -1.9))


@figure("moroshko2020/fig3d", **SHALLOW, about=("Theorem 4",), seconds=14, short="support vectors leave")
class SupportLeaves(Plane):
    """Flows of depth 2 that leave the Q_μ path because a support vector leaves (Figure 3d)."""

    setting = LEAVING
    offsets = (None, *[(8.0, -3.0)] * 3)
    infinite = True

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the plane with the flow at infinite scale, and a magnified part near the ℓ2 margin."""
        super().draw(data, ax)
        near = zoom(ax, (0.02, 0.5, 0.41, 0.49), (0.44, 0.558), (0.43, 0.578))
        draw_plane(data, near, infinite=True)
        kink, leaves = first(data.kink_mu.values), departure(data)
        words = f"a sample leaves\nflow at $\\mu={leaves:.3g}$,\npath at $\\mu_0={kink:.3g}$"
        near.text(0.96, 0.04, words, transform=near.transAxes, ha="right", va="bottom", fontsize=7)
        self._draw_gap(data, near)

    def _draw_gap(self, data: xr.Dataset, ax: Any) -> None:
        """Draw an arrow from the path to the flow at infinite scale, at the first marked μ."""
        path, flow = (azimuth_pitch(data[name][0]) for name in ("marked", "marked_sweeping"))
        shape = {"arrowstyle": "<->", "connectionstyle": "arc3,rad=-0.45", "shrinkA": 3, "shrinkB": 2}
        ax.annotate("", flow, path, arrowprops={**shape, "lw": 0.8, "color": "0.2"}, zorder=6.2)
        level = rf"$\mu=${data.marked_mu.values[0]:g}"
        gap = float(apart(data.marked[0], data.marked_sweeping[0]))
        label(ax, data.marked[0], f"path at {level}", (-8, 1), fontsize=7)
        label(ax, data.marked_sweeping[0], f"flow at {level},\n{gap:.2g} away", (9, -7), fontsize=7)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Panel 3(d), and its open question."""
        yield from common_claims(data)
        yield at_least(1).claim(*differing_support(data))
        kink, leaves = first(data.kink_mu.values), departure(data)
        yield within(0.035, 0.045).claim("first kink of the Q_μ path, μ₀", kink)
        yield from large_scale_claims(data, {100.0: 5e-3, 1e4: 5e-5})
        earlier = ratio(leaves, kink)
        text = "samples leave the support of the flow before that of the path (first μ/μ₀)"
        yield at_least(2).claim(text, earlier)
        yield from self._open_question(data, leaves)

    def _open_question(self, data: xr.Dataset, leaves: float) -> Iterator[Claim]:
        near = {scale: data.crossing.sel(cross_scale=scale)[0] for scale in (1.0, 100.0, 1e4)}
        gap = {scale: float(apart(w, data.marked[0])) for scale, w in near.items()}
        text = "larger scales follow the path slightly longer (distance at μ = 0.04: α = 1 over α = 100)"
        yield at_least(1.5).claim(text, ratio(gap[1.0], gap[100.0]))
        yield at_least(0.03).claim("but at μ = 0.04 even α = 10000 is not on the path (distance)", gap[1e4])
        text = "and that distance no longer decreases with the scale (α = 10000 over α = 100)"
        yield at_least(0.9).claim(text, ratio(gap[1e4], gap[100.0]))
        one = run(data, 1e4)
        yield at_least(0.03).claim(
            "the curve differs from that of the path (largest distance of α = 10000 to any point of it)",
            worst(off_curve(one.flow.values, data.path.values), one.level < leaves),
        )
        text = "α = 10000 follows the flow at infinite scale (largest distance at the same μ ≤ 10)"
        yield at_most(1e-5).claim(text, worst(one.off_sweeping, one.level <= 10))
        yield from crossing_claims(data, "marked_sweeping", "the flow at infinite scale", (-2.1, -1.7))
        text = "at fixed μ < μ₀ flows do not end at the squares (smallest distance at the largest α)"
        yield at_least(0.02).claim(text, apart(data.crossing[-1], data.marked).min())


def deep_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Claims about Figure 4: the largest scale approaches ℓ2, follows the path, and ends at ℓ_{2/3}."""
    yield from common_claims(data)
    text = "the ℓ1 margin is not a stationary point of the ℓ_{2/3} margin (distance to the closest)"
    yield at_least(0.1).claim(text, apart(data.stationary, data.l1).min())
    largest = float(data.scale.values[-1])
    yield from large_scale_claims(data, {largest: 1e-4})
    one = run(data, largest)
    gap, leaves = one.off_path, departure(data)
    text = f"α = {largest:g} then leaves it (largest distance at the same μ)"
    yield at_least(0.1).claim(text, worst(gap, one.level < leaves))
    text = f"α = {largest:g} ends at the ℓ_{{2/3}} margin (distance)"
    yield at_most(5e-3).claim(text, apart(one.flow[-1], data.rich[0]))
    yield at_most(1e-4).claim("the Q_μ path ends at the ℓ1 margin (distance)", apart(data.path[-1], data.l1))


@figure(
    "moroshko2020/fig4a",
    **deep([0.01, 1.0, 1e3], [0.01, 0.3, 1.0, 2.0, 10.0, 1e3]),
    about=("Theorem 6",),
    seconds=10,
    short="depth 3 leaves the path",
)
class DeepOneEnd(Plane):
    """Flows of depth 3 leave the Q_μ path and end at the ℓ_{2/3} margin (Figure 4a)."""

    setting = DEEP
    offsets = ((-7.0, -6.0), (-2.0, -9.0), (2.0, -9.0))
    infinite = True
    margin = 0.09

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Figure 4(a)."""
        yield from deep_claims(data)
        ends = apart(data.flow[:, -1], data.rich[0])
        yield at_most(5e-3).claim("every scale ends at the ℓ_{2/3} margin (largest distance)", ends.max())


@figure(
    "moroshko2020/fig4b",
    **deep([0.01, 0.1, 0.3, 1e3], [0.01, 0.1, 0.14, 0.18, 0.3, 1.0, 10.0, 1e3]),
    about=("Theorem 6",),
    seconds=12,
    short="local and global margins",
)
class DeepLocalEnd(Plane):
    """Flows of depth 3 end at a local (small scales) or the global (large) ℓ_{2/3} margin (Figure 4b)."""

    setting = DEEP_LOCAL
    offsets = ((-8.0, 5.0), (-8.0, 4.0), (-8.0, 3.0))
    infinite = True

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims of Section 5 about Figure 4(b)."""
        yield from deep_claims(data)
        azimuth, pitch = azimuth_pitch(data.rich[1:])
        text = "there is a local minimum at azimuth and pitch 0 (distance)"
        yield at_most(1e-9).claim(text, least(np.hypot(azimuth, pitch)))
        ends, small = data.flow.values[:, -1], data.scale.values <= 0.14
        text = "small scales, α ≤ 0.14, end at it (largest distance)"
        yield at_most(1e-3).claim(text, worst(apart(ends, [1.0, 0.0, 0.0]), small))
        text = "larger scales, α ≥ 0.18, end at the global one (largest distance)"
        yield at_most(5e-3).claim(text, worst(apart(ends, data.rich[0]), ~small))
