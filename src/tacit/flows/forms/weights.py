"""Gradient flow of weights, by the solvers of SciPy."""

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

_STILL = 1e-10  # the part of a weight's whole movement below which it stands still, given as much time again
_IDLE = 1e-3  # the gain in accuracy, given as much time again, that counts as none
_LATER = 1.1  # the factor of the clock after which to look again whether the weights rest
_LONG = 10.0  # times the clock: how long a flow must be quiet to be at rest
_UNCHANGED = 1e-9  # of an accuracy
_FLAT = 1e-6  # of the largest curvature, below which one is rounding
_KEPT = 100_000  # entries of a predictor that is kept beside its weights
_IMPLICIT = 600  # unknowns up to which an implicit method can afford its Jacobian, without a formula for it


@dataclass(frozen=True)
class Layout:
    """How weights lie in one flat array."""

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
        """The weights by name; NumPy or JAX."""
        weights, begin = {}, 0
        for name, shape in self.shapes:
            end = begin + math.prod(shape)
            weights[name] = flat[begin:end].reshape(shape)
            begin = end
        return weights


@dataclass(frozen=True)
class WeightState:
    """The weights, the clock, and what is needed to tell the time."""

    flat: Float
    clock: float
    relative_time: float | None  # time × loss, of flows whose clock runs in units of the loss


