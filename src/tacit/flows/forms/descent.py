"""Gradient descent with a step size, plain and normalized: what practice does instead of the flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.flows.endings import DIVERGED, OUT_OF_STEPS, UNCHANGED, Rest, Stall
from tacit.flows.form import Form, Observation, Premise, Problem
from tacit.flows.forms.parameters import velocity
from tacit.flows.forms.weights import Layout
from tacit.flows.segments import Segment
from tacit.potentials.arrays import quiet

_STEP = 1e-3  # of gradient descent, unless one is asked for
_GROWTH = 1.3  # of the number of steps between two looks


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run(
    parametrization: Any,
    loss: Any,
    layout: Layout,
    normalized: bool,
    flat: Any,
    X: Any,
    y: Any,
    step: Any,
    count: Any,
) -> Any:
    """`count` steps from these weights; and log of the time they took, Σ step or (normalized) Σ step/L."""

    def advance(_: Any, carry: Any) -> Any:
        theta, log_time = carry
        move = velocity(parametrization, loss, layout, theta, X, y)
        if not loss.relative:
            return theta + step * move, jnp.logaddexp(log_time, jnp.log(step))
        accuracy = loss.accuracy(parametrization.outputs(layout.unpack(theta), X), y)
        if normalized:
            return theta + step * move, jnp.logaddexp(log_time, jnp.log(step) + accuracy)
        return theta + step * jnp.exp(-accuracy) * move, jnp.logaddexp(log_time, jnp.log(step))

    return jax.lax.fori_loop(0, count, advance, (flat, -jnp.inf))


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
            raise InputError("descent runs the model itself; for the linearized flow leave method out")
        if normalized and not problem.loss.relative:
            raise InputError(
                "normalized descent divides by the loss: it goes with 'exp', 'logistic' and 'cross-entropy'"
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
        """Itself: there is nothing to control."""
        self.here, self.done, self.length = self.begin(), 0, 1.0
        return self

    def step(self) -> Segment:
        """A run of steps, longer than the one before."""
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
        given = (self.parametrization, self.problem.loss, self.layout, self.normalized)
        with jax.enable_x64(True):
            flat, elapsed = _run(*given, here.flat, self.X, self.problem.y, self.step_size, count)
        summed = float(np.logaddexp(here.log_time, elapsed))
        return Iterate(
            np.asarray(flat), summed if self.normalized else float(np.log(self.step_size * round(clock)))
        )

    def _check(self, before: Iterate, after: Iterate) -> None:
        if not np.isfinite(after.flat).all():
            raise Stall(DIVERGED.format(self.step_size))
        if np.array_equal(before.flat, after.flat):
            raise Rest(UNCHANGED)

    @quiet
    def outputs(self, state: Iterate) -> Float:
        """f(x₁), …, f(x_N)."""
        return np.asarray(self.parametrization.outputs(self.layout.unpack(state.flat), self.X))

    @quiet
    def observe(self, state: Iterate) -> Observation:
        """Everything that is recorded of a state."""
        weights = self.layout.unpack(state.flat)
        predictor = np.asarray(self.parametrization.predictor(weights))
        return Observation(predictor, self.outputs(state), weights)

    def log_time(self, state: Iterate) -> float:
        """The logarithm of time: of the sum of the steps or, normalized, of steps divided by the loss."""
        return state.log_time
