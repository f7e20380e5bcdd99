"""Predictors and held-out outputs at all points of a grid, accurate enough for comparing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import barycentric_interpolate

from tacit.data.arrays import Float
from tacit.data.units import Units
from tacit.estimators.grid import Grid
from tacit.estimators.training import Start, Training
from tacit.flows.stopping import stopped_paths
from tacit.verbs.limit import limit

# A stop counts as reached by the limit of the flow up to this factor of the least loss: round-off.
REACHED = 1 + 1e-9
_LIMIT_TOL = 1e-8  # tolerance of limits
_PATIENCE = 30.0  # a flow is abandoned when its loss is this many times smaller than at its best score
_FINE, _ROUGH = 0.01, 0.1  # relative accuracy of predictors that are only compared
# Distance, in the logarithm of the predictor's scale, of flows between which cubic interpolation gives errors
# to 1%, or 8% at worst.
_SPACING = 2.0
_POINTS = 4  # points of the cubic
_NEARLY_BEST = 0.02  # a score within this fraction of the best is nearly the best
_CUBIC_TOLERANCE = 0.05  # largest relative difference of errors between cubic and linear interpolation
Followed = tuple[Float, int]  # outputs at all stops, and the number of stops that the flow reached


class Patience:
    """Abandons a flow whose best held-out score was reached long before, at a loss many times larger."""

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
    at_limit = len(grid.stops) - len(stops)  # stops that are never reached: the limit takes their place
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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out samples, with the units of the training samples."""

    X: Float
    y: Float
    weights: Float | None
    units: Units

    def outputs(self, w: Float) -> Float:
        """The outputs (stops, samples) of predictors (stops, d)."""
        return np.asarray(w @ self.X.T + (self.units.target - w @ self.units.center)[:, None])

    def scores(self, outputs: Float) -> Float:
        """The negative mean square error at every stop."""
        return -np.average((self.y - outputs) ** 2, axis=1, weights=self.weights)

    def tolerance(self, training: Training, grid: Grid, start: Start) -> float:
        """The relative accuracy of predictors that the comparison of held-out errors requires.

        It is proportional to the best held-out residual, which is estimated by the flow at the kernel end,
        which is the fastest.
        """
        first = Grid(grid.depths[:1], (grid.scales[0][:1],), grid.stops)
        ((outputs, _),) = _follow(training, first, start, _FINE, self)
        score = self.scores(outputs)
        score_of_zero = self.scores(self.outputs(np.zeros((1, self.X.shape[1]))))[0]
        residual = float(np.sqrt(score.max() / score_of_zero)) if score_of_zero < 0 else 0.0
        return float(np.clip(_ROUGH * residual, _FINE, _ROUGH))


def held_out_outputs(
    training: Training, grid: Grid, start: Start, rtol: float, held_out: HeldOut
) -> Iterator[Float]:
    """Yield, for every flow of a grid, the outputs at its stops, (stops, samples).

    Outputs at a fixed fraction of the loss depend smoothly on the logarithm of the scale. If scales are
    close, only some of the flows are computed, and the others are interpolated by cubics.
    """
    for depth, scales in zip(grid.depths, grid.scales, strict=True):
        logs = depth * np.log(scales)
        computed = _spaced(logs)

        def flows(
            which: list[int], depth: float = depth, scales: Float = scales
        ) -> Iterator[tuple[int, Followed]]:
            part = Grid((depth,), (scales[which],), grid.stops)
            return zip(which, _follow(training, part, start, rtol, held_out), strict=True)

        found = dict(flows(computed))
        others = [i for i in range(len(scales)) if i not in found]
        between = {i: _between(i, logs, computed, found, held_out) for i in others}
        missing = [i for i, outputs in between.items() if outputs is None]
        found |= dict(flows(missing)) if missing else {}
        for i in range(len(scales)):
            yield found[i][0] if i in found else np.asarray(between[i])


def _follow(
    training: Training, grid: Grid, start: Start, rtol: float, held_out: HeldOut
) -> Iterator[Followed]:
    """Yield, for every flow, its outputs and the number of stops that it reached before it was abandoned."""
    count = 0

    def score(w: Float) -> float:
        nonlocal count
        count += 1
        return float(held_out.scores(held_out.outputs(w[None]))[0])

    for w in predictors(training, grid, start, rtol, score):
        yield held_out.outputs(w), count
        count = 0


def _spaced(logs: Float) -> list[int]:
    """Indices of some of these decreasing numbers, with both ends, at most `_SPACING` apart if possible."""
    last = len(logs) - 1
    indices = [0]
    while indices[-1] < last:
        next_index = int(np.searchsorted(-logs, _SPACING - logs[indices[-1]], side="right")) - 1
        indices.append(max(next_index, indices[-1] + 1))
    return indices if len(indices) >= _POINTS else list(range(len(logs)))


def _between(
    index: int, logs: Float, computed: list[int], found: dict[int, Followed], held_out: HeldOut
) -> Float | None:
    """The outputs of a flow by cubic interpolation between four computed flows, or None if it fails.

    It fails if its errors differ from those of linear interpolation. If the four flows were abandoned at
    different stops, outputs after the first such stop stay constant, provided that all four flows were nearly
    at their best before; otherwise interpolation fails.
    """
    after = int(np.searchsorted(computed, index))
    first = min(max(after - _POINTS // 2, 0), len(computed) - _POINTS)
    near = computed[first : first + _POINTS]
    counts = [found[i][1] for i in near]
    reached = max(min(counts), 1)
    if max(counts) > reached and not _over(reached, [found[i][0] for i in near], held_out):
        return None
    cubic, line = (
        np.asarray(barycentric_interpolate(logs[each], [found[i][0] for i in each], logs[index]))
        for each in (near, computed[after - 1 : after + 1])
    )
    if max(counts) > reached:
        cubic[reached:], line[reached:] = cubic[reached - 1], line[reached - 1]
    scores, of_line = held_out.scores(cubic), held_out.scores(line)
    return cubic if (np.abs(scores - of_line) <= _CUBIC_TOLERANCE * np.abs(of_line)).all() else None


def _over(reached: int, outputs: list[Float], held_out: HeldOut) -> bool:
    """Whether all of these flows were nearly at their best within this number of stops."""
    scores = [held_out.scores(each) for each in outputs]
    return all(score[:reached].max() >= (1 + _NEARLY_BEST) * score.max() for score in scores)
