"""Trajectories of depth 3 in the azimuth-pitch plane: Figure 4 of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers import Claim, at_least, at_most, figure
from tacit.papers.measures import least
from tacit.papers.moroshko2020.planes import (
    SIZE,
    Plane,
    common_claims,
    departure,
    large_scale_claims,
    run,
    worst,
)
from tacit.papers.moroshko2020.trajectories import DEEP, DEEP_LOCAL, apart, azimuth_pitch


def deep(quick: list[float], paper: list[float]) -> dict[str, Any]:
    """Presets and layout of a figure of depth 3."""
    return {
        "quick": {"scales": quick, "instants": 80, "crossings": 22},
        "paper": {"scales": paper, "instants": 280, "crossings": 45},
        "figsize": SIZE,
    }


def deep_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Section 5 on Figure 4: the largest scale goes to ℓ2, along the path, and then to ℓ_{2/3}."""
    yield from common_claims(data)
    yield at_least(0.1).claim(
        "the ℓ1 margin is no stationary point of the ℓ_{2/3} margin (distance to the nearest)",
        apart(data.stationary, data.l1).min(),
    )
    largest = float(data.scale.values[-1])
    yield from large_scale_claims(data, largest, 1e-4)
    one = run(data, largest)
    gap, leaves = one.off_path, departure(data)
    yield at_least(0.1).claim(
        f"α = {largest:g} then deviates from it (largest distance at the same μ)",
        worst(gap, one.level < leaves),
    )
    yield at_most(5e-3).claim(
        f"α = {largest:g} ends at the ℓ_{{2/3}} margin (distance)", apart(one.flow[-1], data.rich[0])
    )
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
        """Section 5 on Figure 4(a)."""
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
    """Flows of depth 3 end at a local ℓ_{2/3} margin from small scales, the global from large (Figure 4b)."""

    setting = DEEP_LOCAL
    offsets = ((-8.0, 5.0), (-8.0, 4.0), (-8.0, 3.0))
    infinite = True

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Section 5 on Figure 4(b)."""
        yield from deep_claims(data)
        azimuth, pitch = azimuth_pitch(data.rich[1:])
        yield at_most(1e-9).claim(
            "there is a local minimum at azimuth and pitch 0 (distance)", least(np.hypot(azimuth, pitch))
        )
        ends, small = data.flow.values[:, -1], data.scale.values <= 0.14
        yield at_most(1e-3).claim(
            "small scales, α ≤ 0.14, end there (largest distance)", worst(apart(ends, [1.0, 0.0, 0.0]), small)
        )
        yield at_most(5e-3).claim(
            "larger scales, α ≥ 0.18, end at the global one (largest distance)",
            worst(apart(ends, data.rich[0]), ~small),
        )
