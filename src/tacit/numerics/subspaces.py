"""Subspaces that matrices span."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.numerics.rounding import EPS


def row_space(X: Float) -> Float:
    """An orthonormal basis of the rows of X, as columns; none where X is 0."""
    _, sizes, rows = np.linalg.svd(X, full_matrices=False)
    return rows[sizes > max(X.shape) * EPS * sizes.max(initial=0.0)].T


def visible(X: Float) -> tuple[Float, Float, Float]:
    """W, the diagonal of Σ_x^{1/2}, and Φ₁ of X = W Σ_x^{1/2} Φ₁ᵀ (Min et al. 2021, equation 4)."""
    left, sizes, right = np.linalg.svd(X, full_matrices=False)
    kept = sizes > max(X.shape) * EPS * sizes.max(initial=0.0)
    if not kept.any():
        raise InputError("X must not be zero; from such data nothing is learned")
    return left[:, kept], sizes[kept], right[kept].T
