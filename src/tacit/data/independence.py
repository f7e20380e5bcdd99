r"""Well-conditioned combinations T X of nearly dependent rows.

X w = y and (T X) w = T y have the same solutions for every invertible T, so T itself may be inaccurate. The
products T X and T y must be accurate, however: otherwise the small difference of two rows would be round-off.
They are computed in double-double arithmetic (`numerics.double_double`), which gives T X full precision even
if samples agree in fifteen digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from tacit.data.arrays import Float
from tacit.numerics.double_double import ROUNDING, Pair, product
from tacit.numerics.rounding import ROUNDOFF

# A combination counts as 0 if at least this share of its entries are within one unit of round-off, and none
# exceeds this many units (single entries may be differences of larger numbers).
_ZERO_SHARE, _ZERO_UNITS = 0.8, 1e3
_ACCURATE = 1e-6  # smallest pivot, relative to the largest, whose row keeps ten digits in double precision
_CENTRED = 1e-11  # relative size below which the mean of a feature counts as 0
_REORTHOGONALIZATIONS = 5  # at most; each removes some nine digits of the component along the basis
_ORTHOGONAL = 1e-3  # share of a remainder above which a reorthogonalization is the last one
_PASSES = 40  # at most; each resolves samples that agree in six more digits (see `_ACCURATE`)


@dataclass(frozen=True, eq=False)
class Combinations:
    """T and T X in double precision, and the combinations that vanish on X.

    The rows of T X, in units of the size of each feature, are an orthonormal basis up to round-off.
    """

    T: Pair
    rows: Float
    vanishing: Pair


def combine(X: Float, scale: Float, rest: Float | None = None) -> Combinations:
    """Find a maximal set of orthonormal combinations of the rows of X.

    rest: combinations to start from, instead of all rows.

    A combination counts as vanishing if a change of X in its last bits makes it 0: most of its entries are
    at most one unit of round-off, and the others not much larger (they may be differences of larger numbers).
    If features have been centred, the sum of all samples, scale·X, vanishes too: what remains is round-off
    of the larger numbers before centring.
    """
    count, sizes = len(X), np.abs(X).max(axis=0)
    units = np.exp2(np.frexp(np.where(sizes > 0, sizes, 1.0))[1])
    X = X / units
    centred = rest is None and bool((np.abs(scale @ X) <= _CENTRED * (scale @ np.abs(X))).all())
    basis, vanishing = Pair.of(np.zeros((0, count))), Pair.of(scale[None][: int(centred)])
    rows = np.zeros((0, X.shape[1]))
    left = Pair.of(np.eye(count)[int(centred) :] if rest is None else rest)
    Z = X[int(centred) :] if rest is None else product(left, X).value
    for _ in range(_PASSES):
        left, Z = _remainders(X, basis, rows, left, Z)
        gone = _vanish(X, left, Z)
        vanishing = _stacked(vanishing, left[gone])
        left, Z = left[~gone], Z[~gone]
        if not len(Z) or len(rows) == X.shape[1]:  # the rank is at most the number of features
            break
        factor, order, found = _largest(Z, X.shape[1] - len(rows))
        new = product(factor, left[order[:found]])
        basis, rows = _stacked(basis, new), np.vstack([rows, product(new, X).value])
        left, Z = left[order[found:]], Z[order[found:]]
    return Combinations(basis, rows * units, _stacked(vanishing, left))


def _remainders(X: Float, basis: Pair, rows: Float, rest: Pair, Z: Float) -> tuple[Pair, Float]:
    """Orthogonalize the rest and Z = rest·X against the basis; scale to size 1 by powers of 2."""
    for turn in range(_REORTHOGONALIZATIONS):
        rest, Z = _scaled(rest, Z)
        if not len(rows) or not len(Z):
            break
        rest = rest - product(Z @ rows.T, basis)
        Z = product(rest, X).value
        sizes = np.abs(Z).max(axis=1)
        if turn and (sizes[sizes > 0] > _ORTHOGONAL).all():
            break
    return _scaled(rest, Z)


def _scaled(T: Pair, Z: Float) -> tuple[Pair, Float]:
    sizes = np.abs(Z).max(axis=1, initial=0.0)
    factor = np.exp2(-np.frexp(np.where(sizes > 0, sizes, 1.0))[1])[:, None]
    return T.scaled(factor), Z * factor


def _vanish(X: Float, T: Pair, Z: Float) -> NDArray[np.bool_]:
    """Which rows of Z = T X are round-off of X, or of the product."""
    size, largest = np.abs(T.high), np.abs(X).max(initial=0.0)
    lost = ROUNDING * largest * size.sum(axis=1, keepdims=True)
    bits = ROUNDOFF * (size @ np.abs(X))
    mostly = (np.abs(Z) <= bits + lost).mean(axis=1) >= _ZERO_SHARE
    return np.asarray(mostly & (np.abs(Z) <= _ZERO_UNITS * bits + lost).all(axis=1))


def _largest(Z: Float, most: int) -> tuple[Float, NDArray[np.intp], int]:
    """F with F·Z[order[:count]] orthonormal, the pivot order of the rows, and their count."""
    (R,) = qr(Z.T, mode="r", check_finite=False)  # pivoted QR is slow on long rows; R is small
    R, order = qr(R[: len(Z)], mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    count = min(int((diagonal > _ACCURATE * diagonal[0]).sum()), most)
    factor: Float = solve_triangular(R[:count, :count], np.eye(count), trans="T")
    return factor, np.asarray(order, dtype=np.intp), count


def _stacked(first: Pair, second: Pair) -> Pair:
    return Pair(np.vstack([first.high, second.high]), np.vstack([first.low, second.low]))
