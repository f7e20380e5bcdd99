"""Potentials of vectors, and models that have one: limits, limits of the scale, and certificates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, as_labels, check_problem
from tacit.data.equations import ANY, Equations, Samples
from tacit.errors import InconsistentDataError, InputError
from tacit.numerics.double_double import Pair
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.normal_equations import weighted_gram
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import cosine_distance
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import error_estimate, family_of
from tacit.solvers.interpolation import diagnosis
from tacit.solvers.interpolation.geometry import potential_of
from tacit.solvers.interpolation.solution import Ends, FlowCounter, Follow, limit_result
from tacit.solvers.kkt import best_multipliers, relative_residual, stationarity, stationarity_at

RICH_END, RICH = "ℓ1", "rich"
DECADES = 33  # scales in a figure; each costs a warm-started limit
ENDS_MOVE = False
_TOL = 1e-8  # tolerance of the limits at infinite and zero scale
# Residuals above the tolerance are accepted if the round-off of w explains them, but never above _ROUGH, and
# not for tolerances below _LITERAL, which are meant literally.
_ROUGH, _LITERAL = 1e-6, 1e-12
_ROUNDINGS_X, _ROUNDINGS_B = 16, 4  # round-off of the sums in Xw and Bw, in units of EPS times their terms
_MAX_ENTRIES = 2_000_000  # entries of X up to which other multipliers are tried: a linear program of a minute
_ACTIVE = 1e-9  # distance of a margin from 1 up to which its multiplier may be positive

# (model, X, y, follow) ↦ the potential to minimize, the targets, and the final sign of the output weight (0
# for models without one).
Objective = Callable[[Any, Float, Float, Follow], tuple[Potential, Float, int]]


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d) and y as (N,)."""
    return check_problem(X, y)


def known(model: Any, X: Float, y: Float) -> bool:
    """True: the limit minimizes the potential."""
    return True


def objective(model: Any, X: Float, y: Float, follow: Follow) -> tuple[Potential, Float, int]:
    """The potential of the model, and X w = y."""
    return potential_of(model, X.shape[1]), y, 0


def limit(
    model: Any,
    X: Float,
    y: Float,
    samples: Samples,
    tol: float,
    follow: Follow,
    objective: Objective = objective,
) -> Limit:
    """argmin Q(w) subject to X w = y."""
    flows = FlowCounter(follow)
    potential, targets, sign = objective(model, X, y, flows)
    family = family_of(potential)
    equations = samples.equations(targets, tol)
    solution = family.interpolate(potential, equations, samples.memory)
    w, nu = solution.predictor, solution.nu
    kkt = stationarity_at(potential, w, equations.rounded_slopes(nu))
    if not kkt <= tol and X.size <= _MAX_ENTRIES:  # other multipliers may certify w
        other = Pair.of(best_multipliers(potential, equations.X, w))
        found = stationarity_at(potential, w, equations.rounded_slopes(other))
        nu, kkt = (other, found) if found < kkt else (nu, kkt)
    feasibility = relative_residual(X, targets, w)
    fits, stationary = _within(tol, potential, X, targets, w, feasibility, kkt)
    return limit_result(
        solution,
        (model, X, y, tol),
        dual=equations.dual(nu),
        value=float(potential.value(w)),
        feasibility=feasibility,
        stationarity=kkt,
        rank=len(equations.y),
        method=flows.describe(family.METHOD, "the final sign of the output weight"),
        flows=flows.runs,
        sign=sign,
        _fits=fits and stationary,
        _samples=samples,
        _equations=equations if targets is y else None,
    )


@quiet
def _within(
    tol: float, potential: Any, X: Float, y: Float, w: Float, feasibility: float, stationarity: float
) -> tuple[bool, bool]:
    """Whether feasibility and stationarity are within the tolerance, or within the round-off of w.

    The latter matters if the terms of Xw (or of Bw, for a metric B) are much larger than their sum and
    cancel. It does not count for tolerances below 1e-12.
    """
    allowed = [tol, tol]
    if tol >= _LITERAL and max(feasibility, stationarity) > tol:
        terms = float((np.abs(X) @ np.abs(w)).max() / (np.abs(y).max() or 1.0))
        allowed[0] = max(tol, min(_ROUNDINGS_X * EPS * terms, _ROUGH))
        if np.ndim(getattr(potential, "metric", 0.0)) == 2:
            sums = np.abs(potential.metric) @ np.abs(w)
            terms = float(sums.max() / (np.abs(potential.gradient(w)).max() or 1.0))
            allowed[1] = max(tol, min(_ROUNDINGS_B * EPS * terms, _ROUGH))
    return feasibility <= allowed[0], stationarity <= allowed[1]


