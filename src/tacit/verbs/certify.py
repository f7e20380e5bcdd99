"""Does a predictor satisfy the optimality conditions? Asked of any predictor, however it was found."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tacit.data.arrays import check_tolerance
from tacit.data.inputs import Inputs
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
    check_tolerance(tol)
    return table_row(potential).certify(potential, X, y, predictor, problem, tol, flow)
