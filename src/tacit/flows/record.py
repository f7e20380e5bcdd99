"""Recording a flow: at accuracies or times asked for, or at some 200 instants; never every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.status import Status
from tacit.flows.fitting import Fitting
from tacit.flows.goals import Goal
from tacit.flows.reading import Reader, Seen, gain
from tacit.flows.segments import Form, Problem, Rest, Segment, Stall
from tacit.potentials.arrays import quiet

_POINTS = 200  # at most
_FILLED, _FEW = 160, 40  # states added within the first segments, of which no more are held
_LARGE = 300_000  # entries of X from which on they are few
_HELD = 1 << 23  # numbers, of the weights at all states that are kept
_INSIDE = 8  # times as many are held to read what is within a segment
_PATIENCE = 5000  # steps without gain, of which flows that linger at saddles take thousands

_RISE = 1e-3  # of a residual, that its rounding and that of the clock may explain


@dataclass(frozen=True)
class Recording:
    """States and what the gauge says of them, whether the goal was reached and why not, and the steps."""

    states: list[Any]
    marks: list[float]
    converged: bool
    reason: str
    status: Status
    steps: int


class Silence:
    """A meter that shows nothing; how far a flow is can be told by one with the same methods."""

    def __init__(self, label: str, first: float, goal: float):
        pass

    def __enter__(self) -> Silence:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, value: float) -> None:
        """The number reached."""


def record(
    form: Form, level: Callable[[Any], float], goal: Goal, fit: Fitting, meter: Any = Silence
) -> Recording:
    """Follow the flow to the end of the goal, and keep the states at its marks.

    Without marks, some 200 states between its start and its end. A flow that stalls, or is interrupted
    with Ctrl-C, keeps what it has; one that comes to rest stays there at all later times. meter: makes what
    is told how far the flow is.
    """
    gauge = form.log_time if goal.timed else level
    state = form.begin()
    last = (state, gauge(state))
    keeper = _Overview(last, *_room(fit.problem)) if goal.marks is None else _Targets(last, list(goal.marks))
    watch, steps, converged = _Watch(level(state), fit), 0, False
    with meter("gradient flow", 0.0 if goal.timed else last[1], goal.end) as told:
        try:
            segments = form.segments() if last[1] < goal.end else iter(())
            while (segment := _next(segments)) is not None:
                reader = Reader(segment, gauge)
                seen = reader(segment.end)
                if seen[1] >= goal.end:
                    seen, reader = reader.locate(goal.end)
                watch.check(level(seen[0]) if goal.timed else seen[1], segment.discrete)
                last = seen
                steps += int(reader.segment.end - segment.start) if segment.discrete else 1
                keeper.follow(reader, last)
                told.update(last[1])
                if last[1] >= goal.end:
                    break
            converged, reason = goal.beyond is None, _reached(goal, fit)
            status = Status.REACHED if converged else Status.STATIONARY
        except Rest as rest:
            last = rest.last or last
            converged, reason = (
                goal.timed or (goal.free and rest.minimum),
                _at_rest(rest, goal, last, fit),
            )
            status = Status.REACHED if converged else rest.status
            if isinstance(keeper, _Targets) and goal.timed:
                keeper.stay(last)
        except Stall as stall:
            reason, status = str(stall), stall.status
        except KeyboardInterrupt:
            reason, status = "interrupted", Status.INTERRUPTED
    kept = keeper.finish(last, converged)
    states, marks = [each for each, _ in kept], [mark for _, mark in kept]
    return Recording(states, marks, converged, reason, status, steps)


@quiet
def _next(segments: Iterator[Segment]) -> Segment | None:
    """The next segment, without NumPy warnings: a step that overflows is repeated with a smaller size."""
    return next(segments, None)


def _reached(goal: Goal, fit: Fitting) -> str:
    """Where a flow is that went to the end of its goal."""
    if goal.timed and goal.marks:
        return f"reached time {max(goal.marks.values()):.6g}"
    if goal.beyond is not None:
        return (
            f"accuracy {goal.beyond:.6g} is out of reach: these data cannot be fitted, and no predictor has "
            f"an accuracy above {fit.most:.6g} (a relative residual of {fit.unfitted:.3g})"
        )
    if goal.free and fit.unfitted > 0:
        return (
            "at rest: these data cannot be fitted, and least squares leaves a relative residual of "
            f"{fit.unfitted:.3g} (accuracy {fit.most:.6g})"
        )
    return f"reached accuracy {fit.accuracy(goal.end):.6g}"


def _at_rest(rest: Rest, goal: Goal, last: Seen, fit: Fitting) -> str:
    """Why a flow went no further than to where it rests."""
    if goal.timed:
        return f"at rest from time {math.exp(last[1]):.6g} on"
    if goal.free and rest.minimum and fit.unfitted > 0:
        return _reached(goal, fit)
    if goal.free:
        return str(rest)
    return f"{rest}; the accuracy reached is {fit.accuracy(last[1]):.6g}"


class _Watch:
    """Sees to it that the loss falls: it never rises along a flow, and steps without any gain must end."""

    def __init__(self, first: float, fit: Fitting):
        self.first = self.best = first
        self.idle, self.rtol, self.relative = 0, fit.problem.rtol, fit.problem.loss.relative

    def check(self, level: float, discrete: bool) -> None:
        """A state after a step; steps of descent may be too long, and raise the loss."""
        if not discrete and not self._falls(level):
            raise Stall(
                "the loss rises, which it cannot do along a flow: the integrator has lost its way, and what "
                "it found after this instant is not kept"
            )
        gained = level > self.best + 1e-9
        self.best, self.idle = (level, 0) if gained else (self.best, self.idle + 1)
        if self.idle > _PATIENCE:
            raise Stall(
                f"no gain in accuracy over the last {_PATIENCE:,} steps: a saddle or a stationary point, or "
                "the tolerance is too coarse for the accuracy asked for (lower rtol)"
            )

    def _falls(self, level: float) -> bool:
        """Up to the accuracy promised: rtol of the margins, or of the residual at the start."""
        if level >= self.best:
            return True
        if self.relative:
            return level >= self.best - self.rtol * max(1.0, abs(self.best))
        # residuals relative to the first
        best, now = (math.exp(min((self.first - each) / 2, 700.0)) for each in (self.best, level))
        return now <= (1 + _RISE) * best + self.rtol


class _Targets:
    """Keeps the states at given marks."""

    def __init__(self, first: Seen, targets: list[float]):
        self.kept, self.targets = [], targets  # type: list[Seen], list[float]
        while self.targets and self.targets[0] <= first[1]:
            self.targets.pop(0)
            self.kept = [first]

    def follow(self, reader: Reader, last: Seen) -> None:
        """Keep what falls into this segment."""
        while self.targets and self.targets[0] <= last[1]:
            target = self.targets.pop(0)
            self.kept.append(last if target == last[1] else reader.locate(target)[0])

    def stay(self, last: Seen) -> None:
        """Keep the last state for all that is still asked for."""
        self.kept += [(last[0], target) for target in self.targets]
        self.targets = []

    def finish(self, last: Seen, converged: bool) -> list[Seen]:
        """What was asked for and, where the flow stopped short of it, its last state."""
        if not self.kept or (not converged and last[1] > self.kept[-1][1]):
            self.kept.append(last)
        return self.kept


def _room(problem: Problem) -> tuple[int, int]:
    """How many states are kept, and added within segments, each of which may take a system to solve."""
    if not isinstance(problem.X, Entries) and problem.model.has_predictor:
        return _POINTS, _FILLED if problem.X.size <= _LARGE else _FEW
    weights = sum(np.size(each) for each in problem.model.start().values())
    return max(_POINTS if weights <= _HELD // _POINTS else _HELD // weights, 20), max(
        min(_FILLED, _HELD // (_INSIDE * weights)), 4
    )


class _Overview:
    """Keeps about 200 states, where something happens: many where the loss first falls, few in long tails.

    Steps of an integrator alone do not tell: on ill-conditioned data most of them creep along at the end.
    """

    def __init__(self, first: Seen, points: int, filled: int):
        self.points, self.filled, self.discrete = points, filled, False
        self.kept = [(first, 0.0)]  # with the number of steps after which each was seen, or a part of them
        self.readers, self.count = [], 0  # type: list[Reader] | None, int

    def follow(self, reader: Reader, last: Seen) -> None:
        """Keep the end of a segment; fill in the first segments once, before their readers are too many."""
        self.count += 1
        self.discrete = reader.segment.discrete
        self.kept.append((last, float(self.count)))
        if self.readers is not None:
            reader.segment.keep()
            self.readers.append(reader)
            if len(self.readers) >= self.filled:
                self._fill()
        if len(self.kept) > 2 * self.points:
            self._thin()

    def finish(self, last: Seen, converged: bool) -> list[Seen]:
        """The states kept, the first and the last among them, also where Ctrl-C came in between."""
        if self.readers:
            self._fill()
        if self.kept[-1][0][0] is not last[0]:
            self.kept.append((last, float(self.count)))
        if not self.discrete:
            self._straighten()
        self._thin()
        return [seen for seen, _ in self.kept]

    def _straighten(self) -> None:
        """Drop states of a higher accuracy than later ones: along a flow it rises, up to round-off."""
        levels = np.array([level for (_, level), _ in self.kept])
        rising = levels <= np.minimum.accumulate(levels[::-1])[::-1]
        self.kept = [each for each, rises in zip(self.kept, rising, strict=True) if rises]

    def _progress(self) -> Float:
        """How far each state is, from 0 to 1: half by the steps taken, half by what the accuracy gained."""
        levels, steps = (np.array(part) for part in zip(*((m, at) for (_, m), at in self.kept), strict=True))
        gains = np.abs(np.diff(gain(levels, levels[0]), prepend=0.0))
        gained = gains.cumsum()
        return np.asarray(sum(way / max(way[-1], 1e-300) for way in (steps, gained)) / 2)

    def _fill(self) -> None:
        """More states within the segments, the more the further the flow goes in one."""
        readers, self.readers = self.readers or [], None
        counts = np.diff(np.floor(self._progress() * self.filled + 1e-9)).astype(int)
        filled = self.kept[:1]
        for reader, count, end in zip(readers, counts, self.kept[1:], strict=False):
            clocks = reader.inside(count, self.kept[0][0][1])
            steps = np.linspace(end[1] - 1, end[1], len(clocks) + 2)[1:-1].tolist()
            filled += [*((reader(clock), at) for clock, at in zip(clocks, steps, strict=True)), end]
        self.kept = filled

    def _thin(self) -> None:
        """Down to 200: one after the other goes the state whose neighbours are nearest to each other."""
        if len(self.kept) <= self.points:
            return
        left, place = np.arange(len(self.kept)), self._progress()
        while len(left) > self.points:
            spare = 1 + int(np.argmin(place[2:] - place[:-2]))
            for each in (left, place):
                each[spare:-1] = each[spare + 1 :]
            left, place = left[:-1], place[:-1]
        self.kept = [self.kept[i] for i in left]
