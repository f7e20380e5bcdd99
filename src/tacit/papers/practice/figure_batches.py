"""Mini-batches: their noise shifts the end of gradient descent, and the shift is predicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, figure
from tacit.papers.measures import least
from tacit.papers.practice.data import relative, sparse_problem, step_at_edge
from tacit.show.figures import KERNEL, MUTED, RICH

_UNTIL = 1e-7  # relative residual of runs: far below the distances that are compared


@figure(
    "practice/batches",
    quick={"samples": 8, "features": 16, "scale": 0.1, "edge": 0.05, "batches": [1, 2, 4, 8], "runs": 6},
    paper={
        "samples": 16,
        "features": 40,
        "scale": 0.1,
        "edge": 0.05,
        "batches": [1, 2, 4, 8, 16],
        "runs": 64,
    },
    figsize=(6.2, 3.0),
    about=("Second order",),
    seconds=6,
    short="batch size",
)
class Batches:
    """Gradient descent on mini-batches of one step size (depth 2): the mean of many runs, against the number
    of samples per batch. Its relative distance to the limit of gradient flow (open), to the prediction for
    full batches (crosses), and to the prediction with the variance of the batches, (N − b)/(b(N − 1)) times
    that of single samples (filled). Grey: the standard error of the mean.
    """

    def data(
        self,
        samples: int,
        features: int,
        scale: float,
        edge: float,
        batches: list[int],
        runs: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Means of runs for every batch size, and distances of three predictions."""
        X, y, _ = sparse_problem(samples, features, seed)
        model = tacit.Diagonal(scale=scale)
        step = edge * step_at_edge(model, X, y)
        flow = tacit.limit(model, X, y).predictor
        full = tacit.limit(model, X, y, training=tacit.Training(step)).predictor
        found = np.empty((4, len(batches)))
        for i, batch in enumerate(progress(batches, "batch sizes")):
            training = tacit.Training(step, batch=batch)
            count = runs if batch < samples else 1  # full batches leave nothing to chance
            draws = [np.random.default_rng([seed, batch, k]) for k in range(count)]
            ends = np.array(
                [tacit.descend(model, X, y, training, until=_UNTIL, seed=rng).predictor for rng in draws]
            )
            mean = ends.mean(axis=0)
            predicted = tacit.limit(model, X, y, training=training).predictor
            error = np.linalg.norm(ends.std(axis=0, ddof=1)) / np.sqrt(count) if count > 1 else 0.0
            found[:3, i] = [relative(each, mean) for each in (predicted, full, flow)]
            found[3, i] = error / np.linalg.norm(mean)
        names = ("prediction", "full", "flow", "error")
        return xr.Dataset(
            {name: ("batch", values) for name, values in zip(names, found, strict=True)},
            coords={"batch": batches},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the batch size."""
        ax.fill_between(data.batch, data.error, data.error * 1e-9, color="0.9", label="standard error")
        ax.plot(data.batch, data.flow, "o-", color=RICH, mfc="w", lw=0.8, label="limit of the flow")
        ax.plot(data.batch, data.full, "x-", color=MUTED, lw=0.8, label="prediction for full batches")
        ax.plot(data.batch, data.prediction, "o-", color=KERNEL, lw=0.8, label="prediction for this batch")
        low = float(data.prediction.min()) / 3
        ax.set(xscale="log", yscale="log", xlabel="batch size", ylabel="relative distance to the mean")
        ax.set_ylim(low, 3 * float(data.flow.max()))
        ax.set_xticks(data.batch.values, [str(each) for each in data.batch.values])
        ax.minorticks_off()
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The variance of batches is needed, and suffices."""
        one = data.isel(batch=0)
        yield at_least(2, "what the variance adds is most of the shift").claim(
            "with the smallest batch, the prediction for full batches is farther off (ratio of distances)",
            float(one.full / one.prediction),
        )
        yield at_least(2, "the prediction explains most of the distance").claim(
            "the mean of runs is nearer to the prediction than to the limit of the flow (least ratio)",
            least((data.flow / data.prediction).values),
        )
