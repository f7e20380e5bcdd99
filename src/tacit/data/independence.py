r"""Nearly equal samples, told apart: combinations T X of the rows that are well conditioned.

X w = y and (T X) w = T y have the same solutions for every invertible T, so T need not be accurate; but its
products must be, or the small difference of two rows would be rounding. They are computed in pairs of floats
(`numerics.pairs`), which gives the rows of T X all their digits even where samples agree in fifteen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from tacit.data.arrays import Float
from tacit.numerics.double_double import ROUNDING, Pair, product
from tacit.numerics.rounding import EPS

_ROUNDOFF = EPS / 2
_MOST, _AT_ALL = 0.8, 1e3  # share of entries within one unit of roundoff, and units that no entry may exceed
_APART = 1e-6  # size of a remainder, relative to the largest, from which on it is accurate
_CENTRED = 1e-11  # relative size of the mean of a feature that has been centred
_TURNS, _SETTLED = 5, 1e-3  # at most; and what a turn leaves of a remainder that is one
_PASSES = 40  # at most; each tells samples apart by more of their digits


@dataclass(frozen=True, eq=False)
class Combinations:
    """T and T X in floats, and the T that X annuls.

    T X is an orthonormal basis of the rows, but for rounding, in units of the size of each feature.
    """

    T: Pair
    rows: Float
    vanishing: Pair


def combine(X: Float, scale: Float, rest: Float | None = None) -> Combinations:
    """Orthonormal combinations of the rows of X, as many as there are independent ones.

    rest: combinations to make them of, rather than of all rows.

    A combination vanishes if X, changed in its last bits, would be dependent: if it leaves no more than a
    unit of roundoff in most entries, and not much more in those that may be differences of larger numbers.
    So does the sum of all samples, scale·X, if features have been centred: what that leaves is rounding of
    numbers that were larger and are not known any more.
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
        if not len(Z) or len(rows) == X.shape[1]:  # there are no more independent ones than features
            break
        factor, order, apart = _largest(Z, X.shape[1] - len(rows))
        new = product(factor, left[order[:apart]])
        basis, rows = _stacked(basis, new), np.vstack([rows, product(new, X).value])
        left, Z = left[order[apart:]], Z[order[apart:]]
    return Combinations(basis, rows * units, _stacked(vanishing, left))


def _remainders(X: Float, basis: Pair, rows: Float, rest: Pair, Z: Float) -> tuple[Pair, Float]:
    """What the basis leaves of the rest, scaled to size 1 by powers of 2, and its product Z with X."""
    for turn in range(_TURNS):  # each takes away nine digits or so, as far as rows are orthonormal
        rest, Z = _scaled(rest, Z)
        if not len(rows) or not len(Z):
            break
        rest = rest - product(Z @ rows.T, basis)
        Z = product(rest, X).value
        sizes = np.abs(Z).max(axis=1)
        if turn and (sizes[sizes > 0] > _SETTLED).all():
            break
    return _scaled(rest, Z)


def _scaled(T: Pair, Z: Float) -> tuple[Pair, Float]:
    sizes = np.abs(Z).max(axis=1, initial=0.0)
    factor = np.exp2(-np.frexp(np.where(sizes > 0, sizes, 1.0))[1])[:, None]
    return T.scaled(factor), Z * factor


def _vanish(X: Float, T: Pair, Z: Float) -> NDArray[np.bool_]:
    """Which rows of Z = T X are rounding of X, or of the product."""
    size, largest = np.abs(T.high), np.abs(X).max(initial=0.0)
    lost = ROUNDING * largest * size.sum(axis=1, keepdims=True)
    bits = _ROUNDOFF * (size @ np.abs(X))
    most = (np.abs(Z) <= bits + lost).mean(axis=1) >= _MOST
    return np.asarray(most & (np.abs(Z) <= _AT_ALL * bits + lost).all(axis=1))


def _largest(Z: Float, most: int) -> tuple[Float, NDArray[np.intp], int]:
    """The F that makes F·Z[order[:apart]] orthonormal, the order of the rows, and how many are apart."""
    (R,) = qr(Z.T, mode="r", check_finite=False)  # pivoting is slow on long rows, and R is short
    R, order = qr(R[: len(Z)], mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    apart = min(int((diagonal > _APART * diagonal[0]).sum()), most)
    factor: Float = solve_triangular(R[:apart, :apart], np.eye(apart), trans="T")
    return factor, np.asarray(order, dtype=np.intp), apart


def _stacked(first: Pair, second: Pair) -> Pair:
    return Pair(np.vstack([first.high, second.high]), np.vstack([first.low, second.low]))
