"""The one loop of all flows.

Four parts, each small, as solver, controller and loop are in diffrax:

- A `Form` (form.py) says what the unknowns are: it begins, makes a stepper, reads outputs, weights and time
  off a state, cuts a segment at an event that changes its equations, and knows when nothing moves any more.
- A `Stepper` (steps/stepper.py) takes the next step and hands over a `Segment`: its ends and the state at
  every instant between them. Steppers of Tacit's own are `Controlled`: they give the equations of a step from
  one place, and attempt it at a length. Those of SciPy control the lengths themselves (`ByScipy`); a `Relay`
  goes on with another stepper where one creeps.
- A `StepControl` (numerics/step_control.py) accepts or rejects attempts and chooses the next length, by
  thresholds that each stepper states in one place.
- `drive`, here, loops: step, cut, hand the segment to the follower, look for rest, change the stepper. It
  ends when the follower has enough, or with a `Stall` or `Rest` that says why (endings.py has the sentences).

`record` is the follower of `tacit.flow`. It locates accuracies and times within segments (`Reader`), checks
that the loss falls and that steps gain something (`Watch`), keeps states (`Keeper`), tells how far the flow
is, and turns an ending, Ctrl-C included, into a reason and a status. The other follower is `stopping.path`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.data.status import Status
from tacit.flows.fitting import Fitting
from tacit.flows.form import Form, Moving
from tacit.flows.goals import Goal
from tacit.flows.recording import keeper_of
from tacit.flows.segments import Reader, Seen, Segment
from tacit.flows.termination import NO_GAIN, RISES, Rest, Stall
from tacit.potentials.arrays import quiet


def drive(flow: Moving, follow: Callable[[Segment], bool]) -> None:
    """Take step after step until `follow` has enough. Raises `Stall` or `Rest` if the flow ends before."""
    stepper = flow.stepper()
    while True:
        step = stepper.step()
        segment = flow.cut(step)
        # An event at the start of a step leaves nothing of it. Any other step is followed, even one that its
        # clock cannot tell, so that the follower notices a flow that stands still.
        if (segment is step or segment.end > segment.start) and follow(segment):
            return
        stepper = flow.after(segment) or stepper


@dataclass(frozen=True)
class Limits:
    """Thresholds of `Watch`.

    patience: steps without gain, of which flows that linger at saddles take thousands. gain: of accuracy,
    that counts as one; less is round-off. rise: of a residual, relative, that its round-off and that of the
    clock may explain.
    """

    patience: int = 5000
    gain: float = 1e-9
    rise: float = 1e-3


LIMITS = Limits()


class Watch:
    """Checks that the loss falls: it never rises along a flow, and steps without any gain must end."""

    def __init__(self, first: float, fit: Fitting):
        self.first = self.best = first
        self.idle, self.rtol, self.relative = 0, fit.problem.rtol, fit.problem.loss.relative

    def check(self, level: float, discrete: bool) -> None:
        """A state after a step; steps of descent may be too long, and raise the loss."""
        if not discrete and not self._falls(level):
            raise Stall(RISES)
        gained = level > self.best + LIMITS.gain
        self.best, self.idle = (level, 0) if gained else (self.best, self.idle + 1)
        if self.idle > LIMITS.patience:
            raise Stall(NO_GAIN.format(LIMITS.patience))

    def _falls(self, level: float) -> bool:
        """Up to the accuracy promised: rtol of the margins, or of the residual at the start."""
        if level >= self.best:
            return True
        if self.relative:
            return level >= self.best - self.rtol * max(1.0, abs(self.best))
        # Residuals relative to the first; floats would lose levels themselves in the round-off of long flows.
        best, now = (math.exp(min((self.first - each) / 2, 700.0)) for each in (self.best, level))
        return now <= (1 + LIMITS.rise) * best + self.rtol


@dataclass(frozen=True)
class Recording:
    """States and what the gauge says of them, whether the goal was reached and why not, and the steps."""

    states: list[Any]
    marks: list[float]
    converged: bool
    reason: str
    status: Status
    steps: int


@quiet
def record(
    form: Form,
    level: Callable[[Any], float],
    goal: Goal,
    fit: Fitting,
    told: Callable[[float], None] = lambda _: None,
) -> Recording:
    """Follow the flow to the end of the goal, and keep the states at its marks.

    Without marks, some 200 states between its start and its end. A flow that stalls, or is interrupted
    with Ctrl-C, keeps what it has; one that comes to rest stays there at all later times. told: hears of the
    gauge after each step.
    """
    run = _Run(form, level, goal, fit, told)
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
            run.keeper.stay(run.last)
    except Stall as stall:
        converged, reason, status = False, str(stall), stall.status
    except KeyboardInterrupt:
        converged, reason, status = False, "interrupted", Status.INTERRUPTED
    states, marks = zip(*run.keeper.finish(run.last, converged), strict=True)
    return Recording(list(states), list(marks), converged, reason, status, run.steps)


class _Run:
    """A flow on its way to a goal: the last state that was seen, the steps, and what is kept."""

    def __init__(
        self,
        form: Form,
        level: Callable[[Any], float],
        goal: Goal,
        fit: Fitting,
        told: Callable[[float], None],
    ):
        self.gauge, self.level, self.goal, self.told = (
            form.log_time if goal.timed else level,
            level,
            goal,
            told,
        )
        state = form.begin()
        self.last: Seen = (state, self.gauge(state))
        self.keeper = keeper_of(goal, fit.problem, self.last)
        self.watch, self.steps = Watch(level(state), fit), 0

    def follow(self, segment: Segment) -> bool:
        """Keep what is wanted of a segment; is it the last?"""
        reader = Reader(segment, self.gauge)
        seen = reader(segment.end)
        if seen[1] >= self.goal.end:
            seen, reader = reader.locate(self.goal.end)
        self.watch.check(self.level(seen[0]) if self.goal.timed else seen[1], segment.discrete)
        self.last = seen
        self.steps += reader.segment.steps
        self.keeper.follow(reader, seen)
        self.told(seen[1])
        return seen[1] >= self.goal.end


def _at_rest(rest: Rest, goal: Goal, last: Seen, fit: Fitting) -> str:
    """Why a flow went no further than to where it rests."""
    if goal.timed:
        return f"at rest from time {math.exp(last[1]):.6g} on"
    if goal.free and rest.minimum and fit.unfitted > 0:
        return goal.reached(fit)
    return str(rest) if goal.free else f"{rest}; the accuracy reached is {fit.accuracy(last[1]):.6g}"
