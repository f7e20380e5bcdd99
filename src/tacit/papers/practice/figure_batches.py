"""Mini-batches: their noise shifts the end of gradient descent, and the shift is predicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, figure
from tacit.papers.practice.data import relative, sparse_problem, step_at_edge
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, MUTED, RICH

_UNTIL = 1e-6  # relative residual of runs: far below the distances that are compared
# Runs need about log(1/_UNTIL) times the condition number of the Hessian at the end, divided by the step in
# units of the edge: 22,000 steps at most in 70 random problems. With fewer features per sample it is ten
# times as many.
_STEPS = 100_000


@figure(
    "practice/batches",
    **presets(
        samples=(8, 16),
        features=(24, 60),
        scale=(0.1, 0.1),
        edge=(0.025, 0.025),
        batches=([1, 2, 4, 8], [1, 2, 4, 8, 16]),
        runs=(8, 64),
    ),
    figsize=(6.2, 3.0),
    about=("Second order",),
    seconds=2.5,
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
            ends = np.array([_end(model, X, y, training, rng) for rng in draws])
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
        some = data.isel(batch=slice(-1))  # the last batch is the whole data
        yield at_least(2, "what the variance adds is most of the shift").claim(
            "the prediction for full batches is farther from the mean of runs (ratio of distances, geometric "
            "mean over batch sizes)",
            float(np.exp(np.log(some.full / some.prediction).mean(skipna=False))),
        )
        yield at_least(2, "the prediction explains most of the distance").claim(
            "the limit of the flow is farther from the mean of runs than the prediction (ratio of distances, "
            "geometric mean over batch sizes)",
            float(np.exp(np.log(data.flow / data.prediction).mean(skipna=False))),
        )


def _end(model: tacit.Model, X: Float, y: Float, training: tacit.Training, rng: np.random.Generator) -> Float:
    """The end of a run; not a number if it did not converge, so that no claim holds."""
    run = tacit.descend(model, X, y, training, until=_UNTIL, max_steps=_STEPS, seed=rng)
    return run.predictor if run.converged else np.full(X.shape[1], np.nan)
