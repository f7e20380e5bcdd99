"""Hyperbolic sine and cosine of arrays, given the exponential.

NumPy's sinh takes several times as long as its exp on most processors, and dominates the cost of flows of
depth 2.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.numerics.rounding import Float

_SMALL = 0.5  # |s| below which eˢ − e⁻ˢ cancels; the series to s¹³ is accurate to double precision there
_SERIES = [1 / math.factorial(k) for k in range(13, 0, -2)]


def sinh(s: Float, exp_s: Float) -> Float:
    """sinh s, given eˢ, with full relative accuracy also for small s."""
    squares = np.minimum(s * s, _SMALL**2)
    near = squares * _SERIES[0]
    for factor in _SERIES[1:-1]:
        near += factor
        near *= squares
    near += 1.0
    near *= s
    return np.where(np.abs(s) < _SMALL, near, 0.5 * (exp_s - 1 / exp_s))


def cosh(exp_s: Float) -> Float:
    """cosh s, given eˢ."""
    return 0.5 * (exp_s + 1 / exp_s)
