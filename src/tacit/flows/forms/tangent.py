r"""The linearized model: gradient flow along the tangent of the model at its initialization.

f(t) = f(0) + K ν(t) with the tangent kernel K of the start and ν' = −∂L/∂f: the kernel regime itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.integrate import LSODA

from tacit.data.arrays import Float
from tacit.errors import InputError, NotSeparableError
from tacit.flows.forms.separating import MirrorState, SeparatingFlow, TangentPath
from tacit.flows.segments import Observation, Premise, Problem, Rest, Rounded, Segment, solver_segments
from tacit.models.reduction import same
from tacit.numerics.separation import check_separable
from tacit.potentials.arrays import quiet

_NULL = 1e-13  # eigenvalues of the kernel below this part of the largest are zero
_ROUNDING = 1e-15  # of the outputs: a residual that is nothing beside them
_GROWTH = 1.08  # of the stretches of time in which the closed form is read


class _Tangent:
    """What is known at the start."""

    premise = Premise("the model linearized at its start, independent of Q")
    restore = staticmethod(same)

    @quiet
    def __init__(self, problem: Problem):
        self.problem, self.parametrization = problem, problem.model.parametrization
        self.X, self.y = problem.X, problem.y
        self.weights = problem.model.start(problem.features)
        self.first = np.asarray(self.parametrization.outputs(self.weights, self.X))
        self.kernel = np.asarray(self.parametrization.kernel(self.weights, self.X))
        if not (np.isfinite(self.first).all() and np.isfinite(self.kernel).all()):
            raise InputError(
                "the tangent kernel at this start is beyond the range of floats; take a smaller scale, or "
                "divide X by its size"
            )

    @quiet
    def seen(self, nu: Float, outputs: Float, shares: Float | None = None) -> Observation:
        """w(0) and the weights, moved along the tangent by ν: θ(0) + Jᵀν."""
        pushed = self.parametrization.push(self.weights, self.X, nu)
        pulled = self.parametrization.pull(self.weights, self.X, nu)
        weights = {name: start + pulled[name] for name, start in self.weights.items()}
        predictor = np.asarray(self.parametrization.predictor(self.weights)) + pushed
        return Observation(predictor, outputs, weights, shares)


@dataclass(frozen=True)
class _Instant:
    time: float


class TangentSquare(_Tangent):
    """Square loss, in closed form: y − f(t) = e^{−2cKt}(y − f(0))."""

    name = "tangent kernel (closed form)"

    def __init__(self, problem: Problem):
        super().__init__(problem)
        values, self.vectors = np.linalg.eigh(self.kernel)
        values = np.where(values > _NULL * values.max(), values, 0.0)
        self.rates = 2 * problem.loss.factor(len(self.y)) * values
        self.residual = self.vectors.T @ (self.y - self.first).ravel()
        self.values = values

    def begin(self) -> _Instant:
        """The state at the start."""
        return _Instant(0.0)

    def segments(self) -> Iterator[Segment]:
        """Stretches of time, each longer than the one before."""
        fixed = self.rates == 0
        if not (self.rates * np.abs(self.residual)).any():
            raise Rest("the tangent kernel does not move the outputs: the linearized model stands still")
        begin, end = 0.0, 1e-3 / float(self.rates.max())
        while True:
            yield Segment(begin, end, _Instant)
            left = np.abs(self._decay(end) * self.residual)
            size = max(left.max(), float(np.abs(self.y).max()))
            if left[~fixed].max(initial=0.0) <= _ROUNDING * size:
                self._rest(float(left[fixed].max(initial=0.0)) / size)
            begin, end = end, _GROWTH * end

    def _rest(self, fixed: float) -> None:
        """Nothing moves any more; fixed: the largest residual that never does, relative."""
        if fixed <= _NULL:
            raise Rounded
        raise Rest(
            "at rest with nonzero loss: the tangent kernel is singular, and the linearized model cannot fit "
            "these data",
            minimum=True,
        )

    @quiet
    def _decay(self, time: float) -> Float:
        return np.exp(-self.rates * time)

    def outputs(self, state: _Instant) -> Float:
        """y − e^{−2cKt}(y − f(0))."""
        left = self.vectors @ (self._decay(state.time) * self.residual)
        return self.y - left.reshape(self.y.shape)

    @quiet
    def observe(self, state: _Instant) -> Observation:
        """Everything that is recorded of a state."""
        safe = np.where(self.values > 0, self.values, 1.0)
        gain = np.where(self.values > 0, -np.expm1(-self.rates * state.time) / safe, 0.0)
        nu = (self.vectors @ (gain * self.residual)).reshape(self.y.shape)
        return self.seen(nu, self.outputs(state))

    @quiet
    def log_time(self, state: _Instant) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.time))


@dataclass(frozen=True)
class _Pushed:
    """ν at an instant."""

    nu: Float
    time: float


class _ByPushes(_Tangent):
    """By the pushes ν on the outputs, f(0) + K ν."""

    def begin(self) -> _Pushed:
        """The state at the start."""
        return _Pushed(np.zeros_like(self.y), 0.0)

    def outputs(self, state: _Pushed) -> Float:
        """f(0) + K ν."""
        return self.first + (self.kernel @ state.nu.ravel()).reshape(self.y.shape)

    def observe(self, state: _Pushed) -> Observation:
        """Everything that is recorded of a state."""
        return self.seen(state.nu, self.outputs(state))


class TangentSmooth(_ByPushes):
    """Any other smooth loss: ν' = −∂L/∂f at f(0) + K ν, by LSODA."""

    name = "tangent kernel (LSODA)"

    def segments(self) -> Iterator[Segment]:
        """Steps of the solver."""
        first = self._rate(0.0, np.zeros(self.y.size))
        if not (self.kernel @ first).any():
            raise Rest("the tangent kernel does not move the outputs: the linearized model stands still")
        rtol = self.problem.rtol
        solver = LSODA(self._rate, 0.0, np.zeros(self.y.size), 1e300, rtol=rtol, atol=1e-2 * rtol)
        yield from solver_segments(solver, self._state)

    @quiet
    def _rate(self, _: float, nu: Float) -> Float:
        outputs = self.first + (self.kernel @ nu).reshape(self.y.shape)
        return np.asarray(self.problem.loss.pull(outputs, self.y)).ravel()

    def _state(self, clock: float, nu: Float) -> _Pushed:
        return _Pushed(nu.reshape(self.y.shape), clock)

    @quiet
    def log_time(self, state: _Pushed) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.time))


