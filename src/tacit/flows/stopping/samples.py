r"""Samples of stopped flows, projected onto the part that can be fitted, and their losses.

With an orthonormal basis B of the range of X, the flow of the square loss is the same on BᵀX and Bᵀy, and on
X and BBᵀy; the part of y that cannot be fitted adds a constant to the loss (`tacit.flows.fitting`).

Along ν' = −∂L/∂f the rate of ν, which the integrator interpolates within a step, is −∂L/∂f (called `pull` in
the code).
The losses give it, its slope, and the loss as a function of it, so that stopping points are found without
evaluating predictors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from tacit.data.arrays import Float
from tacit.data.prepared import Design
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import rank
from tacit.numerics.ties import Ties
from tacit.potentials.arrays import quiet

_SURE = 1e-6  # eigenvalues of XXᵀ above this share of the largest are certainly not round-off


@dataclass(frozen=True, eq=False)
class FittedSamples:
    """Rows and targets that can be fitted. basis: B if rows are projected. unfitted: ‖y − BBᵀy‖²."""

    X: Float
    y: Float
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

    @classmethod
    def labelled(cls, design: Design, y: Float) -> FittedSamples:
        """The original samples, for losses of margins."""
        return cls(design.X, y, *design.spectrum)

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
        return cls(X, fitted, gram, (values, vectors), None, _size(y - fitted, y))

    @classmethod
    def _tall(cls, design: Design, y: Float) -> FittedSamples:
        """The samples projected onto the range of X, which has at most as many dimensions as features."""
        X = design.X
        basis, sizes, rows = np.linalg.svd(X, full_matrices=False)
        r = max(rank(sizes, X.shape), 1)
        basis, sizes, rows = basis[:, r - 1 :: -1], sizes[r - 1 :: -1], rows[r - 1 :: -1]
        projected, inputs = basis.T @ y, sizes[:, None] * rows
        rest = y - basis @ projected
        return cls(inputs, projected, np.diag(sizes**2), (sizes**2, np.eye(r)), basis, _size(rest, y))


def _size(rest: Float, y: Float) -> float:
    """‖rest‖², 0 if that is round-off."""
    size = float(rest @ rest)
    return size if size > EPS * float(y @ y) else 0.0


@dataclass(frozen=True, eq=False)
class StoppedSquare:
    """L = (1/2N)·Σ(f − y)²."""

    y: Float
    samples: int
    linear = True

    def pull(self, outputs: Float) -> Float:
        """(y − f)/N."""
        return (self.y - outputs) / self.samples

    def slope(self, pull: Float) -> Float:
        """1/N."""
        return np.full_like(pull, 1 / self.samples)

    def log_loss(self, pull: Float) -> Float:
        """log (N/2)Σ pull²."""
        return np.asarray(np.log(np.einsum("...n,...n->...", pull, pull)) + np.log(self.samples / 2))


@dataclass(frozen=True, eq=False)
class StoppedExponential:
    """L = mean of e^{−y f}, for labels y of ±1."""

    y: Float
    linear = False

    def pull(self, outputs: Float) -> Float:
        """y·e^{−y f}/N."""
        return np.asarray(self.y * np.exp(-self.y * outputs) / len(self.y))

    def slope(self, pull: Float) -> Float:
        """|pull|."""
        return np.abs(pull)

    def log_loss(self, pull: Float) -> Float:
        """log Σ|pull|."""
        return np.asarray(np.log(np.abs(pull).sum(axis=-1)))


@dataclass(frozen=True, eq=False)
class StoppedLogistic:
    """L = mean of log(1 + e^{−y f}), for labels y of ±1."""

    y: Float
    linear = False

    def _shares(self, pull: Float) -> Float:
        """p = 1/(1 + e^m) = N·|pull| for margins m."""
        return np.minimum(len(self.y) * np.abs(pull), 1 - EPS)

    def pull(self, outputs: Float) -> Float:
        """y/(1 + e^{y f})/N."""
        return np.asarray(self.y * expit(-self.y * outputs) / len(self.y))

    def slope(self, pull: Float) -> Float:
        """p(1 − p)/N."""
        shares = self._shares(pull)
        return shares * (1 - shares) / len(self.y)

    def log_loss(self, pull: Float) -> Float:
        """log of the mean of −log(1 − p)."""
        return np.asarray(np.log(-np.log1p(-self._shares(pull)).mean(axis=-1)))


# linear: whether the pull −∂L/∂f is an affine function of the outputs. slope: −∂pull/∂f of each sample.
StoppedLoss = StoppedSquare | StoppedExponential | StoppedLogistic
