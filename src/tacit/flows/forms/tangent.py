r"""Gradient flow of the linearized model, the tangent of the model at its initialization.

f(t) = f(0) + K ν(t) with the initial tangent kernel K and ν' = −∂L/∂f. This is the kernel regime.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import LSODA

from tacit.data.arrays import Float
from tacit.errors import InputError, NotSeparableError
from tacit.flows.form import Form, Observation, Premise, Problem
from tacit.flows.forms.separating import MirrorState, SeparatingFlow, TangentPath
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import ByScipy
from tacit.flows.termination import NO_TANGENT, TANGENT_SINGULAR, Rest, Rounded
from tacit.numerics.separation import check_separable

_NULL = 1e-13  # eigenvalues of the kernel up to this share of the largest count as 0
_ROUNDING = 1e-15  # residuals up to this share of the outputs are round-off
_GROWTH = 1.08  # ratio of the end to the start of a segment of the closed form


class _Tangent(Form):
    """Quantities at initialization that all losses share."""

    premise = Premise("the model linearized at its start, independent of Q")

    def __init__(self, problem: Problem):
        self.problem, self.parametrization = problem, problem.model.parametrization
        self.X, self.y = problem.X, problem.y
        self.weights = problem.model.start(problem.features)
        self.first = np.asarray(self.parametrization.outputs(self.weights, self.X))
        self.kernel = np.asarray(self.parametrization.kernel(self.weights, self.X))
        if not (np.isfinite(self.first).all() and np.isfinite(self.kernel).all()):
            raise InputError(
                "the tangent kernel at initialization overflows; use a smaller scale, or divide X by its "
                "largest entry"
            )

    def observation(self, nu: Float, outputs: Float, shares: Float | None = None) -> Observation:
        """The weights θ(0) + Jᵀν and the linearized predictor."""
        dw = self.parametrization.push(self.weights, self.X, nu)
        dtheta = self.parametrization.pull(self.weights, self.X, nu)
        weights = {name: start + dtheta[name] for name, start in self.weights.items()}
        predictor = np.asarray(self.parametrization.predictor(self.weights)) + dw
        return Observation(predictor, outputs, weights, shares)


@dataclass(frozen=True)
class _Instant:
    """A time and, if it is not a function of that, the dual variables ν."""

    time: float
    nu: Float | None = None


class TangentSquare(_Tangent):
    """Square loss in closed form: y − f(t) = e^{−2cKt}(y − f(0))."""

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

    def stepper(self) -> TangentSquare:
        """The form itself: the closed form needs no step size control."""
        if not (self.rates * np.abs(self.residual)).any():
            raise Rest(NO_TANGENT)
        self.clock = 0.0
        return self

    def step(self) -> Segment:
        """The next segment, longer than the one before."""
        begin = self.clock
        self.clock = _GROWTH * begin or 1e-3 / float(self.rates.max())
        return Segment(begin, self.clock, _Instant)

    def after(self, segment: Segment) -> None:
        """Raise `Rest` if all components with positive rates have decayed."""
        fixed, residual = self.rates == 0, np.abs(self._decay(segment.end) * self.residual)
        size = max(residual.max(), float(np.abs(self.y).max()))
        if residual[~fixed].max(initial=0.0) > _ROUNDING * size:
            return
        # no component remains in the null space of K
        if residual[fixed].max(initial=0.0) <= _NULL * size:
            raise Rounded
        raise Rest(TANGENT_SINGULAR, minimum=True)

    def _decay(self, time: float) -> Float:
        return np.exp(-self.rates * time)

    def outputs(self, state: _Instant) -> Float:
        """y − e^{−2cKt}(y − f(0))."""
        residual = self.vectors @ (self._decay(state.time) * self.residual)
        return self.y - residual.reshape(self.y.shape)

    def observe(self, state: _Instant) -> Observation:
        """The observed quantities of a state."""
        safe = np.where(self.values > 0, self.values, 1.0)
        gain = np.where(self.values > 0, -np.expm1(-self.rates * state.time) / safe, 0.0)
        nu = (self.vectors @ (gain * self.residual)).reshape(self.y.shape)
        return self.observation(nu, self.outputs(state))

    def log_time(self, state: _Instant) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.time))


class TangentSmooth(_Tangent):
    """Any other smooth loss: ν' = −∂L/∂f at f(0) + K ν, by LSODA.

    For relative losses ν' = p = −(1/L)·∂L/∂f in the clock ds = L dt. Time follows from τ = t·L, which obeys
    τ' = 1 − τ·(accuracy)', where the accuracy grows at the rate pᵀK p.
    """

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.relative = problem.loss.relative
        self.name = f"tangent kernel{', time scaled by the loss' if self.relative else ''} (LSODA)"

    def begin(self) -> _Instant:
        """The state at the start."""
        return _Instant(0.0, np.zeros_like(self.y))

    def stepper(self) -> ByScipy:
        """SciPy's LSODA."""
        start, rtol = np.zeros(self.y.size + self.relative), self.problem.rtol
        if not (self.kernel @ self._rate(0.0, start)[: self.y.size]).any():
            raise Rest(NO_TANGENT)
        solver = LSODA(self._rate, 0.0, start, 1e300, rtol=rtol, atol=1e-2 * rtol)
        return ByScipy(solver, self._state)

    def _rate(self, _: float, unknowns: Float) -> Float:
        outputs = self.first + (self.kernel @ unknowns[: self.y.size]).reshape(self.y.shape)
        pull = np.asarray(self.problem.loss.pull(outputs, self.y)).ravel()
        return np.append(pull, 1 - unknowns[-1] * (pull @ self.kernel @ pull)) if self.relative else pull

    def _state(self, clock: float, now: Float) -> _Instant:
        """The state from clock and unknowns; for relative losses, its `time` is t·L."""
        return _Instant(now[-1] if self.relative else clock, now[: self.y.size].reshape(self.y.shape))

    def outputs(self, state: _Instant) -> Float:
        """f(0) + K ν."""
        return self.first + (self.kernel @ np.ravel(np.asarray(state.nu))).reshape(self.y.shape)

    def observe(self, state: _Instant) -> Observation:
        """The observed quantities of a state."""
        return self.observation(np.asarray(state.nu), self.outputs(state))

    def log_time(self, state: _Instant) -> float:
        """The logarithm of time at a state."""
        later = self.problem.loss.accuracy(self.outputs(state), self.y) if self.relative else 0.0
        return float(np.log(state.time) + later)


