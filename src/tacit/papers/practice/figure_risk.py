"""The risk of the limit in high dimension: state evolution against data sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import least
from tacit.show.figures import KERNEL, MUTED, RICH

_COLOURS = (RICH, KERNEL)


@figure(
    "practice/risk",
    quick={
        "samples": 120,
        "ratio": 4,
        "sparsity": 15,
        "noise": 0.5,
        "depths": [2, 3],
        "scales": 5,
        "draws": 20,
    },
    paper={
        "samples": 160,
        "ratio": 4,
        "sparsity": 20,
        "noise": 0.5,
        "depths": [2, 3],
        "scales": 13,
        "draws": 100,
    },
    figsize=(5.6, 3.0),
    about=("State evolution",),
    seconds=10,
    short="risk in high dimension",
)
class RiskAgainstScale:
    """The risk E‖w − b*‖² of the limit of gradient flow on Gaussian features with noise, against the scale of
    the initialization. Lines: state evolution, from the signal, the noise and the number of samples alone.
    Circles: means over data sets. Dots: single data sets, which scatter by tens of percent.
    """

    def data(
        self,
        samples: int,
        ratio: int,
        sparsity: int,
        noise: float,
        depths: list[int],
        scales: int,
        draws: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Predicted risks, and those of limits on random data sets."""
        d = ratio * samples
        signal = np.zeros(d)
        signal[:sparsity] = 1.0
        grid = np.geomspace(1e-3, 3.0, scales)
        predicted = np.empty((len(depths), scales))
        risk = np.empty((len(depths), scales, draws))
        for i, depth in enumerate(depths):
            for j, scale in enumerate(grid):
                predicted[i, j] = tacit.risk(tacit.Diagonal(depth, scale), signal, noise, samples).risk
        for k in progress(range(draws), "data sets"):
            rng = np.random.default_rng([seed, k])
            X = rng.standard_normal((samples, d))
            y = X @ signal + noise * rng.standard_normal(samples)
            prepared = tacit.prepare(X)
            for i, depth in enumerate(depths):
                for j, scale in enumerate(grid):
                    w = tacit.limit(tacit.Diagonal(depth, scale), prepared, y).predictor
                    risk[i, j, k] = np.sum((w - signal) ** 2)
        return xr.Dataset(
            {
                "predicted": (("depth", "scale"), predicted),
                "risk": (("depth", "scale", "draw"), risk),
            },
            coords={"depth": depths, "scale": grid},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Risks against the scale."""
        for depth, colour in zip(data.depth.values, _COLOURS, strict=False):
            one = data.sel(depth=depth)
            ax.plot(one.scale, one.risk, ".", color=MUTED, ms=2, zorder=0)
            ax.plot(one.scale, one.predicted, color=colour, label=f"state evolution, depth {depth}")
            ax.plot(one.scale, one.risk.mean("draw"), "o", color=colour, mfc="w", ms=4)
        ax.plot([], [], "o", color="k", mfc="w", ms=4, label="mean of data sets")
        ax.plot([], [], ".", color=MUTED, label="single data sets")
        ax.set(xscale="log", yscale="log", xlabel=r"scale $\alpha$", ylabel="risk")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """State evolution predicts the mean."""
        ratio = (data.risk.mean("draw", skipna=False) / data.predicted).mean("scale", skipna=False)
        for depth in data.depth.values:
            yield at_most(
                0.35, "seven times the bias at this size, and the scatter of the mean of data sets"
            ).claim(
                f"at depth {depth} state evolution predicts the mean risk (relative difference)",
                float(abs(ratio.sel(depth=depth) - 1)),
            )
        mean = data.risk.mean("draw", skipna=False)
        yield at_least(1.5, "the prediction itself may be off by a third").claim(
            "small scales lower the risk (least ratio of mean risks, largest to smallest scale)",
            least((mean.isel(scale=-1) / mean.isel(scale=0)).values),
        )
