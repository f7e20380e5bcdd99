"""Samples with all their digits, as equations keep them beside the floats that solvers work with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.numerics.pairs import Pair, product
from tacit.numerics.spread import Spread


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers as they came, but for powers of 2, and what their columns are divided by."""

    numbers: Float
    spread: Spread | None = None

    @classmethod
    def of(cls, X: Float, spread: Spread | None) -> Exact:
        """X in units of the spread of its features."""
        return cls(X if spread is None else X / spread.unit, spread)

    @property
    def value(self) -> Float:
        """In floats."""
        return self.divided(self.numbers)

    def divided(self, rows: Float) -> Float:
        """Combinations of the rows of the numbers, as combinations of samples."""
        return rows if self.spread is None else rows / self.spread.rounded

    def slopes(self, nu: Pair, columns: Any) -> Pair:
        """Xᵀν in twice the digits of floats, some columns of it."""
        found = product(self.numbers[:, columns].T, nu)
        return found if self.spread is None else found.over(self.spread.share(columns))

    def taken(self, rows: Index, scale: Float) -> Exact:
        """Some rows, divided by powers of 2."""
        if len(rows) == len(self.numbers) and (scale == 1).all():
            return self
        return replace(self, numbers=self.numbers[rows] / scale[:, None])

    def with_columns(self, factor: Float) -> Exact:
        """With columns times powers of 2."""
        return replace(self, numbers=self.numbers * factor)

    def terms(self, w: Float) -> Float:
        """|X||w|."""
        return np.asarray(np.abs(self.numbers) @ self.divided(np.abs(w)))

    def slope_terms(self, nu: Float) -> Float:
        """|X|ᵀ|ν|."""
        return self.divided(np.abs(self.numbers).T @ np.abs(nu))
