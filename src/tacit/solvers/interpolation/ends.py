"""The two ends of the scale: the kernel solution in closed form, the rich one as a certified vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.errors import NotConvergedError
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import EPS
from tacit.potentials.radial import length
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.separable import minimize_separable
from tacit.solvers.interpolation.solution import Solution, none

_VANISHING = -1e6  # log of a scale at which depth 2 differs from ℓ1 by a millionth
_OUTSIDE = 1e-4  # part of the largest coordinate, in units of its column, below which one is 0 in the end
_CLEARLY = 1e-7  # distance of the slopes of others from their end that proves a minimizer to be the only one
_MET = 1e-10  # residual of what a certificate needs
_PASSES = 6  # of refinement, at most
_LIGHT = 1e-6  # weight, relative to the largest coordinate, of those that are 0


def least_quadratic(equations: Equations, inverse_metric: Float) -> Solution:
    """argmin ½ wᵀBw subject to X w = y: w = B⁻¹Xᵀν with (X B⁻¹ Xᵀ) ν = y.

    inverse_metric: B⁻¹, as its diagonal or as a matrix.
    """
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution(np.zeros(X.shape[1]), Pair.of(y), 0, True, none)
    if inverse_metric.ndim == 2:
        half = np.asarray(np.linalg.cholesky(inverse_metric), dtype=float)
        solution = least_quadratic(equations.turned(half), np.ones(X.shape[1]))
        return replace(solution, predictor=half @ solution.predictor)
    w, nu, zero = np.zeros(X.shape[1]), np.zeros(len(y)), np.zeros(X.shape[1])
    left, passes = y, 0
    while passes < _PASSES:  # each removes the rounding of the one before, until there is only rounding left
        step, change = newton_direction(X, inverse_metric, left, zero)
        further = w + inverse_metric * change
        rest = y - X @ further
        if passes > 1 and np.abs(rest).max() >= np.abs(left).max():
            break
        w, nu, left, passes = further, nu + step, rest, passes + 1
        if passes > 1 and (np.abs(left) <= EPS * equations.row_norms * length(np, w)).all():
            break

    def assess() -> float:
        move = diagonal_move(equations, inverse_metric, w, w / inverse_metric)
        return forward_error(equations, move, w, 0.0, slope_rounding(equations, nu))

    return Solution(w, Pair.of(nu), passes, True, assess)


def least_l1(equations: Equations, weight: Float) -> Solution:
    """argmin Σ weight|w| subject to X w = y, a vertex of the set of minimizers if there are several.

    weight: (d,), or (2, d) for weights of negative w and of positive ones.
    The limit of depth 2 at a vanishing scale shows which coordinates are not 0 (Woodworth et al. 2020,
    Theorem 2); multipliers of the vertex on them prove it the one minimizer. Where they do not, linear
    programming decides.
    """
    if not equations.y.any():
        return Solution(np.zeros(equations.X.shape[1]), Pair.of(np.zeros(len(equations.y))), 0, True, none)
    if weight.ndim == 2:
        return _by_linear_program(equations, *weight)
    return _at_vanishing_scale(equations, weight) or _by_linear_program(equations, weight, weight)


def _at_vanishing_scale(equations: Equations, weight: Float) -> Solution | None:
    """The vertex on the coordinates that a vanishing scale leaves, if it is the only minimizer."""
    X, y = equations.X, equations.y
    flow = minimize_separable(equations, Separable(np.inf, np.full(X.shape[1], _VANISHING), weight))
    size = np.abs(flow.predictor) * np.sqrt(np.einsum("nd,nd->d", X, X))
    support = np.flatnonzero(size > _OUTSIDE * size.max())
    if not flow.settled or len(support) > len(y):
        return None
    columns, signs = X[:, support], weight[support] * np.sign(flow.predictor[support])
    values = _solved(columns, y)
    first = flow.nu.value / max(float(np.abs(X.T @ flow.nu.value / weight).max()), 1e-300)
    nu = first + _solved(columns.T, signs - columns.T @ first)
    slopes = np.abs(X.T @ nu) / weight
    slopes[support] = 0.0
    met = np.linalg.norm(columns @ values - y) <= _MET * np.linalg.norm(y)
    priced = np.abs(columns.T @ nu - signs).max() <= _MET * np.abs(signs).max()
    if not (met and priced and (values * signs > 0).all() and slopes.max() < 1 - _CLEARLY):
        return None
    w = np.zeros(X.shape[1])
    w[support] = values
    return Solution(w, Pair.of(nu), flow.iterations, True, lambda: vertex_error(equations, w))


def _solved(A: Float, b: Float) -> Float:
    """Least squares, once more for what rounding has left."""
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    return np.asarray(found + np.linalg.lstsq(A, b - A @ found, rcond=None)[0])


def _by_linear_program(equations: Equations, below: Float, above: Float) -> Solution:
    """The same with weights of their own for negative and for positive w."""
    X, y = equations.X, equations.y
    unit = np.abs(y).max()
    columns = np.sqrt(np.einsum("nd,nd->d", X, X))
    columns[columns == 0] = 1.0
    price = np.median(above / columns)
    balanced = X / columns
    program = linprog(
        np.concatenate([above / columns, below / columns]) / price,
        A_eq=np.hstack([balanced, -balanced]),
        b_eq=y / unit,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if program.status != 0 or program.x is None:
        raise NotConvergedError(f"the linear program for the ℓ1 end failed: {program.message}")
    plus, minus = np.split(program.x, 2)
    w = _vertex(balanced, y / unit, plus - minus)
    nu = program.eqlin.marginals * price
    w = w * unit / columns
    return Solution(w, Pair.of(nu), int(program.nit), True, lambda: vertex_error(equations, w))


def vertex_error(equations: Equations, w: Float) -> float:
    """The forward error of a vertex: of X w = y on its support, and of what little may enter it."""
    size = np.abs(w)
    move = diagonal_move(equations, np.maximum(size, _LIGHT * size.max()), w, 1.0)
    return forward_error(equations, move, w, 0.0, 0.0)


def _vertex(X: Float, y: Float, w: Float) -> Float:
    """The same support, with the equations solved to rounding."""
    support = np.flatnonzero(np.abs(w) > 1e-9 * np.abs(w).max())
    if len(support) > len(y):
        return w
    exact = np.zeros_like(w)
    exact[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    better = np.linalg.norm(X @ exact - y) <= max(np.linalg.norm(X @ w - y), 1e-14 * np.linalg.norm(y))
    return exact if better else w
