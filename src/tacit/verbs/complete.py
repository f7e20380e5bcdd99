"""Matrix completion by gradient flow that is stopped where the error on held-out cells is least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.data.additive import Effects, additive_fit, column_means, no_effects
from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.printable import short_name
from tacit.flows.forms.reduced import is_small
from tacit.models.matrix import Factorization
from tacit.verbs.flow import flow

_WIDTH = 50  # largest default width; a flow from a small scale has a much smaller rank when it is stopped
# At the first scale the flow raises the rank one by one, as if the scale vanished. The other starts closer to
# the kernel regime, where all singular values grow together.
_SMALL, _LARGER = 1e-8, (0.1,)
_HELD_OUT = 0.1  # share of the cells
_RTOL = 1e-4  # of the flow; far below the error on held-out cells
_RATIO, _CHUNK = 1.12, 4  # ratio of candidate times, and their number per call of `flow`
# The search ends when the time has grown by _PATIENCE since the error last fell by _GAIN, or when the error
# has risen by _RISE. A flow that interpolates noise is stiff: _STEPS bounds its time.
_PATIENCE, _GAIN, _RISE, _STEPS = 3.0, 0.02, 1.5, 1000
_FLOOR = 1e-8  # relative residual at which the cells count as fitted


@dataclass(frozen=True)
class Point:
    """A candidate: a start of the flow and a time at which it is stopped.

    effects: whether row and column effects were subtracted. scale: standard deviation of the initial weights
    in units of √(root mean square of the cells). time: training time; 0 stands for effects alone. accuracy:
    −log of the training loss. error: root mean square on the held-out cells.
    """

    effects: bool
    scale: float
    time: float
    accuracy: float
    error: float


@dataclass(frozen=True, eq=False)
class Completion:
    """The matrix mean + rows + columns + U Vᵀ; in rows and columns without observed cells, `additive_fit`.

    chosen: the point on the path; path: all points with the same scale and effects. column_means, additive:
    root mean square errors on the same held-out cells. held_out: their number, 0 if there were too few cells.
    """

    effects: Effects
    additive_fit: Effects
    seen: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    left: Float
    right: Float
    chosen: Point
    path: tuple[Point, ...]
    column_means: float
    additive: float
    held_out: int

    def matrix(self) -> Float:
        """All cells."""
        fitted = self.effects.matrix() + self.left @ self.right.T
        rows, columns = self.seen
        return np.where(rows[:, None] & columns, fitted, self.additive_fit.matrix())


@dataclass(frozen=True, eq=False)
class Cells:
    """Observed cells of a matrix and their values."""

    X: Entries
    y: Float

    @classmethod
    def of(cls, values: Float) -> Cells:
        """The entries that are not NaN."""
        rows, columns = np.nonzero(~np.isnan(values))
        return cls(Entries(rows, columns, (values.shape[0], values.shape[1])), values[rows, columns])

    def only(self, chosen: NDArray[np.bool_]) -> Cells:
        """The chosen cells."""
        return Cells(Entries(self.X.rows[chosen], self.X.columns[chosen], self.X.shape), self.y[chosen])

    def without(self, effects: Effects) -> Cells:
        """The same cells with the effects subtracted."""
        return replace(self, y=self.y - effects.at(self.X))


def complete(
    values: Float,
    scale: float | None = None,
    width: int | None = None,
    effects: bool | None = None,
    seed: int | np.random.Generator = 0,
) -> Completion:
    """Complete a matrix: fit the training cells, choose scale and time on held-out cells, fit all cells.

    The final flow starts at the chosen scale and runs for the chosen time. The loss is a mean over cells, so
    that its time does not depend on their number. The accuracy does: where the path rests at a rank, more
    cells have a higher loss, and the same accuracy would be reached only after noise has been fitted.
    effects: None tries the flow with and without them.
    """
    rng = np.random.default_rng(seed)
    cells, start_seed = Cells.of(values), int(rng.integers(2**31))
    held = _held_out(cells.X, rng)
    train, test = cells.only(~held), cells.only(held)
    means, additive = (rms(test.without(fit(train.X, train.y)).y) for fit in (column_means, additive_fit))
    width = min(_WIDTH, *values.shape) if width is None else width
    path = _chosen_path(train, test, scale, width, effects, start_seed)
    chosen = min(path, key=lambda point: point.error)
    simple = additive_fit(cells.X, cells.y)
    fitted = simple if chosen.effects else no_effects(cells.X)
    left, right = _end(cells.without(fitted), chosen, width, start_seed)
    return Completion(
        fitted, simple, _seen(cells.X), left, right, chosen, path, means, additive, int(held.sum())
    )


def unobserved(values: Float, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    """Name the rows and columns without an observed cell; "" if there are none."""
    found = []
    for what, axis, names in (("row", 1, rows), ("column", 0, columns)):
        empty = np.flatnonzero(np.isnan(values).all(axis=axis))
        if len(empty):
            name = short_name(names[empty[0]], 40) if names else str(empty[0])
            more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
            found.append(f"{what} {name}{more}")
    return f"no observed value in {', '.join(found)}" if found else ""


def _chosen_path(
    train: Cells, test: Cells, scale: float | None, width: int, effects: bool | None, seed: int
) -> tuple[Point, ...]:
    """The candidates with the scale and the effects of the best one.

    The effects are chosen at the small scale, and the scale after them.
    """

    def path(scale: float, effects: bool) -> tuple[Point, ...]:
        fitted = (additive_fit if effects else no_effects)(train.X, train.y)
        return tuple(_path(train.without(fitted), test.without(fitted), (effects, scale), width, seed))

    def least(path: tuple[Point, ...]) -> float:
        return min(point.error for point in path)

    kinds = (True, False) if effects is None else (effects,)
    best = min((path(_SMALL if scale is None else scale, each) for each in kinds), key=least)
    if scale is not None or not len(test.y):
        return best
    return min((best, *(path(each, best[0].effects) for each in _LARGER)), key=least)


def _path(train: Cells, test: Cells, how: tuple[bool, float], width: int, seed: int) -> list[Point]:
    """The candidates along one flow, from time 0 until the error on the held-out cells has risen."""
    effects, scale = how
    unit, size = rms(train.y), spectral_norm(train)
    points = [Point(effects, scale, 0.0, -_log_loss(unit), rms(test.y))]
    if not len(test.y) or size == 0:
        return points
    model, begun, steps = start(train.X, width, scale, unit, seed), 0.0, 0
    clock = len(train.y) / size  # the weights grow by a factor e in this time
    least = since = clock * (1 + math.log(1 / min(scale, 1.0)))  # until then the weights leave their start
    best, now = math.inf, clock / 4
    while (
        now <= _PATIENCE * since
        and steps <= _STEPS
        and points[-1].error <= _RISE * min(best, points[0].error)
    ):
        times = now * _RATIO ** np.arange(1, _CHUNK + 1)
        run = flow(model, train.X, train.y, times=times - begun, rtol=_RTOL, method=_method(train))
        weights, steps = run.weights, steps + run.steps
        for n, accuracy in enumerate(run.accuracy):
            error = rms(test.X.products(weights["U"][n], weights["V"][n]) - test.y)
            points.append(Point(effects, scale, float(begun + run.time[n]), float(accuracy), error))
            if error < (1 - _GAIN) * best:
                best, since = error, max(least, points[-1].time)
        if not run.converged or points[-1].accuracy > -_log_loss(_FLOOR * unit):
            break
        model, begun, now = Factorization(weights["U"][-1], weights["V"][-1]), times[-1], times[-1]
    return points


def _method(cells: Cells) -> str:
    """Explicit steps at any size.

    The implicit steps that `flow` prefers for small matrices resolve stiff ends, which a stopped flow does
    not reach, and cost ten times as much here.
    """
    return "parameters" if is_small(sum(cells.X.shape), len(cells.y)) else "auto"


def _end(cells: Cells, chosen: Point, width: int, seed: int) -> tuple[Float, Float]:
    """The weights of the flow on these cells at the chosen time; zero at time 0."""
    unit = rms(cells.y)
    if chosen.time == 0 or unit == 0:
        d1, d2 = cells.X.shape
        return np.zeros((d1, width)), np.zeros((d2, width))
    model = start(cells.X, width, chosen.scale, unit, seed)
    run = flow(model, cells.X, cells.y, times=[chosen.time], rtol=_RTOL, method=_method(cells))
    return np.asarray(run.weights["U"][-1]), np.asarray(run.weights["V"][-1])


def start(X: Entries, width: int, scale: float, unit: float, seed: int) -> Factorization:
    """Gaussian weights; those of rows and columns without cells are 0."""
    model = Factorization.gaussian(X.shape, width, scale * math.sqrt(unit), seed=seed)
    rows, columns = _seen(X)
    return Factorization(model.left * rows[:, None], model.right * columns[:, None])


def _seen(X: Entries) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows and columns have cells."""
    rows, columns = (
        np.bincount(at, minlength=d) > 0 for at, d in zip((X.rows, X.columns), X.shape, strict=True)
    )
    return rows, columns


