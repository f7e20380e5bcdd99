"""The risk of limits in high dimension, predicted by state evolution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, figure, within
from tacit.show.figures import KERNEL, RICH

_COLOURS = (RICH, KERNEL)
_MARKERS = "os"


@figure(
    "practice/risk",
    quick={
        "samples": 30,
        "features": 100,
        "nonzero": 3,
        "noise": 0.3,
        "ends": {"2": [0.01, 3.0], "3": [0.1, 3.0]},
        "scales": 4,
        "draws": 40,
    },
    paper={
        "samples": 100,
        "features": 400,
        "nonzero": 5,
        "noise": 0.5,
        "ends": {"2": [0.01, 3.0], "3": [0.1, 3.0]},
        "scales": 13,
        "draws": 60,
    },
    figsize=(6.0, 3.2),
    about=("State evolution",),
    seconds=4,
    short="risk in high dimension",
)
class RiskCurves:
    """The risk ‖w − b*‖² of the limit of gradient flow on Gaussian features, against the scale of the
    predictor, for a sparse signal b* and noisy targets, at depths 2 and 3. Lines: state evolution, which
    needs no data; small dots mark where it was evaluated. Large markers: means over simulated data sets, with
    their standard errors. Bands: one standard deviation of the risk of a single data set, around the
    prediction.
    """

    def data(
        self,
        samples: int,
        features: int,
        nonzero: int,
        noise: float,
        ends: dict[str, list[float]],
        scales: int,
        draws: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Predictions and simulations at every depth and scale; no two of them share data sets."""
        signal = np.repeat([1.0, 0.0], [nonzero, features - nonzero])
        found = np.empty((4, len(ends), scales))
        for i, depth in enumerate(progress(ends, "depths")):
            grid = np.geomspace(ends[depth][0], ends[depth][1], scales)
            for j, scale in enumerate(grid.tolist()):
                model = tacit.Diagonal(depth=int(depth), scale=scale)
                draw = int(np.random.SeedSequence([seed, i, j]).generate_state(1)[0])
                one = tacit.risk(model, signal, noise, samples, draws=draws, seed=draw)
                values = scale ** int(depth), one.risk, one.simulated.mean(), one.simulated.std(ddof=1)
                found[:, i, j] = values
        where = ("depth", "point")
        names = ("scale", "predicted", "mean", "scatter")
        return xr.Dataset(
            {name: (where, values) for name, values in zip(names, found, strict=True)},
            coords={"depth": [int(depth) for depth in ends]},
            attrs={"draws": draws},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Risks against the scale of the predictor."""
        error = data.scatter / np.sqrt(data.attrs["draws"])
        for depth, colour, marker in zip(data.depth.values, _COLOURS, _MARKERS, strict=False):
            one = data.sel(depth=depth)
            low, high = one.predicted - one.scatter, one.predicted + one.scatter
            ax.fill_between(one.scale, low, high, color=colour, alpha=0.12, lw=0)
            ax.plot(one.scale, one.predicted, ".-", color=colour, lw=1, ms=3)
            bars = error.sel(depth=depth)
            ax.errorbar(one.scale, one["mean"], bars, fmt=marker, color=colour, ms=4, label=f"depth {depth}")
        ax.plot([], [], ".-", color="k", lw=1, ms=3, label="state evolution")
        ax.fill_between([], [], [], color="k", alpha=0.12, lw=0, label="single data sets")
        ax.set(xscale="log", xlabel=r"scale of the predictor $\alpha^D$", ylabel="risk", ylim=(0, None))
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Means are predicted, single data sets scatter, and a small scale learns a sparse signal."""
        ratio = data["mean"] / data.predicted
        yield within(0.8, 1.25, "less than the scatter of a single data set").claim(
            "state evolution predicts the mean risk (simulated/predicted, mean over depths and scales)",
            float(ratio.mean(skipna=False)),
        )
        yield at_least(0.08, "several times the bias of the prediction").claim(
            "the risk of single data sets scatters (standard deviation relative to the mean, median)",
            float((data.scatter / data["mean"]).median(skipna=False)),
        )
        for depth in data.depth.values:
            one = data["mean"].sel(depth=depth)
            yield at_least(1.5, "a difference that single data sets show").claim(
                f"depth {depth} at the best scale has a smaller risk than at the largest (ratio of means)",
                float(one[-1] / one.min(skipna=False)),
            )
