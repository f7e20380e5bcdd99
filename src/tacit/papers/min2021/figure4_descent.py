"""Wide networks by gradient descent beside the flow: Figure 4 of Min et al. 2021."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.min2021.widths import PANELS, PAPER, QUICK, draw_widths, legend, trained, width_claims
from tacit.papers.registry import Claim, figure

_FIRST = 1.17  # and where the marks of the first run alone do, on a logarithmic axis


@figure("min2021/fig4", quick={**QUICK, "descents": 1}, paper={**PAPER, "descents": 1}, **PANELS)
class DistanceAgainstWidthByDescent:
    """The distance from the minimum-norm solution against the width, with the gradient descent of Appendix
    A.2 beside the flow: steps of 5e-3 until the averaged loss is below 1e-8 (Figure 4).
    """

    def data(
        self,
        samples: int,
        features: int,
        widths: list[int],
        runs: int,
        descents: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """Flows from several draws at every width, and gradient descent from some of them."""
        return trained(samples, features, widths, runs, descents, seed, progress)

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """As Figure 1, and beside it the first run alone, with crosses for gradient descent."""
        draw_widths(data, axes)
        for ax, name in zip(axes, ("distance", "distance", "final"), strict=True):
            at = data.width + 0.03 * data.width.max() if ax is axes[0] else data.width * _FIRST
            style = {"color": "k", "mew": 0.8, "ls": "none", "zorder": 4}
            ax.plot(at, data[name][:, 0], "o", ms=7, mfc="none", label="flow, first run", **style)
            ax.plot(at, data[f"descent_{name}"][:, 0], "x", ms=3.5, label="descent, first run", **style)
        axes[0].set_xlim(0, 1.08 * data.width.max())
        legend(axes)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """What Figure 1 shows, and that steps of this size stand for the flow."""
        yield from width_claims(data)
        same = data.distance.values[:, : data.sizes["descent"]]
        yield Claim(
            "gradient descent ends where the flow does (largest relative difference of the distance)",
            np.abs(data.descent_distance.values / same - 1).max(),
            at_most=1e-3,
            why="the width of the marks",
        )
