"""How far a predictor is from satisfying the optimality conditions ∇Q(w) = Xᵀν and Xw = y."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from tacit.data.arrays import Float
from tacit.potentials.arrays import quiet

_CANCELLED = 1e-4  # of two slopes: their difference, if smaller, is measured against this part of them


@quiet
def relative_residual(X: Float, y: Float, w: Float) -> float:
    """‖Xw − y‖/‖y‖ (the numerator alone where y = 0)."""
    unit = np.abs(y).max() or 1.0  # norms of large numbers would overflow
    return float(np.linalg.norm((X @ w - y) / unit) / (np.linalg.norm(y / unit) or 1.0))


@quiet
def stationarity(potential: Any, X: Float, w: Float, nu: Float) -> float:
    """Distance of Xᵀν from the subdifferential ∂Q(w), relative to ‖∇Q(w)‖∞.

    The gradient of a divergence from w⁰ is a difference, ∇Q(w) − ∇Q(w⁰). Where w is close to w⁰ rounding of
    w is all that is left of it: it counts as no smaller than 1e-4 of the two.
    """
    return stationarity_at(potential, w, X.T @ nu)


@quiet
def stationarity_at(potential: Any, w: Float, slope: Float) -> float:
    """The same for a slope Xᵀν that is known already."""
    nearest = potential.nearest_slope(w, slope)
    size = max(float(np.abs(nearest).max()), _CANCELLED * potential.terms(w))
    return float(np.abs(slope - nearest).max() / (size or 1.0))


def best_multipliers(potential: Any, X: Float, w: Float) -> Float:
    """ν that brings Xᵀν closest to ∂Q(w): least squares where Q is smooth, a linear program elsewhere."""
    lower, upper = potential.aim(w)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return np.zeros(X.shape[0])
    smooth = lower == upper
    nu = np.linalg.lstsq(X[:, smooth].T, lower[smooth], rcond=None)[0]
    if smooth.all() or stationarity(potential, X, w, nu) <= 1e-12:
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
