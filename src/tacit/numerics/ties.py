"""Columns that are equal up to sign, and products that treat them identically.

The round-off of a column of a BLAS product depends on its position, so two equal columns of X may give slopes
Xᵀν that differ in their last bits. A deep network at a tiny scale amplifies such a difference without bound:
one feature gets all the weight that the exact flow divides equally.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.numerics.rounding import Float, Index

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # an odd number with well-mixed bits (2⁶⁴ over the golden ratio)


@dataclass(frozen=True, eq=False)
class Ties:
    """Column j of X is sign[j] times column first[place[j]]."""

    first: Index
    place: Index
    sign: Float

    @classmethod
    def of(cls, X: Float) -> Ties | None:
        """Find ties among the columns of X; None if there are none."""
        sign = np.sign(X[(X != 0).argmax(axis=0), np.arange(X.shape[1])])
        sign[sign == 0] = 1.0
        keys = np.zeros(X.shape[1], dtype=np.uint64)
        for row in X:  # a hash of the bits of each column
            keys = (keys ^ (row * sign + 0.0).view(np.uint64)) * _MULTIPLIER  # + 0.0 turns −0 into 0
            keys ^= keys >> np.uint64(32)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == X.shape[1]:
            return None
        sign = sign * sign[first][place]
        if not np.array_equal(X[:, first][:, place] * sign, X):  # hash collision
            return None
        return cls(first, place, sign)

    def spread(self, values: Float) -> Float:
        """Extend values of the distinct columns to all columns."""
        return np.asarray(values[..., self.place] * self.sign)


def product(left: Float, X: Float, ties: Ties | None) -> Float:
    """left·X, with identical round-off for columns that are equal up to sign."""
    return left @ X if ties is None else ties.spread(left @ X[:, ties.first])
