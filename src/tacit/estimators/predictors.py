"""The predictors of all flows of a grid at all their stops, to the accuracy that comparing them needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tacit.data.arrays import Float
from tacit.estimators.grid import Grid
from tacit.estimators.start import Start
from tacit.estimators.training import Training
from tacit.flows.stopping import stopped_paths
from tacit.verbs.limit import limit

REACHED = 1 + 1e-9  # times the least share of the loss that there is
_ENDED = 1e-8  # tolerance of limits
_LATE = 30.0  # times the loss at a stop


class Patience:
    """Ends a flow whose held-out score was best long ago, when the loss was many times as large."""

    def __init__(self, score: Callable[[Float], float], shares: list[float]):
        self.score, self.shares = score, shares
        self.begin()

    def begin(self) -> None:
        """Another flow."""
        self.place, self.best, self.at, self.over = 0, -np.inf, 1.0, False

    def __call__(self, predictor: Float) -> bool:
        """Is this stop too late?"""
        share, score = self.shares[self.place], self.score(predictor)
        self.place += 1
        if score > self.best:
            self.best, self.at = score, share
        self.over = share < self.at / _LATE
        return self.over


def predictors(
    training: Training, grid: Grid, start: Start, rtol: float, score: Callable[[Float], float] | None = None
) -> Iterator[Float]:
    """For every flow of a grid the predictors at its stops, (stops, d), for the features as they came.

    start: shape and weights of features. rtol: of the predictors of flows that are stopped. score: of a
    predictor on samples that were held out; a flow ends where it was best at a loss thirty times as large,
    and later stops get the predictor there. In the data's own units, so that steps are the same in any.
    """
    d = training.X.shape[1]
    size = float(np.sqrt(2 * training.loss))
    models = [replace(start, depth=depth, scale=scale).model(1.0, d) for depth, scale in grid.flows()]
    if not size > 0 or not training.rows.any():
        yield from (np.zeros((len(grid.stops), d)) for _ in models)
        return
    rows, targets = training.evened, training.evened_targets
    unit = size / training.spread / training.units.scale
    shares = [stop for stop in grid.stops if stop is not None and stop > training.floor * REACHED]
    beyond = len(grid.stops) - len(shares)  # those are at the end of the flow
    patience = None if score is None else Patience(lambda w: score(w * unit), shares)
    runs = stopped_paths(models, rows, targets, shares, rtol=rtol, enough=patience) if shares else None
    for model in models:
        if patience is not None:
            patience.begin()
        found = np.zeros((0, d)) if runs is None else next(runs).predictors
        if beyond and patience is not None and patience.over:
            found = np.vstack([found, np.broadcast_to(found[-1], (beyond, d))])
        elif beyond:
            end = limit(model, rows, targets, tol=_ENDED, least_squares=True).predictor
            found = np.vstack([found, np.broadcast_to(end, (beyond, d))])
        yield found * unit
