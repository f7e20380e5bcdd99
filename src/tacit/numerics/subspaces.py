"""Subspaces that matrices span."""

from __future__ import annotations

import numpy as np

from tacit.data import Float


def row_space(X: Float) -> Float:
    """An orthonormal basis of the rows of X, as columns; none where X is 0."""
    _, sizes, rows = np.linalg.svd(X, full_matrices=False)
    return rows[sizes > max(X.shape) * np.finfo(np.float64).eps * sizes.max(initial=0.0)].T
