"""Recording of states: at given accuracies or times, or an overview of about 200 states."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.flows.form import Problem
from tacit.flows.goals import Goal
from tacit.flows.segments import Reader, Reading, gain

_POINTS = 200  # states of an overview, at most
# States added within the first segments, and segments held for that; fewer for large X, because each state
# may need a system to be solved.
_FILLED, _FEW = 160, 40
_LARGE = 300_000  # entries of a large X
_HELD = 1 << 23  # floats: memory for the weights of all recorded states
_INSIDE = 8  # memory for the dense output of a segment, in units of its weights


class Recorder(Protocol):
    """Records states of a flow."""

    def follow(self, reader: Reader, last: Reading) -> None:
        """Record states of a segment that ends at `last`."""
        ...

    def stay(self, last: Reading) -> None:
        """Record the remaining states of a flow that rests at `last` from now on."""
        ...

    def finish(self, last: Reading, converged: bool) -> list[Reading]:
        """Return all recorded states."""
        ...


def recorder_of(goal: Goal, problem: Problem, first: Reading) -> Recorder:
    """A recorder for the marks of a goal or, without marks, for an overview."""
    return _Targets(first, list(goal.marks)) if goal.marks is not None else _Overview(first, *_sizes(problem))


class _Targets:
    """Records the states at given marks."""

    def __init__(self, first: Reading, targets: list[float]):
        self.kept, self.targets = [], targets  # type: list[Reading], list[float]
        while self.targets and self.targets[0] <= first[1]:
            self.targets.pop(0)
            self.kept = [first]

    def follow(self, reader: Reader, last: Reading) -> None:
        """Record the targets within this segment."""
        while self.targets and self.targets[0] <= last[1]:
            target = self.targets.pop(0)
            self.kept.append(last if target == last[1] else reader.locate(target)[0])

    def stay(self, last: Reading) -> None:
        """Use the last state for all remaining targets."""
        self.kept += [(last[0], target) for target in self.targets]
        self.targets = []

    def finish(self, last: Reading, converged: bool) -> list[Reading]:
        """Return the states at the targets and, if the flow did not reach all of them, its last state."""
        if not self.kept or (not converged and last[1] > self.kept[-1][1]):
            self.kept.append(last)
        return self.kept


def _sizes(problem: Problem) -> tuple[int, int]:
    """Number of states to record, and number of states to add within segments."""
    if not isinstance(problem.X, Entries) and problem.model.has_predictor:
        return _POINTS, _FILLED if problem.X.size <= _LARGE else _FEW
    weights = sum(np.size(each) for each in problem.model.start().values())
    return max(_POINTS if weights <= _HELD // _POINTS else _HELD // weights, 20), max(
        min(_FILLED, _HELD // (_INSIDE * weights)), 4
    )


class _Overview:
    """Records about 200 states: many where the loss starts to fall, few in long tails.

    The steps of the integrator alone are not suitable: on ill-conditioned data most of them lie near the end.
    """

    def __init__(self, first: Reading, points: int, filled: int):
        self.points, self.filled, self.discrete = points, filled, False
        self.kept = [(first, 0.0)]  # readings, with the (fractional) number of steps taken
        self.readers, self.count = [], 0  # type: list[Reader] | None, int

    def follow(self, reader: Reader, last: Reading) -> None:
        """Record the end of a segment; add states within the first segments before too many are held."""
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

    def stay(self, last: Reading) -> None:
        """An overview needs no more states."""

    def finish(self, last: Reading, converged: bool) -> list[Reading]:
        """Return the recorded states, including the first and the last, also after Ctrl-C."""
        if self.readers:
            self._fill()
        if self.kept[-1][0][0] is not last[0]:
            self.kept.append((last, float(self.count)))
        if not self.discrete:
            self._drop_falling()
        self._thin()
        return [reading for reading, _ in self.kept]

    def _drop_falling(self) -> None:
        """Drop states with a higher accuracy than later ones: along a flow that is round-off."""
        levels = np.array([level for (_, level), _ in self.kept])
        rising = levels <= np.minimum.accumulate(levels[::-1])[::-1]
        self.kept = [each for each, rises in zip(self.kept, rising, strict=True) if rises]

    def _progress(self) -> Float:
        """Progress of each state from 0 to 1: the mean of the shares of steps and of gains in accuracy."""
        levels, steps = (np.array(part) for part in zip(*((m, at) for (_, m), at in self.kept), strict=True))
        gains = np.abs(np.diff(gain(levels, levels[0]), prepend=0.0))
        gained = gains.cumsum()
        return np.asarray(sum(each / max(each[-1], 1e-300) for each in (steps, gained)) / 2)

    def _fill(self) -> None:
        """Add states within segments, in proportion to their progress."""
        readers, self.readers = self.readers or [], None
        counts = np.diff(np.floor(self._progress() * self.filled + 1e-9)).astype(int)
        filled = self.kept[:1]
        for reader, count, end in zip(readers, counts, self.kept[1:], strict=False):
            clocks = reader.inside(count, self.kept[0][0][1])
            steps = np.linspace(end[1] - 1, end[1], len(clocks) + 2)[1:-1].tolist()
            filled += [*((reader(clock), at) for clock, at in zip(clocks, steps, strict=True)), end]
        self.kept = filled

    def _thin(self) -> None:
        """Remove states until `points` are left, each time the one whose neighbours are closest together."""
        if len(self.kept) <= self.points:
            return
        left, progress = np.arange(len(self.kept)), self._progress()
        while len(left) > self.points:
            spare = 1 + int(np.argmin(progress[2:] - progress[:-2]))
            left, progress = np.delete(left, spare), np.delete(progress, spare)
        self.kept = [self.kept[i] for i in left]
