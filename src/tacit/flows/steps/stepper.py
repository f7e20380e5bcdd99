"""Steppers: what takes the steps of a flow, one segment of its clock after the other."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.segments import Segment
from tacit.flows.termination import GAVE_UP, NO_STEP, GaveUp
from tacit.numerics.step_control import StepControl, Taken


class Stepper(Protocol):
    """Whatever has steps."""

    def step(self) -> Segment:
        """The next step. Raises `GaveUp` if no step is accurate enough."""
        ...


class Equations(ABC):
    """The equations of a step from one place, which is tried at several lengths."""

    @abstractmethod
    def first_length(self) -> float:
        """The length of the very first step."""

    def longest(self) -> float:
        """A length beyond which steps are not tried."""
        return np.inf

    @abstractmethod
    def attempt(self, h: float) -> tuple[Any, float]:
        """A step of length h, None if it is not to be taken, and its error relative to what is tolerated."""


class Controlled(ABC):
    """A stepper whose `StepControl` finds the length of each step.

    h: the length to try next. last: the step before. clock: the flow's own, in the steps taken so far.
    """

    control: StepControl
    h: float | None = None
    last: Taken | None = None
    clock = 0.0

    @abstractmethod
    def equations(self) -> Equations:
        """Those of a step from where the flow is."""

    @abstractmethod
    def accept(self, equations: Any, taken: Taken) -> Segment:
        """Go to the end of the step."""

    def step(self, most: float = np.inf) -> Segment:
        """The next step, at most of this length."""
        equations = self.equations()
        h = min(equations.first_length() if self.h is None else self.h, equations.longest(), most)
        ends = {"least": self.least(), "floor": self.floor()}
        taken = self.control.search(equations.attempt, max(h, ends["floor"]), self.last, **ends)
        if taken is None:
            raise GaveUp(self.why())
        self.h = taken.next_h
        segment = self.accept(equations, taken)
        self.clock, self.last = self.clock + taken.h, taken
        return segment

    def least(self) -> float:
        """A length at which to give up."""
        return 0.0

    def floor(self) -> float:
        """A length that is tried before any shorter one; see `StepControl.search`."""
        return 0.0

    def why(self) -> str:
        """Why there is no step from here."""
        return NO_STEP.format(self.clock)


class ByScipy:
    """The steps of a solver of SciPy, which controls their lengths itself.

    state: of the flow, from the clock and the unknowns.
    """

    def __init__(self, solver: Any, state: Callable[[float, Float], Any]):
        self.solver, self.state, self.inside = solver, state, _Inside(solver, state)

    def step(self) -> Segment:
        """The next one."""
        self.inside.solver, begin = None, self.solver.t
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is amiss comes as the status too
            message = self.solver.step()
        if self.solver.status != "running":
            raise GaveUp(GAVE_UP.format(begin, message or "its steps grew out of bounds"))
        self.inside = _Inside(self.solver, self.state)
        return Segment(begin, self.solver.t, self.inside.read, keep=self.inside.keep)


class _Inside:
    """The states within a solver's last step, for as long as it is the last, or for good if they are kept.

    Most steps are only read at their ends, and what is between them costs explicit methods evaluations.
    """

    def __init__(self, solver: Any, state: Callable[[float, Float], Any]):
        self.solver, self.state, self.end = solver, state, (solver.t, solver.y.copy())
        self.interpolant: Any = None

    def keep(self) -> None:
        """Make what is needed to read it later."""
        if self.interpolant is None:
            self.interpolant = self.solver.dense_output()

    def read(self, clock: float) -> Any:
        """The state at an instant."""
        if clock == self.end[0]:
            return self.state(clock, self.end[1])
        self.keep()
        return self.state(clock, self.interpolant(clock))


class Relay:
    """A solver of SciPy and, from where it gives up or creeps, another stepper.

    creeps: from the clocks before and after the last `window` steps. following: makes the other stepper from
    a clock and the unknowns there.
    """

    def __init__(
        self,
        first: ByScipy,
        window: int,
        creeps: Callable[[float, float], bool],
        following: Callable[[float, Float], Stepper],
    ):
        self.stepper: Stepper = first
        self.solver, self.clocks = first.solver, deque[float](maxlen=window)
        self.creeps, self.following = creeps, following

    def step(self) -> Segment:
        """The next one, of whichever takes them now."""
        if self.solver is None:
            return self.stepper.step()
        try:
            segment = self.stepper.step()
        except GaveUp:
            return self._change().step()
        self.clocks.append(segment.end)
        if len(self.clocks) == self.clocks.maxlen and self.creeps(self.clocks[0], self.clocks[-1]):
            self._change()
        return segment

    def _change(self) -> Stepper:
        self.stepper, self.solver = self.following(self.solver.t, self.solver.y), None
        return self.stepper
