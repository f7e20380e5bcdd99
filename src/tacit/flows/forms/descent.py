"""Plain and normalized gradient descent with a step size, for comparison with gradient flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.flows.form import Form, Observation, Premise, Problem
from tacit.flows.forms.weights import Layout
from tacit.flows.segments import Segment
from tacit.flows.termination import DIVERGED, OUT_OF_STEPS, UNCHANGED, Rest, Stall

_STEP = 1e-3  # default step size
_GROWTH = 1.3  # factor of the number of steps per segment


@dataclass(frozen=True)
class Iterate:
    """The weights, and the logarithm of time."""

    flat: Float
    log_time: float


class Descent(Form):
    """θ ← θ − step·∇L(θ), or θ ← θ − step·∇L(θ)/L(θ) from log-sum-exp (Moroshko et al. 2020, equation 87)."""

    premise = Premise("raw weights, independent of Q")

    def __init__(
        self, problem: Problem, normalized: bool, step: float | None, most_steps: int, linearized: bool
    ):
        if linearized:
            raise InputError("gradient descent trains the model itself; for the linearized flow omit method")
        if normalized and not problem.loss.relative:
            raise InputError(
                "normalized descent divides by the loss; use it with 'exp', 'logistic' or 'cross-entropy'"
            )
        self.problem, self.parametrization = problem, problem.model.parametrization
        self.X = problem.X.dense() if isinstance(problem.X, Entries) else problem.X
        start = problem.model.start(problem.features)
        self.layout = Layout.of(start)
        self.start = self.layout.flat(start)
        self.step_size, self.most_steps = _STEP if step is None else float(step), int(most_steps)
        self.normalized = normalized
        kind = "normalized gradient descent" if normalized else "gradient descent"
        self.name = f"{kind}, step {self.step_size:g}"

    def begin(self) -> Iterate:
        """The state at the start."""
        return Iterate(self.start, -np.inf)

    def stepper(self) -> Descent:
        """The form itself: there is no step size control."""
        self.here, self.done, self.length = self.begin(), 0, 1.0
        return self

    def step(self) -> Segment:
        """A segment of several steps, more than in the one before."""
        here, done = self.here, self.done
        if done >= self.most_steps:
            raise Stall(OUT_OF_STEPS.format(done, self.step_size))
        count = min(int(self.length), self.most_steps - done)
        self.here, self.done = self._state(here, done, done + count), done + count
        self.length = max(_GROWTH * self.length, self.length + 1)
        self._check(here, self.here)
        return Segment(done, self.done, partial(self._state, here, done), discrete=True)

    def _state(self, here: Iterate, done: int, clock: float) -> Iterate:
        count = round(clock) - done
        if count == 0:
            return here
        found = self._steps(here, count)
        if self.normalized:
            return found
        return replace(found, log_time=float(np.log(self.step_size * round(clock))))

    def _steps(self, here: Iterate, count: int) -> Iterate:
        """Take `count` steps."""
        flat, log_time, loss, y = here.flat, here.log_time, self.problem.loss, self.problem.y
        for _ in range(count):
            weights = self.layout.unpack(flat)
            outputs = np.asarray(self.parametrization.outputs(weights, self.X))
            descent = self.parametrization.pull(weights, self.X, loss.pull(outputs, y))
            step = self.step_size
            if loss.relative:  # then loss.pull is −(1/L)·∂L/∂f
                accuracy = float(loss.accuracy(outputs, y))
                log_time = float(np.logaddexp(log_time, np.log(step) + accuracy))
                step = step if self.normalized else step * np.exp(-accuracy)
            flat = flat + step * self.layout.flat(descent)
        return Iterate(flat, log_time)

    def _check(self, before: Iterate, after: Iterate) -> None:
        if not np.isfinite(after.flat).all():
            raise Stall(DIVERGED.format(self.step_size))
        if np.array_equal(before.flat, after.flat):
            raise Rest(UNCHANGED)

    def outputs(self, state: Iterate) -> Float:
        """f(x₁), …, f(x_N)."""
        return np.asarray(self.parametrization.outputs(self.layout.unpack(state.flat), self.X))

    def observe(self, state: Iterate) -> Observation:
        """The observed quantities of a state."""
        weights = self.layout.unpack(state.flat)
        predictor = np.asarray(self.parametrization.predictor(weights))
        return Observation(predictor, self.outputs(state), weights)

    def log_time(self, state: Iterate) -> float:
        """log of time: the sum of the steps or, if normalized, of the steps divided by the loss."""
        return state.log_time
