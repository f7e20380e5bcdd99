"""Gradient flow of weights, integrated with SciPy's solvers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.integrate import DOP853, LSODA

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import ByScipy, Stepper
from tacit.flows.termination import AT_MINIMUM, AT_SADDLE, NO_GRADIENT, OVERFLOWN, Rest, Rounded, Stall
from tacit.models.parametrizations import Weights
from tacit.numerics.rounding import EPS

_STILL = 1e-10  # a weight rests if velocity × clock is below this share of its displacement
_IDLE = 1e-3  # gain in accuracy, at the current rate for the time passed so far, that counts as none
_LATER = 1.1  # factor of the clock between two checks for rest
_LONG = 10.0  # factor of the clock over which gradient and loss must be constant for the flow to be at rest
_UNCHANGED = 1e-9  # change of the accuracy that counts as none
_FLAT = 1e-6  # eigenvalues of the Hessian up to this share of the largest are round-off
_KEPT = 100_000  # entries of a predictor above which it is not stored with every state
_IMPLICIT = 600  # unknowns up to which an implicit method without a formula for the Jacobian is affordable


@dataclass(frozen=True)
class Layout:
    """The arrangement of weights in one flat array."""

    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, weights: Weights) -> Layout:
        """The layout of these weights."""
        return cls(tuple((name, np.shape(w)) for name, w in weights.items()))

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(math.prod(shape) for _, shape in self.shapes)

    def flat(self, weights: Weights) -> Float:
        """All weights in one array."""
        return np.concatenate([np.ravel(weights[name]) for name, _ in self.shapes])

    def unpack(self, flat: Any) -> Weights:
        """The weights by name; for NumPy or JAX arrays."""
        weights, begin = {}, 0
        for name, shape in self.shapes:
            end = begin + math.prod(shape)
            weights[name] = flat[begin:end].reshape(shape)
            begin = end
        return weights


@dataclass(frozen=True)
class WeightState:
    """The weights, the clock, and the information needed to compute time."""

    flat: Float
    clock: float
    relative_time: float | None  # time × loss, for relative losses


class WeightFlow(Form):
    """θ' = −∇L(θ) in ordinary time, or θ' = −∇L(θ)/L(θ) in the clock ds = L dt for relative losses.

    parametrization and X belong to the integrated weights, possibly those of a smaller network. In the second
    clock the accuracy grows at the rate ‖θ'‖², and τ = t·L obeys τ' = 1 − τ‖θ'‖²: time may overflow, τ does
    not.
    """

    def __init__(
        self,
        problem: Problem,
        start: Weights,
        velocity: Callable[[Float], Float],
        jacobian: Callable[[Float], Float] | None = None,
    ):
        self.problem, self.velocity, self.jacobian = problem, velocity, jacobian
        self.layout = Layout.of(start)
        self.start = self.layout.flat(start)
        self.relative = problem.loss.relative
        self.rtol = max(1e-3 * problem.rtol, 1e-13)
        self._checked_at = 0.0
        self._quiet_since: tuple[float, float] | None = None  # clock and accuracy

    def begin(self) -> WeightState:
        """The state at the start."""
        return self._state(0.0, np.zeros(self.start.size + self.relative))

    def _state(self, clock: float, unknowns: Float) -> WeightState:
        if self.relative:
            return WeightState(self.start + unknowns[:-1], clock, float(unknowns[-1]))
        return WeightState(self.start + unknowns, clock, None)

    def log_time(self, state: WeightState) -> float:
        """The logarithm of time at a state."""
        if state.relative_time is None:
            return float(np.log(state.clock))
        accuracy = self.problem.loss.accuracy(self.outputs(state), self.problem.y)
        return float(np.log(max(state.relative_time, 0.0)) + accuracy)

    def outputs(self, state: WeightState) -> Float:
        """f(x₁), …, f(x_N)."""
        return np.asarray(self.parametrization.outputs(self.weights(state), self.X))

    def observe(self, state: WeightState) -> Observation:
        """The observed quantities of a state."""
        weights = self.weights(state)
        large = isinstance(self.X, Entries) and math.prod(self.X.shape) > _KEPT
        predictor = partial(self.predictor, weights) if large else self.predictor(weights)
        return Observation(predictor, self.outputs(state), weights)

    def weights(self, state: WeightState) -> Weights:
        """The weights by name."""
        return self.layout.unpack(state.flat)

    def gradient_velocity(self, flat: Float) -> Float:
        """−∇L, or −∇L/L for relative losses, from the Jᵀ-product of the parametrization."""
        weights = self.layout.unpack(flat)
        outputs = np.asarray(self.parametrization.outputs(weights, self.X))
        descent = self.problem.loss.pull(outputs, self.problem.y)
        return self.layout.flat(self.parametrization.pull(weights, self.X, descent))

    def predictor(self, weights: Weights) -> Float:
        """The predictor of these weights."""
        return np.asarray(self.parametrization.predictor(weights))

    def stepper(self) -> Stepper:
        """The first stepper, unless the gradient is 0."""
        if not np.any(self.velocity(self.start)):
            raise Rest(NO_GRADIENT.format("a saddle or a stationary point"))
        return self.first_stepper()

    def first_stepper(self) -> Any:
        """A solver for the displacement of the weights, which is accurate also if they hardly change."""
        unknowns = np.zeros(self.start.size + self.relative)
        sizes = np.full(unknowns.size, self._natural_size())
        if self.parametrization.elementwise:
            # A weight grows in proportion to itself: the absolute tolerance of larger ones would be too large
            # for it.
            own = np.abs(self.start)
            sizes[: own.size] = np.minimum(sizes[: own.size], np.where(own > 0, own, np.inf))
        sizes[self.start.size :] = 1.0
        atol = 1e-2 * self.rtol * sizes
        rounding = EPS * np.abs(self.start)  # smaller displacements do not change a weight
        atol[: self.start.size] = np.maximum(atol[: self.start.size], rounding)
        if self.jacobian is None and unknowns.size > _IMPLICIT:
            tolerances: Any = {"rtol": self.rtol, "atol": atol}
            return ByScipy(DOP853(self._rate, 0.0, unknowns, np.inf, **tolerances), self._state)
        return self.implicit(LSODA, 0.0, unknowns, atol)

    def implicit(self, method: Any, clock: float, unknowns: Float, atol: Float) -> ByScipy:
        """An implicit solver of SciPy, started at these unknowns."""
        # A lambda, because LSODA of SciPy before 1.17 crashes with a bound method.
        jac = None if self.jacobian is None else lambda clock, unknowns: self._rate_jacobian(clock, unknowns)
        solver = method(self._rate, clock, unknowns, 1e300, rtol=self.rtol, atol=atol, jac=jac)
        return ByScipy(solver, self._state)

    def _natural_size(self) -> float:
        """Typical displacement of the weights: the smallest layer, or less if the loss vanishes earlier."""
        layers = [float(np.abs(w).max()) for w in self.layout.unpack(self.start).values()]
        size = min([layer for layer in layers if layer > 0], default=1.0)
        outputs = self.outputs(self.begin())
        first = self.velocity(self.start)
        if self.relative:
            return size
        residual = np.abs(self.problem.y - outputs).max()
        fastest = float(np.abs(first).max())
        shares = first / fastest  # avoids underflow of squares
        loss = float(np.exp(-self.problem.loss.accuracy(outputs, self.problem.y)))
        # −dL/dt = fastest²·(shares @ shares) at the start, so the loss lasts for L/(−dL/dt)
        return min(size, loss / (fastest * float(shares @ shares))) if residual > 0 else size

    def _rate(self, _: float, unknowns: Float) -> Float:
        if not self.relative:
            return self.velocity(self.start + unknowns)
        velocity = self.velocity(self.start + unknowns[:-1])
        return np.append(velocity, 1 - unknowns[-1] * self._gain(velocity))

    def _gain(self, velocity: Float) -> float:
        """‖θ'‖², the growth rate of the accuracy in the clock of relative losses."""
        return float(velocity @ velocity)

    def _rate_jacobian(self, _: float, unknowns: Float) -> Float:
        assert self.jacobian is not None
        if not self.relative:
            return self.jacobian(self.start + unknowns)
        theta, tau = self.start + unknowns[:-1], unknowns[-1]
        velocity, inner = self.velocity(theta), self.jacobian(theta)
        full = np.zeros((unknowns.size, unknowns.size))
        full[:-1, :-1] = inner
        full[-1, :-1] = -2 * tau * (velocity @ inner)
        full[-1, -1] = -(velocity @ velocity)
        return full

    def after(self, segment: Segment) -> Stepper | None:
        """Check for rest at growing intervals; the criterion is the change over another interval of the same
        length."""
        if segment.end >= _LATER * self._checked_at:
            self._checked_at = segment.end
            self._check_stall(segment.last)
        return None

    def _check_stall(self, state: WeightState) -> None:
        """Stop if the weights rest or overflow, or if the residual is round-off."""
        theta = state.flat
        if not np.isfinite(theta).all():
            raise Stall(OVERFLOWN)
        outputs = self.outputs(state)
        if not self.relative and self._is_rounding(state, outputs):
            raise Rounded
        velocity = self.velocity(theta)
        moving = np.abs(velocity) * state.clock
        moved = np.abs(theta - self.start)
        rounding = EPS * _STILL * float(np.abs(theta).max())
        if self._speed * state.clock <= rounding:  # the first step may be too short for any displacement
            return
        rests = (moving <= _STILL * moved + rounding).all() or moving.max() <= 1e-3 * _STILL * moved.max()
        if rests and self._gaining(velocity, outputs) * state.clock < _IDLE:
            self._rest(theta)
        if not self.relative and self._stays_quiet(state, velocity, outputs):
            self._rest(theta)

    def _stays_quiet(self, state: WeightState, velocity: Float, outputs: Float) -> bool:
        """Whether the gradient has been 0 within tolerance, with a constant loss, for long enough.

        A gradient that is 0 up to round-off needs less time.
        """
        speed = float(np.linalg.norm(velocity))
        sizes = {name: np.abs(w) for name, w in self.weights(state).items()}
        residual = np.abs(self.problem.loss.pull(outputs, self.problem.y))
        rounded = speed <= EPS * self._gradient_terms(sizes)
        if not rounded and speed > self.rtol * self._uncancelled(sizes, residual):
            self._quiet_since = None
            return False
        accuracy = float(self.problem.loss.accuracy(outputs, self.problem.y))
        if self._quiet_since is None or accuracy - self._quiet_since[1] >= _UNCHANGED:
            self._quiet_since = state.clock, accuracy
        return state.clock >= (_LATER if rounded else _LONG) * self._quiet_since[0]

    def _gradient_terms(self, sizes: Weights) -> float:
        """The size of the terms that cancel in the gradient Jᵀr of a quadratic loss; 0 for other losses."""
        if not self.problem.loss.quadratic:
            return 0.0
        terms = np.abs(np.asarray(self.parametrization.outputs(sizes, abs(self.X))))
        return self._uncancelled(sizes, np.abs(self.problem.loss.pull(terms, -np.abs(self.problem.y))))

    def _uncancelled(self, sizes: Weights, residual: Float) -> float:
        """‖|J|ᵀ|r|‖, the size of the gradient without cancellation."""
        terms = self.parametrization.pull(sizes, abs(self.X), residual)
        return float(np.sqrt(sum(float(np.sum(np.square(term))) for term in terms.values())))

    def _rest(self, theta: Float) -> None:
        """End at rest with nonzero loss: at a minimum, or at a saddle, which the flow may leave later."""
        growth = self._fastest_growth(theta)
        if growth is not None and growth <= 0:
            raise Rest(AT_MINIMUM, minimum=True)
        raise Stall(AT_SADDLE.format("a stationary point" if growth is None else "a saddle"))

    def _fastest_growth(self, theta: Float) -> float | None:
        """The largest eigenvalue of −∇²L, 0 if that is round-off; None if the model is too large."""
        if self.relative or theta.size > _IMPLICIT:
            return None
        matrix = self._differences(theta) if self.jacobian is None else self.jacobian(theta)
        free = self._free()
        matrix = matrix if free is None else free.T @ matrix @ free
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        return float(values[-1]) if values[-1] > _FLAT * np.abs(values).max() else 0.0

    def _free(self) -> Float | None:
        """A basis of the feasible directions of the unknowns; None for all."""
        return None

    def _differences(self, theta: Float) -> Float:
        """The Jacobian of the velocity, by central differences."""
        step = EPS ** (1 / 3) * (float(np.abs(theta).max()) or 1.0)
        columns = [
            self.velocity(theta + step * e) - self.velocity(theta - step * e) for e in np.eye(theta.size)
        ]
        return np.column_stack(columns) / (2 * step)

    @cached_property
    def _speed(self) -> float:
        """The largest velocity of a weight at the start."""
        return float(np.abs(self.velocity(self.start)).max())

    def _gaining(self, velocity: Float, outputs: Float) -> float:
        """The growth rate of the accuracy."""
        gain = self._gain(velocity)
        if self.relative:
            return gain
        return gain * float(np.exp(self.problem.loss.accuracy(outputs, self.problem.y)))

    def _is_rounding(self, state: WeightState, outputs: Float) -> bool:
        """Whether the residual is round-off of the terms of the outputs."""
        sizes = {name: np.abs(w) for name, w in self.weights(state).items()}
        terms = np.abs(np.asarray(self.parametrization.outputs(sizes, abs(self.X))))
        return bool((np.abs(self.problem.y - outputs) <= 4 * EPS * terms).all())
