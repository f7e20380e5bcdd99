r"""Gradient descent with steps short enough to follow gradient flow.

    θ ← θ + η·Jᵀp,    p = −∂L/∂f    (for relative losses p = −(1/L)·∂L/∂f: a step η takes the time η/L)

The step size satisfies η ≤ 1/(2λ), where λ is the largest eigenvalue of K H, the tangent kernel times the
second derivative of the loss. It is also small enough that the loss falls by between half and one and a half
times η‖Jᵀp‖², its decrease along the flow to first order. No layer changes by more than a tenth of its norm
in one step: on the plateau after a small initialization each weight grows exponentially at its own rate, and
longer steps would equalize these rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.network import Network
from tacit.numerics.roots import crossing
from tacit.numerics.step_control import StepControl

_DECREASE = (0.5, 1.5)  # allowed decrease of the loss in a step, relative to the first-order decrease
# A decrease out of bounds does not say by how much the step is too long, so the step is halved. At kinks of
# the network no step may qualify; after 12 attempts the longest that lowers the loss is taken.
_CONTROL = StepControl(-1.0, unsolved=0.5, growth=(1.5, 1.5), attempts=12)
_LAYER_CHANGE = 0.1  # largest relative change of a layer in a step
_DIFFERENCE = 1e-4  # change of the outputs in finite differences of the loss gradient
_FIRST_POWERS = 8  # iterations of the power method at the start; later calls continue from its result
_UPDATE_EVERY = 20  # steps between updates of the largest eigenvalue, by one iteration each


@dataclass(eq=False)
class WeightTraining:
    """The weights of a network at inputs X. top: the estimate of the first eigenvector of K H, of length 1.

    Initially it is that of the kernel K.
    """

    network: Network
    X: Any
    top: Float

    def outputs(self, state: Float) -> Float:
        """The outputs f(θ, X), which may be infinite."""
        f = np.asarray(self.network._backend.outputs(state, self.X), dtype=np.float64)
        return f.reshape(len(self.X), -1)

    def direction(self, state: Float, p: Float) -> tuple[Float, float]:
        """Jᵀp and its squared norm."""
        velocity = np.asarray(self.network._backend.vjp(state, self.X, p), dtype=np.float64)
        return velocity, float(velocity @ velocity)

    def times_kernel(self, state: Float, u: Float) -> Float:
        """J Jᵀ u."""
        backend = self.network._backend
        product = backend.jvp(state, self.X, backend.vjp(state, self.X, u.reshape(len(self.X), -1)))
        return np.asarray(product, dtype=np.float64).ravel()

    def longest(self, state: Float, direction: Float) -> float:
        """The step that changes a layer by a tenth of its norm.

        The root mean square of all weights is a lower bound on that of a layer: otherwise biases that start
        at 0 would allow no step.
        """
        typical = float(np.linalg.norm(state)) / np.sqrt(state.size)
        steps = [np.inf]
        for layer in self.network.layers:
            speed = float(np.linalg.norm(direction[layer.slice]))
            if speed > 0:
                size = max(float(np.linalg.norm(state[layer.slice])), typical * np.sqrt(layer.size))
                steps.append(_LAYER_CHANGE * size / speed)
        return min(steps)


@dataclass(eq=False)
class CoefficientTraining:
    """The coefficients c of the linearized model, f = f(0) + K c. top: as for `WeightTraining`."""

    kernel: Float
    start: Float  # (N, m)
    top: Float

    def outputs(self, state: Float) -> Float:
        """f(0) + K c."""
        return self.start + (self.kernel @ state.ravel()).reshape(self.start.shape)

    def direction(self, state: Float, p: Float) -> tuple[Float, float]:
        """The velocity of c is p itself."""
        return p.ravel(), float(p.ravel() @ (self.kernel @ p.ravel()))

    def times_kernel(self, state: Float, u: Float) -> Float:
        """K u."""
        return self.kernel @ u

    def longest(self, state: Float, direction: Float) -> float:
        """Unlimited, since the model is linear."""
        return np.inf


Trainable = WeightTraining | CoefficientTraining


@dataclass(frozen=True, eq=False)
class Trained:
    """The end of a training. reached: whether it reached its accuracy; reason: why it stopped otherwise."""

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
class _Ray:
    """The states at steps of any size in one direction. speed: ‖Jᵀp‖², the decrease of the loss per unit of
    step size."""

    subject: Trainable
    state: Float
    f: Float
    direction: Float
    speed: float

    def outputs(self, h: float) -> Float:
        """The outputs after a step of size h."""
        return self.subject.outputs(self.state + h * self.direction)


@dataclass(frozen=True, eq=False)
class Descent:
    """Training with a loss on targets y until the accuracy `goal`.

    watch: called with the accuracy after each step. stride: the largest step size, in units of 1/λ.
    """

    loss: Loss
    y: Float  # (N,) or (N, m)
    goal: float
    most_steps: int
    watch: Callable[[float], None] = lambda _: None
    stride: float = 0.5

    def run(self, subject: Trainable, state: Float) -> Trained:
        """Train from this state until the goal or the largest number of steps is reached."""
        f = subject.outputs(state)
        accuracies, times = [self.accuracy(f)], [0.0]
        stiffness, step, steps, reason, powers = 0.0, np.inf, 0, "", _FIRST_POWERS
        while accuracies[-1] < self.goal:
            ray = _Ray(subject, state, f, *subject.direction(state, self.negative_gradient(f)))
            if not ray.speed > 0:
                reason = "the gradient is 0"
                break
            if len(times) % _UPDATE_EVERY == 1:
                stiffness, powers = self._stiffness(subject, state, f, powers), 1
            step = min(step, self.stride / max(stiffness, 1e-300), subject.longest(state, ray.direction))
            found, attempts = self._step(ray, step, self.most_steps - steps)
            steps += attempts
            if found is None:
                reason = "no step lowers the loss" if steps < self.most_steps else ""
                break
            after, step = found
            level = self.accuracy(after)
            if level > self.goal:
                step, after = self._shortened(ray, step)
                level = self.goal
            state, f = state + step * ray.direction, after
            times.append(times[-1] + step * self._time_unit(accuracies[-1], level))
            accuracies.append(level)
            step *= _CONTROL.growth[0]
            self.watch(level)
        reached = accuracies[-1] >= self.goal
        path = np.array(accuracies), np.array(times)
        why = "" if reached else reason or f"the limit of {steps:,} steps is reached"
        return Trained(state, f, accuracies[-1], times[-1], steps, reached, why, *path)

    def _stiffness(self, subject: Trainable, state: Float, f: Float, powers: int) -> float:
        """The largest eigenvalue of K H, by the power method from its previous result."""
        size = 0.0
        for _ in range(powers):
            product = subject.times_kernel(state, self.times_hessian(f, subject.top))
            size = float(np.linalg.norm(product))
            if not (size > 0 and np.isfinite(size)):
                return 0.0
            subject.top = product / size
        return size

    def _step(self, ray: _Ray, step: float, most: int) -> tuple[tuple[Float, float] | None, int]:
        """Outputs after an acceptable step and its size, or None, and the number of attempts."""
        p, f, lower, attempts = self.negative_gradient(ray.f), ray.f, list[tuple[Float, float]](), 0

        def attempt(h: float) -> tuple[Float | None, float]:
            nonlocal attempts
            if attempts >= most:
                return None, np.inf
            attempts += 1
            after = ray.outputs(h)
            if not np.isfinite(after).all():
                return None, np.inf
            # The trapezoidal rule avoids the cancellation in a difference of losses.
            decrease = float(np.sum((p + self.negative_gradient(after)) * (after - f))) / 2
            if decrease > 0:
                lower.append((after, h))
            acceptable = _DECREASE[0] <= decrease / (h * ray.speed) <= _DECREASE[1]
            return (after, 0.0) if acceptable else (None, np.inf)

        taken = _CONTROL.search(attempt, step)
        return (taken.step, taken.h) if taken is not None else next(iter(lower), None), attempts

    def _shortened(self, ray: _Ray, step: float) -> tuple[float, Float]:
        """The step size at which the accuracy equals the goal, and the outputs there."""

        def excess(h: float) -> float:
            return self.accuracy(ray.outputs(h)) - self.goal

        h = crossing(excess, 0.0, step, rtol=1e-10) if excess(0.0) < 0 else 0.0
        return h, ray.outputs(h)

    def _time_unit(self, first: float, last: float) -> float:
        """Time for each unit of η: 1/L for relative losses, 1 otherwise."""
        # e^700 is near the largest float.
        return float(np.exp(min((first + last) / 2, 700.0))) if self.loss.relative else 1.0

    def accuracy(self, f: Float) -> float:
        """The accuracy −log L."""
        return float(self.loss.accuracy(f.reshape(self.y.shape), self.y))

    def negative_gradient(self, f: Float) -> Float:
        """The negative gradient p of the loss with respect to the outputs, (N, m)."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.loss.pull(f.reshape(self.y.shape), self.y)).reshape(f.shape)

    def times_hessian(self, f: Float, u: Float) -> Float:
        """The product H u with the second derivative H of L, divided by L for relative losses.

        H = 2c for quadratic losses c·Σ(f − y)²; otherwise a central difference of the gradient.
        """
        if self.loss.quadratic:
            return 2 * self.loss.factor(len(self.y)) * u
        shift = _DIFFERENCE * u.reshape(f.shape) / (float(np.abs(u).max()) or 1.0)
        here, gradients = self.accuracy(f), []
        for g in (f - shift, f + shift):
            weight = np.exp(here - self.accuracy(g)) if self.loss.relative else 1.0
            gradients.append(weight * self.negative_gradient(g))
        return (gradients[0] - gradients[1]).ravel() * (float(np.abs(u).max()) / (2 * _DIFFERENCE))