@quiet
def ends(result: Any) -> Ends | None:
    """The limits of the same problem at infinite and at zero scale; None if there is no scale."""
    potential = potential_of(result.model, result.X.shape[1])
    find = family_of(potential).ends
    if find is None:
        return None
    equations = result._equations or result._samples.equations(result.y, _TOL)
    return find(potential, equations, result.predictor, result._samples.memory)


def has_ends(result: Any) -> bool:
    """Whether the potential has a scale."""
    return family_of(potential_of(result.model, result.X.shape[1])).ends is not None


def kernel_distance(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cosine of the tangent kernels at initialization and at the limit."""
    unit = np.abs(result.X).max() or 1.0  # avoids overflow in the kernels
    return cosine_distance(*(weighted_gram(result.X / unit, metric) for metric in ends.metrics))


def explain_error(result: Limit) -> str:
    """Name the samples or features that leave the limit undetermined."""
    potential = potential_of(result.model, result.X.shape[1])
    W = family_of(potential).inverse_hessian(potential, result.predictor)
    return explain_output_error(result, result.y, result.predictor, result.dual, W)


def explain_output_error(result: Limit, y: Float, w: Float, dual: Float, W: Float | None = None) -> str:
    """`explain_error` for one output; W: the diagonal of its inverse Hessian (default: constant)."""
    equations = result._equations or result._samples.equations(y, ANY)
    return diagnosis.explain_error(equations, np.ones(len(w)) if W is None else W, w, dual, result.error)


def certify(
    model: Any,
    X: Any,
    y: Any,
    predictor: Any,
    problem: str,
    tol: float,
    follow: Follow,
    objective: Objective = objective,
    column: bool = False,
) -> Certificate:
    """The residuals of ∇Q(w) = Xᵀν and Xw = y, or of the optimality conditions of a maximum margin.

    column: accept predictors of shape (d, 1), as networks have them.
    """
    if problem not in ("regression", "margin"):
        raise InputError(f'problem must be "regression" or "margin", got {problem!r}')
    X, y = check_problem(X, as_labels(y, "problem='margin'") if problem == "margin" else y)
    Q, w = potential_of(model, X.shape[1]), _as_predictor(predictor, X.shape[1], column)
    if problem == "margin":
        return _certify_margin(Q, X, y, w, tol)
    Q, targets, _ = objective(model, X, y, follow)
    return _certify_regression(Q, X, targets, w, tol)


def _certify_regression(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    """Residuals, with multipliers of independent equations: those of nearly equal samples could overflow."""
    residual = relative_residual(X, y, w)
    try:
        equations = _equations(X, y)
    except InconsistentDataError:
        nu = best_multipliers(potential, X, w)
        return Certificate("regression", stationarity(potential, X, w, nu), residual, 0.0, math.inf, nu, tol)
    found = Pair.of(best_multipliers(potential, equations.X, w))
    kkt = stationarity_at(potential, w, equations.rounded_slopes(found))
    error = error_estimate(potential, equations, w)
    return Certificate("regression", kkt, residual, 0.0, error, equations.dual(found), tol)


def _certify_margin(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    Z = y[:, None] * X
    margins = Z @ w
    lower, upper = potential.subdifferential(w)
    target = np.where(lower == upper, lower, 0.0)
    active = margins <= 1 + max(tol, _ACTIVE)
    nu = np.zeros(len(y))
    if active.any():
        nu[active], _ = nonnegative_least_squares(Z[active][:, lower == upper].T, target[lower == upper])
    complementarity = float((nu * np.abs(margins - 1)).max() / (nu.max() or 1.0))
    shortfall = float(np.maximum(1 - margins, 0).max())
    kkt, held = stationarity(potential, Z, w, nu), nu > 0
    error = math.inf
    if held.any():
        error = error_estimate(potential, _equations(Z[held], np.ones(int(held.sum()))), w)
    return Certificate("margin", kkt, shortfall, complementarity, error, nu, tol)


def _equations(X: Float, y: Float) -> Equations:
    return Samples(X).equations(y, ANY)


def _as_predictor(predictor: Any, features: int, column: bool) -> Float:
    """The predictor as a (d,) array; raises `InputError` for other shapes."""
    w = as_floats(predictor, "predictor", ndim=(1, 2) if column else (1,))
    if w.shape not in {(features,), (features, 1)}:
        shape = f"{len(w)} entries" if w.ndim == 1 else f"shape {w.shape}"
        raise InputError(f"predictor has {shape} but X has {features} features")
    return w.ravel()
