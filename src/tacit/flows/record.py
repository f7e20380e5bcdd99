"""Recording a flow: at accuracies asked for, or at some 200 instants; never every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tacit.data import Float
from tacit.flows.segments import Form, Segment, Stall
from tacit.progress import Meter

_POINTS = 200  # at most, and at least
_FILLED = 160
_PATIENCE = 5000

Seen = tuple[Any, float]  # a state and its accuracy


@dataclass(frozen=True)
class Recording:
    """States and their accuracies, whether the goal was reached and why not, and the number of steps."""

    states: list[Any]
    accuracies: list[float]
    converged: bool
    reason: str
    steps: int


def record(form: Form, accuracy: Callable[[Any], float], until: float, at: Float | None) -> Recording:
    """Follow the flow until its accuracy is `until`, and keep the states at the accuracies `at`.

    Without `at`, some 200 states between its start and its end. A flow that stalls, or is interrupted
    with Ctrl-C, keeps what it has.
    """
    state = form.begin()
    last = (state, accuracy(state))
    keeper = _Overview(last) if at is None else _Targets(last, list(at))
    patience, steps, converged = _Patience(), 0, False
    with Meter("gradient flow", last[1], until) as meter:
        try:
            for segment in form.segments() if last[1] < until else ():
                reader = _Reader(segment, accuracy)
                last = reader(segment.end)
                if last[1] >= until:
                    last, reader = reader.locate(until)
                steps += int(reader.segment.end - segment.start) if segment.discrete else 1
                keeper.follow(reader, last)
                meter.update(last[1])
                if last[1] >= until:
                    break
                patience.check(last[1])
            converged, reason = True, f"reached accuracy {until:.6g}"
        except Stall as stall:
            reason = str(stall)
        except KeyboardInterrupt:
            reason = "interrupted"
    kept = keeper.finish(last, converged)
    return Recording([each for each, _ in kept], [level for _, level in kept], converged, reason, steps)


class _Patience:
    """Refuses to go on for thousands of steps that lead nowhere."""

    best, idle = -np.inf, 0

    def check(self, accuracy: float) -> None:
        gained = accuracy > self.best + 1e-9
        self.best, self.idle = (accuracy, 0) if gained else (self.best, self.idle + 1)
        if self.idle > _PATIENCE:
            raise Stall(
                f"no gain in accuracy over the last {_PATIENCE:,} steps: a saddle or a stationary point, or "
                "the tolerance is too coarse for the accuracy asked for (lower rtol)"
            )


@dataclass
class _Reader:
    """The states of a segment with their accuracies."""

    segment: Segment
    accuracy: Callable[[Any], float]

    def __call__(self, clock: float) -> Seen:
        state = self.segment.state(clock)
        return state, self.accuracy(state)

    def locate(self, target: float) -> tuple[Seen, _Reader]:
        """The state at which the accuracy is the target, and a reader of the segment up to there."""
        start, end, discrete = self.segment.start, self.segment.end, self.segment.discrete
        clock = float(self._first_step(target) if discrete else self._root(target))
        seen = self(clock) if discrete else (self.segment.state(clock), target)
        return seen, _Reader(Segment(start, min(clock, end), self.segment.state, discrete), self.accuracy)

    def _root(self, target: float) -> float:
        start, end = self.segment.start, self.segment.end
        if self(start)[1] >= target:  # by rounding only
            return start
        if self(end)[1] <= target:
            return end
        tight = 4 * float(np.finfo(float).eps)
        return float(brentq(lambda clock: self(clock)[1] - target, start, end, xtol=1e-300, rtol=tight))

    def _first_step(self, target: float) -> int:
        """The first of the steps at or beyond the target, by bisection; the last one is."""
        low, high = int(self.segment.start), int(self.segment.end)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self(middle)[1] >= target else (middle, high)
        return high


class _Targets:
    """Keeps the states at given accuracies."""

    def __init__(self, first: Seen, targets: list[float]):
        self.kept, self.targets = [], targets  # type: list[Seen], list[float]
        while self.targets and self.targets[0] <= first[1]:
            self.targets.pop(0)
            self.kept = [first]

    def follow(self, reader: _Reader, last: Seen) -> None:
        """Keep what falls into this segment."""
        while self.targets and self.targets[0] <= last[1]:
            target = self.targets.pop(0)
            self.kept.append(last if target == last[1] else reader.locate(target)[0])

    def finish(self, last: Seen, converged: bool) -> list[Seen]:
        """What was asked for and, where the flow stopped short of it, its last state."""
        if not self.kept or (not converged and last[1] > self.kept[-1][1]):
            self.kept.append(last)
        return self.kept


class _Overview:
    """Keeps about 200 states: ends of steps, thinned out where these are more and filled in where fewer."""

    def __init__(self, first: Seen):
        self.kept, self.readers = [first], []  # type: list[Seen], list[_Reader] | None
        self.stride, self.count = 1, 0

    def follow(self, reader: _Reader, last: Seen) -> None:
        """Keep the end of a segment, or of every so many of them."""
        self.count += 1
        if self.count % self.stride == 0:
            self.kept.append(last)
        if self.readers is not None:
            self.readers.append(reader)
            self.readers = self.readers if len(self.readers) < _FILLED else None
        if len(self.kept) > 2 * _POINTS:
            self.kept, self.stride = _thinned(self.kept), 2 * self.stride

    def finish(self, last: Seen, converged: bool) -> list[Seen]:
        """The states kept, the first and the last among them."""
        if self.readers:
            self.kept = self._filled(self.readers)
        if self.kept[-1][0] is not last[0]:
            self.kept.append(last)
        return _thinned(self.kept)

    def _filled(self, readers: list[_Reader]) -> list[Seen]:
        """More states within the segments, the more the further the accuracy goes in one."""
        levels = np.array([level for _, level in self.kept])
        reach = np.log(10 + np.abs(levels - levels[0]))
        share = (np.diff(reach) / max(reach[-1] - reach[0], 1e-300) + 1 / len(readers)) / 2
        counts = np.diff(
            np.append(0, np.floor(np.cumsum(share) * max(_FILLED - len(self.kept), 0) + 1e-9))
        ).astype(int)
        filled = [self.kept[0]]
        for reader, count, end in zip(readers, counts, self.kept[1:], strict=True):
            filled += [reader(clock) for clock in _inside(reader.segment, count)]
            filled.append(end)
        return filled


def _inside(segment: Segment, count: int) -> Float:
    """Instants strictly inside a segment."""
    clocks = np.linspace(segment.start, segment.end, count + 2)[1:-1]
    if not segment.discrete:
        return clocks
    return np.setdiff1d(np.round(clocks), [segment.start, segment.end])


def _thinned(seen: list[Seen]) -> list[Seen]:
    """At most 200, evenly, the first and the last among them."""
    kept = np.unique(np.linspace(0, len(seen) - 1, _POINTS).round().astype(int))
    return [seen[i] for i in kept]
