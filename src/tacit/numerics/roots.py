"""Scalar root finding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tacit.numerics.rounding import EPS

_TIGHTEST = 4 * EPS  # smallest relative tolerance that SciPy's brentq accepts
# Brent's method needs about ten evaluations for a smooth function. If the function jumps, is flat, or is
# dominated by round-off near its root, it may need the square of the number for bisection; 100 were too few
# on some CPUs.
_INTERPOLATIONS = 100
_SIGN = -(2**63)  # sign bit of a double, as an integer


def crossing(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 0.0,
    rtol: float = _TIGHTEST,
) -> float:
    """Find x between low and high where function(x) changes sign, to the larger of xtol and rtol·|x|.

    Uses Brent's method and, if that has not converged after 100 evaluations, bisection over the doubles
    between low and high, which ends after 64 evaluations for any function. If round-off makes the function
    change sign several times, x is one of these points.

    Parameters
    ----------
    function : callable
        Real function of a float; may be infinite.
    low, high : float
        Ends of the bracket; the function has opposite signs there.
    xtol, rtol : float, optional
        Absolute and relative tolerance of x.

    Returns
    -------
    float
        x.
    """
    options: dict[str, Any] = {"xtol": max(xtol, 1e-300), "rtol": max(rtol, _TIGHTEST)}
    options |= {"maxiter": _INTERPOLATIONS, "disp": False, "full_output": True}
    root, report = brentq(function, low, high, **options)
    return float(root) if report.converged else _bisected(function, low, high, xtol, rtol)


def _bisected(function: Callable[[float], float], low: float, high: float, xtol: float, rtol: float) -> float:
    """Bisect until the bracket is within tolerance or its ends are neighbouring doubles.

    Each step halves the number of doubles in the bracket, so at most 64 steps are needed.
    """
    rising = function(high) > 0
    while abs(high - low) > max(xtol, rtol * min(abs(low), abs(high))):
        middle = _float((_rank(low) + _rank(high)) // 2)
        if middle in (low, high):
            break
        low, high = (low, middle) if (function(middle) > 0) == rising else (middle, high)
    return high


def _rank(x: float) -> int:
    """The rank of a double among all doubles, with 0 for 0.0."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else _SIGN - bits


def _float(rank: int) -> float:
    """The double with this rank."""
    return float(np.int64(rank if rank >= 0 else _SIGN - rank).view(np.float64))


def outer_square(level: float, size: float) -> float:
    """The s ≥ 0 with s² − level·s = size², without cancellation.

    If two layers have product `size`, and their squares differ by `level`, s is the square of the first
    layer.
    """
    root = math.hypot(level, 2 * size)
    return (root + level) / 2 if level >= 0 else 2 * size * (size / (root - level))
