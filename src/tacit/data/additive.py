"""Least-squares fits of a matrix with missing entries by an overall mean, row effects and column effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr

from tacit.data.arrays import Float, Index
from tacit.data.entries import Entries

_TOL = 1e-12  # of lsmr; its iterations cost one pass over the entries


@dataclass(frozen=True, eq=False)
class Effects:
    """The matrix mean + rows[i] + columns[j]. A row or column without entries has the effect 0."""

    mean: float
    rows: Float
    columns: Float

    def matrix(self) -> Float:
        """The fitted values of all cells."""
        return np.asarray(self.mean + self.rows[:, None] + self.columns)

    def at(self, X: Entries) -> Float:
        """The fitted values of the given cells."""
        return np.asarray(self.mean + self.rows[X.rows] + self.columns[X.columns])


def no_effects(X: Entries, y: Float | None = None) -> Effects:
    """The zero matrix."""
    return Effects(0.0, np.zeros(X.shape[0]), np.zeros(X.shape[1]))


def column_means(X: Entries, y: Float) -> Effects:
    """The means of the columns, relative to the mean of all entries, which fills columns without entries."""
    mean, counts = float(np.mean(y)), np.bincount(X.columns, minlength=X.shape[1])
    sums = np.bincount(X.columns, y - mean, minlength=X.shape[1])
    return Effects(mean, np.zeros(X.shape[0]), sums / np.maximum(counts, 1))


def additive_fit(X: Entries, y: Float) -> Effects:
    """The least-squares fit of y by mean + row + column, without a penalty.

    Effects are determined up to a constant for each connected set of rows and columns; lsmr returns those of
    least norm. Both kinds are then centred over the rows and columns with entries, so that a row without
    entries is filled as an average one.
    """
    (d1, d2), n = X.shape, len(y)
    mean = float(np.mean(y))
    places = np.concatenate([X.rows, d1 + X.columns])
    design = csr_array((np.ones(2 * n), (np.tile(np.arange(n), 2), places)), shape=(n, d1 + d2))
    found = lsmr(design, y - mean, atol=_TOL, btol=_TOL, maxiter=10 * (d1 + d2))[0]
    rows, columns = _centred(found[:d1], X.rows), _centred(found[d1:], X.columns)
    return Effects(mean + rows[1] + columns[1], rows[0], columns[0])


def _centred(effects: Float, seen: Index) -> tuple[Float, float]:
    """Effects minus their mean over the rows or columns with entries, 0 for the others; and this mean."""
    has = np.bincount(seen, minlength=len(effects)) > 0
    mean = float(effects[has].mean())
    return np.where(has, effects - mean, 0.0), mean
