"""Mini-batches: the noise of stochastic gradient descent acts like a longer step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_most, figure
from tacit.papers.practice.data import relative, sparse_problem, step_at_edge
from tacit.show.figures import KERNEL, MUTED, RICH


@figure(
    "practice/batch-size",
    quick={"samples": 8, "features": 16, "scale": 0.1, "batches": [1, 2, 4], "edge": 0.02, "runs": 24},
    paper={"samples": 16, "features": 40, "scale": 0.1, "batches": [1, 2, 4, 8], "edge": 0.01, "runs": 64},
    figsize=(5.4, 3.0),
    about=("Second order",),
    seconds=10,
    short="mini-batches",
)
class BatchSize:
    """Stochastic gradient descent with batches of b samples at one step size (depth 2): relative distance of
    single runs (dots) and of their mean (circles) to the prediction made before training, and of the limit of
    gradient flow to the mean (crosses).
    """

    def data(
        self,
        samples: int,
        features: int,
        scale: float,
        batches: list[int],
        edge: float,
        runs: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Runs for every batch size, from different seeds."""
        X, y, _ = sparse_problem(samples, features, seed)
        model = tacit.Diagonal(scale=scale)
        flow, step = tacit.limit(model, X, y).predictor, edge * step_at_edge(model, X, y)
        ends = np.empty((len(batches), runs, features))
        predicted = np.empty((len(batches), features))
        for i, batch in enumerate(progress(batches, "batch sizes")):
            training = tacit.Training(step=step, batch=batch)
            predicted[i] = tacit.limit(model, X, y, training=training).predictor
            for k in range(runs):
                ends[i, k] = tacit.descend(model, X, y, training, seed=1000 * seed + k).predictor
        return xr.Dataset(
            {
                "end": (("batch", "run", "feature"), ends),
                "prediction": (("batch", "feature"), predicted),
                "flow": ("feature", flow),
            },
            coords={"batch": batches},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the size of the batch."""
        for batch in data.batch.values:
            ends, predicted = data.end.sel(batch=batch).values, data.prediction.sel(batch=batch).values
            mean = ends.mean(axis=0)
            each = [relative(end, predicted) for end in ends]
            ax.plot([batch] * len(each), each, ".", color=MUTED, ms=3)
            ax.plot(batch, relative(data.flow.values, mean), "x", color=RICH, ms=6)
            ax.plot(batch, relative(mean, predicted), "o", color=KERNEL, ms=5)
        ax.plot([], [], "x", color=RICH, label="flow, to the mean of runs")
        ax.plot([], [], ".", color=MUTED, label="single runs, to the prediction")
        ax.plot([], [], "o", color=KERNEL, label="mean of runs, to the prediction")
        ax.set(xscale="log", yscale="log", xlabel="batch size $b$", ylabel="relative distance")
        ax.set_xticks(data.batch.values, [str(batch) for batch in data.batch.values])
        ax.minorticks_off()
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The mean of runs is at the prediction, far nearer than at the limit of the flow."""
        mean = data.end.mean("run", skipna=False)
        off = np.sqrt(((mean - data.prediction) ** 2).sum("feature", skipna=False))
        away = np.sqrt(((mean - data.flow) ** 2).sum("feature", skipna=False))
        yield at_most(0.5, "the scatter of the mean of runs, and the next order in the step").claim(
            "the mean of runs is at the prediction (largest distance, relative to that of the flow's limit)",
            float((off / away).max(skipna=False)),
        )
