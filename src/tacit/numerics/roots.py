"""Roots of equations that occur in several places."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tacit.numerics.rounding import EPS

_TIGHTEST = 4 * EPS  # relative: the least that SciPy's method accepts
# Interpolation needs some ten evaluations where a function is smooth. Where it jumps, is flat, or is decided
# by round-off near its root, it may need the square of those of bisection; 100 were too few on some CPUs.
_INTERPOLATIONS = 100
_SIGN = -(2**63)


def crossing(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 0.0,
    rtol: float = _TIGHTEST,
) -> float:
    """Find x between low and high where function(x) changes its sign, to the larger of xtol and rtol·|x|.

    Brent's method; where it has not settled after 100 evaluations, bisection of the floats between the ends,
    which ends after 64, whatever the function does. A function with round-off changes its sign several times,
    and x is one of these places.

    Parameters
    ----------
    function : callable
        Real function of a float, infinite values included.
    low, high : float
        Ends, at which the function has opposite signs.
    xtol, rtol : float, optional
        Absolute and relative tolerance of x.

    Returns
    -------
    float
        x.
    """
    places = {"xtol": max(xtol, 1e-300), "rtol": max(rtol, _TIGHTEST)}
    wanted: dict[str, Any] = {**places, "maxiter": _INTERPOLATIONS, "disp": False}
    root, told = brentq(function, low, high, full_output=True, **wanted)
    return float(root) if told.converged else _bisected(function, low, high, xtol, rtol)


def _bisected(function: Callable[[float], float], low: float, high: float, xtol: float, rtol: float) -> float:
    """A place where the sign changes, in the middle of a bracket of that width or of two neighbouring floats.

    The bracket is halved by the number of floats in it, so that the whole range takes no more than 64 steps.
    """
    rising = function(high) > 0
    while abs(high - low) > max(xtol, rtol * min(abs(low), abs(high))):
        middle = _float((_place(low) + _place(high)) // 2)
        if middle in (low, high):
            break
        low, high = (low, middle) if (function(middle) > 0) == rising else (middle, high)
    return high


def _place(x: float) -> int:
    """The place of a float in the order of all floats: that of 0 is 0."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else _SIGN - bits


def _float(place: int) -> float:
    """The float at a place."""
    return float(np.int64(place if place >= 0 else _SIGN - place).view(np.float64))


def outer_square(level: float, size: float) -> float:
    """The s ≥ 0 with s² − level·s = size², without cancellation.

    Two layers whose product has this size, and whose squares differ by this level, have s as the square of
    the one that the level favours.
    """
    root = math.hypot(level, 2 * size)
    return (root + level) / 2 if level >= 0 else 2 * size * (size / (root - level))
