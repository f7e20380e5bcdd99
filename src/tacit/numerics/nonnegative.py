r"""Nonnegative least squares, checked, and the nonnegative combination of samples nearest to 0.

    argmin ‖A x − b‖₂   subject to   x ≥ 0

x is optimal if and only if the slopes Aᵀ(b − A x) are 0 where x > 0 and nowhere positive. SciPy's `nnls`,
which is fast, has returned points far from that on data with ties (scipy/scipy#25389): its answer is kept
where the slopes confirm it, and otherwise is where the method of Lawson and Hanson (1974, Chapter 23) starts.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from tacit.numerics.rounding import EPS, Float, Index

_LEVEL = 64 * EPS  # slopes this small, relative to what they are the sums of, are rounding
_STEPS = 30  # per unknown
_EVEN = (1e-5, 1 - 1e-5)  # values of 1 − b·c at which neither term is lost beside the other
_TYPICAL = 30.0  # ‖w‖ in units of one over the largest entry of Z
_FARTHEST, _PASSES = 1e6, 6  # the change of that size in one pass, and passes


def nonnegative_least_squares(A: Float, b: Float) -> tuple[Float, float]:
    """x and ‖A x − b‖₂. Columns may have any size; one of zeros gets 0."""
    peaks = np.abs(A).max(axis=0, initial=0.0)
    unit = A / np.where(peaks > 0, peaks, 1.0)  # first, so that no square overflows
    lengths = np.sqrt(np.einsum("mn,mn->n", unit, unit))
    unit /= np.where(peaks > 0, lengths, 1.0)
    x = _guess(unit, b)
    if not _optimal(unit, b, x):
        x = _descended(unit, b, x)
    return x / np.where(peaks > 0, peaks * lengths, 1.0), float(np.linalg.norm(unit @ x - b))


def _guess(A: Float, b: Float) -> Float:
    if not A.size:
        return np.zeros(A.shape[1])
    try:
        return np.asarray(nnls(A, b, maxiter=_STEPS * A.shape[1])[0])
    except RuntimeError:  # too many iterations
        return np.zeros(A.shape[1])


def _rounding(b: Float, x: Float) -> float:
    """The size of a slope that is rounding, for columns of length 1."""
    return _LEVEL * float(np.linalg.norm(b) + x.sum())


def _optimal(A: Float, b: Float, x: Float) -> bool:
    slopes = A.T @ (b - A @ x)
    level = _rounding(b, x)
    return bool(slopes.max(initial=0.0) <= level and slopes[x > 0].min(initial=0.0) >= -level)


def _descended(A: Float, b: Float, x: Float) -> Float:
    """From x ≥ 0 down to the optimum: the unknown of steepest slope enters as long as that is an improvement.

    Each step lowers the residual, so that no set of unknowns comes back, whatever the ties.
    """
    if len(b) > A.shape[1] + 1:  # the same problem in as many equations as unknowns
        factor = qr(np.column_stack([A, b]), mode="r")[0]
        triangle = np.asarray(factor[: A.shape[1] + 1], dtype=float)
        A, b = triangle[:, :-1], triangle[:, -1]
    x = _least_squares_on(A, b, x, np.flatnonzero(x))
    refused = np.zeros(len(x), dtype=bool)
    for _ in range(_STEPS * len(x)):
        left = b - A @ x
        slopes = np.where(refused | (x > 0), 0.0, A.T @ left)
        entering = int(slopes.argmax())
        if slopes[entering] <= _rounding(b, x):
            break
        trial = _least_squares_on(A, b, x, np.append(np.flatnonzero(x), entering))
        if np.linalg.norm(b - A @ trial) < np.linalg.norm(left):
            x, refused = trial, np.zeros_like(refused)
        else:
            refused[entering] = True
    return x


def _least_squares_on(A: Float, b: Float, x: Float, support: Index) -> Float:
    """The least squares of these unknowns, or of those left where the way there from x leaves x ≥ 0."""
    here = x[support]
    while len(support):
        goal = np.asarray(np.linalg.lstsq(A[:, support], b, rcond=None)[0], dtype=float)
        falling = goal <= 0
        if not falling.any():
            here = goal
            break
        share = np.where(falling, here / np.where(falling & (here > 0), here - goal, 1.0), np.inf)
        here = here + share.min() * (goal - here)
        stays = (here > 0) & (share > share.min())
        support, here = support[stays], here[stays]
    found = np.zeros_like(x)
    found[support] = here
    return found


def nearest_combination(Z: Float, targets: Float | float = 1.0) -> Float:
    r"""argmin over c ≥ 0 of s²‖Zᵀc‖² + (1 − b·c)², b the targets, up to a factor, for a unit s of our own.

    w = s²Zᵀc/(1 − b·c) is argmin ‖w‖₂ subject to Z w ≥ b, with multipliers in proportion to c: the optimality
    conditions are z_n·s²Zᵀc ≥ b_n(1 − b·c), with equality where c_n > 0. If no w has such margins, Zᵀc = 0.

    The multipliers are the same for every s. With 1 − b·c = 1/(1 + ‖w/s‖²), s near ‖w‖ keeps both terms well
    above rounding, however small the margins are beside the samples; it is found in a few passes.
    """
    b = np.broadcast_to(np.asarray(targets, float), (len(Z),))
    s = _TYPICAL / (float(np.abs(Z).max()) or 1.0)
    goal = np.append(np.zeros(Z.shape[1]), 1.0)
    for _ in range(_PASSES):
        rows = s * Z
        combination, _ = nonnegative_least_squares(np.vstack([rows.T, b]), goal)
        reach, rest = float(np.linalg.norm(combination @ rows)), 1 - float(b @ combination)
        vanishing = reach <= _LEVEL * float(combination @ np.linalg.norm(rows, axis=1))
        if vanishing or _EVEN[0] <= rest <= _EVEN[1]:
            break
        s *= min(1 / reach, _FARTHEST) if rest < _EVEN[0] else max(reach, 1 / _FARTHEST)
    return combination


def least_norm_support(Z: Float, targets: Float | float = 1.0) -> Index:
    """The samples that hold argmin ‖w‖₂ subject to Z w ≥ targets: those whose pull is no rounding."""
    pull = nearest_combination(Z, targets) * np.abs(Z).max(axis=1)  # in any units of the samples
    return np.flatnonzero(pull > 1e-12 * pull.max())