class WeightFlow(Form):
    """θ' = −∇L(θ) in time (square loss), or θ' = −∇L(θ)/L(θ) in the clock ds = L dt (the others).

    parametrization and X are those of the weights that are followed, which may be a smaller network's.
    In the second clock the accuracy grows at the rate ‖θ'‖², and τ = t·L obeys τ' = 1 − τ‖θ'‖²: time
    may leave the float range, τ does not.
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
        self._looked = 0.0
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
        """Everything that is recorded of a state."""
        weights = self.weights(state)
        large = isinstance(self.X, Entries) and math.prod(self.X.shape) > _KEPT
        predictor = partial(self.predictor, weights) if large else self.predictor(weights)
        return Observation(predictor, self.outputs(state), weights)

    def weights(self, state: WeightState) -> Weights:
        """The weights by name."""
        return self.layout.unpack(state.flat)

    def pulled(self, flat: Float) -> Float:
        """Jᵀ times the pull of the loss, of parametrizations that have it written out."""
        weights = self.layout.unpack(flat)
        outputs = np.asarray(self.parametrization.outputs(weights, self.X))
        pull = self.problem.loss.pull(outputs, self.problem.y)
        return self.layout.flat(self.parametrization.pull(weights, self.X, pull))

    def predictor(self, weights: Weights) -> Float:
        """The predictor that the weights make."""
        return np.asarray(self.parametrization.predictor(weights))

    def stepper(self) -> Stepper:
        """From the start, unless nothing moves there."""
        if not np.any(self.velocity(self.start)):
            raise Rest(NO_GRADIENT.format("a saddle or a stationary point"))
        return self.first_stepper()

    def first_stepper(self) -> Any:
        """A solver for the displacement of the weights: small where they hardly move, and exact there too."""
        unknowns = np.zeros(self.start.size + self.relative)
        sizes = np.full(unknowns.size, self._natural_size())
        sizes[self.start.size :] = 1.0
        atol = 1e-2 * self.rtol * sizes
        rounding = EPS * np.abs(self.start)  # below it a weight cannot tell that it has moved
        atol[: self.start.size] = np.maximum(atol[: self.start.size], rounding)
        if self.jacobian is None and unknowns.size > _IMPLICIT:
            tolerances: Any = {"rtol": self.rtol, "atol": atol}
            return ByScipy(DOP853(self._rate, 0.0, unknowns, np.inf, **tolerances), self._state)
        return self.implicit(LSODA, 0.0, unknowns, atol)

    def implicit(self, method: Any, clock: float, unknowns: Float, atol: Float) -> ByScipy:
        """An implicit solver of SciPy from there on."""
        # Not the bound method itself, at which LSODA of SciPy before 1.17 crashes.
        jac = None if self.jacobian is None else lambda clock, unknowns: self._rate_jacobian(clock, unknowns)
        solver = method(self._rate, clock, unknowns, 1e300, rtol=self.rtol, atol=atol, jac=jac)
        return ByScipy(solver, self._state)

    def _natural_size(self) -> float:
        """How far the weights go: the size of the smallest layer, or less if the loss falls before that."""
        layers = [float(np.abs(w).max()) for w in self.layout.unpack(self.start).values()]
        size = min([layer for layer in layers if layer > 0], default=1.0)
        outputs = self.outputs(self.begin())
        first = self.velocity(self.start)
        if self.relative:
            return size
        residual = np.abs(self.problem.y - outputs).max()
        fastest = float(np.abs(first).max())
        shares = first / fastest  # squares of rates themselves may underflow
        loss = float(np.exp(-self.problem.loss.accuracy(outputs, self.problem.y)))
        # −dL/dt is fastest²·(shares @ shares); the loss is gone after L/that
        return min(size, loss / (fastest * float(shares @ shares))) if residual > 0 else size

    def _rate(self, _: float, unknowns: Float) -> Float:
        if not self.relative:
            return self.velocity(self.start + unknowns)
        velocity = self.velocity(self.start + unknowns[:-1])
        return np.append(velocity, 1 - unknowns[-1] * self._gain(velocity))

    def _gain(self, velocity: Float) -> float:
        """The rate at which the accuracy grows, ‖θ'‖² in the clock of relative losses."""
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
        """Look for rest, now and then only: what is asked is what as much time again would change."""
        if segment.end >= _LATER * self._looked:
            self._looked = segment.end
            self._check_stall(segment.last)
        return None

    def _check_stall(self, state: WeightState) -> None:
        """Stop where the weights rest or leave the range of floats, or the residual is rounding."""
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
        if self._speed * state.clock <= rounding:  # a first step may be so short that nothing could move
            return
        rests = (moving <= _STILL * moved + rounding).all() or moving.max() <= 1e-3 * _STILL * moved.max()
        if rests and self._gaining(velocity, outputs) * state.clock < _IDLE:
            self._rest(theta)
        if not self.relative and self._stays_quiet(state, velocity, outputs):
            self._rest(theta)

    def _stays_quiet(self, state: WeightState, velocity: Float, outputs: Float) -> bool:
        """Has the gradient been what the tolerance makes of 0, and the loss the same, for long?

        Less long where it is what rounding makes of 0.
        """
        speed = float(np.linalg.norm(velocity))
        sizes = {name: np.abs(w) for name, w in self.weights(state).items()}
        pulled = np.abs(self.problem.loss.pull(outputs, self.problem.y))
        rounded = speed <= EPS * self._rounded_pull(sizes)
        if not rounded and speed > self.rtol * self._size_of_pull(sizes, pulled):
            self._quiet_since = None
            return False
        accuracy = float(self.problem.loss.accuracy(outputs, self.problem.y))
        if self._quiet_since is None or accuracy - self._quiet_since[1] >= _UNCHANGED:
            self._quiet_since = state.clock, accuracy
        return state.clock >= (_LATER if rounded else _LONG) * self._quiet_since[0]

    def _rounded_pull(self, sizes: Weights) -> float:
        """‖Jᵀr‖ as if r were all that its rounding is a part of; 0 where this is not known."""
        if not self.problem.loss.quadratic:
            return 0.0
        terms = np.abs(np.asarray(self.parametrization.outputs(sizes, abs(self.X))))
        return self._size_of_pull(sizes, np.abs(self.problem.loss.pull(terms, -np.abs(self.problem.y))))

    def _size_of_pull(self, sizes: Weights, pulled: Float) -> float:
        """‖Jᵀr‖ as if none of its terms cancelled."""
        terms = self.parametrization.pull(sizes, abs(self.X), pulled)
        return float(np.sqrt(sum(float(np.sum(np.square(term))) for term in terms.values())))

    def _rest(self, theta: Float) -> None:
        """Every weight rests, and the loss is not zero: at a minimum for good, at a saddle perhaps not."""
        growth = self._fastest_growth(theta)
        if growth is not None and growth <= 0:
            raise Rest(AT_MINIMUM, minimum=True)
        raise Stall(AT_SADDLE.format("a stationary point" if growth is None else "a saddle"))

    def _fastest_growth(self, theta: Float) -> float | None:
        """The largest eigenvalue of −∇²L, 0 if that is rounding; None for models too large to tell."""
        if self.relative or theta.size > _IMPLICIT:
            return None
        matrix = self._differences(theta) if self.jacobian is None else self.jacobian(theta)
        free = self._free()
        matrix = matrix if free is None else free.T @ matrix @ free
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        return float(values[-1]) if values[-1] > _FLAT * np.abs(values).max() else 0.0

    def _free(self) -> Float | None:
        """A basis of the directions in which the unknowns may move; None for all."""
        return None

    def _differences(self, theta: Float) -> Float:
        """The derivative of the velocity, from central differences."""
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
        """The rate at which the accuracy grows: small steps may still be all that is missing."""
        gain = self._gain(velocity)
        if self.relative:
            return gain
        return gain * float(np.exp(self.problem.loss.accuracy(outputs, self.problem.y)))

    def _is_rounding(self, state: WeightState, outputs: Float) -> bool:
        """Is the residual what the rounding of sums of such terms makes of 0?"""
        sizes = {name: np.abs(w) for name, w in self.weights(state).items()}
        terms = np.abs(np.asarray(self.parametrization.outputs(sizes, abs(self.X))))
        return bool((np.abs(self.problem.y - outputs) <= 4 * EPS * terms).all())
