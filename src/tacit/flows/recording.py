"""What is kept of a flow: states at accuracies or times asked for, or at some 200 instants."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.flows.form import Problem
from tacit.flows.goals import Goal
from tacit.flows.segments import Reader, Seen, gain

_POINTS = 200  # at most
_FILLED, _FEW = 160, 40  # states added within the first segments, of which no more are held
_LARGE = 300_000  # entries of X from which on they are few
_HELD = 1 << 23  # numbers, of the weights at all states that are kept
_INSIDE = 8  # times as many are held to read what is within a segment


class Keeper(Protocol):
    """Keeps states of a flow."""

    def follow(self, reader: Reader, last: Seen) -> None:
        """Keep what is wanted of a segment, of which `last` is the end."""
        ...

    def stay(self, last: Seen) -> None:
        """Keep what is wanted of a flow that rests at `last` from now on."""
        ...

    def finish(self, last: Seen, converged: bool) -> list[Seen]:
        """Everything that was kept."""
        ...


def keeper_of(goal: Goal, problem: Problem, first: Seen) -> Keeper:
    """The one for the marks of a goal or, without marks, for an overview."""
    return _Targets(first, list(goal.marks)) if goal.marks is not None else _Overview(first, *_room(problem))


class _Targets:
    """Keeps the states at given marks."""

    def __init__(self, first: Seen, targets: list[float]):
        self.kept, self.targets = [], targets  # type: list[Seen], list[float]
        while self.targets and self.targets[0] <= first[1]:
            self.targets.pop(0)
            self.kept = [first]

    def follow(self, reader: Reader, last: Seen) -> None:
        """Those that fall into this segment."""
        while self.targets and self.targets[0] <= last[1]:
            target = self.targets.pop(0)
            self.kept.append(last if target == last[1] else reader.locate(target)[0])

    def stay(self, last: Seen) -> None:
        """The last state for all that is still asked for."""
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

    def stay(self, last: Seen) -> None:
        """Nothing more."""

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
