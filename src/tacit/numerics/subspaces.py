r"""Subspaces that matrices span, and what of a target they reach.

With an orthonormal basis B of the range of X, of rank r below the number of rows,

    c‖X w − y‖² = c‖BᵀX w − Bᵀy‖² + c‖y − BBᵀy‖²

and the last term, the loss of least squares, is a constant.
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

_ROUNDING = 8.0  # times the round-off of a sum of as many terms as there are features


def rank(sizes: Float, shape: tuple[int, ...]) -> int:
    """How many singular values of a matrix of this shape are more than round-off."""
    return int((sizes > max(shape) * EPS * sizes.max(initial=0.0)).sum())


def row_space(X: Float) -> Float:
    """An orthonormal basis of the rows of X, as columns; none where X is 0."""
    _, sizes, rows = np.linalg.svd(X, full_matrices=False)
    return rows[: rank(sizes, X.shape)].T


def visible(X: Float) -> tuple[Float, Float, Float]:
    """W, the diagonal of Σ_x^{1/2}, and Φ₁ of X = W Σ_x^{1/2} Φ₁ᵀ (Min et al. 2021, equation 4)."""
    left, sizes, right = np.linalg.svd(X, full_matrices=False)
    kept = rank(sizes, X.shape)
    if not kept:
        raise InputError("X must not be zero; from such data nothing is learned")
    return left[:, :kept], sizes[:kept], right[:kept].T


@dataclass(frozen=True, eq=False)
class Range:
    """The range of X, judged in units in which every column has the same length.

    In floats. Rows that agree in more digits than a basis has are told apart by `data.independence`, for
    equations; an integrator could not follow what they decide.
    """

    X: Float

    @cached_property
    def full(self) -> bool:
        """Is every y in it? In any unit of features and of samples."""
        if len(self.X) > self.X.shape[1]:
            return False
        even = _unit_columns(_unit_columns(self.X).T)
        triangle = scipy.linalg.qr(even, mode="r", check_finite=False)[0][: len(self.X)]
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
        """B, (N, r); a column of zeros where X is 0, since a problem must have a sample."""
        found = self._factors[0]
        return found if found.shape[1] else np.zeros((len(self.X), 1))

    @cached_property
    def turned(self) -> Float:
        """BᵀX, equal to the last bit in columns that are equal up to sign."""
        return product(self.basis.T, self.X, Ties.of(self.X))

    def split(self, y: Float) -> tuple[Float, Float]:
        """Bᵀy and y − BBᵀy, the latter exactly 0 where it is round-off; y: (N,) or (N, m)."""
        _, sizes, rows, terms = self._factors
        seen = self.basis.T @ y
        rest = y - self.basis @ seen
        solution = rows.T @ (seen[: len(sizes)].T / sizes).T
        size = float(np.linalg.norm(terms @ np.abs(solution) + np.abs(y)))
        doubt = _ROUNDING * math.sqrt(self.X.shape[1]) * EPS * size
        return seen, rest if np.linalg.norm(rest) > doubt else np.zeros_like(rest)


def _unit_columns(X: Float) -> Float:
    """The columns at length 1, which changes nothing of what they span; two steps, or squares overflow."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0, largest, 1.0)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=0), 1.0))
