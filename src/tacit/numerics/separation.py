"""Can a linear predictor classify every sample? If not, a combination of samples shows why."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tacit.errors import NotConvergedError, NotSeparableError
from tacit.numerics.nonnegative import nearest_combination
from tacit.numerics.rounding import EPS, Float

_VANISHING = 16 * EPS  # of a feature in a combination of samples, relative to the terms that are summed
_LOST = 1e-8  # what is left of a weight that was rounding alone
_ROUNDS, _PASSES = 6, 3  # of units for the features, and of refinement in each


def check_separable(X: Float, y: Float) -> None:
    """Return if some w has y_n x_n·w > 0 for all n; otherwise `NotSeparableError` with its certificate.

    By Farkas' lemma either such a w exists, or a combination c ≥ 0, Σc = 1, with Σ c_n y_n x_n = 0. The units
    of samples and features do not matter, so that they are chosen here. Whichever of the two is found is
    verified: margins beyond the rounding of their sums, or a combination that vanishes, feature by feature,
    to rounding. `NotConvergedError` if the data are too near the boundary for either.
    """
    Z = y[:, None] * X
    empty = ~Z.any(axis=1)
    if empty.any():
        n, combination = int(np.argmax(empty)), empty / np.count_nonzero(empty)
        raise NotSeparableError(
            f"sample {n} has no feature that is not 0: nothing can classify it", combination
        )
    units = np.zeros(len(Z), dtype=int)
    shares = np.abs(Z).max(axis=0)
    for attempt in range(_ROUNDS):
        units += _balance(Z, shares)
        if attempt == 0 and _separated_by_least_norm(Z):
            return
        combination = nearest_combination(Z)
        if _separated_by_support(Z, combination):
            return
        combination, shares = _refined(Z, combination)
        if _vanishes(Z, combination):
            _refuse(combination, units)
    raise NotConvergedError(
        "whether a linear predictor classifies every sample correctly is lost in rounding: the two classes "
        "touch to some 15 digits. Drop or relabel samples that differ only by rounding from one of the other "
        "class, drop features that hold only rounding, or use the square loss"
    )


def _balance(Z: Float, shares: Float) -> NDArray[np.int_]:
    """Scale the features by their shares, then the samples to a largest entry near 1, in place.

    By powers of 2, which round nothing; returned are those of the samples.
    """
    Z *= np.exp2(-_exponents(np.where(shares > 0, shares, 1.0)))
    exponents = _exponents(np.abs(Z).max(axis=1))
    Z *= np.exp2(-exponents)[:, None]
    return exponents


def _exponents(sizes: Float) -> NDArray[np.int_]:
    return np.clip(np.frexp(sizes)[1], -1000, 1000)


def _separated_by_least_norm(Z: Float) -> bool:
    """Does the w of least norm with Z w = 1, where there is one, classify every sample?"""
    if len(Z) > Z.shape[1]:
        return False
    _, multipliers, failed = lapack.dposv(Z @ Z.T, np.ones(len(Z)))
    return not failed and _separates(Z, multipliers @ Z)


def _separated_by_support(Z: Float, combination: Float) -> bool:
    """Does the predictor of this combination, Zᵀc, classify every sample?

    Where the classes nearly touch Zᵀc is a small difference of large numbers: then it is found anew, as the
    w of least norm with equal margins where c > 0.
    """
    if _separates(Z, combination @ Z):
        return True
    held = Z[combination > 0]
    w = np.linalg.lstsq(held, np.ones(len(held)), rcond=None)[0]
    return _separates(Z, np.asarray(w, dtype=float))


def _separates(Z: Float, w: Float) -> bool:
    """Are all margins larger than the rounding of their sums can be?"""
    return bool((Z @ w > (Z.shape[1] + 2) * EPS * (np.abs(Z) @ np.abs(w))).all())


def _vanishes(Z: Float, combination: Float) -> bool:
    """Is every feature of the combination 0, up to the rounding of its terms?"""
    return bool((np.abs(combination @ Z) <= _VANISHING * (combination @ np.abs(Z))).all())


def _refined(Z: Float, combination: Float) -> tuple[Float, Float]:
    """The combination with its small weights as exact as its large ones, and Σ c_n|z_nj| of each feature.

    By the least relative changes of the weights that keep their sum and for which the features vanish, each
    in units of its share. A weight that is rounding, which no other balances, goes to 0.
    """
    shares = combination @ np.abs(Z)
    for _ in range(_PASSES):
        if _vanishes(Z, combination):
            break
        involved = np.flatnonzero(combination)
        weights = combination[involved]
        terms = weights[:, None] * Z[involved] / np.where(shares > 0, shares, 1.0)
        system = np.column_stack([terms, weights / weights.sum()])
        change = np.linalg.lstsq(system.T, np.append(-terms.sum(axis=0), 0.0), rcond=None)[0]
        combination[involved] *= np.where(change > _LOST - 1, 1 + change, 0.0)
        shares = combination @ np.abs(Z)
    return combination, shares


def _refuse(combination: Float, units: NDArray[np.int_]) -> NoReturn:
    """For samples measured in these powers of 2."""
    involved = np.flatnonzero(combination)
    weights = np.zeros_like(combination)
    weights[involved] = np.ldexp(combination[involved], units[involved].min() - units[involved])
    shown = ", ".join(map(str, involved[:8])) + (", …" if len(involved) > 8 else "")
    raise NotSeparableError(
        f"no linear predictor classifies every sample correctly: samples {shown} contradict each other "
        "(a positive combination of their y·x is 0, to rounding; it is the error's `combination`). Drop or "
        "relabel one of them, add features, or use the square loss",
        weights / weights.sum(),
    )
