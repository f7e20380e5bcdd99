"""Linear systems of batches of normal matrices, scaled to unit diagonal: by LU in NumPy, Cholesky in JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.potentials.arrays import array_namespace

Array = Any


@dataclass(frozen=True, eq=False)
class Inverse:
    """A⁻¹ = scale·inverse·scale of matrices A (…, N, N), and 1/condition of the middle factor."""

    inverse: Array
    scale: Array
    rcond: Array

    def times(self, right: Array) -> Array:
        """A⁻¹·right, for right sides (…, N)."""
        return self.scale * (self.inverse @ (self.scale * right)[..., None])[..., 0]


def solve_scaled(A: Array, right: Array) -> Array:
    """A⁻¹·right for symmetric positive definite matrices (…, N, N); NaN where a matrix is singular."""
    B, scale = _unit_diagonal(A)
    return scale * _solve(B, (scale * right)[..., None])[..., 0]


def inverse_of(A: Array) -> Inverse:
    """The inverses of symmetric positive definite matrices; NaN where a matrix is singular."""
    xp = array_namespace(A)
    B, scale = _unit_diagonal(A)
    inverse = _solve(B, xp.broadcast_to(xp.eye(A.shape[-1]), A.shape))
    norms = xp.max(xp.sum(xp.abs(B), axis=-1), axis=-1), xp.max(xp.sum(xp.abs(inverse), axis=-1), axis=-1)
    return Inverse(inverse, scale, 1 / (norms[0] * norms[1]))


def _unit_diagonal(A: Array) -> tuple[Array, Array]:
    xp = array_namespace(A)
    diagonal = xp.einsum("...nn->...n", A)
    scale = 1 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0))
    return A * scale[..., :, None] * scale[..., None, :], scale


def _solve(B: Array, right: Array) -> Array:
    if isinstance(B, np.ndarray):
        return _solve_in_numpy(B, right)
    from tacit.autodiff import jax

    factor = jax.scipy.linalg.cho_factor(B, lower=True)
    return jax.scipy.linalg.cho_solve(factor, right)


def _solve_in_numpy(B: Array, right: Array) -> Array:
    try:
        return np.linalg.solve(B, right)
    except np.linalg.LinAlgError:  # raised for the whole batch if one matrix is singular
        if B.ndim == 2:
            return np.full(right.shape, np.nan)
        return np.array([_solve_in_numpy(*each) for each in zip(B, right, strict=True)])
