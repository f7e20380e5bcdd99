"""Steppers, which integrate a flow segment by segment."""

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
    """Interface of a stepper."""

    def step(self) -> Segment:
        """The next step. Raises `GaveUp` if no step is accurate enough."""
        ...


class StepEquations(ABC):
    """The equations of a step from the current state, tried with several step sizes."""

    @abstractmethod
    def first_length(self) -> float:
        """The length of the first step of the flow."""

    def longest(self) -> float:
        """The largest step size that is tried."""
        return np.inf

    @abstractmethod
    def attempt(self, h: float) -> tuple[Any, float]:
        """A step of length h, or None if it is rejected, and its error relative to the tolerance."""


class Controlled(ABC):
    """A stepper whose `StepControl` chooses the step size.

    h: the step size to try next. last: the previous step. clock: sum of the step sizes so far.
    """

    control: StepControl
    h: float | None = None
    last: Taken | None = None
    clock = 0.0

    @abstractmethod
    def equations(self) -> StepEquations:
        """The equations of a step from the current state."""

    @abstractmethod
    def accept(self, equations: Any, taken: Taken) -> Segment:
        """Go to the end of the step, and return its segment."""

    def step(self, most: float = np.inf) -> Segment:
        """The next step, at most of length `most`."""
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
        """The step size at which to give up."""
        return 0.0

    def floor(self) -> float:
        """A step size that is tried before any smaller one; see `StepControl.search`."""
        return 0.0

    def why(self) -> str:
        """The reason if no step is accurate enough."""
        return NO_STEP.format(self.clock)


class ByScipy:
    """The steps of a SciPy solver, which controls the step size itself.

    state: makes a state of the flow from the clock and the unknowns.
    """

    def __init__(self, solver: Any, state: Callable[[float, Float], Any]):
        self.solver, self.state, self.inside = solver, state, _Inside(solver, state)

    def step(self) -> Segment:
        """Take the next step."""
        self.inside.solver, begin = None, self.solver.t
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # failures are reported by the status
            message = self.solver.step()
        if self.solver.status != "running":
            raise GaveUp(GAVE_UP.format(begin, message or "the solver's step size became too large"))
        self.inside = _Inside(self.solver, self.state)
        return Segment(begin, self.solver.t, self.inside.read, keep=self.inside.keep)


class _Inside:
    """Dense output of a solver's last step, available until the next step, or permanently after `keep`.

    It is computed on demand, because it costs explicit methods extra evaluations, and most steps do not need
    it.
    """

    def __init__(self, solver: Any, state: Callable[[float, Float], Any]):
        self.solver, self.state, self.end = solver, state, (solver.t, solver.y.copy())
        self.interpolant: Any = None

    def keep(self) -> None:
        """Compute the interpolant, so that states can be read later."""
        if self.interpolant is None:
            self.interpolant = self.solver.dense_output()

    def read(self, clock: float) -> Any:
        """The state at a clock value."""
        if clock == self.end[0]:
            return self.state(clock, self.end[1])
        self.keep()
        return self.state(clock, self.interpolant(clock))


class Relay:
    """A SciPy solver that is replaced by another stepper when it fails or makes too little progress.

    creeps: decides from the clocks before and after the last `window` steps. following: makes the other
    stepper from the clock and the unknowns.
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
        """Take the next step with the current stepper."""
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
