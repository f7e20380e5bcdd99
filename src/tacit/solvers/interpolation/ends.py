"""Limits at infinite and at zero scale: weighted minimum-norm and ℓ1 solutions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.linear_program import solved_program
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import quiet
from tacit.potentials.radial import length
from tacit.solvers.interpolation.accuracy import diagonal_error, diagonal_move, forward_error
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.separable import minimize_separable
from tacit.solvers.interpolation.solution import Solution

_VANISHING = -1e6  # log scale at which the depth-2 potential differs from the ℓ1 norm by a relative 1e-6
_OUTSIDE = 1e-4  # size |w|·‖column‖, relative to the largest, below which a coordinate is 0 in the ℓ1 limit
_CLEARLY = 1e-7  # slack of the slopes outside the support that proves the minimizer to be unique
_MET = 1e-10  # relative residual of the conditions of a certificate
_PASSES = 6  # of iterative refinement, at most
_LIGHT = 1e-6  # weight of coordinates that are 0, relative to the largest, in an error estimate
_SUPPORT = 1e-9  # relative size above which a coordinate of a linear program's solution is in the support
_FITTED = 1e-14  # relative residual that is round-off


def least_quadratic(equations: Equations, inverse_metric: Float) -> Solution:
    """argmin ½ wᵀBw subject to X w = y: w = B⁻¹Xᵀν with (X B⁻¹ Xᵀ) ν = y.

    inverse_metric: B⁻¹, as its diagonal or as a matrix.
    """
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution.unmoved(np.zeros(X.shape[1]), 0)
    if inverse_metric.ndim == 2:
        half = np.asarray(np.linalg.cholesky(inverse_metric), dtype=float)
        solution = least_quadratic(equations.turned(half), np.ones(X.shape[1]))
        return replace(solution, predictor=half @ solution.predictor)
    w, nu, zero = np.zeros(X.shape[1]), np.zeros(len(y)), np.zeros(X.shape[1])
    left, passes = y, 0
    while passes < _PASSES:  # each pass removes the round-off of the one before
        step, change = newton_direction(X, inverse_metric, left, zero)
        further = w + inverse_metric * change
        rest = y - X @ further
        if passes > 1 and np.abs(rest).max() >= np.abs(left).max():
            break
        w, nu, left, passes = further, nu + step, rest, passes + 1
        if passes > 1 and (np.abs(left) <= EPS * equations.row_norms * length(np, w)).all():
            break

    def assess() -> float:
        return diagonal_error(equations, inverse_metric, w, w / inverse_metric, 0.0, nu)

    return Solution(w, Pair.of(nu), passes, True, assess)


@quiet
def minimum_norm(equations: Equations) -> Solution:
    """The minimum-norm solution; targets are scaled first, so that no square overflows."""
    unit = 2.0 ** (math.frexp(float(np.abs(equations.y).max(initial=0.0)))[1] - 1)
    found = least_quadratic(equations.in_units_of(unit), np.ones(equations.X.shape[1]))
    return replace(found, predictor=unit * found.predictor, nu=found.nu.scaled(unit))


def least_l1(equations: Equations, weight: Float) -> Solution:
    """argmin Σ weight|w| subject to X w = y; a vertex of the set of minimizers if there are several.

    weight: (d,), or (2, d) with one weight for negative and one for positive w. The limit of depth 2 at a
    vanishing scale gives the support (Woodworth et al. 2020, Theorem 2), and multipliers certify the vertex
    on it as the unique minimizer. If they do not, the problem is solved by linear programming.
    """
    if not equations.y.any():
        return Solution.unmoved(np.zeros(equations.X.shape[1]), len(equations.y))
    if weight.ndim == 2:
        return _by_linear_program(equations, *weight)
    return unique_vertex(equations, weight) or _by_linear_program(equations, weight, weight)


def unique_vertex(equations: Equations, weight: Float) -> Solution | None:
    """The vertex on the support of the limit at a vanishing scale; None if it is not the unique minimizer."""
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
    """Least squares with one step of iterative refinement."""
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    return np.asarray(found + np.linalg.lstsq(A, b - A @ found, rcond=None)[0])


def _by_linear_program(equations: Equations, below: Float, above: Float) -> Solution:
    """argmin of the ℓ1 norm with weights `below` for negative and `above` for positive w."""
    X, y = equations.X, equations.y
    unit = np.abs(y).max()
    columns = np.sqrt(np.einsum("nd,nd->d", X, X))
    columns[columns == 0] = 1.0
    price = np.median(above / columns)
    balanced = X / columns
    program = solved_program(
        np.concatenate([above / columns, below / columns]) / price,
        "the linear program for the ℓ1 limit failed",
        A_eq=np.hstack([balanced, -balanced]),
        b_eq=y / unit,
    )
    plus, minus = np.split(program.x, 2)
    w = _vertex(balanced, y / unit, plus - minus)
    nu = program.eqlin.marginals * price
    w = w * unit / columns
    return Solution(w, Pair.of(nu), int(program.nit), True, lambda: vertex_error(equations, w))


def vertex_error(equations: Equations, w: Float) -> float:
    """The forward error of a vertex: that of X w = y, with small weights for coordinates off its support."""
    size = np.abs(w)
    move = diagonal_move(equations, np.maximum(size, _LIGHT * size.max()), w, 1.0)
    return forward_error(equations, move, w, 0.0, 0.0)


def _vertex(X: Float, y: Float, w: Float) -> Float:
    """The vertex with the same support, with X w = y solved to round-off; w itself if that is no better."""
    support = np.flatnonzero(np.abs(w) > _SUPPORT * np.abs(w).max())
    if len(support) > len(y):
        return w
    exact = np.zeros_like(w)
    exact[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    better = np.linalg.norm(X @ exact - y) <= max(np.linalg.norm(X @ w - y), _FITTED * np.linalg.norm(y))
    return exact if better else w
