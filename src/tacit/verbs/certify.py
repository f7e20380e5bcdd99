"""Does a predictor satisfy the optimality conditions? Asked of any predictor, however it was found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, as_labels, check_problem, check_tolerance
from tacit.data.inputs import Inputs
from tacit.errors import InconsistentDataError, InputError
from tacit.models.model import Model, check_model, is_network, neuron_of, takes_matrices
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.pairs import Pair
from tacit.potentials import Potential
from tacit.results.certificate import Certificate
from tacit.solvers.families import nearness
from tacit.solvers.interpolation.equations import ANY, Samples, prepare
from tacit.solvers.interpolation.geometry import potential_of
from tacit.solvers.kkt import (
    best_multipliers,
    relative_residual,
    stationarity,
    stationarity_at,
)
from tacit.solvers.matrices.families import matrix_family
from tacit.solvers.networks.neuron import as_it_ends, neuron_targets
from tacit.verbs.flow import flow
from tacit.verbs.limit_matrix import MatrixProblem, potential_of_start

if TYPE_CHECKING:
    pass


def certify(
    potential: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    predictor: ArrayLike,
    *,
    problem: str = "regression",
    tol: float = 1e-6,
) -> Certificate:
    """Check ∇Q(w) = Xᵀν, Xw = y (regression) or ∇Q(w) = Σ ν_n y_n x_n, ν ≥ 0, margins ≥ 1 (margin).

    The multipliers are found here, by least squares, linear programming or (nuclear norm) a solution: the
    predictor is all that is taken on trust. For a leaky neuron the equations are Xw = σ⁻¹(y), or −σ⁻¹(−y)
    where a < 0 (Azulay et al. 2021, Theorem 4), with the sign of a at the end; if that is not the sign at the
    start, Q is the divergence from −w̃(0). For matrices the conditions are ∇Q(M) = Σ ν_n X_n and ⟨X_n, M⟩ =
    y_n; a factorization has them where its measurements commute and it starts at a multiple of the identity.

    Parameters
    ----------
    potential : Potential or Model
        Q, or a model that has one.
    X : (N, d) array-like, or Prepared
        Rows are samples; (N, d₁, d₂) for matrices.
    y : (N,) array-like
        Targets, or two classes for problem="margin".
    predictor : (d,) array-like
        w, wherever it comes from; for a linear network also (d, 1), as its limit has it.
    problem : "regression" | "margin", optional
        Which conditions.
    tol : float, optional
        What the residuals may be for the certificate to hold.

    Returns
    -------
    Certificate
        The residuals, the multipliers and an estimate of the distance to the solution.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    NoPotentialError
        Where potential is a model without one.

    Examples
    --------
    >>> import tacit
    >>> X, y, model = [[1, 2]], [2], tacit.Diagonal(scale=0.1)
    >>> tacit.certify(model, X, y, tacit.limit(model, X, y).predictor).holds
    True
    >>> tacit.certify(model, X, y, [0.4, 0.8]).holds
    False
    """
    check_model("certify(model, X, y, predictor)", potential, X, y)
    if takes_matrices(potential):
        check_tolerance(tol)
        return _certify_matrix(potential, X, y, predictor, problem, tol)
    X, y = check_problem(X, as_labels(y, "problem='margin'") if problem == "margin" else y)
    check_tolerance(tol)
    Q = potential_of(potential, X.shape[1])
    w = _as_predictor(predictor, potential, X.shape[1])
    if problem == "regression":
        start = as_it_ends(potential, X, y, flow)
        Q = Q if start is potential else start.potential()
        neuron = neuron_of(start)
        targets = y if neuron is None else neuron_targets(neuron, y)
        return _certify_regression(Q, X, targets, w, tol)
    if problem == "margin":
        return _certify_margin(Q, X, y, w, tol)
    raise InputError(f'problem must be "regression" or "margin", got {problem!r}')


def _certify_regression(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    """In independent equations, so that multipliers exist in floats also where samples nearly coincide."""
    residual = relative_residual(X, y, w)
    try:
        equations = prepare(X, y, ANY)
    except InconsistentDataError:
        nu = best_multipliers(potential, X, w)
        return Certificate("regression", stationarity(potential, X, w, nu), residual, 0.0, math.inf, nu, tol)
    found = Pair.of(best_multipliers(potential, equations.X, w))
    kkt = stationarity_at(potential, w, equations.rounded_slopes(found))
    error = nearness(potential, equations, w)
    return Certificate("regression", kkt, residual, 0.0, error, equations.dual(found), tol)


def _certify_matrix(model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float) -> Certificate:
    if problem != "regression":
        raise InputError(f'measurements of a matrix have problem="regression" only, got {problem!r}')
    given = MatrixProblem.of(model, X, y)
    potential = potential_of_start(given)
    M = as_floats(predictor, "predictor", ndim=(2,))
    if M.shape != given.X.shape[1:]:
        rows, columns = given.X.shape[1:]
        raise InputError(f"predictor has shape {M.shape} but the measurements are {rows}×{columns} matrices")
    residual = relative_residual(given.flat, given.y, M.ravel())
    try:
        measured = given.measurements(Samples(given.flat), ANY)
    except InconsistentDataError:
        return Certificate("regression", math.inf, residual, 0.0, math.inf, np.zeros(len(given.y)), tol)
    nu, kkt, error = matrix_family(potential).multipliers(potential, measured, M)
    return Certificate("regression", kkt, residual, 0.0, error, measured.equations.dual(Pair.of(nu)), tol)


def _as_predictor(predictor: Any, model: Any, features: int) -> Float:
    """One number for each feature."""
    column = is_network(model)
    w = as_floats(predictor, "predictor", ndim=(1, 2) if column else (1,))
    if w.shape not in {(features,), (features, 1)}:
        shape = f"{len(w)} entries" if w.ndim == 1 else f"shape {w.shape}"
        raise InputError(f"predictor has {shape} but X has {features} features")
    return w.ravel()


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
    error = math.inf
    if held.any():
        error = nearness(potential, prepare(Z[held], np.ones(int(held.sum())), ANY), w)
    return Certificate("margin", kkt, shortfall, complementarity, error, nu, tol)
