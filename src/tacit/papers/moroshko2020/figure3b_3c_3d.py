"""Optimization trajectories in the azimuth-pitch plane: Figures 3b to 3d of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers import Claim, at_least, at_most, figure, within
from tacit.papers.measures import first, least, ratio
from tacit.papers.moroshko2020.drawing import draw_plane, label, zoom
from tacit.papers.moroshko2020.planes import (
    SIZE,
    Plane,
    accuracy_at,
    closest,
    common_claims,
    crossing_claims,
    departure,
    large_scale_claims,
    length,
    run,
    steady_support_claim,
    worst,
)
from tacit.papers.moroshko2020.trajectories import (
    LEAVING,
    MANY_ENDS,
    ONE_SUPPORT,
    apart,
    arc,
    azimuth_pitch,
    off_curve,
)

SHALLOW: dict[str, Any] = {
    "quick": {"scales": [0.001, 1.0, 100.0, 1e4], "instants": 80, "crossings": 22},
    "paper": {"scales": [0.001, 0.1, 1.0, 3.0, 10.0, 100.0, 1e4], "instants": 200, "crossings": 30},
    "figsize": SIZE,
}


@figure(
    "moroshko2020/fig3b", **SHALLOW, about=("Theorem 4", "Theorem 6"), seconds=11, short="one support vector"
)
class OneSupport(Plane):
    """Flows of depth 2 on data whose ℓ2 and ℓ1 margins have the same support vector (Figure 3b)."""

    setting = ONE_SUPPORT
    offsets = (*[(-7.0, -5.0)] * 4, (-3.0, -9.0))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Section 5 on Panel 3(b)."""
        yield from common_claims(data)
        yield within(1, 1).claim("ℓ1 margins there are", data.sizes["vertex"])
        differ = int((data.l2_support != data.l1_support).sum())
        yield at_most(0).claim("samples that support one of the ℓ2 and ℓ1 margins and not the other", differ)
        yield at_least(0.1).claim("yet they are not the same (distance)", apart(data.l1, data.l2))
        yield steady_support_claim(data)
        yield from large_scale_claims(data, 100.0, 5e-3)
        yield from large_scale_claims(data, 1e4, 5e-5)
        pair = data.flow.sel(scale=100.0).values, data.flow.sel(scale=1e4).values
        between = max(off_curve(*pair).max(), off_curve(*pair[::-1]).max())
        yield at_most(0.01).claim("α = 100 and α = 10000 cannot be told apart (largest distance)", between)
        ends = apart(data.flow[:, -1], data.l1)
        yield at_most(5e-3).claim("every scale ends at the ℓ1 margin (largest distance)", ends.max())
        yield from self._small_scales(data)
        yield from crossing_claims(data, "marked", "the square", (-2.1, -1.9))
        yield from self._digits(data)

    def _small_scales(self, data: xr.Dataset) -> Iterator[Claim]:
        yield at_least(0.25).claim(
            "α = 0.001 does not visit the ℓ2 margin (smallest distance, over that of ℓ1 and ℓ2)",
            ratio(closest(data, 0.001, "l2"), float(apart(data.l1, data.l2))),
        )
        curves = (data.flow.sel(scale=scale).values for scale in (0.001, 1e4))
        small, large = (ratio(length(w), float(apart(w[0], w[-1]))) for w in curves)
        yield at_most(1.05).claim("α = 0.001 heads straight for the ℓ1 margin (length over distance)", small)
        yield at_least(1.3).claim("the way of α = 10000 is longer, by a factor of", ratio(large, small))
        same = apart(data.crossing.sel(cross_scale=1.0), data.l1) / apart(data.marked, data.l1)
        yield at_most(0.1).claim(
            "at α = 1 too μ tells how near to ℓ1 the flow is (largest relative difference to the squares)",
            np.abs(same - 1).max(),
        )

    def _digits(self, data: xr.Dataset) -> Iterator[Claim]:
        """Digits of 1/ε at which flows are as near to ℓ1 as the last square: four million, and 434."""
        near = float(apart(data.marked[-1], data.l1))
        for scale, digits in ((100.0, 4.34e6), (1.0, 434.0)):
            one = run(data, scale)
            yield within(digits / 1.2, digits * 1.2).claim(
                f"α = {scale:g} is as near to ℓ1 as the last square when the loss is 10^-(this)",
                accuracy_at(one, apart(one.flow, data.l1), near) / np.log(10),
            )


