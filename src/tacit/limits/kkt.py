"""How far a predictor is from satisfying the optimality conditions ∇Q(w) = Xᵀν and Xw = y."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from tacit.data import Float
from tacit.potentials.arrays import quiet


@quiet
def relative_residual(X: Float, y: Float, w: Float) -> float:
    """‖Xw − y‖/‖y‖ (the numerator alone where y = 0)."""
    unit = np.abs(y).max() or 1.0  # norms of large numbers would overflow
    return float(np.linalg.norm((X @ w - y) / unit) / (np.linalg.norm(y / unit) or 1.0))


@quiet
def stationarity(potential: Any, X: Float, w: Float, nu: Float) -> float:
    """Distance of Xᵀν from the subdifferential ∂Q(w), relative to ‖∇Q(w)‖∞."""
    lower, upper = subdifferential(potential, w)
    slope = X.T @ nu
    distance = np.maximum(np.maximum(lower - slope, slope - upper), 0.0).max()
    nearest = np.clip(slope, lower, upper)
    return float(distance / (np.abs(nearest).max() or 1.0))


def subdifferential(potential: Any, w: Float) -> tuple[Float, Float]:
    """Lower and upper end of ∂Q(w): the gradient twice where the potential does not say otherwise."""
    if hasattr(potential, "subdifferential"):
        return potential.subdifferential(w)
    gradient = potential.gradient(w)
    return gradient, gradient


def best_multipliers(potential: Any, X: Float, w: Float) -> Float:
    """ν that brings Xᵀν closest to ∂Q(w): least squares where Q is smooth, a linear program elsewhere."""
    lower, upper = subdifferential(potential, w)
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
