r"""Gradient descent with steps that stay on the flow: training, whatever is trained.

    θ ← θ + η·Jᵀp,    p = −∂L/∂f (of relative losses −(1/L)·∂L/∂f, whose clock runs in units of the loss)

η ≤ 1/(2λ), λ the largest eigenvalue of K H, the tangent kernel times the second derivative of the loss, and
small enough that a step gains what the flow would: between half and one and a half times η‖Jᵀp‖². No layer
moves by more than a tenth of its size in a step: on the plateau of small starts weights grow exponentially,
each at its own rate, and long steps would make these rates equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.network import Network
from tacit.numerics.roots import crossing
from tacit.numerics.step_control import StepControl

_GAIN = (0.5, 1.5)  # of what the flow gains
# A gain out of bounds does not tell by how much a step is too long: it is halved. At kinks no step is good,
# and after 12 attempts the longest that lowers the loss is taken.
_CONTROL = StepControl(-1.0, unsolved=0.5, growth=(1.5, 1.5), attempts=12)
_SHARE = 0.1  # of a layer, in a step
_ASIDE = 1e-4  # of the outputs, for a difference
_FIRST = 8  # steps of the power method at the start; later ones go on from there
_LOOK = 20  # steps after which the largest eigenvalue is looked at again


class Trainable(Protocol):
    """What can be trained: states are arrays, and outputs (N, m) functions of them.

    top: the first eigenvector of K H, of length 1, as far as it is known.
    """

    top: Float

    def outputs(self, state: Float) -> Float:
        """f of a state."""
        ...

    def direction(self, state: Float, pull: Float) -> tuple[Float, float]:
        """Where the pull moves the state, and the squared length of that move."""
        ...

    def image(self, state: Float, u: Float) -> Float:
        """K u, of the kernel there."""
        ...

    def longest(self, state: Float, direction: Float) -> float:
        """The longest step that leaves the state in sight."""
        ...


@dataclass(eq=False)
class OfWeights:
    """The weights of a network at inputs X. top: the first eigenvector of its kernel at the start."""

    network: Network
    X: Any
    top: Float

    def outputs(self, state: Float) -> Float:
        """f(θ, X), whatever it is."""
        found = np.asarray(self.network._backend.outputs(state, self.X), dtype=np.float64)
        return found.reshape(len(self.X), -1)

    def direction(self, state: Float, pull: Float) -> tuple[Float, float]:
        """Jᵀp."""
        moved = np.asarray(self.network._backend.vjp(state, self.X, pull), dtype=np.float64)
        return moved, float(moved @ moved)

    def image(self, state: Float, u: Float) -> Float:
        """J Jᵀ u."""
        backend = self.network._backend
        found = backend.jvp(state, self.X, backend.vjp(state, self.X, u.reshape(len(self.X), -1)))
        return np.asarray(found, dtype=np.float64).ravel()

    def longest(self, state: Float, direction: Float) -> float:
        """A tenth of each layer; one that is small, as biases of 0 are, counts as weights of typical size."""
        typical = float(np.linalg.norm(state)) / np.sqrt(state.size)
        steps = [np.inf]
        for layer in self.network.layers:
            far = float(np.linalg.norm(direction[layer.slice]))
            if far > 0:
                size = max(float(np.linalg.norm(state[layer.slice])), typical * np.sqrt(layer.size))
                steps.append(_SHARE * size / far)
        return min(steps)


@dataclass(eq=False)
class OfCoefficients:
    """Coefficients c of the linearized model, f = f(0) + K c."""

    kernel: Float
    start: Float  # (N, m)
    top: Float

    def outputs(self, state: Float) -> Float:
        """f(0) + K c."""
        return self.start + (self.kernel @ state.ravel()).reshape(self.start.shape)

    def direction(self, state: Float, pull: Float) -> tuple[Float, float]:
        """c moves as it is pulled."""
        return pull.ravel(), float(pull.ravel() @ (self.kernel @ pull.ravel()))

    def image(self, state: Float, u: Float) -> Float:
        """K u."""
        return self.kernel @ u

    def longest(self, state: Float, direction: Float) -> float:
        """Any: the model is linear."""
        return np.inf


@dataclass(frozen=True, eq=False)
class Trained:
    """Where training ended. reached: the accuracy that it was to reach; reason: why it ended."""

    state: Float
    outputs: Float
    accuracy: float
    time: float
    steps: int
    reached: bool
    reason: str
    accuracies: Float = field(repr=False)  # after each step
    times: Float = field(repr=False)


@dataclass(frozen=True, eq=False)
class Descent:
    """A loss on targets y, and the accuracy at which training ends.

    watch: told of each step's accuracy. stride: of 1/λ, how long steps are.
    """

    loss: Loss
    y: Float  # (N,) or (N, m)
    goal: float
    most_steps: int
    watch: Callable[[float], None] = lambda _: None
    stride: float = 0.5

    def run(self, subject: Trainable, state: Float) -> Trained:
        """From this state to the goal, or as near as the steps allowed lead."""
        f = subject.outputs(state)
        accuracies, times = [self.accuracy(f)], [0.0]
        size, step, steps, reason = 0.0, np.inf, 0, ""
        looks = _FIRST
        while accuracies[-1] < self.goal and not reason:
            pull = self.pull(f)
            direction, speed = subject.direction(state, pull)
            if not speed > 0:
                reason = "the gradient is 0"
                break
            if len(times) % _LOOK == 1:
                size, looks = self._stiffness(subject, state, f, looks), 1
            step = min(step, self.stride / max(size, 1e-300), subject.longest(state, direction))
            found, step, steps, reason = self._step(subject, state, f, direction, speed, step, steps)
            if found is None:
                break
            level = self.accuracy(found)
            if level > self.goal:
                step, found = self._cut(subject, state, direction, step)
                level = self.goal
            state, f = state + step * direction, found
            times.append(times[-1] + step * self._pace(accuracies[-1], level))
            accuracies.append(level)
            step *= _CONTROL.growth[0]
            self.watch(level)
        reached = accuracies[-1] >= self.goal
        path = np.array(accuracies), np.array(times)
        why = "" if reached else reason or f"{steps:,} steps are over"
        return Trained(state, f, accuracies[-1], times[-1], steps, reached, why, *path)

    def _stiffness(self, subject: Trainable, state: Float, f: Float, powers: int) -> float:
        """The largest eigenvalue of K H, by the power method from where it ended before."""
        size = 0.0
        for _ in range(powers):
            image = subject.image(state, self.curved(f, subject.top))
            size = float(np.linalg.norm(image))
            if not (size > 0 and np.isfinite(size)):
                return 0.0
            subject.top = image / size
        return size

    def _step(
        self,
        subject: Trainable,
        state: Float,
        f: Float,
        direction: Float,
        speed: float,
        step: float,
        steps: int,
    ) -> tuple[Float | None, float, int, str]:
        """The outputs after a step that gains what it should, and its size; None where there is none left."""
        pull, lower = self.pull(f), list[tuple[Float, float]]()

        def attempt(h: float) -> tuple[Float | None, float]:
            nonlocal steps
            if steps >= self.most_steps:
                return None, np.inf
            steps += 1
            found = subject.outputs(state + h * direction)
            if not np.isfinite(found).all():
                return None, np.inf
            gain = float(np.sum((pull + self.pull(found)) * (found - f))) / 2
            if gain > 0:
                lower.append((found, h))
            return (found, 0.0) if _GAIN[0] <= gain / (h * speed) <= _GAIN[1] else (None, np.inf)

        taken = _CONTROL.search(attempt, step)
        if taken is not None:
            return taken.step, taken.h, steps, ""
        if lower:
            return *lower[0], steps, ""
        over = steps >= self.most_steps
        return None, step, steps, f"{steps:,} steps are over" if over else "no step lowers the loss"

    def _cut(self, subject: Trainable, state: Float, direction: Float, step: float) -> tuple[float, Float]:
        """The part of a step that leads to the goal and not beyond."""

        def beyond(size: float) -> float:
            return self.accuracy(subject.outputs(state + size * direction)) - self.goal

        size = crossing(beyond, 0.0, step, rtol=1e-10) if beyond(0.0) < 0 else 0.0
        return size, subject.outputs(state + size * direction)

    def _pace(self, first: float, last: float) -> float:
        """Time for each unit of the clock: 1/L of relative losses."""
        return float(np.exp(min((first + last) / 2, 700.0))) if self.loss.relative else 1.0

    def accuracy(self, f: Float) -> float:
        """−log L."""
        return float(self.loss.accuracy(f.reshape(self.y.shape), self.y))

    def pull(self, f: Float) -> Float:
        """How the loss pulls on the outputs, (N, m)."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.loss.pull(f.reshape(self.y.shape), self.y)).reshape(f.shape)

    def curved(self, f: Float, u: Float) -> Float:
        """H u: how the pull falls when the outputs move along u.

        H is the second derivative of L, over L where the clock is: 2c of quadratic losses, else a difference.
        """
        if self.loss.quadratic:
            return 2 * self.loss.factor(len(self.y)) * u
        aside = _ASIDE * u.reshape(f.shape) / (float(np.abs(u).max()) or 1.0)
        here, pulls = self.accuracy(f), []
        for g in (f - aside, f + aside):
            weight = np.exp(here - self.accuracy(g)) if self.loss.relative else 1.0
            pulls.append(weight * self.pull(g))
        return (pulls[0] - pulls[1]).ravel() * (float(np.abs(u).max()) / (2 * _ASIDE))
