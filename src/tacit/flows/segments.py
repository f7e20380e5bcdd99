"""Segments of a flow (one per step) with dense output, and location of events within them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.termination import UNDERFLOW, Rounded, Stall
from tacit.numerics.roots import crossing
from tacit.numerics.rounding import EPS

Reading = tuple[Any, float]  # a state and the value of its gauge

_NEARLY = 1e-10  # relative tolerance of the clock when a mark is located with approximate states
# A gauge that misses its target by more than this, absolutely and relatively, jumps across it due to
# round-off:
_MISSED = 0.5  # a residual of two units of round-off determines the accuracy only to this: (2/3)² = e^{-0.8}
_DIGITS = 1e-9  # margins of 1e20 have relative errors of 1e-13 after steps with rtol = 1e-8
_CLOSE = 1e-6  # tolerated distance between a gauge and its target if the resolution of the clock limits it
_COARSE = 1e-9  # round-off of the clock, relative to the segment, above which it may be the limit
_OFFSET = 1e-3  # of a segment: step of the finite difference for a slope
_SECANTS = 6  # secant steps to a root within a segment, before bisection
_INFINITE = 1e300  # stands for an infinite gain
_SPREAD, _GRID = 3, 17  # least number of states that are spread by gain, and grid points used for that


@dataclass(frozen=True)
class Segment:
    """An interval of the clock of a flow, with its dense output.

    state: the state at a clock value. discrete: whether the clock counts steps, with no states between them.
    rough: an approximate state, if that is much faster. keep: must be called on a segment that will be read
    after the next step.
    """

    start: float
    end: float
    state: Callable[[float], Any]
    discrete: bool = False
    rough: Callable[[float], Any] | None = None
    keep: Callable[[], None] = lambda: None

    @property
    def last(self) -> Any:
        """The state at the end."""
        return self.state(self.end)

    @property
    def steps(self) -> int:
        """Number of steps of the segment."""
        return int(self.end - self.start) if self.discrete else 1


@dataclass
class Reader:
    """States of a segment with values of the gauge."""

    segment: Segment
    gauge: Callable[[Any], float]
    last: tuple[float, Reading] | None = None  # cache of the last reading, which is likely to be repeated

    def __call__(self, clock: float) -> Reading:
        if self.last is None or self.last[0] != clock:
            state = self.segment.state(clock)
            self.last = clock, (state, self.gauge(state))
        return self.last[1]

    def locate(self, target: float) -> tuple[Reading, Reader]:
        """The state at which the gauge reaches the target, and a reader of the segment up to there.

        Raises `Rounded` if the gauge jumps across the target, because residuals close to round-off take few
        values, and `Stall` if it does so between neighbouring floating-point values of the clock.
        """
        discrete = self.segment.discrete
        clock = float(self._first_step(target) if discrete else self._root(target))
        reading = self(clock)
        if not discrete:
            off = abs(reading[1] - target)
            if self._coarse(clock) and off > max(_CLOSE, _DIGITS * abs(target)):
                raise Stall(UNDERFLOW)
            if off > max(_MISSED, _DIGITS * abs(target)):
                raise Rounded(reading if math.isfinite(reading[1]) else self(self.segment.start))
            reading = reading[0], target
        return reading, Reader(replace(self.segment, end=min(clock, self.segment.end)), self.gauge)

    def _coarse(self, clock: float) -> bool:
        """Whether the segment is so short that the floating-point clock resolves few times within it."""
        return EPS * abs(clock) > _COARSE * (self.segment.end - self.segment.start)

    def _root(self, target: float) -> float:
        """The clock value at which the gauge reaches the target."""
        start, end = self.segment.start, self.segment.end
        if self(start)[1] >= target:  # due to round-off
            return start
        if self(end)[1] <= target:
            return end
        bounded = _bounded if math.isinf(self(start)[1]) else float

        def excess(clock: float) -> float:
            return bounded(self(clock)[1] - target)

        near = self._near(target, bounded) if self.segment.rough is not None else None
        if near is not None:
            noise = 8 * EPS * max(1.0, abs(target))
            clock = _polished(excess, *near, noise, self.segment)
            if clock is not None:
                return clock
        return crossing(excess, start, end)

    def _near(self, target: float, bounded: Callable[[float], float]) -> tuple[float, float] | None:
        """The position at which states reach the target, and the slope there; None if they do not."""
        start, end, rough = self.segment.start, self.segment.end, self.segment.rough

        def excess(clock: float) -> float:
            assert rough is not None
            return bounded(self.gauge(rough(clock)) - target)

        if not excess(start) < 0 < excess(end):
            return None
        clock = crossing(excess, start, end, rtol=_NEARLY)
        other = clock + (_OFFSET if clock < (start + end) / 2 else -_OFFSET) * (end - start)
        return clock, (excess(other) - excess(clock)) / (other - clock)

    def inside(self, count: int, first: float) -> Float:
        """Clock values inside the segment, evenly spaced in the mean of clock and gain since `first`."""
        start, end = self.segment.start, self.segment.end
        clocks = np.linspace(start, end, count + 2)
        if self.segment.discrete:
            return np.setdiff1d(np.round(clocks[1:-1]), [start, end])
        if count < _SPREAD:
            return clocks[1:-1]
        grid = np.linspace(start, end, _GRID)
        read = self.segment.rough or self.segment.state
        gained = np.maximum.accumulate(gain([self.gauge(read(each)) for each in grid], first))
        share = (gained - gained[0]) / max(gained[-1] - gained[0], 1e-300)
        return np.interp(np.linspace(0, 2, count + 2)[1:-1], share + np.linspace(0, 1, _GRID), grid)

    def _first_step(self, target: float) -> int:
        """The first step at or beyond the target, by bisection; the last one is beyond it."""
        low, high = int(self.segment.start), int(self.segment.end)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self(middle)[1] >= target else (middle, high)
        return high


def _polished(
    excess: Callable[[float], float], clock: float, slope: float, noise: float, segment: Segment
) -> float | None:
    """The root near `clock` by the secant method with this initial slope; None if it diverges."""
    here = excess(clock)
    for _ in range(_SECANTS):
        if abs(here) <= noise:
            return clock
        following = clock - here / slope if slope > 0 else math.nan
        if not segment.start <= following <= segment.end:
            return None
        there = excess(following)
        if not abs(there) < abs(here) / 2:
            return None
        slope = (there - here) / (following - clock)
        clock, here = following, there
    return None


def _bounded(excess: float) -> float:
    """Map monotonically to [−1, 1] with the same sign; needed because the logarithm of time 0 is −∞."""
    return math.copysign(1.0, excess) if math.isinf(excess) else excess / (1 + abs(excess))


def gain(levels: Any, first: float) -> Float:
    """log(1 + |gain in accuracy|): counts e-folds of the loss at first, decades of the accuracy later.

    Finite also if the loss is exactly 0, or if gradient descent diverges.
    """
    return np.nan_to_num(np.log1p(np.abs(np.asarray(levels) - first)), nan=0.0, posinf=_INFINITE)
