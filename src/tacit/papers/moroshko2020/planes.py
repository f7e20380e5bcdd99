"""What is measured on the trajectories of Moroshko et al. 2020, and what holds in several of its figures.

Distances are between directions: the length of the difference of unit vectors. "At the same μ" compares a
flow of accuracy γ̃ with the point μ = α^D/γ̃ of a path.

What figures in the azimuth-pitch plane share: Figures 3b to 3d and 4 of Moroshko et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, within
from tacit.papers.measures import share, slope
from tacit.papers.moroshko2020.drawing import draw_plane, frame, label_squares, legend_beside
from tacit.papers.moroshko2020.plot_grid import reached_at
from tacit.papers.moroshko2020.raw_weights import raw_weights_claim
from tacit.papers.moroshko2020.trajectories import Setting, apart, scene


def run(data: xr.Dataset, scale: float) -> xr.Dataset:
    """The flow of one scale, with level: μ = α^D/γ̃ at its instants."""
    one = data.sel(scale=scale)
    return one.assign(level=scale ** data.attrs["depth"] / one.accuracy)


def closest(data: xr.Dataset, scale: float, end: str) -> float:
    """How near the flow of this scale ever comes to a margin."""
    return float(apart(run(data, scale).flow, data[end]).min())


def worst(values: Any, where: Any) -> float:
    """The largest value among some of them; NaN if there are none."""
    chosen = np.asarray(values)[np.asarray(where)]
    return float(chosen.max()) if chosen.size else np.nan


def accuracy_at(one: xr.Dataset, gap: Float, near: float) -> float:
    """The accuracy from which on a gap of the run is at most this, between instants as a power law."""
    return reached_at(one.accuracy.values, gap, near)


def rate(scales: Float, errors: Float) -> float:
    """The power of the scale with which errors change; NaN if one of them is not positive."""
    good = np.isfinite(errors).all() and (errors > 0).all()
    return slope(np.log(scales), np.log(errors)) if good else np.nan


def length(curve: Float) -> float:
    """Of a curve, given by its vertices."""
    return float(apart(curve[1:], curve[:-1]).sum())


def common_claims(data: xr.Dataset) -> Iterator[Claim]:
    """What holds of all flows."""
    yield at_least(1.0).claim(
        "flows reach the accuracy asked for (share of them)", share(data.reached.values)
    )
    yield at_most(1e-3).claim(
        "at every scale the flow sets out towards the average of the data (largest distance)",
        apart(data.flow[:, 0], data.start).max(),
    )
    yield raw_weights_claim(data)


def departure(data: xr.Dataset) -> float:
    """The μ at which a sample first leaves the support of the flow at infinite scale; 0 if none does."""
    leaves = data.event_mu.values[data.event_enters.values == 0]
    return float(leaves.max()) if leaves.size else 0.0


def large_scale_claims(data: xr.Dataset, scale: float, near: float) -> Iterator[Claim]:
    """First the ℓ2 margin, then along the Q_μ path until a sample leaves."""
    leaves = departure(data)
    until = f", until a sample leaves at μ = {leaves:.3g}" if leaves else ""
    yield at_most(near).claim(
        f"α = {scale:g} first goes to the ℓ2 margin (smallest distance)", closest(data, scale, "l2")
    )
    one = run(data, scale)
    yield at_most(near).claim(
        f"α = {scale:g} then follows the Q_μ path{until} (largest distance at the same μ ≤ 10)",
        worst(one.off_path, (one.level <= 10) & (one.level > leaves)),
    )


def steady_support_claim(data: xr.Dataset) -> Claim:
    """With no change at all, Condition 5 holds for every stopping accuracy."""
    changes = data.sizes["kink"] + data.sizes["event"]
    return at_most(0).claim("changes of support, on the Q_μ path and on the flow at infinite scale", changes)


def crossing_claims(data: xr.Dataset, target: str, name: str, power: tuple[float, float]) -> Iterator[Claim]:
    """Ends of flows at fixed μ converge to a point of a path, as a power of α."""
    large = data.cross_scale.values >= 10
    errors = apart(data.crossing, data[target]).max(axis=1)
    yield at_most(1e-6).claim(
        f"at fixed μ larger scales end ever nearer to {name} (largest distance at the largest α)", errors[-1]
    )
    yield within(power[0], power[1]).claim(
        f"at fixed μ the distance to {name} falls as a power of α, with exponent",
        rate(data.cross_scale.values[large], errors[large]),
    )


SIZE = (5.8, 3.9)


class Plane:
    """A figure of one setting."""

    setting: ClassVar[Setting]
    offsets: ClassVar[
        tuple[tuple[float, float] | None, ...]
    ]  # of the values of μ from their squares, in points
    infinite: ClassVar[bool] = False  # with the flow at infinite scale?
    margin: ClassVar[float] = 0.06

    def data(
        self, scales: list[float], instants: int, crossings: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Flows, paths and margins, as directions."""
        return scene(self.setting, scales, instants, crossings, progress)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Flows, paths and margins, with μ beside its squares."""
        draw_plane(data, ax, infinite=self.infinite)
        label_squares(data, ax, self.offsets)
        frame(data, ax, margin=self.margin)
        legend_beside(ax)
