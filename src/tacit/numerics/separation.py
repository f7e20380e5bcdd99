"""Test of linear separability, with a certificate in either case."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tacit.errors import NotConvergedError, NotSeparableError
from tacit.numerics.nonnegative import nearest_combination
from tacit.numerics.rounding import EPS, Float

_VANISHING = 16 * EPS  # a feature of a combination up to this share of the summed terms is round-off
_LOST = 1e-8  # a weight that refinement reduces to this share was round-off
_ROUNDS, _PASSES = 6, 3  # rescalings of the features, and refinements after each


def check_separable(X: Float, y: Float) -> None:
    """Return if some w has y_n x_n·w > 0 for all n; otherwise raise `NotSeparableError` with a certificate.

    By Farkas' lemma there is either such a w, or a combination c ≥ 0, Σc = 1, with Σ c_n y_n x_n = 0. The
    result does not depend on the units of samples and features, which are rescaled. Either one is verified:
    all margins exceed the round-off of their sums, or every feature of the combination vanishes up to
    round-off. Raises `NotConvergedError` if the data are too close to the boundary to verify either.
    """
    Z = y[:, None] * X
    empty = ~Z.any(axis=1)
    if empty.any():
        n, combination = int(np.argmax(empty)), empty / np.count_nonzero(empty)
        raise NotSeparableError(
            f"all features of sample {n} are 0, so no linear predictor can classify it", combination
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
        "linear separability cannot be decided in double precision: the classes touch to about 15 digits. "
        "Drop or relabel samples that agree with one of the other class up to round-off, drop features that "
        "contain only round-off, or use the square loss"
    )


def _balance(Z: Float, shares: Float) -> NDArray[np.int_]:
    """Divide the features by `shares`, then the samples by their largest entries, in place.

    Both by powers of 2, which is exact. Returns the exponents for the samples.
    """
    Z *= np.exp2(-_exponents(np.where(shares > 0, shares, 1.0)))
    exponents = _exponents(np.abs(Z).max(axis=1))
    Z *= np.exp2(-exponents)[:, None]
    return exponents


def _exponents(sizes: Float) -> NDArray[np.int_]:
    return np.clip(np.frexp(sizes)[1], -1000, 1000)


def _separated_by_least_norm(Z: Float) -> bool:
    """Whether the minimum-norm solution of Z w = 1, if there is one, classifies every sample."""
    if len(Z) > Z.shape[1]:
        return False
    _, multipliers, failed = lapack.dposv(Z @ Z.T, np.ones(len(Z)))
    return not failed and _separates(Z, multipliers @ Z)


def _separated_by_support(Z: Float, combination: Float) -> bool:
    """Whether the predictor Zᵀc of this combination classifies every sample.

    If the classes nearly touch, Zᵀc suffers from cancellation; then try the minimum-norm w with equal margins
    on the samples with c > 0.
    """
    if _separates(Z, combination @ Z):
        return True
    support = Z[combination > 0]
    w = np.linalg.lstsq(support, np.ones(len(support)), rcond=None)[0]
    return _separates(Z, np.asarray(w, dtype=float))


def _separates(Z: Float, w: Float) -> bool:
    """Whether all margins exceed the bound on the round-off of their sums."""
    return bool((Z @ w > (Z.shape[1] + 2) * EPS * (np.abs(Z) @ np.abs(w))).all())


def _vanishes(Z: Float, combination: Float) -> bool:
    """Whether every feature of the combination is 0, up to the round-off of its terms."""
    return bool((np.abs(combination @ Z) <= _VANISHING * (combination @ np.abs(Z))).all())


def _refined(Z: Float, combination: Float) -> tuple[Float, Float]:
    """Refine the small weights of a combination; also return the shares Σ c_n|z_nj| of each feature j.

    Applies the smallest relative changes of the weights that keep their sum and make the features vanish, in
    units of their shares. A weight that is only round-off goes to 0.
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
    """Raise with the combination, converted back from samples scaled by powers of 2."""
    involved = np.flatnonzero(combination)
    weights = np.zeros_like(combination)
    weights[involved] = np.ldexp(combination[involved], units[involved].min() - units[involved])
    shown = ", ".join(map(str, involved[:8])) + (", …" if len(involved) > 8 else "")
    raise NotSeparableError(
        f"no linear predictor classifies every sample correctly: samples {shown} contradict each other "
        "(a positive combination of their y·x is 0 up to round-off; see `combination` of the error). Drop or "
        "relabel one of them, add features, or use the square loss",
        weights / weights.sum(),
    )