class TangentRelative(_ByPushes):
    """Losses with an output for each class: ν' = −(1/L)·∂L/∂f in the clock ds = L dt, by LSODA.

    τ = t·L, from which time follows, obeys τ' = 1 − τ·(accuracy)', and the accuracy grows at the rate pᵀK p
    with the pull p.
    """

    name = "tangent kernel, clock in units of the loss (LSODA)"

    def segments(self) -> Iterator[Segment]:
        """Steps of the solver."""
        start, rtol = np.zeros(self.y.size + 1), self.problem.rtol
        if not (self.kernel @ self._rate(0.0, start)[:-1]).any():
            raise Rest("the tangent kernel does not move the outputs: the linearized model stands still")
        solver = LSODA(self._rate, 0.0, start, 1e300, rtol=rtol, atol=1e-2 * rtol)
        yield from solver_segments(solver, lambda _, now: _Pushed(now[:-1].reshape(self.y.shape), now[-1]))

    @quiet
    def _rate(self, _: float, unknowns: Float) -> Float:
        outputs = self.first + (self.kernel @ unknowns[:-1]).reshape(self.y.shape)
        pull = np.asarray(self.problem.loss.pull(outputs, self.y)).ravel()
        return np.append(pull, 1 - unknowns[-1] * (pull @ self.kernel @ pull))

    @quiet
    def log_time(self, state: _Pushed) -> float:
        """The logarithm of time at a state, whose `time` is t·L."""
        return float(np.log(state.time) + self.problem.loss.accuracy(self.outputs(state), self.y))


class TangentSeparating(_Tangent, SeparatingFlow):
    """Exponential and logistic loss on the linearized model."""

    name = "tangent kernel, clock built in (Radau IIA)"

    def __init__(self, problem: Problem):
        _Tangent.__init__(self, problem)
        K = self.y[:, None] * self.kernel * self.y
        _check_tangent_separable(self.kernel, self.y)
        path = TangentPath(self.y * self.first, K, np.zeros_like(self.y))
        SeparatingFlow.__init__(self, path, problem.loss, problem.rtol)

    def outputs(self, state: MirrorState) -> Float:
        """f(0) + K ν."""
        return self.first + self.kernel @ (self.y * state.point)

    @quiet
    def observe(self, state: MirrorState) -> Observation:
        """Everything that is recorded of a state."""
        return self.seen(self.y * state.point, self.outputs(state), state.shares)

    def log_time(self, state: MirrorState) -> float:
        """The logarithm of time at a state."""
        return state.tell()


def _check_tangent_separable(kernel: Float, y: Float) -> None:
    """Refuse data that the linear model with this kernel cannot separate: its outputs are those of K a."""
    try:
        check_separable(kernel, y)
    except NotSeparableError as error:
        raise NotSeparableError(
            "the linearized model cannot classify every sample correctly: its tangent kernel is singular, "
            "and the error's `combination` of samples vanishes in it",
            error.combination,
        ) from None