class TangentSeparating(_Tangent, SeparatingFlow):
    """Exponential and logistic loss on the linearized model."""

    name = "tangent kernel, clock Σθ (Radau IIA)"

    def __init__(self, problem: Problem):
        _Tangent.__init__(self, problem)
        K = self.y[:, None] * self.kernel * self.y
        _check_tangent_separable(self.kernel, self.y)
        path = TangentPath(self.y * self.first, K, np.zeros_like(self.y))
        SeparatingFlow.__init__(self, path, problem.loss, problem.rtol)

    def outputs(self, state: MirrorState) -> Float:
        """f(0) + K ν."""
        return self.first + self.kernel @ (self.y * state.point)

    def observe(self, state: MirrorState) -> Observation:
        """The observed quantities of a state."""
        return self.observation(self.y * state.point, self.outputs(state), state.shares)

    def log_time(self, state: MirrorState) -> float:
        """The logarithm of time at a state."""
        return state.log_time()


def _check_tangent_separable(kernel: Float, y: Float) -> None:
    """Raise if the linearized model, whose outputs are f(0) + K a, cannot separate the classes."""
    try:
        check_separable(kernel, y)
    except NotSeparableError as error:
        raise NotSeparableError(
            "the linearized model cannot classify every sample correctly: its tangent kernel is singular, "
            "and annihilates the `combination` of samples in this error",
            error.combination,
        ) from None
