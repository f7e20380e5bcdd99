"""The integration loop of all flows.

It has four parts, similar to solver, controller and loop in diffrax:

- A `Form` (form.py) defines the unknowns: it gives the initial state and a stepper, computes outputs, weights
and
  time from a state, ends a segment at an event that changes its equations, and detects rest.
- A `Stepper` (steps/stepper.py) takes the next step and returns a `Segment`, with a dense output. Tacit's own
  steppers are `Controlled`: they try steps of several sizes. SciPy's solvers control the step size themselves
  (`ByScipy`); a `Relay` switches to another stepper when the first one makes too little progress.
- A `StepControl` (numerics/step_control.py) accepts or rejects steps and chooses the next step size. -
`drive` loops: take a step, end it at an event, call the callback, check for rest, change the stepper. It ends
  when the callback returns true, or with a `Stall` or `Rest` that gives the reason (termination.py).

`record` provides the callback of `tacit.flow`. It locates accuracies and times within segments (`Reader`),
checks that the loss falls and that steps make progress (`Watch`), records states (`Recorder`), reports
progress, and turns the end of a flow, Ctrl-C included, into a reason and a status. The other callback is in
`stopping.path`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.data.status import Status
from tacit.flows.area import Area
from tacit.flows.fitting import Fitting
from tacit.flows.form import Flow, Form
from tacit.flows.goals import Goal
from tacit.flows.recording import recorder_of
from tacit.flows.segments import Reader, Reading, Segment
from tacit.flows.termination import NO_GAIN, RISES, Rest, Stall
from tacit.potentials.arrays import quiet


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
        """Is the loss not larger than before, up to rtol of the margins, or of the initial residual?"""
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
