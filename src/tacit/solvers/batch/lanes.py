r"""Newton's method for many problems at once.

    find (u, ν) with  X w(u) = y  and  ∇Q(w(u)) = Xᵀν        for every problem of a batch

Problems are arranged in G groups of L lanes; the lanes of a group share X. Arrays have the axes (group, lane,
sample or feature), so one program covers one X with thousands of scales (G = 1) as well as thousands of X
with one scale each (L = 1). The unknowns and the step are those of `interpolation.newton`: rapidities u and
multipliers ν are independent, and the gap Xᵀν − ∇Q is carried along. The code uses the array API only; NumPy
and JAX differ in `linear_solver`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.numerics.normal_equations import weighted_gram
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import array_namespace
from tacit.potentials.rapidity import Geometry, log_abs, slope_between
from tacit.solvers.batch.linear import Inverse, inverse_of, solve_scaled
from tacit.solvers.batch.moves import move

Array = Any
# Reciprocal condition number of X Xᵀ, and largest ratio of the norms of rows or columns, within which no
# preconditioning is needed (as in `data.equations` and `interpolation.separable`).
_WELL_CONDITIONED, _SIMILAR = 1e-5, 1e3
_ROUNDOFF = EPS / 2  # relative error of one rounding
_GAP = 1e-1  # weight of the relative gap in the size of a step: gaps below 1e-6 vanish in the next step
_KEPT = 1e-3  # size relative to the largest coordinate from which w, not its slope, is kept when m is lowered
_SMALL = 1 << 12  # entries of X up to which one product of all matrices is faster in NumPy than a loop
_PROBES = 4  # random draws of rounding errors, of which the largest effect counts
_VANISHING = 4.0  # coordinates up to this many times the uncertainty of the data may as well be 0


@dataclass(frozen=True, eq=False)
class Lanes(Geometry):
    """Problems of a batch: X (G, N, d), y (G, L, N); log_scale and weight broadcast to (G, L, d).

    pairs: products of two rows of X, (G, N(N+1)/2, d), with which the normal matrices of all lanes are one
    matrix product: the fastest form on a GPU, if there is memory for it.
    """

    X: Array
    y: Array
    log_scale: Array
    weight: Array
    power: float
    pairs: Array | None = None

    def times(self, w: Array) -> Array:
        """Xw of every lane."""
        return w @ self._columns

    def slopes(self, nu: Array) -> Array:
        """Xᵀν of every lane."""
        return nu @ self.X

    @property
    def _columns(self) -> Array:
        return array_namespace(self.X).swapaxes(self.X, -1, -2)

    def normal_matrix(self, W: Array) -> Array:
        """X W Xᵀ of every lane, (G, L, N, N)."""
        xp, samples = array_namespace(self.X), self.X.shape[1]
        if isinstance(W, np.ndarray) and self.X[0].size > _SMALL:
            each = [[weighted_gram(X, w) for w in weights] for X, weights in zip(self.X, W, strict=True)]
            return np.array(each)
        if self.pairs is None:
            return (self.X[:, None] * W[:, :, None, :]) @ self._columns[:, None]
        packed = W @ xp.swapaxes(self.pairs, -1, -2)
        full = xp.take(packed, xp.asarray(places_of_pairs(samples)), axis=-1)
        return xp.reshape(full, (*W.shape[:2], samples, samples))

    def at_scale(self, log_scale: Array) -> Lanes:
        """The same problems with other scales."""
        return replace(self, log_scale=log_scale)

    def with_pairs(self, pairs: Array) -> Lanes:
        """The same problems with the products of rows of X."""
        return replace(self, pairs=pairs)


def pairs_of(X: Array) -> Array:
    """The products X_m·X_n of rows m ≥ n, which turn the normal matrix into a matrix product with W."""
    below, above = np.tril_indices(X.shape[1])
    return X[:, below] * X[:, above]


def places_of_pairs(samples: int) -> Any:
    """For each entry of a symmetric matrix, its place in `pairs_of`."""
    m, n = np.indices((samples, samples))
    high, low = np.maximum(m, n), np.minimum(m, n)
    return (high * (high + 1) // 2 + low).ravel()


@dataclass(frozen=True, eq=False)
class State:
    """Iterates of all lanes: rapidities, multipliers, gaps Xᵀν − ∇Q, and the size of the last step.

    size: the relative change of w, or the relative gap times `_GAP` if that is larger.
    """

    u: Array
    nu: Array
    gap: Array
    size: Array


def picked(batch: Any, groups: Any, index: Any) -> Any:
    """The part of `Lanes` or of a `State` with these groups (G', 1) and lanes (G', L')."""
    chosen = {}
    for name, values in vars(batch).items():
        if name in ("X", "pairs") and values is not None:
            chosen[name] = values if len(groups) == len(values) else values[groups[:, 0]]
        elif name not in ("X", "pairs", "power"):
            where = [
                each if size > 1 else each * 0
                for each, size in zip((groups, index), values.shape, strict=False)
            ]
            chosen[name] = values[tuple(where)]
    return replace(batch, **chosen)


def interpolated(lanes: Lanes, u: Array, nu: Array, nodes: Array, by: Array) -> State:
    """States between solved lanes with rapidities u and multipliers ν.

    nodes: (L, 4), the lanes between which each is interpolated; by: (G, L, 4), their coefficients.
    """
    at, multipliers = (
        sum(by[..., k, None] * values[:, nodes[:, k]] for k in range(nodes.shape[1])) for values in (u, nu)
    )
    gap = lanes.slopes(multipliers) - lanes.slope(at)
    return State(at, multipliers, gap, 0 * by[..., 0])


def newton_step(lanes: Lanes, state: State) -> State:
    """The state of every lane after one step."""
    W = lanes.inverse_hessian(state.u)
    w = lanes.predictor(state.u)
    target = residual(lanes, w) - lanes.times(W * state.gap)
    return _moved(lanes, state, w, W, solve_scaled(lanes.normal_matrix(W), target))


def _moved(lanes: Lanes, state: State, w: Array, W: Array, direction: Array) -> State:
    xp = array_namespace(w)
    change = lanes.slopes(direction) + state.gap
    u, moved = move(xp, state.u, change / lanes.weight, lanes.power)
    gap, slopes = change - lanes.weight * moved, lanes.slope(u)
    size = xp.sum(xp.abs(W * change), axis=-1) / xp.sum(xp.abs(w), axis=-1)
    # Coordinates too small to be seen in w still grow towards their slopes, by a factor per step.
    left = xp.max(xp.abs(gap), axis=-1) / xp.max(xp.abs(slopes), axis=-1)
    return State(u, state.nu + direction, gap, xp.maximum(size, _GAP * left))


def residual(lanes: Lanes, w: Array) -> Array:
    """y − Xw, with entries below their own round-off set to 0."""
    xp = array_namespace(w)
    rho = lanes.y - lanes.times(w)
    rows = xp.sqrt(xp.sum(lanes.X * lanes.X, axis=-1))[:, None]
    noise = rows * xp.sqrt(xp.sum(w * w, axis=-1))[..., None] + xp.abs(lanes.y)
    return xp.where(xp.abs(rho) < 2 * EPS * noise, 0.0, rho)


def lowered(before: Lanes, after: Lanes, state: State) -> State:
    """The initial state at other scales: large coordinates keep their predictor, small ones their slope."""
    w = before.predictor(state.u)
    xp = array_namespace(w)
    size = xp.abs(w)
    large = size > _KEPT * xp.max(size, axis=-1, keepdims=True)
    start = xp.abs(state.u)
    end = xp.abs(after.rapidity(xp.where(large, size, 1.0)))
    end = xp.where(large, end, start)
    moved = xp.sign(state.u) * slope_between(xp, start, end, before.power)
    return State(xp.sign(state.u) * end, state.nu, state.gap - before.weight * moved, state.size)


@dataclass(frozen=True, eq=False)
class Certified:
    """Predictors, multipliers and certificates of all lanes; rcond is that of X W Xᵀ with unit diagonal."""

    w: Array
    nu: Array
    u: Array
    feasibility: Array
    stationarity: Array
    error: Array
    rcond: Array


def certified(lanes: Lanes, state: State) -> Certified:
    """One more Newton step, and the certificates of the result.

    The error is that of `interpolation.accuracy`: the size of the next Newton step (with the matrix of the
    last one, which has converged), and the change of w if every entry of the data, every product and every
    sum changes in its last bit.
    """
    w, W = lanes.predictor(state.u), lanes.inverse_hessian(state.u)
    inverse = inverse_of(lanes.normal_matrix(W))
    target = residual(lanes, w) - lanes.times(W * state.gap)
    state = _moved(lanes, state, w, W, inverse.times(target))
    w, W = lanes.predictor(state.u), lanes.inverse_hessian(state.u)
    # Round-off of log w grows with log m. A last change, which slopes do not notice, removes it from X w = y.
    w = w + W * lanes.slopes(inverse.times(lanes.y - lanes.times(w)))
    return _assessed(lanes, state, w, W, inverse)


def _assessed(lanes: Lanes, state: State, w: Array, W: Array, inverse: Inverse) -> Certified:
    xp = array_namespace(w)
    rho = lanes.y - lanes.times(w)
    slopes, gradient = lanes.slopes(state.nu), lanes.slope(state.u)
    gap, largest = slopes - gradient, xp.max(xp.abs(gradient), axis=-1)
    return Certified(
        w,
        state.nu,
        state.u,
        _norm(xp, rho) / _norm(xp, lanes.y),
        xp.max(xp.abs(gap), axis=-1) / largest,
        _forward_error(lanes, w, W, inverse, (rho, gap), (state.nu, largest[..., None])),
        inverse.rcond,
    )


def _forward_error(
    lanes: Lanes, w: Array, W: Array, inverse: Inverse, left: tuple[Array, Array], dual: tuple[Array, Array]
) -> Array:
    xp, X = array_namespace(w), array_namespace(w).abs(lanes.X)
    bits = _ROUNDOFF * (xp.abs(w) @ xp.swapaxes(X, -1, -2) + xp.abs(lanes.y))
    rounding = 2 * _ROUNDOFF * (xp.abs(dual[0]) @ X)
    # The linearization must hold for changes as large as the uncertainty of the data.
    least = xp.max(bits, axis=-1, keepdims=True)
    floor = least / dual[1]
    W = xp.where(xp.abs(w) <= _VANISHING * least, floor, xp.maximum(W, floor))

    def moved(rho: Array, gap: Array) -> Array:
        change = lanes.slopes(inverse.times(rho - lanes.times(W * gap))) + gap
        return _norm(xp, W * change)

    rng, probed = np.random.default_rng(0), xp.zeros(w.shape[:2])
    for _ in range(_PROBES):
        signs = xp.asarray(rng.choice([-1.0, 1.0], w.shape[0:1] + lanes.y.shape[-1:]))[:, None]
        normal = xp.asarray(rng.standard_normal(w.shape[-1]))
        probed = xp.maximum(probed, moved(bits * signs, rounding * normal))
    return (moved(*left) + 2 * probed) / _norm(xp, w)


def _norm(xp: Any, values: Array) -> Array:
    return xp.sqrt(xp.sum(values * values, axis=-1))


@dataclass(frozen=True, eq=False)
class Start:
    """Initial states in the kernel regime.

    lanes: the problems at larger scales, where Q is nearly quadratic. above: the logarithm by which these
    scales are larger, (G, L, 1). ordinary: whether X needs no preconditioning of rows or columns, (G,).
    """

    lanes: Lanes
    state: State
    above: Array
    ordinary: Array


def kernel_start(lanes: Lanes) -> Start:
    """The kernel solution of every lane, and one Newton step from it."""
    xp = array_namespace(lanes.y)
    G, L, _ = lanes.y.shape
    log_metric = lanes.log_scale - xp.log(lanes.weight)
    metric = xp.exp(log_metric - xp.max(log_metric, axis=-1, keepdims=True))
    plain = inverse_of(lanes.normal_matrix(xp.ones((G, 1, lanes.X.shape[-1]))))
    W = metric * xp.ones((G, L, lanes.X.shape[-1]))
    inverse = plain if metric.shape[-1] == 1 else inverse_of(lanes.normal_matrix(W))
    w = W * lanes.slopes(inverse.times(lanes.y))
    height = xp.max(log_abs(xp, w) - lanes.log_scale, axis=-1, keepdims=True)
    above = xp.maximum(height, xp.zeros_like(height))
    raised = lanes.at_scale(lanes.log_scale + above)
    u = raised.rapidity(w)
    nu = inverse.times(lanes.times(W * raised.slope(u)))
    gap = lanes.slopes(nu) - raised.slope(u)
    state = newton_step(raised, State(u, nu, gap, xp.zeros((G, L))))
    return Start(raised, state, above, _ordinary(xp, lanes.X) & (plain.rcond[:, 0] > _WELL_CONDITIONED))


def _ordinary(xp: Any, X: Array) -> Array:
    """Whether the sizes of the rows, and of the columns that are not 0, are similar."""
    squares = X * X
    columns, rows = xp.sum(squares, axis=-2), xp.sum(squares, axis=-1)
    least = xp.min(xp.where(columns > 0, columns, xp.inf), axis=-1)
    similar = xp.max(columns, axis=-1) < _SIMILAR**2 * least
    return similar & (xp.max(rows, axis=-1) < _SIMILAR**2 * xp.min(rows, axis=-1))
