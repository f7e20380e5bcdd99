"""Does a predictor satisfy the optimality conditions? Asked of any predictor, however it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data import Float, as_floats, check_problem, check_tolerance
from tacit.errors import InputError
from tacit.limits.interpolation import potential_of
from tacit.limits.kkt import best_multipliers, relative_residual, stationarity, subdifferential
from tacit.limits.neuron import as_it_ends, neuron_targets
from tacit.models import LinearNetwork, Neuron
from tacit.nonnegative import nonnegative_least_squares


@dataclass(frozen=True, eq=False)
class Certificate:
    """How well a predictor satisfies the KKT conditions of a problem.

    stationarity: ‖∇Q(w) − Zᵀν‖∞/‖∇Q(w)‖∞ for the best multipliers ν found (Z = X for regression, the rows
    y_n x_n for margins). feasibility: ‖Xw−y‖/‖y‖, or the largest shortfall of a margin below 1.
    complementarity: largest ν_n·(margin_n − 1) relative to the largest ν (0 for regression).
    """

    problem: str
    stationarity: float
    feasibility: float
    complementarity: float
    dual: Float
    tol: float

    @property
    def holds(self) -> bool:
        """All three within the tolerance."""
        return all(x <= self.tol for x in (self.stationarity, self.feasibility, self.complementarity))

    def summary(self) -> str:
        """The certificate in a line."""
        verdict = "holds" if self.holds else "FAILS"
        line = f"KKT {verdict} (tolerance {self.tol:.0e}): stationarity {self.stationarity:.1e}"
        line += f", feasibility {self.feasibility:.1e}"
        if self.problem == "margin":
            line += f", complementarity {self.complementarity:.1e}"
        return line


def certify(
    potential: Any, X: Any, y: Any, predictor: Any, *, problem: str = "regression", tol: float = 1e-6
) -> Certificate:
    """Check ∇Q(w) = Xᵀν, Xw = y (regression) or ∇Q(w) = Σ ν_n y_n x_n, ν ≥ 0, margins ≥ 1 (margin).

    potential: a potential, or a model that has one. predictor: (d,); for a linear network also (d, 1), as
    its limit has it. For a leaky neuron the equations are Xw = σ⁻¹(y), or −σ⁻¹(−y) where a < 0 (Azulay et al.
    2021, Theorem 4), with the sign of a at the end; if that is not the sign at the start, Q is the divergence
    from −w̃(0). The multipliers are found here, by least squares or linear programming; the predictor
    is all that is taken on trust.
    """
    X, y = check_problem(X, y)
    check_tolerance(tol)
    Q = potential_of(potential, X.shape[1])
    w = _as_predictor(predictor, potential, X.shape[1])
    if problem == "regression":
        start = as_it_ends(potential, X, y)
        Q = Q if start is potential else start.potential()
        targets = neuron_targets(start, y) if isinstance(start, Neuron) else y
        nu = best_multipliers(Q, X, w)
        residual = relative_residual(X, targets, w)
        return Certificate(problem, stationarity(Q, X, w, nu), residual, 0.0, nu, tol)
    if problem == "margin":
        return _certify_margin(Q, X, y, w, tol)
    raise InputError(f'problem must be "regression" or "margin", got {problem!r}')


def _as_predictor(predictor: Any, model: Any, features: int) -> Float:
    """One number for each feature."""
    column = isinstance(model, LinearNetwork)
    w = as_floats(predictor, "predictor", ndim=(1, 2) if column else (1,))
    if w.shape not in {(features,), (features, 1)}:
        shape = f"{len(w)} entries" if w.ndim == 1 else f"shape {w.shape}"
        raise InputError(f"predictor has {shape} but X has {features} features")
    return w.ravel()


def _certify_margin(potential: Any, X: Float, y: Float, w: Float, tol: float) -> Certificate:
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InputError("y must hold the labels -1 and +1 for problem='margin'")
    Z = y[:, None] * X
    margins = Z @ w
    lower, upper = subdifferential(potential, w)
    target = np.where(lower == upper, lower, 0.0)
    active = margins <= 1 + max(tol, 1e-9)
    nu = np.zeros(len(y))
    if active.any():
        nu[active], _ = nonnegative_least_squares(Z[active][:, lower == upper].T, target[lower == upper])
    complementarity = float((nu * np.abs(margins - 1)).max() / (nu.max() or 1.0))
    shortfall = float(np.maximum(1 - margins, 0).max())
    return Certificate("margin", stationarity(potential, Z, w, nu), shortfall, complementarity, nu, tol)
