"""Optimality conditions of an arbitrary predictor."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tacit.data.arrays import check_tolerance
from tacit.data.entries import Inputs
from tacit.models.model import Model, check_model
from tacit.potentials import Potential
from tacit.results.certificate import Certificate
from tacit.solvers.table import table_row
from tacit.verbs.flow import flow


def certify(
    potential: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    predictor: ArrayLike,
    *,
    problem: str = "regression",
    tol: float = 1e-6,
) -> Certificate:
    """Check the optimality conditions of a minimum-Q problem at a predictor.

    regression: ∇Q(w) = Xᵀν, Xw = y; margin: ∇Q(w) = Σ ν_n y_n x_n, ν ≥ 0, y_n x_n·w ≥ 1.

    The multipliers ν are computed from the predictor alone, by least squares or linear programming (for the
    nuclear norm, from a solution). For a leaky neuron the equations are Xw = σ⁻¹(y), or Xw = −σ⁻¹(−y) if
    a < 0 (Azulay et al. 2021, Theorem 4), with the sign of a at the end of the flow; if a has changed its
    sign, Q is the divergence from −w̃(0). For matrices the conditions are ∇Q(M) = Σ ν_n X_n and ⟨X_n, M⟩ =
    y_n; a factorization has a potential if its measurements commute and its initialization is a multiple of
    the identity.

    Parameters
    ----------
    potential : Potential or Model
        Q, or a model that has one.
    X : (N, d) array-like, or Prepared
        Rows are samples; (N, d₁, d₂) for matrices.
    y : (N,) array-like
        Targets, or two classes for problem="margin".
    predictor : (d,) array-like
        w; for a linear network also (d, 1), the shape of its limit.
    problem : "regression" | "margin", optional
        Which conditions to check.
    tol : float, optional
        The largest residual with which the certificate holds.

    Returns
    -------
    Certificate
        The residuals, the multipliers and an estimate of the distance to the solution.

    Raises
    ------
    InputError
        If an argument is invalid.
    NoPotentialError
        If potential is a model for which no potential is known.

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
    check_tolerance(tol)
    return table_row(potential).certify(potential, X, y, predictor, problem, tol, flow)