def spectral_norm(cells: Cells) -> float:
    """The largest singular value of the matrix with 0 in the missing cells, to 10% or better.

    It only sets the unit of time. Twenty power iterations suffice.
    """
    G = cells.X.adjoint(cells.y)
    v = G.T @ (G @ np.ones(G.shape[1]) + rms(cells.y))
    for _ in range(20):
        if not np.any(v):
            return 0.0
        v = G.T @ (G @ (v / np.linalg.norm(v)))
    return float(np.sqrt(np.linalg.norm(v)))


def _held_out(X: Entries, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark a random tenth of the cells, without the last one of any row or column."""
    held = np.zeros(len(X), dtype=bool)
    left = [np.bincount(each, minlength=d) for each, d in zip((X.rows, X.columns), X.shape, strict=True)]
    most = max(round(_HELD_OUT * len(X)), 1)
    for n in rng.permutation(len(X)):
        i, j = X.rows[n], X.columns[n]
        if most and left[0][i] > 1 and left[1][j] > 1:
            held[n] = True
            left[0][i], left[1][j], most = left[0][i] - 1, left[1][j] - 1, most - 1
    return held


def rms(values: Float) -> float:
    """Root mean square; 0 for no values."""
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else 0.0


def _log_loss(residual: float) -> float:
    """log L for a root mean square residual."""
    return 2 * math.log(max(residual, 1e-300)) - math.log(2)
