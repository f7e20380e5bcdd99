"""Norms along the flow where many predictors share the ℓ1 margin: Figure 7 of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_most, figure
from tacit.papers.measures import largest_fall
from tacit.papers.moroshko2020.data import MANY_L1
from tacit.papers.moroshko2020.drawing import L1, draw_norm_flows, draw_norm_path, drawn_as, legend_beside
from tacit.papers.moroshko2020.margins import (
    along,
    best_margin,
    margins_on_path,
    off_path,
    over_margin,
    points_of_edge,
    size,
)
from tacit.papers.moroshko2020.plot_grid import levels
from tacit.papers.moroshko2020.raw_weights import middle, off_raw_weights, raw_weights_claim
from tacit.papers.reproduction import presets


@figure(
    "moroshko2020/fig7",
    **presets(
        scales=([1e-3, 0.1, 0.3, 1.0, 100.0], [1e-3, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 100.0]),
        instants=(80, 200),
    ),
    figsize=(4.9, 3.4),
    seconds=5,
    short="the scale selects",
)
class WhichL1Solution:
    """Flows of depth 2 in the plane of excess ℓ1 and ℓ2 norm, where many predictors share the largest ℓ1
    margin: the scale decides which of them is selected (Figure 7).
    """

    def data(self, scales: list[float], instants: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Excess norms along each flow and the Q_μ path, and their range over all ℓ1 solutions."""
        rows = MANY_L1
        rich, kernel = best_margin(rows, "l1"), best_margin(rows, "l2")

        def excess(w: Float) -> Float:
            return np.array([size(w, 1) / rich.value - 1, size(w, 2) / kernel.value - 1])

        flows = [along(2, a**2, rows, 1e8 * max(1, a**2), instants) for a in progress(scales, "flows")]
        accuracy, w = (np.array(part) for part in zip(*flows, strict=True))
        k, mu = middle(scales), levels(rows, 2, (1e2, 1e-10), instants)
        edge = {name: excess(point)[1] for name, point in points_of_edge(rich.face).items()}
        return xr.Dataset(
            {
                "flow": (("norm", "scale", "instant"), excess(w)),
                "accuracy": (("scale", "instant"), accuracy),
                "path": (("norm", "mu"), excess(margins_on_path(rows, mu, 2))),
                "start": ("norm", excess(over_margin(rows.mean(axis=0), rows))),
                "l2": ("norm", excess(kernel.predictor)),
                "edge": ("point", list(edge.values())),
                "off_raw_weights": off_raw_weights(2, scales[k] ** 2, rows, accuracy[k], w[k]),
                "off_path": off_path(rows, w[-1], scales[-1] ** 2 / accuracy[-1], 2),
            },
            coords={"norm": ["l1", "l2"], "scale": scales, "mu": mu, "point": list(edge)},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """All ℓ1 solutions as a bar, the flows, and the Q_μ path."""
        edge = data.edge.sel(point=["least", "most"]).values
        scales = data.scale.values.tolist()
        draw_norm_flows(data, ax, [drawn_as(scale, scales)["lw"] for scale in scales])
        ax.plot(
            [0, 0], edge, color=L1, lw=7, solid_capstyle="butt", label=r"$\ell_1$ margin: an edge", zorder=1
        )
        draw_norm_path(data, ax)
        ax.set(
            xlabel=r"excess $\ell_1$ norm, $\|\hat w\|_1/\|w_{\ell_1}\|_1-1$",
            ylabel=r"excess $\ell_2$ norm, $\|\hat w\|_2/\|w_{\ell_2}\|_2-1$",
        )
        ax.set(xlim=(-0.004, None), ylim=(0, None))
        legend_beside(ax)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Every flow ends among the ℓ1 solutions; which one it is, the scale decides."""
        l1, l2 = data.flow.isel(instant=-1).values
        lowest, highest, mixed = data.edge.sel(point=["least", "most", "entropic"]).values
        place = (l2 - lowest) / (highest - lowest)
        yield at_most(1e-4).claim("every scale ends at an ℓ1 margin (largest excess)", l1.max())
        yield at_most(1e-3).claim(
            "the largest scale selects the ℓ1 solution of least ℓ2 norm (distance, 0 least to 1 most)",
            abs(place[-1]),
        )
        yield at_most(1e-2).claim(
            "the smallest scale selects the one of largest ℓ2 norm (distance, the same)", abs(place[0] - 1)
        )
        yield at_most(1e-5).claim("in between, the norm only falls with the scale (rise)", largest_fall(-l2))
        yield at_most(1e-3).claim(
            "the largest scale follows the Q_μ path (largest distance at the same μ ≤ 1)",
            data.off_path.item(),
        )
        yield at_most(1e-6).claim(
            "the Q_μ path ends at the solution of largest entropy, here the same (difference of excess ℓ2)",
            max(abs(data.path.values[1, -1] - mixed), abs(lowest - mixed)),
        )
        yield raw_weights_claim(data)
