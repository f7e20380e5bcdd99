r"""Samples of the square loss, as far as they can be fitted.

With an orthonormal basis B of the range of X the flow on BᵀX and Bᵀy is the same flow, and that on X and
BBᵀy too; what of y no predictor fits is a constant of the loss (`tacit.flows.fitting`).
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

_SURE = 1e-6  # of the largest eigenvalue of XXᵀ: those above it are known well enough


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows and targets that can be fitted. basis: B, where rows are turned. unfitted: the rest's ‖·‖²."""

    X: Float
    y: Float
    gram: Float  # XXᵀ
    spectrum: tuple[Float, Float]  # its eigenvalues, the largest last, and -vectors
    basis: Float | None = None
    unfitted: float = 0.0

    @cached_property
    def columns(self) -> Float:
        """Xᵀ, of which rows are read fast."""
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def ties(self) -> Ties | None:
        """Which columns of X are equal up to sign."""
        return Ties.of(self.X)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return len(self.y) if self.basis is None else len(self.basis)

    @property
    def largest(self) -> float:
        """Of the eigenvalues of XXᵀ."""
        return float(self.spectrum[0][-1])

    @classmethod
    def labelled(cls, design: Design, y: Float) -> Samples:
        """As they are, for losses of margins."""
        return cls(design.X, y, *design.spectrum)

    @classmethod
    @quiet
    def of(cls, design: Design, y: Float) -> Samples:
        """Of plain data."""
        return (cls._wide if len(y) <= design.X.shape[1] else cls._tall)(design, y)

    @classmethod
    def _wide(cls, design: Design, y: Float) -> Samples:
        """As they are, without what of y is in directions that X does not have."""
        X, (gram, (values, turn)) = design.X, design.spectrum
        doubtful = turn[:, values <= _SURE * values[-1]]
        seen = y
        if doubtful.shape[1]:  # their sizes, not the squares of which only rounding may be left
            inner, sizes, _ = np.linalg.svd(doubtful.T @ X, full_matrices=False)
            none = doubtful @ inner[:, sizes <= max(X.shape) * EPS * np.sqrt(max(values[-1], 0.0))]
            seen = y - none @ (none.T @ y)
        return cls(X, seen, gram, (values, turn), None, _size(y - seen, y))

    @classmethod
    def _tall(cls, design: Design, y: Float) -> Samples:
        """Turned, so that there are no more than features."""
        X = design.X
        basis, sizes, rows = np.linalg.svd(X, full_matrices=False)
        r = max(rank(sizes, X.shape), 1)
        basis, sizes, rows = basis[:, r - 1 :: -1], sizes[r - 1 :: -1], rows[r - 1 :: -1]
        seen, turned = basis.T @ y, sizes[:, None] * rows
        rest = y - basis @ seen
        return cls(turned, seen, np.diag(sizes**2), (sizes**2, np.eye(r)), basis, _size(rest, y))


def _size(rest: Float, y: Float) -> float:
    """‖rest‖², 0 where that is rounding."""
    size = float(rest @ rest)
    return size if size > EPS * float(y @ y) else 0.0
