r"""The kernel limit of matrix factorizations: the limit of the model linearized at initialization.

The tangent metric maps G to U UᵀG + G V Vᵀ (to G M + M G for W Wᵀ). The limit is M(0) plus the smallest
change in this metric that satisfies the measurements. For M̄(0) = c·I the metric is a multiple of the
Frobenius norm, and the limit is the solution nearest to M(0) (Woodworth et al. 2020, Section 6).
"""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float


def tangent_rows(lifted: Float, X: Float) -> Float:
    """One row per measurement, with the tangent kernel at weights with this M̄ as Gram matrix."""
    d1 = X.shape[1]
    if len(lifted) == d1:
        return _flat(np.sqrt(2.0) * X @ _root(lifted))
    left, right = _root(lifted[:d1, :d1]), _root(lifted[d1:, d1:])
    return np.hstack([_flat(left @ X), _flat(X @ right)])


def tangent_end(start: Float, lifted: Float, X: Float, y: Float) -> Float:
    """M(0) plus the effect of the smallest change of weights that fits y to first order."""
    rows, d1 = tangent_rows(lifted, X), X.shape[1]
    missing = y - _flat(X) @ start.ravel()
    half = np.linalg.lstsq(rows, missing, rcond=None)[0]
    nu = np.linalg.lstsq(rows.T, half, rcond=None)[0]
    G = np.tensordot(nu, X, 1)
    if len(lifted) == d1:
        return np.asarray(start + G @ lifted + lifted @ G)
    return np.asarray(start + lifted[:d1, :d1] @ G + G @ lifted[d1:, d1:])


def _flat(stack: Float) -> Float:
    return np.ascontiguousarray(stack).reshape(len(stack), -1)


def _root(gram: Float) -> Float:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(gram / 2 + gram.T / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
