"""Wide networks end near the minimum-norm solution: Figure 1 of Min et al. 2021."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import xarray as xr

from tacit.papers.min2021.widths import PANELS, PAPER, QUICK, draw_widths, legend, trained, width_claims
from tacit.papers.registry import Claim, figure


@figure("min2021/fig1", quick=QUICK, paper=PAPER, **PANELS)
class DistanceAgainstWidth:
    """Distance of a wide linear network trained by gradient flow from the minimum-norm solution, and the part
    ‖U₂Vᵀ‖ of the predictor that the data do not see, against the width (Figure 1).
    """

    def data(
        self,
        samples: int,
        features: int,
        widths: list[int],
        runs: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """Flows from several draws at every width."""
        return trained(samples, features, widths, runs, 0, seed, progress)

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Plain axes, logarithmic axes, and before against after training."""
        draw_widths(data, axes)
        legend(axes)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The rate h^(−1/2), at the start and at the end."""
        yield from width_claims(data)
