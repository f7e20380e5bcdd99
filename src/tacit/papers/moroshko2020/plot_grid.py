"""Where along its way a curve of Moroshko et al. 2020 is computed, so that a picture shows no chords."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float

_EVEN = 0.1  # weight of the clock where it has been covered already
_ROUGH = 40  # points of a path that tell where it moves


def spread(clock: Float, curve: Float, count: int, *, even: float = 1.0) -> Float:
    """Values of the clock, first and last among them, spread by the length of the curve and by the clock.

    clock: increasing. curve: a point for each of its values; a length that is not a number counts as none.
    even: the weight of the clock; that of the length is 1.
    """
    moved = np.nan_to_num(np.linalg.norm(np.diff(curve, axis=0), axis=1)).cumsum()
    gone = np.append(0.0, moved / (moved[-1] or 1.0)) + even * (clock - clock[0]) / (clock[-1] - clock[0])
    return np.interp(np.linspace(0, gone[-1], count), gone, clock)


def refined(
    follow: Callable[[Float], Float],
    rough: Float,
    count: int,
    shown: Callable[[Float], Float],
    *,
    looks: int = 1,
) -> tuple[Float, Float]:
    """`count` values of a positive clock, the rough ones among them, and the points of a curve there.

    follow: the points at increasing values of the clock. shown: what a picture shows of them, as rows. The
    rough values are evenly spread, and the others come where the curve moves, after so many looks at it.
    """
    clock, points = rough, follow(rough)
    for left in range(looks, 0, -1):
        more = max(count - len(clock), 0) // left
        if more:
            at = np.exp(spread(np.log(clock), shown(points), more + 2, even=_EVEN)[1:-1])
            order = np.argsort(np.append(clock, at), kind="stable")
            clock, points = np.append(clock, at)[order], np.concatenate([points, follow(at)])[order]
    return clock, points


def levels(
    rows: Float, depth: float, ends: tuple[float, float], count: int, *, sweeping: bool = False
) -> Float:
    """`count` falling values of μ at which to compute the Q_μ path: both ends, all kinks, and where it moves.

    sweeping: also where samples enter and leave the flow at infinite scale, and where that moves.
    """
    labels, rough = np.ones(len(rows)), np.geomspace(*ends, min(_ROUGH, count))
    path = tacit.margin_path(rows, labels, rough, depth=depth)
    curve, changes = path.predictors, path.kinks
    if sweeping:
        other = tacit.sweeping_path(rows, labels, rough, depth=depth)
        curve, changes = np.hstack([curve, other.predictors]), [*changes, *other.events]
    fixed = between([change.mu for change in changes], ends)
    more = np.exp(-spread(-np.log(rough), curve, max(count - len(fixed), 2))[1:-1])
    return np.sort([*ends, *fixed, *more])[::-1]


def between(values: Any, ends: tuple[float, float]) -> list[float]:
    """Those values that lie between the ends, each once."""
    return sorted({float(each) for each in values if min(ends) < each < max(ends)})


def reached_at(accuracy: Float, values: Float, level: float) -> float:
    """The accuracy from which on values are at most this level, between instants as a power law; or NaN."""
    above = np.flatnonzero(~(values <= level))
    if not above.size or above[-1] + 1 == len(values):
        return np.nan
    pair = slice(above[-1], above[-1] + 2)
    return float(np.exp(np.interp(-np.log(level), -np.log(values[pair]), np.log(accuracy[pair]))))
