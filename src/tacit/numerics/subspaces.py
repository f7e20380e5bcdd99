r"""Range and row space of a matrix, and projection of targets onto the range.

With an orthonormal basis B of the range of X, of rank r below the number of rows,

    c‖X w − y‖² = c‖BᵀX w − Bᵀy‖² + c‖y − BBᵀy‖²

where the last term, the loss of least squares, is constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from tacit.errors import InputError
from tacit.numerics.rounding import EPS, Float
from tacit.numerics.ties import Ties, product

_ROUNDING = 8.0  # safety factor on √d·ε, the round-off of a sum over d features


def rank(sizes: Float, shape: tuple[int, ...]) -> int:
    """Number of singular values of a matrix of this shape that exceed round-off."""
    return int((sizes > max(shape) * EPS * sizes.max(initial=0.0)).sum())


def row_space(X: Float) -> Float:
    """An orthonormal basis of the row space of X, as columns; no columns if X is 0."""
    _, sizes, rows = np.linalg.svd(X, full_matrices=False)
    return rows[: rank(sizes, X.shape)].T


def visible(X: Float) -> tuple[Float, Float, Float]:
    """W, the diagonal of Σ_x^{1/2}, and Φ₁ of X = W Σ_x^{1/2} Φ₁ᵀ (Min et al. 2021, equation 4)."""
    left, sizes, right = np.linalg.svd(X, full_matrices=False)
    kept = rank(sizes, X.shape)
    if not kept:
        raise InputError("X must not be zero: nothing can be learned from it")
    return left[:, :kept], sizes[:kept], right[:kept].T


@dataclass(frozen=True, eq=False)
class Range:
    """The range of X, determined after scaling every column to the same length.

    Computed in double precision, unlike `data.independence`, which also resolves rows that agree in more
    digits: an integrator could not resolve the effect of such differences.
    """

    X: Float

    @cached_property
    def full(self) -> bool:
        """Whether the range contains every y, independently of the units of features and samples."""
        if len(self.X) > self.X.shape[1]:
            return False
        scaled = _unit_columns(_unit_columns(self.X).T)
        triangle = scipy.linalg.qr(scaled, mode="r", check_finite=False)[0][: len(self.X)]
        sizes = np.asarray(np.linalg.svd(triangle, compute_uv=False), dtype=float)
        return rank(sizes, self.X.shape) == len(self.X)

    @cached_property
    def _factors(self) -> tuple[Float, Float, Float, Float]:
        scaled = _unit_columns(self.X)
        basis, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
        r = rank(sizes, self.X.shape)
        return basis[:, :r], sizes[:r], rows[:r], np.abs(scaled)

    @property
    def basis(self) -> Float:
        """B, (N, r); a column of zeros if X is 0, because a problem must have a sample."""
        found = self._factors[0]
        return found if found.shape[1] else np.zeros((len(self.X), 1))

    @cached_property
    def projected(self) -> Float:
        """BᵀX; columns of X that are equal up to sign stay exactly so."""
        return product(self.basis.T, self.X, Ties.of(self.X))

    def split(self, y: Float) -> tuple[Float, Float]:
        """Bᵀy and y − BBᵀy, the latter set to 0 if it is round-off; y: (N,) or (N, m)."""
        _, sizes, rows, terms = self._factors
        projected = self.basis.T @ y
        rest = y - self.basis @ projected
        solution = rows.T @ (projected[: len(sizes)].T / sizes).T
        size = float(np.linalg.norm(terms @ np.abs(solution) + np.abs(y)))
        roundoff = _ROUNDING * math.sqrt(self.X.shape[1]) * EPS * size
        return projected, rest if np.linalg.norm(rest) > roundoff else np.zeros_like(rest)


def _unit_columns(X: Float) -> Float:
    """Scale columns to length 1, in two steps, because squares could overflow."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0, largest, 1.0)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=0), 1.0))


def cosine_distance(first: Float, last: Float) -> float:
    """1 − cos of the angle between two kernels (Frobenius inner product); 0 if one of them is 0."""
    first, last = (K / (np.abs(K).max(initial=0.0) or 1.0) for K in (first, last))  # avoids overflow
    size = np.linalg.norm(first) * np.linalg.norm(last)
    return float(max(0.0, 1 - np.sum(first * last) / size)) if size > 0 else 0.0
