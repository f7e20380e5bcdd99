r"""Steps in rapidity for batches: `interpolation.newton.move` in array operations of fixed shape.

A coordinate that grows moves linearly in w, one that shrinks moves linearly in its slope, and one that
changes sign does both. Every branch is evaluated for every coordinate and one is selected, because programs
for a GPU cannot index by a condition. `xp` is the namespace of the arrays (NumPy or JAX).
"""

from __future__ import annotations

import math
from typing import Any

from tacit.potentials import rapidity

Array = Any
# Rapidity over p, and change of the slope, below which slopes are added directly; closer to the ends ±1 only
# their slack has enough digits.
_NEAR, _SMALL_CHANGE = 0.5, 0.3
_TINY = 1e-300  # keeps logarithms finite


def move(xp: Any, u: Array, delta: Array, power: float) -> tuple[Array, Array]:
    """Rapidities after a step in which the slopes change by delta to first order, and their actual change."""
    sign = xp.where((u < 0) | ((u == 0) & (delta < 0)), -1.0, 1.0)
    size, change = xp.abs(u), sign * delta
    slope = rapidity.slope(xp, size, power)
    grows, crosses = change > 0, change < -slope
    log_rate = rapidity.log_stiffness(xp, size, power) + xp.log(xp.where(grows, change, 1.0))
    grown = xp.logaddexp(rapidity.log_predictor(xp, size, power), log_rate)
    at_zero = 2.0 if power == math.inf else 2 * power  # dw/ds at u = 0
    beyond = xp.log(xp.where(crosses, -at_zero * (change + slope), 1.0))
    linear = rapidity.rapidity_of_log(xp, xp.where(grows, grown, beyond), power)
    larger = xp.maximum(linear, size)
    shrunk = xp.maximum(_shifted(xp, size, xp.where(grows | crosses, 0.0, change), power), 0.0)
    new = xp.where(grows, larger, xp.where(crosses, -linear, shrunk))
    across = -slope - rapidity.slope(xp, linear, power)
    growth = rapidity.slope_between(xp, size, larger, power)
    return sign * new, sign * xp.where(grows, growth, xp.where(crosses, across, change))


def _shifted(xp: Any, u: Array, change: Array, power: float) -> Array:
    """The rapidity whose slope is larger by `change` ≤ 0."""
    if power == math.inf:
        return u + change
    v = u / power
    near = (v < _NEAR) & (change > -_SMALL_CHANGE)
    close = xp.atanh(xp.where(near, xp.tanh(v) + change, 0.0))
    slack = xp.where(near, 1.0, rapidity.slack(xp, u, power) - change)
    far = 0.5 * xp.log(xp.maximum(2 - slack, _TINY) / slack)
    return power * xp.where(near, close, far)
