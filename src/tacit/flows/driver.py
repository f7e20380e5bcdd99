"""The integration loop of all flows.

It has four parts, similar to solver, controller and loop in diffrax:

- A `Form` (form.py) defines the unknowns: it gives the initial state and a stepper, computes outputs, weights
  and time from a state, ends a segment at an event that changes its equations, and detects rest.
- A `Stepper` (steps/stepper.py) takes the next step and returns a `Segment`, with a dense output. Tacit's own
  steppers are `Controlled`: they try steps of several sizes. SciPy's solvers control the step size themselves
  (`ByScipy`); a `Relay` switches to another stepper when the first one makes too little progress.
- A `StepControl` (numerics/step_control.py) accepts or rejects steps and chooses the next step size.
- `drive` loops: take a step, end it at an event, call the callback, check for rest, change the stepper. It
  ends when the callback returns true, or with a `Stall` or `Rest` that gives the reason (termination.py).

`record` provides the callback of `tacit.flow`. It locates accuracies and times within segments (`Reader`),
checks that the loss falls and that steps make progress (`Watch`), records states at given accuracies or
times, or an overview of about 200 states, reports progress, and turns the end of a flow, Ctrl-C included,
into a reason and a status. The other callback is in `stopping.path`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.status import Status
from tacit.flows.area import Area
from tacit.flows.fitting import Fitting
from tacit.flows.form import Flow, Form, Problem
from tacit.flows.goals import Goal
from tacit.flows.segments import Reader, Reading, Segment, gain
from tacit.flows.termination import NO_GAIN, RISES, Rest, Stall
from tacit.potentials.arrays import quiet

_POINTS = 200  # states of an overview, at most
# States added within the first segments, and segments held for that; fewer for large X, because each state
# may need a system to be solved.
_FILLED, _FEW = 160, 40
_LARGE = 300_000  # entries of a large X
_HELD = 1 << 23  # floats: memory for the weights of all recorded states
_INSIDE = 8  # memory for the dense output of a segment, in units of its weights


def drive(flow: Flow, follow: Callable[[Segment], bool]) -> None:
    """Take steps until `follow` returns true. Raises `Stall` or `Rest` if the flow ends before."""
    stepper = flow.stepper()
    while True:
        step = stepper.step()
        segment = flow.cut(step)
        # An event at the start of a step leaves an empty segment, which is skipped. Other steps are followed
        # even if their length rounds to 0, so that the callback notices a flow that makes no progress.
        if (segment is step or segment.end > segment.start) and follow(segment):
            return
        stepper = flow.after(segment) or stepper


def recorder_of(goal: Goal, problem: Problem, first: Reading) -> _Targets | _Overview:
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
        """Use the last state, at which the flow rests from now on, for all remaining targets."""
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


@dataclass(frozen=True)
class Limits:
    """Thresholds of `Watch`.

    patience: number of steps without a gain in accuracy before giving up (flows near saddles take thousands).
    gain: increase of the accuracy that exceeds round-off. rise: relative increase of a residual that
    round-off of the residual and of the clock can explain.
    """

    patience: int = 5000
    gain: float = 1e-9
    rise: float = 1e-3


LIMITS = Limits()


class Watch:
    """Checks that the loss does not rise, and stops the flow after too many steps without progress."""

    def __init__(self, first: float, fit: Fitting):
        self.first = self.best = first
        self.idle, self.rtol, self.relative = 0, fit.problem.rtol, fit.problem.loss.relative

    def check(self, level: float, discrete: bool) -> None:
        """Check the accuracy after a step; discrete steps (gradient descent) may raise the loss."""
        if not discrete and not self._falls(level):
            raise Stall(RISES)
        gained = level > self.best + LIMITS.gain
        self.best, self.idle = (level, 0) if gained else (self.best, self.idle + 1)
        if self.idle > LIMITS.patience:
            raise Stall(NO_GAIN.format(LIMITS.patience))

    def _falls(self, level: float) -> bool:
        """Whether the loss has not increased, up to rtol of the margins or of the initial residual."""
        if level >= self.best:
            return True
        if self.relative:
            return level >= self.best - self.rtol * max(1.0, abs(self.best))
        # Residuals relative to the initial one, because round-off of long flows is absolute in the residual,
        # not in the level; 700 avoids overflow of exp.
        best, now = (math.exp(min((self.first - each) / 2, 700.0)) for each in (self.best, level))
        return now <= (1 + LIMITS.rise) * best + self.rtol


@dataclass(frozen=True)
class Recording:
    """Recorded states and gauge values, termination status and reason, number of steps, and ∫L dt."""

    states: list[Any]
    marks: list[float]
    converged: bool
    reason: str
    status: Status
    steps: int
    area: float


@quiet
def record(
    form: Form,
    level: Callable[[Any], float],
    goal: Goal,
    fit: Fitting,
    progress: Callable[[float], None] = lambda _: None,
    area: bool = False,
) -> Recording:
    """Follow the flow to the end of the goal, and record the states at its marks.

    Without marks, record about 200 states between start and end. If the flow stalls or is interrupted with
    Ctrl-C, the states so far are returned; if it comes to rest, it stays there at all later times. progress:
    called with the value of the gauge after each step. area: whether to add up ∫L dt, which costs a quarter
    of the integration.
    """
    run = _Run(form, level, goal, fit, progress, area)
    try:
        if run.last[1] < goal.end:
            drive(form, run.follow)
        converged, reason = goal.beyond is None, goal.reached(fit)
        status = Status.REACHED if converged else Status.STATIONARY
    except Rest as rest:
        run.last = rest.last or run.last
        converged = goal.timed or (goal.free and rest.minimum)
        reason, status = _at_rest(rest, goal, run.last, fit), Status.REACHED if converged else rest.status
        if goal.timed:
            run.recorder.stay(run.last)
    except Stall as stall:
        converged, reason, status = False, str(stall), stall.status
    except KeyboardInterrupt:
        converged, reason, status = False, "interrupted", Status.INTERRUPTED
    states, marks = zip(*run.recorder.finish(run.last, converged), strict=True)
    return Recording(list(states), list(marks), converged, reason, status, run.steps, run.area)


class _Run:
    """A flow on its way to a goal: the last state, the number of steps, and the recorded states."""

    def __init__(
        self,
        form: Form,
        level: Callable[[Any], float],
        goal: Goal,
        fit: Fitting,
        progress: Callable[[float], None],
        area: bool,
    ):
        self.gauge = form.log_time if goal.timed else level
        self.level, self.goal, self.progress = level, goal, progress
        state = form.begin()
        self.last: Reading = (state, self.gauge(state))
        self.recorder = recorder_of(goal, fit.problem, self.last)
        first = level(state)
        self.watch, self.steps, self.area = Watch(first, fit), 0, math.nan
        self._area = Area(form, level, state, first) if area else None

    def follow(self, segment: Segment) -> bool:
        """Record the states of a segment; return whether the goal is reached."""
        reader = Reader(segment, self.gauge)
        last = reader(segment.end)
        if last[1] >= self.goal.end:
            last, reader = reader.locate(self.goal.end)
        level = self.level(last[0]) if self.goal.timed else last[1]
        self.watch.check(level, segment.discrete)
        self.last = last
        self.steps += reader.segment.steps
        if self._area is not None:
            self._area.add(reader.segment, last[0], level)
            self.area = self._area.value
        self.recorder.follow(reader, last)
        self.progress(last[1])
        return last[1] >= self.goal.end


def _at_rest(rest: Rest, goal: Goal, last: Reading, fit: Fitting) -> str:
    """The reason for a flow that came to rest."""
    if goal.timed:
        return f"at rest from time {math.exp(last[1]):.6g} on"
    if goal.free and rest.minimum and fit.unfitted > 0:
        return goal.reached(fit)
    return str(rest) if goal.free else f"{rest}; the accuracy reached is {fit.accuracy(last[1]):.6g}"
