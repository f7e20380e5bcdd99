r"""Spectral functions of a matrix, and their derivatives.

For Z = P diag(s) Rᵀ with eigenvalues s, or singular values s and an odd function f, define f(Z) = P
diag(f(s)) Rᵀ. In the frame (P, R) its derivative is diagonal: each coordinate of a change of Z is multiplied
by a divided difference f[a, b] = (f(a) − f(b))/(a − b) of two values a, b of the spectrum (Daleckii and
Krein; for singular values through the augmented matrix [[0, Z], [Zᵀ, 0]]):

    symmetric part of the entries i, j       f[sᵢ, sⱼ]
    antisymmetric part of the entries i, j   f[sᵢ, −sⱼ]
    rows or columns beyond the square        f[sⱼ, 0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.numerics.rounding import Float

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Ratio of slopes over an interval up to which f is nearly linear there: f(a) − f(b) would cancel, and the
# mean slope by Gauss quadrature is accurate.
_ALIKE = 1.1
_HALF = 1 / np.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Frame:
    """Orthogonal matrices P (d₁, d₁) and R (d₂, d₂) and the spectrum s of a matrix P diag(s) Rᵀ."""

    left: Float
    values: Float
    right: Float
    symmetric: bool

    @classmethod
    def of(cls, matrix: Float, symmetric: bool = False) -> Frame:
        """Compute the eigendecomposition if `symmetric`, else the singular value decomposition."""
        if symmetric:
            values, vectors = np.linalg.eigh(matrix / 2 + matrix.T / 2)
            return cls(vectors, values, vectors, True)
        left, values, right = np.linalg.svd(matrix)
        return cls(left, values, right.T, False)

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.values), 1)

    @cached_property
    def couples(self) -> tuple[Float, Float]:
        """The two values a, b of the spectrum for every coordinate, as in the table above."""
        s, (i, j) = self.values, self._pairs
        if self.symmetric:
            return np.concatenate([s, s[i]]), np.concatenate([s, s[j]])
        beyond = len(self.left) + len(self.right) - 2 * len(s)
        more = np.repeat(s, beyond)
        return np.concatenate([s, s[i], s[i], more]), np.concatenate([s, s[j], -s[j], 0.0 * more])

    def coordinates(self, stack: Float) -> Float:
        """Orthonormal coordinates (…, D) in this frame of matrices (…, d₁, d₂)."""
        rotated = self.left.T @ stack @ self.right
        size, (i, j) = len(self.values), self._pairs
        square = rotated[..., :size, :size]
        diagonal = np.einsum("...ii->...i", square)
        upper, lower = square[..., i, j], square[..., j, i]
        parts = [diagonal, (upper + lower) * _HALF]
        if not self.symmetric:
            tall = len(self.left) > size
            more = rotated[..., size:, :].swapaxes(-1, -2) if tall else rotated[..., :, size:]
            parts += [(upper - lower) * _HALF, more.reshape(*more.shape[:-2], -1)]
        return np.concatenate(parts, axis=-1)

    def matrix(self, coordinates: Float) -> Float:
        """The matrix with these coordinates."""
        size, (i, j) = len(self.values), self._pairs
        rows, columns, pairs = len(self.left), len(self.right), len(i)
        rotated = np.zeros((rows, columns))
        diagonal, even = coordinates[:size], coordinates[size : size + pairs] * _HALF
        odd = np.zeros(pairs) if self.symmetric else coordinates[size + pairs : size + 2 * pairs] * _HALF
        rotated[np.arange(size), np.arange(size)] = diagonal
        rotated[i, j], rotated[j, i] = even + odd, even - odd
        if not self.symmetric and rows != columns:
            more = coordinates[size + 2 * pairs :].reshape(size, -1)
            if rows > columns:
                rotated[size:, :] = more.T
            else:
                rotated[:, size:] = more
        return np.asarray(self.left @ rotated @ self.right.T)

    def with_spectrum(self, values: Float) -> Float:
        """P diag(values) Rᵀ."""
        size = len(values)
        return np.asarray((self.left[:, :size] * values) @ self.right[:, :size].T)


def divided(f: Callable[[Float], Float], slope: Callable[[Float], Float], a: Float, b: Float) -> Float:
    """(f(a) − f(b))/(a − b) to full accuracy, also if a is close to b; slope: the derivative of f.

    If the slope hardly changes between a and b, average it with Gauss quadrature (12 nodes), which has no
    cancellation; otherwise f(a) and f(b) differ enough for the quotient.
    """
    middle, half = (a + b) / 2, (a - b) / 2
    slopes = np.stack([slope(a), slope(b), slope(middle)])
    alike = slopes.max(axis=0) <= _ALIKE * slopes.min(axis=0)
    gap = np.where(half == 0, 1.0, 2 * half)
    found = np.where(half == 0, slopes[2], (f(a) - f(b)) / gap)
    if alike.any():
        m, h = middle[alike], half[alike]
        found[alike] = sum(w / 2 * slope(m + x * h) for x, w in zip(_NODES, _WEIGHTS, strict=True))
    return found
