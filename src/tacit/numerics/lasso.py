r"""The Lasso, with a certificate.

    argmin ½‖X b − y‖² + penalty·‖b‖₁

b is optimal if and only if |X_jᵀ(y − X b)| ≤ penalty everywhere, and X_jᵀ(y − X b) = penalty·sign(b_j) where
b_j ≠ 0. Its residual is the projection of y onto the polytope |X_jᵀθ| ≤ penalty, a least-distance problem
that nonnegative least squares solve (Lawson and Hanson 1974, Chapter 23); the active features then give b to
round-off.
"""

from __future__ import annotations

import numpy as np

from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.rounding import Float

_ACTIVE = 1e-9  # of the penalty: slopes this close to it belong to active features
_ROUNDS = 20  # of removing features whose coefficient has the wrong sign


def lasso(X: Float, y: Float, penalty: float) -> tuple[Float, float]:
    """b and the violation of its optimality conditions, relative to the penalty."""
    gradient = X.T @ y
    if np.abs(gradient).max() <= penalty:
        return np.zeros(X.shape[1]), 0.0
    rough = _least_distance(X, y, penalty, gradient)
    found = min((rough, _polished(X, y, penalty, rough)), key=lambda b: violation(X, y, penalty, b))
    return found, violation(X, y, penalty, found)


def violation(X: Float, y: Float, penalty: float, b: Float) -> float:
    """The violation of the optimality conditions, relative to the penalty."""
    slopes = X.T @ (y - X @ b) / penalty
    inside = np.abs(slopes) - 1
    return float(np.where(b == 0, np.maximum(inside, 0.0), np.abs(slopes - np.sign(b))).max())


def _least_distance(X: Float, y: Float, penalty: float, gradient: Float) -> Float:
    """The multipliers of min ‖u‖ subject to X_jᵀ(u + y) ≤ penalty and −X_jᵀ(u + y) ≤ penalty."""
    bounds = np.concatenate([gradient, -gradient]) - penalty
    unit = float(np.abs(bounds).max())
    A = np.vstack([np.hstack([-X, X]), bounds / unit])
    target = np.zeros(len(A))
    target[-1] = 1.0
    z, _ = nonnegative_least_squares(A, target)
    both = z * unit / (1 - float(A[-1] @ z))
    return np.asarray(both[: X.shape[1]] - both[X.shape[1] :])


def _polished(X: Float, y: Float, penalty: float, rough: Float) -> Float:
    """b on the active features with their signs, by least squares; `rough` may be inaccurate."""
    slopes = X.T @ (y - X @ rough) / penalty
    active = (np.abs(slopes) >= 1 - _ACTIVE) | (np.abs(rough) > _ACTIVE * np.abs(rough).max())
    for _ in range(_ROUNDS):
        A, signs = X[:, active], np.sign(slopes[active])
        # A b = y − penalty·A(AᵀA)⁻¹s has the residual that the conditions require
        shift = penalty * np.linalg.pinv(A).T @ signs
        b = np.zeros(X.shape[1])
        b[active] = np.linalg.lstsq(A, y - shift, rcond=None)[0]
        wrong = active & (b * np.sign(slopes) < 0)
        if not wrong.any():
            return b
        active &= ~wrong
    return b
