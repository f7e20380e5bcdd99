r"""The constraints of a maximum margin: z_n·w ≥ 1, or y_n(x_n·w + b) ≥ 1 with an unpenalized intercept b.

With z_n = y_n x_n the intercept has the column y. The constraints of support vectors are equations, x_n·w + b
= y_n, and differences from one of them (r) eliminate b: (x_n − x_r)·w = y_n − y_r. Their multipliers are
those of the samples, which sum to 0: λ_r = −Σ λ_n, and ν_n = y_n λ_n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.equations import Equations, Samples, prepare
from tacit.data.prepared import Design
from tacit.errors import InputError
from tacit.numerics.double_double import Pair

_FREE = 1e4  # size of a column, relative to the others, at which its coordinate is practically unpenalized


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows z_n = y_n x_n of Z, the samples, and the labels if there is an intercept (otherwise None).

    With an intercept, Z is made of centred features. `samples` holds the original x_n (y_n x_n without an
    intercept): their last bits determine which samples are dependent and which features are tied.
    """

    Z: Float
    labels: Float | None = None
    samples: Samples | None = None

    @classmethod
    def of(cls, design: Design, y: Float) -> Margins:
        """The constraints for labelled data (cached); raises `NotSeparableError` if there is no separator."""
        if design.intercept and (y == y[0]).all():
            raise InputError(
                "all samples belong to one class, so an intercept alone separates them; use intercept=False "
                "or add samples of the other class"
            )
        design.check_separable(y)
        return design.samples.memory.once(("margins", y.tobytes()), lambda: cls._made(design, y))

    @classmethod
    def _made(cls, design: Design, y: Float) -> Margins:
        signs = y[:, None]
        if design.intercept:
            return cls(signs * design.features, y, design.samples)
        return cls(signs * design.features, samples=Samples(signs * design.X, False, design.spread))

    def __len__(self) -> int:
        return len(self.Z)

    @property
    def coordinates(self) -> int:
        """The number of features, plus one for an intercept."""
        return self.Z.shape[1] + (self.labels is not None)

    @property
    def unit(self) -> float:
        """The factor that makes the intercept's column as large as the others."""
        return float(np.abs(self.Z).max()) or 1.0

    @property
    def rows(self) -> Float:
        """Z, with the scaled column of the intercept last."""
        return self.Z if self.labels is None else np.column_stack([self.Z, self.unit * self.labels])

    def taking(self, columns: Any) -> Margins:
        """The constraints with a subset of the features."""
        return replace(self, Z=self.Z[:, columns])

    def in_units(self, factor: Float) -> Margins:
        """The constraints on w/factor, or on B⁻¹w if factor is a matrix B."""
        return replace(self, Z=self.Z @ factor if factor.ndim == 2 else self.Z * factor)

    def nearly_free(self) -> Float:
        """Z, with a column for the intercept so large that a norm hardly penalizes it."""
        return self.Z if self.labels is None else np.column_stack([self.Z, _FREE * self.unit * self.labels])

    def equations(self, support: Index, tol: float) -> Equations:
        """The equations for w that make these margins 1; raises `InconsistentDataError` if none can."""
        targets = np.ones(len(support)) if self.labels is None else self.labels[support]
        if self.samples is None:
            return prepare(self.Z[support], targets, tol)
        return replace(self.samples, X=self.samples.X[support]).equations(targets, tol)

    def dual(self, equations: Equations, nu: Pair, support: Index) -> Float:
        """Multipliers of all samples from those of the equations."""
        signs = 1.0 if self.labels is None else self.labels[support]
        dual = np.zeros(len(self))
        dual[support] = signs * equations.dual(nu)
        return dual

    def intercept(self, w: Float, support: Index) -> float:
        """The b that makes the margins of a support 1."""
        if self.labels is None or not len(support):
            return 0.0
        return float(np.mean(self.labels[support] * (1 - self.Z[support] @ w)))

    def at(self, w: Float, b: float) -> Float:
        """The margins y_n(x_n·w + b)."""
        return self.Z @ w if self.labels is None else self.Z @ w + self.labels * b

    def terms(self, w: Float, b: float, which: Index) -> Float:
        """Sums of the absolute terms of these margins, for a bound on their round-off."""
        return np.asarray(np.abs(self.Z[which]) @ np.abs(w) + abs(b))