@figure("moroshko2020/fig3c", **SHALLOW, about=("Theorem 4",), seconds=10, short="many ℓ1 margins")
class ManyEnds(Plane):
    """Flows of depth 2 on data where many predictors have the largest ℓ1 margin (Figure 3c)."""

    setting = MANY_ENDS
    offsets = ((8.0, 0.0),) * 5

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Section 5 on Panel 3(c)."""
        yield from common_claims(data)
        edge = arc(data.l1_face.values)
        yield at_least(0.5).claim("the largest ℓ1 margin is shared by an edge of length", length(edge))
        yield steady_support_claim(data)
        ends = data.flow.values[:, -1]
        yield at_most(1e-3).claim(
            "every scale ends at a largest ℓ1 margin (largest distance)", off_curve(ends, edge).max()
        )
        yield at_least(0.5).claim(
            "which one depends on the scale (distance of the ends of the smallest and the largest)",
            apart(ends[0], ends[-1]),
        )
        azimuth, _ = azimuth_pitch(ends)
        yield at_least(0.0).claim(
            "the end moves one way as the scale grows (smallest step)", least(np.diff(azimuth))
        )
        yield from large_scale_claims(data, 100.0, 5e-3)
        yield from large_scale_claims(data, 1e4, 5e-5)
        yield at_most(1e-6).claim(
            "α = 10000 ends where the Q_μ path does (distance)", apart(ends[-1], data.path[-1])
        )
        yield from crossing_claims(data, "marked", "the square", (-2.1, -1.9))


@figure("moroshko2020/fig3d", **SHALLOW, about=("Theorem 4",), seconds=14, short="support vectors leave")
class SupportLeaves(Plane):
    """Flows of depth 2 on data where support vectors leave, and the flow leaves the Q_μ path (Figure 3d)."""

    setting = LEAVING
    offsets = (None, *[(8.0, -3.0)] * 3)
    infinite = True

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The plane with the flow at infinite scale, and a closer look at the ℓ2 margin."""
        super().draw(data, ax)
        near = zoom(ax, (0.02, 0.5, 0.41, 0.49), (0.44, 0.558), (0.43, 0.578))
        draw_plane(data, near, infinite=True)
        kink, leaves = first(data.kink_mu.values), departure(data)
        words = f"a sample leaves\nflow at $\\mu={leaves:.3g}$,\npath at $\\mu_0={kink:.3g}$"
        near.text(0.96, 0.04, words, transform=near.transAxes, ha="right", va="bottom", fontsize=7)
        self._draw_gap(data, near)

    def _draw_gap(self, data: xr.Dataset, ax: Any) -> None:
        """An arrow from the path to the flow at infinite scale, at the first μ marked."""
        path, flow = (azimuth_pitch(data[name][0]) for name in ("marked", "marked_sweeping"))
        shape = {"arrowstyle": "<->", "connectionstyle": "arc3,rad=-0.45", "shrinkA": 3, "shrinkB": 2}
        ax.annotate("", flow, path, arrowprops={**shape, "lw": 0.8, "color": "0.2"}, zorder=6.2)
        level = rf"$\mu=${data.marked_mu.values[0]:g}"
        gap = float(apart(data.marked[0], data.marked_sweeping[0]))
        label(ax, data.marked[0], f"path at {level}", (-8, 1), fontsize=7)
        label(ax, data.marked_sweeping[0], f"flow at {level},\n{gap:.2g} away", (9, -7), fontsize=7)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Section 5 on Panel 3(d), and its open question."""
        yield from common_claims(data)
        differ = int((data.l2_support != data.l1_support).sum())
        yield at_least(1).claim("samples that support one of the ℓ2 and ℓ1 margins and not the other", differ)
        kink, leaves = first(data.kink_mu.values), departure(data)
        yield within(0.035, 0.045).claim("the Q_μ path has its first kink at μ₀", kink)
        yield from large_scale_claims(data, 100.0, 5e-3)
        yield from large_scale_claims(data, 1e4, 5e-5)
        earlier = ratio(leaves, kink)
        yield at_least(2).claim("samples leave the flow before the path: the first at μ/μ₀", earlier)
        yield from self._open_question(data, leaves)

    def _open_question(self, data: xr.Dataset, leaves: float) -> Iterator[Claim]:
        near = {scale: data.crossing.sel(cross_scale=scale)[0] for scale in (1.0, 100.0, 1e4)}
        gap = {scale: float(apart(w, data.marked[0])) for scale, w in near.items()}
        yield at_least(1.5).claim(
            "larger scales follow the path a bit longer (distance at μ = 0.04: α = 1 over α = 100)",
            ratio(gap[1.0], gap[100.0]),
        )
        yield at_least(0.03).claim("but at μ = 0.04 even α = 10000 is off the path (distance)", gap[1e4])
        yield at_least(0.9).claim(
            "and that distance no longer shrinks with the scale (α = 10000 over α = 100)",
            ratio(gap[1e4], gap[100.0]),
        )
        one = run(data, 1e4)
        yield at_least(0.03).claim(
            "not even the curve is that of the path (largest distance of α = 10000 to any point of it)",
            worst(off_curve(one.flow.values, data.path.values), one.level < leaves),
        )
        yield at_most(1e-5).claim(
            "α = 10000 follows the flow at infinite scale (largest distance at the same μ ≤ 10)",
            worst(one.off_sweeping, one.level <= 10),
        )
        yield from crossing_claims(data, "marked_sweeping", "the flow at infinite scale", (-2.1, -1.7))
        yield at_least(0.02).claim(
            "at fixed μ < μ₀ they do not end at the squares (smallest distance at the largest α)",
            apart(data.crossing[-1], data.marked).min(),
        )
