"""Roots of equations that occur in several places."""

from __future__ import annotations

import math


def outer_square(level: float, size: float) -> float:
    """The s ≥ 0 with s² − level·s = size², without cancellation.

    Two layers whose product has this size, and whose squares differ by this level, have s as the square of
    the one that the level favours.
    """
    root = math.hypot(level, 2 * size)
    return (root + level) / 2 if level >= 0 else 2 * size * (size / (root - level))
