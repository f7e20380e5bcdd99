"""Residuals of the optimality conditions ∇Q(w) = Xᵀν and X w = y."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from tacit.data.arrays import Float
from tacit.potentials.arrays import quiet

# A gradient that is a difference is compared with this part of its terms if it is smaller: below, it consists
# mostly of round-off.
_CANCELLED = 1e-4
_STATIONARY = 1e-12  # stationarity at which least-squares multipliers are good enough


@quiet
def relative_residual(X: Float, y: Float, w: Float) -> float:
    """‖Xw − y‖/‖y‖, or ‖Xw − y‖ if y = 0."""
    unit = np.abs(y).max() or 1.0  # avoids overflow in the norms
    return float(np.linalg.norm((X @ w - y) / unit) / (np.linalg.norm(y / unit) or 1.0))


@quiet
def stationarity(potential: Any, X: Float, w: Float, nu: Float) -> float:
    """Distance of Xᵀν from the subdifferential ∂Q(w), relative to ‖∇Q(w)‖∞.

    The gradient of a Bregman divergence is a difference ∇Q(w) − ∇Q(w⁰), which is mostly round-off for w close
    to w⁰. It counts as at least 1e-4 of the larger term.
    """
    return stationarity_at(potential, w, X.T @ nu)


@quiet
def stationarity_at(potential: Any, w: Float, slope: Float) -> float:
    """`stationarity` for a given slope Xᵀν."""
    nearest = potential.nearest_slope(w, slope)
    size = max(float(np.abs(nearest).max()), _CANCELLED * potential.terms(w))
    return float(np.abs(slope - nearest).max() / (size or 1.0))


def best_multipliers(potential: Any, X: Float, w: Float) -> Float:
    """The ν with Xᵀν closest to ∂Q(w): by least squares if Q is smooth at w, else by a linear program."""
    lower, upper = potential.aim(w)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return np.zeros(X.shape[0])
    smooth = lower == upper
    nu = np.linalg.lstsq(X[:, smooth].T, lower[smooth], rcond=None)[0]
    if smooth.all() or stationarity(potential, X, w, nu) <= _STATIONARY:
        return nu
    size = max(np.abs(np.where(smooth, lower, 0.0)).max(), np.abs(upper[~smooth]).min())
    rows, bounds = np.vstack([X.T, -X.T]), np.concatenate([upper, -lower]) / size
    program = linprog(
        np.append(np.zeros(X.shape[0]), 1.0),
        A_ub=np.hstack([rows, -np.ones((len(rows), 1))]),
        b_ub=bounds,
        bounds=[(None, None)] * X.shape[0] + [(0, None)],
        method="highs",
    )
    if program.x is None:
        return nu
    better = program.x[:-1] * size
    return min((nu, better), key=lambda candidate: stationarity(potential, X, w, candidate))
