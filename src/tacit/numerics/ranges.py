"""What a matrix can reach: an orthonormal basis of its range, whatever the units of its columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from tacit.data import Float

_EPS = float(np.finfo(float).eps)
_ROUNDING = 8.0  # times the rounding of a sum of as many terms as there are columns


@dataclass(frozen=True, eq=False)
class Reached:
    """What X reaches of Y. basis: B, orthonormal, at least one column; seen: BᵀY; rest: Y − BBᵀY.

    unfitted: ‖rest‖, 0 where that is rounding.
    """

    basis: Float
    seen: Float
    rest: Float
    unfitted: float


def reached(X: Float, Y: Float) -> Reached:
    """The part of Y, (N,) or (N, m), in the range of X."""
    scaled = _unit_columns(X)
    basis, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
    rank = _rank(sizes, X.shape)
    basis = basis[:, : max(rank, 1)]
    seen = basis.T @ Y if rank else np.zeros_like(basis.T @ Y)
    rest = Y - basis @ seen
    solution = rows[:rank].T @ (seen[:rank] / _as_column(sizes[:rank], seen))
    terms = np.linalg.norm(np.abs(scaled) @ np.abs(solution) + np.abs(Y))
    doubt = _ROUNDING * math.sqrt(X.shape[1]) * _EPS * float(terms)
    left = float(np.linalg.norm(rest))
    return Reached(basis, seen, rest, left if left > doubt else 0.0)


def reaches_all(X: Float) -> bool:
    """Can every y be fitted? In any unit of features and of samples."""
    if len(X) > X.shape[1]:
        return False
    even = _unit_columns(_unit_columns(X).T)
    triangle = scipy.linalg.qr(even, mode="r", check_finite=False)[0][: len(X)]
    return _rank(np.asarray(np.linalg.svd(triangle, compute_uv=False), dtype=float), X.shape) == len(X)


def _unit_columns(X: Float) -> Float:
    """The columns at length 1, which changes nothing of what they span."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0, largest, 1.0)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=0), 1.0))


def _rank(sizes: Float, shape: tuple[int, ...]) -> int:
    return int((sizes > max(shape) * _EPS * sizes.max()).sum())


def _as_column(sizes: Float, like: Float) -> Float:
    return sizes if like.ndim == 1 else sizes[:, None]
