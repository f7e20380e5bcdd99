"""Early stopping and the Lasso: times at which the average of the saddle path is a Lasso solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import nnls

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.practice.data import relative, sparse_problem
from tacit.show.figures import KERNEL, MUTED, RICH


@figure(
    "practice/early-stopping",
    quick={"samples": 8, "features": 16, "draws": 40, "times": 20},
    paper={"samples": 12, "features": 30, "draws": 100, "times": 60},
    figsize=(7.2, 2.8),
    ncols=2,
    about=("Early stopping",),
    seconds=3,
    short="early stopping and the Lasso",
)
class EarlyStoppingAndLasso:
    """The average of the saddle path up to time τ solves the Lasso with penalty 1/τ as long as the signs of
    the average agree with the slopes of the path (Berthier 2025). Left: relative distance of the average to
    the Lasso solution, on several random problems; the certificate holds for the blue points and fails for
    the orange ones. Right: coefficients of the Lasso (lines) and of the average (points), on one of the
    problems.
    """

    def data(
        self, samples: int, features: int, draws: int, times: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Averages and Lasso solutions at several times of each path."""
        shape = (draws, times)
        distance, holds, tau = np.empty(shape), np.empty(shape, dtype=bool), np.empty(shape)
        average, lasso = np.empty((*shape, features)), np.empty((*shape, features))
        for i in progress(range(draws), "paths"):
            X, y, _ = sparse_problem(samples, features, [seed, i])
            path = tacit.saddle_path(X, y)
            tau[i] = np.geomspace(1.05 * path.times[0], 3 * path.times[-1], times)
            for k in range(times):
                found = path.average(tau[i, k])
                average[i, k], holds[i, k] = found.predictor, found.holds
                lasso[i, k] = _lasso(X, y, 1 / tau[i, k])
                distance[i, k] = relative(average[i, k], lasso[i, k])
        where = ("draw", "time")
        return xr.Dataset(
            {
                "distance": (where, distance),
                "holds": (where, holds),
                "tau": (where, tau),
                "average": ((*where, "feature"), average),
                "lasso": ((*where, "feature"), lasso),
            }
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances of all problems, and coefficients of one."""
        floor = 1e-17
        for holds, colour, label in ((True, KERNEL, "certificate holds"), (False, RICH, "certificate fails")):
            shown = np.maximum(data.distance.where(data.holds == holds), floor)
            axes[0].plot(data.tau.values.ravel(), shown.values.ravel(), ".", color=colour, label=label)
        axes[0].set(xscale="log", yscale="log", xlabel=r"time $\tau$", ylabel="distance to the Lasso")
        axes[0].legend()
        half = data.sizes["time"] / 2
        one = data.isel(draw=int(np.argmin(np.abs(data.holds.sum("time").values - half))))
        axes[1].plot(one.tau, one.lasso, color=MUTED, lw=1)
        for holds, colour in ((True, KERNEL), (False, RICH)):
            axes[1].plot(one.tau, one.average.where(one.holds == holds), ".", color=colour, ms=4)
        axes[1].set(xlabel=r"time $\tau$ = 1/penalty", ylabel="coefficients")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The average equals the Lasso solution where the certificate holds, and differs where it fails."""
        yield at_most(1e-8, "the round-off of least squares on ill-conditioned faces").claim(
            "where the certificate holds, the average is the Lasso solution (largest relative distance)",
            float(data.distance.where(data.holds, 0.0).max(skipna=False)),
        )
        yield at_least(1e-6, "a hundred times what equality leaves").claim(
            "where the certificate fails, it is not (median relative distance)",
            float(data.distance.where(~data.holds).median()),
        )


def _lasso(X: Float, y: Float, penalty: float) -> Float:
    """argmin ½‖Xb − y‖² + penalty·‖b‖₁, from its dual.

    The residual y − Xb is the point nearest to y where |Xᵀθ| ≤ penalty, and b are the multipliers of these
    constraints: least-distance programming by nonnegative least squares (Lawson and Hanson 1974, Chapter 23).
    """
    pull = X.T @ y
    A = np.vstack([np.hstack([-X, X]), np.concatenate([pull - penalty, -pull - penalty])])
    unit = np.append(np.zeros(len(y)), 1.0)
    v, _ = nnls(A, unit)
    multipliers = v / (unit - A @ v)[-1]
    return np.asarray(np.subtract(*np.split(multipliers, 2)))
