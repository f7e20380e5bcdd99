r"""The constraints of a maximum margin: z_n·w ≥ 1, or y_n(x_n·w + b) ≥ 1 with b free and in no potential.

With z_n = y_n x_n the free coordinate has the column y. Where samples S hold a predictor their constraints
are equations, x_n·w + b = y_n, and differences from one of them leave b out: (x_n − x_r)·w = y_n − y_r. The
multipliers of these are those of the samples, which add up to 0: λ_r = −Σ λ_n, and ν_n = y_n λ_n.
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

_FREE = 1e4  # size of a column, beside the others, at which its coordinate is as good as free


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows z_n = y_n x_n, the samples, and where there is an intercept the labels.

    Beside an intercept Z is that of centred features; samples are x_n as they came, or y_n x_n without one,
    since it is their last bits that tell which of them depend on others, and which features are tied.
    """

    Z: Float
    labels: Float | None = None
    samples: Samples | None = None

    @classmethod
    def of(cls, design: Design, y: Float) -> Margins:
        """Those of labelled data that can be separated, made once; `NotSeparableError` otherwise."""
        if design.intercept and (y == y[0]).all():
            raise InputError(
                "all samples are of one class, which an intercept alone classifies; leave intercept out, or "
                "add samples of the other class"
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
        """How many there are, with the intercept."""
        return self.Z.shape[1] + (self.labels is not None)

    @property
    def unit(self) -> float:
        """Of the intercept's column, in which it is as large as the others."""
        return float(np.abs(self.Z).max()) or 1.0

    @property
    def rows(self) -> Float:
        """The coefficients of all coordinates, the intercept's last, in its unit."""
        return self.Z if self.labels is None else np.column_stack([self.Z, self.unit * self.labels])

    def taking(self, columns: Any) -> Margins:
        """With some of the features."""
        return replace(self, Z=self.Z[:, columns])

    def in_units(self, factor: Float) -> Margins:
        """For w/factor, or for B⁻¹w where factor is a matrix B."""
        return replace(self, Z=self.Z @ factor if factor.ndim == 2 else self.Z * factor)

    def nearly_free(self) -> Float:
        """Rows among which the intercept counts for next to nothing."""
        return self.Z if self.labels is None else np.column_stack([self.Z, _FREE * self.unit * self.labels])

    def equations(self, support: Index, tol: float) -> Equations:
        """Those for w alone that hold if these margins are 1; `InconsistentDataError` if none can."""
        targets = np.ones(len(support)) if self.labels is None else self.labels[support]
        if self.samples is None:
            return prepare(self.Z[support], targets, tol)
        return replace(self.samples, X=self.samples.X[support]).equations(targets, tol)

    def dual(self, equations: Equations, nu: Pair, support: Index) -> Float:
        """Multipliers of all margins from those of the equations."""
        signs = 1.0 if self.labels is None else self.labels[support]
        dual = np.zeros(len(self))
        dual[support] = signs * equations.dual(nu)
        return dual

    def intercept(self, w: Float, support: Index | None = None) -> float:
        """b: that which makes the margins of a support 1, or the smallest margin as large as it can be."""
        if self.labels is None:
            return 0.0
        outputs = self.labels * (self.Z @ w)
        if support is not None:
            return float(np.mean(self.labels[support] - outputs[support])) if len(support) else 0.0
        return -float(outputs[self.labels > 0].min() + outputs[self.labels < 0].max()) / 2

    def at(self, w: Float, b: float) -> Float:
        """y_n(x_n·w + b)."""
        return self.Z @ w if self.labels is None else self.Z @ w + self.labels * b

    def terms(self, w: Float, b: float, which: Index) -> Float:
        """The sizes of the terms that make these margins, added up."""
        return np.asarray(np.abs(self.Z[which]) @ np.abs(w) + abs(b))
