"""Potentials of vectors, and models that have one: limits, ends of the scale, and certificates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, as_labels, check_problem
from tacit.data.equations import ANY, Equations, Samples
from tacit.errors import InconsistentDataError, InputError
from tacit.numerics.double_double import Pair
from tacit.numerics.kernel_comparison import cosine_distance
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.normal_equations import weighted_gram
from tacit.numerics.rounding import EPS
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.solvers.families import family_of, nearness
from tacit.solvers.families.ends import Ends
from tacit.solvers.flow_callback import Decider, Follow
from tacit.solvers.interpolation.diagnosis import doubt_in_words
from tacit.solvers.interpolation.geometry import potential_of
from tacit.solvers.kkt import best_multipliers, relative_residual, stationarity, stationarity_at

RICH_END, RICH = "ℓ1", "rich"
DECADES = 33  # scales at which a limit is compared with its ends
ENDS_MOVE = False  # with the scale of the start
_ROUGH = 1e-6  # relative residual that round-off never excuses
_LITERAL = 1e-12  # a tolerance below this is meant, whatever the rounding of the predictor leaves
_SEARCHED = (
    2_000_000  # entries of X up to which other multipliers are looked for: a minute of a linear program
)

# What is minimized subject to which targets, and with which sign an output weight ends (0: there is none).
Aim = Callable[[Any, Float, Float, Follow], tuple[Potential, Float, int]]


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d) and y as (N,)."""
    return check_problem(X, y)


def known(model: Any, X: Float, y: Float) -> bool:
    """Can a limit be known without its flow?"""
    return True


def aim(model: Any, X: Float, y: Float, follow: Follow) -> tuple[Potential, Float, int]:
    """The potential, subject to X w = y."""
    return potential_of(model, X.shape[1]), y, 0


def limit(
    model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow, aim: Aim = aim
) -> Limit:
    """argmin Q(w) subject to X w = y, by equations of these samples."""
    decider = Decider(follow)
    potential, targets, sign = aim(model, X, y, decider)
    family = family_of(potential)
    equations = samples.equations(targets, tol)
    solution = family.least(potential, equations, samples.memory)
    w, nu = solution.predictor, solution.nu
    kkt = stationarity_at(potential, w, equations.rounded_slopes(nu))
    if not kkt <= tol and X.size <= _SEARCHED:  # any multipliers that certify w will do
        other = Pair.of(best_multipliers(potential, equations.X, w))
        found = stationarity_at(potential, w, equations.rounded_slopes(other))
        nu, kkt = (other, found) if found < kkt else (nu, kkt)
    feasibility = relative_residual(X, targets, w)
    fits, stationary = _within(tol, potential, X, targets, w, feasibility, kkt)
    return Limit(
        predictor=w,
        dual=equations.dual(nu),
        value=float(potential.value(w)),
        feasibility=feasibility,
        stationarity=kkt,
        iterations=solution.iterations,
        rank=len(equations.y),
        seconds=0.0,
        model=model,
        X=X,
        y=y,
        tol=float(tol),
        settled=solution.settled,
        method=decider.told(family.METHOD, "with which sign the output weight ends"),
        flows=decider.runs,
        sign=sign,
        _error=solution.estimate,
        _fits=fits and stationary,
        _samples=samples,
        _equations=equations if targets is y else None,
    )


@quiet
def _within(
    tol: float, potential: Any, X: Float, y: Float, w: Float, feasibility: float, stationarity: float
) -> tuple[bool, bool]:
    """Is each residual within the tolerance, or what the rounding of w to floats leaves?

    That much is let pass where the terms of Xw (or of a metric's Bw) are larger than their sums and cancel,
    and where the tolerance does not ask for all digits that floats have.
    """
    allowed = [tol, tol]
    if tol >= _LITERAL and max(feasibility, stationarity) > tol:
        terms = float((np.abs(X) @ np.abs(w)).max() / (np.abs(y).max() or 1.0))
        allowed[0] = max(tol, min(16 * EPS * terms, _ROUGH))
        if np.ndim(getattr(potential, "metric", 0.0)) == 2:
            sums = np.abs(potential.metric) @ np.abs(w)
            terms = float(sums.max() / (np.abs(potential.gradient(w)).max() or 1.0))
            allowed[1] = max(tol, min(4 * EPS * terms, _ROUGH))
    return feasibility <= allowed[0], stationarity <= allowed[1]


