"""The predictors of all flows of a grid at all stops, with an accuracy sufficient for comparing them."""

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

# A stop counts as reached by the limit of the flow up to this factor of the least loss: round-off.
REACHED = 1 + 1e-9
_LIMIT_TOL = 1e-8  # tolerance of limits
_PATIENCE = 30.0  # a flow is abandoned when its loss is this many times smaller than at its best score


class Patience:
    """Abandons a flow whose best held-out score lies far back, at a loss many times larger."""

    def __init__(self, score: Callable[[Float], float], stops: list[float]):
        self.score, self.stops = score, stops
        self.begin()

    def begin(self) -> None:
        """Start with the next flow."""
        self.index, self.best, self.best_stop, self.over = 0, -np.inf, 1.0, False

    def __call__(self, predictor: Float) -> bool:
        """Record the predictor at the next stop; True if the flow is to be abandoned."""
        stop, score = self.stops[self.index], self.score(predictor)
        self.index += 1
        if score > self.best:
            self.best, self.best_stop = score, stop
        self.over = stop < self.best_stop / _PATIENCE
        return self.over


def predictors(
    training: Training, grid: Grid, start: Start, rtol: float, score: Callable[[Float], float] | None = None
) -> Iterator[Float]:
    """Yield, for every flow of a grid, the predictors at its stops, (stops, d), for the original features.

    start: shape and weights of the features. rtol: relative accuracy of the predictors of stopped flows.
    score: the score of a predictor on held-out samples. With a score, a flow is abandoned when its loss is
    thirty times smaller than at its best score, and later stops get its last predictor. The flows are
    computed with normalized data, so that their steps do not depend on the units.
    """
    d = training.X.shape[1]
    size = float(np.sqrt(2 * training.loss))
    models = [replace(start, depth=depth, scale=scale).model(1.0, d) for depth, scale in grid.flows()]
    if not size > 0 or not training.rows.any():
        yield from (np.zeros((len(grid.stops), d)) for _ in models)
        return
    rows, targets = training.normalized, training.normalized_targets
    unit = size / training.spread / training.units.scale
    stops = [stop for stop in grid.stops if stop is not None and stop > training.floor * REACHED]
    at_limit = len(grid.stops) - len(
        stops
    )  # the remaining stops are never reached: the limit takes their place
    patience = None if score is None else Patience(lambda w: score(w * unit), stops)
    runs = stopped_paths(models, rows, targets, stops, rtol=rtol, enough=patience) if stops else None
    for model in models:
        if patience is not None:
            patience.begin()
        w = np.zeros((0, d)) if runs is None else next(runs).predictors
        if at_limit:
            if patience is not None and patience.over:
                last = w[-1]
            else:
                last = limit(model, rows, targets, tol=_LIMIT_TOL, least_squares=True).predictor
            w = np.vstack([w, np.broadcast_to(last, (at_limit, d))])
        yield w * unit
