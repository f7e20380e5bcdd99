r"""Linear measurements ⟨X_n, M⟩ = y_n of a matrix, as equations for its entries.

The tangent metric of a factorization maps G to U UᵀG + G V Vᵀ (to G M + M G for W Wᵀ). Its kernel limit, the
limit of the model linearized at initialization, is M(0) plus the smallest change in this metric that
satisfies the measurements. For M̄(0) = c·I the metric is a multiple of the Frobenius norm, and the limit is
the solution nearest to M(0) (Woodworth et al. 2020, Section 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.equations import Equations
from tacit.errors import InputError
from tacit.models.matrix import as_symmetric
from tacit.numerics.normal_equations import factorize
from tacit.numerics.spectra import Frame

_MAX_ENTRIES = 20_000_000  # of all measurements together (160 MB); with more, one step takes over a minute


@dataclass(frozen=True, eq=False)
class Measurements:
    """Independent equations for the entries of a matrix; symmetric: whether M must be symmetric."""

    equations: Equations
    shape: tuple[int, int]
    symmetric: bool = False

    @property
    def stack(self) -> Float:
        """The X_n of the independent equations, (r, d₁, d₂)."""
        return self.equations.X.reshape(-1, *self.shape)

    def adjoint(self, nu: Float) -> Float:
        """Σ ν_n X_n."""
        return np.asarray((self.equations.X.T @ nu).reshape(self.shape))

    def residual(self, matrix: Float) -> Float:
        """y − ⟨X_n, M⟩."""
        return np.asarray(self.equations.y - self.equations.X @ matrix.ravel())

    def rounding(self, matrix: Float) -> Float:
        """A bound on the round-off of `residual`."""
        X, y = self.equations.X, self.equations.y
        return np.asarray(np.finfo(float).eps * (np.abs(X) @ np.abs(matrix.ravel()) + np.abs(y)))

    def move(self, frame: Frame, W: Float) -> Callable[[Float, Float], Float]:
        """The Newton step (ρ, g) ↦ change of M (flattened); W: (∇²Q)⁻¹ in the frame."""
        rows = frame.coordinates(self.stack)
        factor = factorize(rows, W, careful=True)

        def moved(rho: Float, g: Float) -> Float:
            change = factor.direction(rho, frame.coordinates(g.reshape(self.shape)))[1]
            return frame.matrix(W * change).ravel()

        return moved


def as_stack(X: Any) -> Float:
    """X as floats (N, d₁, d₂); measurements of single entries become dense if they are small enough."""
    if hasattr(X, "dense") and hasattr(X, "adjoint"):
        check_size(len(X), *X.shape[-2:])
        X = X.dense()
    X = as_floats(X, "X", ndim=(3,))
    if 0 in X.shape:
        raise InputError(
            f"X must have shape (samples, rows, columns) with at least one of each, got {X.shape}"
        )
    check_size(*X.shape)
    return X


def check_size(samples: int, rows: int, columns: int) -> None:
    """Check that the measurements fit into memory."""
    if samples * rows * columns > _MAX_ENTRIES:
        raise InputError(
            f"{samples:,} measurements of {rows:,}×{columns:,} matrices have {samples * rows * columns:,} "
            f"entries, and a limit is computed for at most {_MAX_ENTRIES:,}; use fewer measurements, a part "
            "of the matrix, or tacit.flow"
        )


def check_square(X: Float) -> Float:
    """X, made exactly symmetric; raises `InputError` if the measurements are not square and symmetric."""
    if X.shape[1] != X.shape[2]:
        raise InputError(
            f"the measurements must be square for a symmetric model, got {X.shape[1]}×{X.shape[2]} matrices"
        )
    return as_symmetric(X)


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
