r"""Matrix products in double-double arithmetic.

A number is represented as the sum of a pair (high, low) of doubles. The factors of a product are split into
slices of so few bits that products of two slices are exact (Ozaki, Ogita, Oishi and Rump 2012), regardless of
the summation order and fused operations of the BLAS. Slices are aligned to the largest entry of each row
(column) of the factor, so the error is about 2⁻¹⁰⁶·max_k|A_ik|·max_k|B_kj| per term.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.numerics.rounding import Float

ROUNDING = 2.0**-100  # relative round-off error of a product, with a safety margin over 2⁻¹⁰⁶
_BITS = 53  # significant bits of a double
_PRECISION = 108  # slices that begin this many bits below the largest entry, or lower, are dropped
_SPLIT = 2.0**27 + 1  # Veltkamp's constant, which splits a double into halves of 26 bits
_BLOCK = 1 << 16  # entries of a factor that are sliced at once, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Pair:
    """high + low, with |low| at most half a unit in the last place of high."""

    high: Float
    low: Float

    @classmethod
    def of(cls, values: Float) -> Pair:
        """Convert doubles."""
        return cls(values, np.zeros_like(values))

    def __add__(self, other: Pair | Float) -> Pair:
        """Double-double sum."""
        high, rest = two_sum(self.high, other.high if isinstance(other, Pair) else other)
        rest = rest + self.low + (other.low if isinstance(other, Pair) else 0.0)
        return Pair(*_normal(high, rest))

    def __sub__(self, other: Pair | Float) -> Pair:
        return self + (Pair(-other.high, -other.low) if isinstance(other, Pair) else -other)

    def scaled(self, factor: Float | float) -> Pair:
        """Multiply by powers of 2, exactly."""
        return Pair(self.high * factor, self.low * factor)

    def over(self, divisor: Pair) -> Pair:
        """Divide entry by entry."""
        quotient = self.high / divisor.high
        part, rest = two_product(quotient, divisor.high)
        remainder = self - Pair(part, rest + quotient * divisor.low)
        return Pair(*_normal(quotient, remainder.value / divisor.high))

    def sqrt(self) -> Pair:
        """The square root of positive entries."""
        root = np.sqrt(self.high)
        remainder = self - Pair(*two_product(root, root))
        return Pair(*_normal(root, remainder.value / (2 * root)))

    def __getitem__(self, which: Any) -> Pair:
        return Pair(self.high[which], self.low[which])

    @property
    def T(self) -> Pair:
        """The transpose."""
        return Pair(self.high.T, self.low.T)

    @property
    def value(self) -> Float:
        """Round to double precision."""
        return np.asarray(self.high + self.low)


def two_sum(a: Float, b: Float) -> tuple[Float, Float]:
    """a + b and its rounding error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Float, b: Float) -> tuple[Float, Float]:
    """a·b and its rounding error, exactly (Dekker), for factors away from underflow and overflow."""
    total = a * b
    (a, a_low), (b, b_low) = _halves(a), _halves(b)
    return total, ((a * b - total) + a * b_low + a_low * b) + a_low * b_low


def _halves(a: Float) -> tuple[Float, Float]:
    """Split a into a sum of two doubles with half as many bits (Veltkamp)."""
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def _normal(high: Float, low: Float) -> tuple[Float, Float]:
    """Renormalize, so that |low| is at most half a unit in the last place of high."""
    total = high + low
    return total, low - (total - high)


def product(A: Pair | Float, B: Pair | Float) -> Pair:
    """Product A B in double-double arithmetic, of two matrices or of a matrix and a vector.

    Computed for some columns of B at a time, to bound the memory for slices.
    """
    A, B = as_pair(A), as_pair(B)
    if B.high.ndim == 1:
        return product(B[None], A.T)[0]
    count, inner = B.high.shape[1], max(len(B.high), 1)
    left = _slices(A, inner)
    step = max(1, _BLOCK // inner)
    blocks = [_multiplied(left, B[:, i : i + step], len(A.high)) for i in range(0, count, step)]
    if not blocks:
        return Pair.of(np.zeros((len(A.high), 0)))
    return Pair(np.hstack([b.high for b in blocks]), np.hstack([b.low for b in blocks]))


def moments(A: Pair) -> tuple[Pair, Pair]:
    """Σ_k A_ik and Σ_k A_ik² of each row i, in double-double arithmetic."""
    terms = max(A.high.shape[1], 1)
    sums, squares = Pair.of(np.zeros(len(A.high))), Pair.of(np.zeros(len(A.high)))
    step = max(1, _BLOCK // terms)
    for i in range(0, len(A.high), step):
        pieces = _slices(A[i : i + step], terms)
        first = second = Pair.of(np.zeros(len(pieces[0])))
        for piece in pieces:
            first = first + piece.sum(axis=1)
        for m, n in _levels(pieces, pieces, terms):
            second = second + np.einsum("ik,ik->i", pieces[m], pieces[n])
        sums.high[i : i + step], sums.low[i : i + step] = first.high, first.low
        squares.high[i : i + step], squares.low[i : i + step] = second.high, second.low
    return sums, squares


def as_pair(values: Pair | Float) -> Pair:
    """Convert doubles to pairs; pairs are returned unchanged."""
    return values if isinstance(values, Pair) else Pair.of(values)


def _multiplied(left: list[Float], B: Pair, rows: int) -> Pair:
    """Sum the significant products of slices, largest first."""
    right = [piece.T for piece in _slices(B.T, max(len(B.high), 1))]
    total = Pair.of(np.zeros((rows, B.high.shape[1])))
    for m, n in _levels(left, right, max(len(B.high), 1)):
        total = total + left[m] @ right[n]
    return total


def _levels(left: list[Float], right: list[Float], terms: int) -> Iterator[tuple[int, int]]:
    """Index pairs of slices with significant products, in order of decreasing size."""
    most = -(-_PRECISION // _slice_bits(terms))
    for level in range(min(len(left) + len(right) - 1, most + 1)):
        for m in range(max(0, level - len(right) + 1), min(level + 1, len(left))):
            yield m, level - m


def _slice_bits(terms: int) -> int:
    """Bits per slice such that sums of this many products of slices are exact in double precision."""
    return (_BITS - math.ceil(math.log2(terms)) if terms > 1 else _BITS) // 2 - 1


def _slices(A: Pair, terms: int) -> list[Float]:
    """Split A into a sum of matrices with few bits each, aligned by rows; drop zero matrices at the end."""
    pieces = list(_cut(A, _slice_bits(terms)))
    while len(pieces) > 1 and not pieces[-1].any():
        pieces.pop()
    return pieces


def _cut(A: Pair, bits: int) -> Iterator[Float]:
    """Extract slices by adding and subtracting a large power of 2, which rounds off the lower bits."""
    largest = np.abs(A.high).max(axis=1, initial=0.0)
    exponent = np.frexp(largest)[1].astype(float)[:, None]
    high, low = A.high, A.low
    plain = not low.any()
    for level in range(-(-_PRECISION // bits) + 1):
        anchor = np.exp2(exponent - level * bits + (_BITS - bits))
        piece = high + anchor
        piece -= anchor
        yield piece
        high = high - piece
        if not plain:
            high, low = _normal(high, low)
        if not high.any():
            return
