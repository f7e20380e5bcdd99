r"""Samples of stopped flows, projected onto the part that can be fitted, and their loss.

With an orthonormal basis B of the range of X, the flow of the square loss is the same on BᵀX and Bᵀy; the
part of y that cannot be fitted adds a constant to the loss (`tacit.flows.fitting`).

Along ν' = −∂L/∂f the rate of ν, which the integrator interpolates within a step, is −∂L/∂f (called `pull` in
the code). The loss is a function of it, so that stopping points are found without evaluating predictors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.data.arrays import Float
from tacit.data.prepared import Design
from tacit.numerics.ties import Ties
from tacit.potentials.arrays import quiet


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
        """The samples, projected onto the range of X unless that contains every y."""
        within = design.range
        if within.full:
            return cls(design.X, y, len(y), *design.spectrum)
        (projected, rest), X = within.split(y), within.projected
        gram = X @ X.T
        return cls(X, projected, len(y), gram, np.linalg.eigh(gram), within.basis, float(rest @ rest))
