"""Segments of a flow, one for each step, and instants within them: where a gauge reaches a target."""

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

Seen = tuple[Any, float]  # a state, and what its gauge says
_NEARLY = 1e-10  # to which the clock of a mark is found from rough states
# A gauge further than this from its target, absolutely and relatively, jumps across it because of round-off.
_TOLD = 0.5  # a residual of two units of round-off tells the accuracy to this: (2/3)² = e^{-0.8}
_DIGITS = 1e-9  # margins of 1e20 are told to their digits only: 1e-13 of them after steps at rtol = 1e-8
_CLOSE = 1e-6  # between a gauge and its target where only the clock keeps them apart
_COARSE = 1e-9  # of a segment, above which the rounding of its clock may do that
_ASIDE = 1e-3  # of a segment, for the slope there
_SECANTS = 6  # to a root that is within one step; the rest is left to bisection
_BEYOND = 1e300  # a gain beside which all others are nothing
_SPREAD, _GRID = 3, 17  # states within a segment from which on they are spread, by looks at it


@dataclass(frozen=True)
class Segment:
    """A stretch of the flow's own clock, with the state at every instant of it.

    discrete: the clock counts steps, and there is nothing between them. rough: nearly the state, where that
    is much faster than the state itself. keep: is to be called of a segment that will be read once more is
    asked for.
    """

    start: float
    end: float
    state: Callable[[float], Any]
    discrete: bool = False
    rough: Callable[[float], Any] | None = None
    keep: Callable[[], None] = lambda: None

    @property
    def last(self) -> Any:
        """The state at its end."""
        return self.state(self.end)

    @property
    def steps(self) -> int:
        """How many steps it stands for."""
        return int(self.end - self.start) if self.discrete else 1


@dataclass
class Reader:
    """The states of a segment with what the gauge says of them."""

    segment: Segment
    gauge: Callable[[Any], float]
    last: tuple[float, Seen] | None = None  # what was read last, which is likely to be asked for again

    def __call__(self, clock: float) -> Seen:
        if self.last is None or self.last[0] != clock:
            state = self.segment.state(clock)
            self.last = clock, (state, self.gauge(state))
        return self.last[1]

    def locate(self, target: float) -> tuple[Seen, Reader]:
        """The state at which the gauge reaches the target, and a reader of the segment up to there.

        `Rounded` where the gauge jumps across the target: residuals beside their rounding have few values.
        `Stall` where it does so from one instant that floats have to the next.
        """
        discrete = self.segment.discrete
        clock = float(self._first_step(target) if discrete else self._root(target))
        seen = self(clock)
        if not discrete:
            off = abs(seen[1] - target)
            if self._coarse(clock) and off > max(_CLOSE, _DIGITS * abs(target)):
                raise Stall(UNDERFLOW)
            if off > max(_TOLD, _DIGITS * abs(target)):
                raise Rounded(seen if math.isfinite(seen[1]) else self(self.segment.start))
            seen = seen[0], target
        return seen, Reader(replace(self.segment, end=min(clock, self.segment.end)), self.gauge)

    def _coarse(self, clock: float) -> bool:
        """Is the segment so short that few instants within it are floats?"""
        return EPS * abs(clock) > _COARSE * (self.segment.end - self.segment.start)

    def _root(self, target: float) -> float:
        start, end = self.segment.start, self.segment.end
        if self(start)[1] >= target:  # by rounding only
            return start
        if self(end)[1] <= target:
            return end
        beyond = _bounded if math.isinf(self(start)[1]) else float

        def excess(clock: float) -> float:
            return beyond(self(clock)[1] - target)

        near = self._near(target, beyond) if self.segment.rough is not None else None
        if near is not None:
            noise = 8 * EPS * max(1.0, abs(target))
            clock = _polished(excess, *near, noise, self.segment)
            if clock is not None:
                return clock
        return crossing(excess, start, end)

    def _near(self, target: float, beyond: Callable[[float], float]) -> tuple[float, float] | None:
        """Where rough states reach the target, and how fast what is beyond it rises there."""
        start, end, rough = self.segment.start, self.segment.end, self.segment.rough

        def excess(clock: float) -> float:
            assert rough is not None
            return beyond(self.gauge(rough(clock)) - target)

        if not excess(start) < 0 < excess(end):
            return None
        clock = crossing(excess, start, end, rtol=_NEARLY)
        aside = clock + (_ASIDE if clock < (start + end) / 2 else -_ASIDE) * (end - start)
        return clock, (excess(aside) - excess(clock)) / (aside - clock)

    def inside(self, count: int, first: float) -> Float:
        """Instants strictly inside the segment: half spread by the clock, half by the gain since a level."""
        start, end = self.segment.start, self.segment.end
        clocks = np.linspace(start, end, count + 2)
        if self.segment.discrete:
            return np.setdiff1d(np.round(clocks[1:-1]), [start, end])
        if count < _SPREAD:
            return clocks[1:-1]
        grid = np.linspace(start, end, _GRID)
        read = self.segment.rough or self.segment.state
        gained = np.maximum.accumulate(gain([self.gauge(read(each)) for each in grid], first))
        ways = (gained - gained[0]) / max(gained[-1] - gained[0], 1e-300), np.linspace(0, 1, _GRID)
        return np.interp(np.linspace(0, 2, count + 2)[1:-1], ways[0] + ways[1], grid)

    def _first_step(self, target: float) -> int:
        """The first of the steps at or beyond the target, by bisection; the last one is."""
        low, high = int(self.segment.start), int(self.segment.end)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self(middle)[1] >= target else (middle, high)
        return high


def _polished(
    excess: Callable[[float], float], clock: float, slope: float, noise: float, segment: Segment
) -> float | None:
    """The root near a clock, by secants of which the first has the slope given; None if they lead away."""
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
    """Between −1 and 1, of the same sign and rising with it: the logarithm of time 0 is −∞."""
    return math.copysign(1.0, excess) if math.isinf(excess) else excess / (1 + abs(excess))


def gain(levels: Any, first: float) -> Float:
    """What the accuracy gained: its logarithm counts e-folds of the loss at first, and later decades.

    Finite where the accuracy is not, of a loss of exactly 0 and of descent that diverges.
    """
    return np.nan_to_num(np.log1p(np.abs(np.asarray(levels) - first)), nan=0.0, posinf=_BEYOND)
