r"""Samples of stopped flows, projected onto the part that can be fitted, and their loss.

With an orthonormal basis B of the range of X, the flow of the square loss is the same on BᵀX and Bᵀy, and on
X and BBᵀy; the part of y that cannot be fitted adds a constant to the loss (`tacit.flows.fitting`).

Along ν' = −∂L/∂f the rate of ν, which the integrator interpolates within a step, is −∂L/∂f (called the pull).
The loss is a function of it, so that stopping points are found without evaluating predictors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.data.arrays import Float
from tacit.data.prepared import Design
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import rank
from tacit.numerics.ties import Ties
from tacit.potentials.arrays import quiet

_SURE = 1e-6  # eigenvalues of XXᵀ above this share of the largest are certainly not round-off


@dataclass(frozen=True, eq=False)
class FittedSamples:
    """Rows and targets that can be fitted, with the loss L = (1/2N)·Σ(f − y)².

    count: N, the original number of samples. basis: B if rows are projected. unfitted: ‖y − BBᵀy‖².
    """

    X: Float
    y: Float
    count: int
    gram: Float  # XXᵀ
    spectrum: tuple[Float, Float]  # its eigenvalues in increasing order, and eigenvectors
    basis: Float | None = None
    unfitted: float = 0.0

    @cached_property
    def columns(self) -> Float:
        """Xᵀ in C order, for fast access to features."""
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def ties(self) -> Ties | None:
        """The ties among the columns of X."""
        return Ties.of(self.X)

    @property
    def largest(self) -> float:
        """The largest eigenvalue of XXᵀ."""
        return float(self.spectrum[0][-1])

    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f = (y − f)/N."""
        return (self.y - outputs) / self.count

    def log_loss(self, pull: Float) -> Float:
        """log L = log (N/2)Σ pull²."""
        return np.asarray(np.log(np.einsum("...n,...n->...", pull, pull)) + np.log(self.count / 2))

    @classmethod
    @quiet
    def of(cls, design: Design, y: Float) -> FittedSamples:
        """The samples for the square loss."""
        return (cls._wide if len(y) <= design.X.shape[1] else cls._tall)(design, y)

    @classmethod
    def _wide(cls, design: Design, y: Float) -> FittedSamples:
        """The original X, with y projected onto its range."""
        X, (gram, (values, vectors)) = design.X, design.spectrum
        doubtful = vectors[:, values <= _SURE * values[-1]]
        fitted = y
        if doubtful.shape[1]:  # decide by singular values, since their squares may be round-off
            inner, sizes, _ = np.linalg.svd(doubtful.T @ X, full_matrices=False)
            null = doubtful @ inner[:, sizes <= max(X.shape) * EPS * np.sqrt(max(values[-1], 0.0))]
            fitted = y - null @ (null.T @ y)
        return cls(X, fitted, len(y), gram, (values, vectors), None, _size(y - fitted, y))

    @classmethod
    def _tall(cls, design: Design, y: Float) -> FittedSamples:
        """The samples projected onto the range of X, which has at most as many dimensions as features."""
        X = design.X
        basis, sizes, rows = np.linalg.svd(X, full_matrices=False)
        r = max(rank(sizes, X.shape), 1)
        basis, sizes, rows = basis[:, r - 1 :: -1], sizes[r - 1 :: -1], rows[r - 1 :: -1]
        projected, inputs = basis.T @ y, sizes[:, None] * rows
        rest = y - basis @ projected
        spectrum = sizes**2, np.eye(r)
        return cls(inputs, projected, len(y), np.diag(sizes**2), spectrum, basis, _size(rest, y))


def _size(rest: Float, y: Float) -> float:
    """‖rest‖², 0 if that is round-off."""
    size = float(rest @ rest)
    return size if size > EPS * float(y @ y) else 0.0
