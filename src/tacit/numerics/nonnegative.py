r"""Verified nonnegative least squares, and the nonnegative combination of samples closest to 0.

    argmin ‖A x − b‖₂   subject to   x ≥ 0

x is optimal if and only if the slopes Aᵀ(b − A x) vanish where x > 0 and are nowhere positive. SciPy's `nnls`
is fast, but its result can be far from optimal on data with ties (scipy/scipy#25389). Its result is therefore
accepted only if the slopes confirm it, and is otherwise the start of the method of Lawson and Hanson (1974,
Chapter 23).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from tacit.numerics.rounding import EPS, Float, Index

_LEVEL = 64 * EPS  # slopes up to this size, relative to the terms of their sums, are round-off
_STEPS = 30  # iterations per unknown, at most
_BALANCED = 1e-5, 1 - 1e-5  # range of 1 − b·c for which neither term of `nearest_combination` is round-off
_SUPPORT = 1e-12  # multipliers up to this share of the largest are round-off
_TYPICAL = 30.0  # first guess of ‖w‖, in units of one over the largest entry of Z
_LARGEST_CHANGE, _PASSES = 1e6, 6  # of the unit s: factor per pass, and number of passes


def nonnegative_least_squares(A: Float, b: Float) -> tuple[Float, float]:
    """Return x and ‖A x − b‖₂. Columns of A may have any scale; x is 0 for a zero column."""
    peaks = np.abs(A).max(axis=0, initial=0.0)
    unit = A / np.where(peaks > 0, peaks, 1.0)  # before taking squares, which could overflow
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
    """The largest slope that is round-off, for columns of length 1."""
    return _LEVEL * float(np.linalg.norm(b) + x.sum())


def _optimal(A: Float, b: Float, x: Float) -> bool:
    slopes = A.T @ (b - A @ x)
    level = _rounding(b, x)
    return bool(slopes.max(initial=0.0) <= level and slopes[x > 0].min(initial=0.0) >= -level)


def _descended(A: Float, b: Float, x: Float) -> Float:
    """Minimize from a feasible x: add unknowns to the support while that lowers the residual.

    The unknown of steepest slope is tried first. Every step lowers the residual, so no support can
    recur, even with ties.
    """
    if len(b) > A.shape[1] + 1:  # reduce to as many equations as unknowns (plus b)
        factor = qr(np.column_stack([A, b]), mode="r")[0]
        triangle = np.asarray(factor[: A.shape[1] + 1], dtype=float)
        A, b = triangle[:, :-1], triangle[:, -1]
    x = _least_squares_on(A, b, x, np.flatnonzero(x))
    rejected = np.zeros(len(x), dtype=bool)
    for _ in range(_STEPS * len(x)):
        residual = b - A @ x
        slopes = np.where(rejected | (x > 0), 0.0, A.T @ residual)
        entering = int(slopes.argmax())
        if slopes[entering] <= _rounding(b, x):
            break
        trial = _least_squares_on(A, b, x, np.append(np.flatnonzero(x), entering))
        if np.linalg.norm(b - A @ trial) < np.linalg.norm(residual):
            x, rejected = trial, np.zeros_like(rejected)
        else:
            rejected[entering] = True
    return x


def _least_squares_on(A: Float, b: Float, x: Float, support: Index) -> Float:
    """Least squares on a support; unknowns that would become negative on the way from x leave it."""
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
    r"""argmin over c ≥ 0 of s²‖Zᵀc‖² + (1 − b·c)², up to a factor, with targets b and a unit s chosen here.

    w = s²Zᵀc/(1 − b·c) is argmin ‖w‖₂ subject to Z w ≥ b, with multipliers proportional to c: the optimality
    conditions are z_n·s²Zᵀc ≥ b_n(1 − b·c), with equality where c_n > 0. If no w has such margins, Zᵀc = 0.

    The multipliers are the same for every s. Since 1 − b·c = 1/(1 + ‖w/s‖²), choosing s near ‖w‖ keeps both
    terms well above round-off, however small the margins are compared with the samples. A few passes find it.
    """
    b = np.broadcast_to(np.asarray(targets, float), (len(Z),))
    s = _TYPICAL / (float(np.abs(Z).max()) or 1.0)
    goal = np.append(np.zeros(Z.shape[1]), 1.0)
    for _ in range(_PASSES):
        rows = s * Z
        combination, _ = nonnegative_least_squares(np.vstack([rows.T, b]), goal)
        reach, rest = float(np.linalg.norm(combination @ rows)), 1 - float(b @ combination)
        vanishing = reach <= _LEVEL * float(combination @ np.linalg.norm(rows, axis=1))
        if vanishing or _BALANCED[0] <= rest <= _BALANCED[1]:
            break
        s *= min(1 / reach, _LARGEST_CHANGE) if rest < _BALANCED[0] else max(reach, 1 / _LARGEST_CHANGE)
    return combination


def least_norm_support(Z: Float, targets: Float | float = 1.0) -> Index:
    """The support vectors of argmin ‖w‖₂ subject to Z w ≥ targets: multipliers above round-off."""
    multipliers = nearest_combination(Z, targets) * np.abs(Z).max(axis=1)  # independent of units of samples
    return np.flatnonzero(multipliers > _SUPPORT * multipliers.max())