@quiet
def ends(result: Any) -> Ends | None:
    """What the limit would be at infinite and at zero scale, other things equal; None without a scale."""
    potential = potential_of(result.model, result.X.shape[1])
    find = family_of(potential).ends
    if find is None:
        return None
    equations = result._equations or result._samples.equations(result.y, 1e-8)
    return find(potential, equations, result.predictor, result._samples.memory)


def has_ends(result: Any) -> bool:
    """Has it a scale at all?"""
    return family_of(potential_of(result.model, result.X.shape[1])).ends is not None


def turning(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cos of the angle between the tangent kernels at the start and at the limit."""
    unit = np.abs(result.X).max() or 1.0  # kernels of large numbers would overflow
    return cosine_distance(*(weighted_gram(result.X / unit, metric) for metric in ends.metrics))


def doubt(result: Limit) -> str:
    """Which samples or features leave the limit in doubt, in words."""
    potential = potential_of(result.model, result.X.shape[1])
    W = family_of(potential).looseness(potential, result.predictor)
    return doubt_with(result, result.y, result.predictor, result.dual, W)


def doubt_with(result: Limit, y: Float, w: Float, dual: Float, W: Float | None = None) -> str:
    """The same of one output, by the diagonal of its inverse Hessian; all alike if left out."""
    equations = result._equations or result._samples.equations(y, ANY)
    return doubt_in_words(equations, np.ones(len(w)) if W is None else W, w, dual, result.error)


def certify(
    model: Any,
    X: Any,
    y: Any,
    predictor: Any,
    problem: str,
    tol: float,
    follow: Follow,
    aim: Aim = aim,
    column: bool = False,
) -> Certificate:
    """The residuals of ∇Q(w) = Xᵀν, Xw = y, or of the conditions of a margin.

    column: may w be one, as limits of networks have it?
    """
    if problem not in ("regression", "margin"):
        raise InputError(f'problem must be "regression" or "margin", got {problem!r}')
    X, y = check_problem(X, as_labels(y, "problem='margin'") if problem == "margin" else y)
    Q, w = potential_of(model, X.shape[1]), _as_predictor(predictor, X.shape[1], column)
    if problem == "margin":
        return _certify_margin(Q, X, y, w, tol)
    Q, targets, _ = aim(model, X, y, follow)
    return _certify_regression(Q, X, targets, w, tol)


def _certify_regression(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    """In independent equations, so that multipliers exist in floats also where samples nearly coincide."""
    residual = relative_residual(X, y, w)
    try:
        equations = _equations(X, y)
    except InconsistentDataError:
        nu = best_multipliers(potential, X, w)
        return Certificate("regression", stationarity(potential, X, w, nu), residual, 0.0, math.inf, nu, tol)
    found = Pair.of(best_multipliers(potential, equations.X, w))
    kkt = stationarity_at(potential, w, equations.rounded_slopes(found))
    error = nearness(potential, equations, w)
    return Certificate("regression", kkt, residual, 0.0, error, equations.dual(found), tol)


def _certify_margin(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    Z = y[:, None] * X
    margins = Z @ w
    lower, upper = potential.subdifferential(w)
    target = np.where(lower == upper, lower, 0.0)
    active = margins <= 1 + max(tol, 1e-9)
    nu = np.zeros(len(y))
    if active.any():
        nu[active], _ = nonnegative_least_squares(Z[active][:, lower == upper].T, target[lower == upper])
    complementarity = float((nu * np.abs(margins - 1)).max() / (nu.max() or 1.0))
    shortfall = float(np.maximum(1 - margins, 0).max())
    kkt, held = stationarity(potential, Z, w, nu), nu > 0
    error = nearness(potential, _equations(Z[held], np.ones(int(held.sum()))), w) if held.any() else math.inf
    return Certificate("margin", kkt, shortfall, complementarity, error, nu, tol)


def _equations(X: Float, y: Float) -> Equations:
    return Samples(X).equations(y, ANY)


def _as_predictor(predictor: Any, features: int, column: bool) -> Float:
    """One number for each feature."""
    w = as_floats(predictor, "predictor", ndim=(1, 2) if column else (1,))
    if w.shape not in {(features,), (features, 1)}:
        shape = f"{len(w)} entries" if w.ndim == 1 else f"shape {w.shape}"
        raise InputError(f"predictor has {shape} but X has {features} features")
    return w.ravel()
