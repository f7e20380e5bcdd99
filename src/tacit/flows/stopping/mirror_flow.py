r"""The flow of ν in mirror space, by exponential steps to moderate accuracy.

    s = s(0) + Xᵀν/weight,    ν' = (y − X·w(s))/N,    Jacobian −X (∂w/∂Q') Xᵀ/N = −T Λ T⁻¹

with T = U/√N and the eigenvectors U of X(∂w/∂Q')Xᵀ/N. There are N unknowns for all d weights, each step needs
one N×N eigendecomposition, and no array is larger than X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap, fast_map
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import Controlled, StepEquations
from tacit.flows.stopping.exponential import ORDER, ExponentialStep, refined, step
from tacit.flows.stopping.kernel import Kernel, Nearby
from tacit.flows.stopping.samples import FittedSamples
from tacit.flows.termination import TOO_LONG
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import StepControl, Taken
from tacit.numerics.ties import product

CONTROL = StepControl(-1 / ORDER, 0.8, (0.2, 0.5), unsolved=0.2, growth=(0.2, 20.0), attempts=10_000)
# "Tolerances" means in units of rtol.
_LOOSE = 10.0  # tolerances: error of a rapidity, which may belong to a coordinate that does not matter
_MAX_LOSS_ERROR = 0.1  # absolute error of log L at a stop, for any tolerance
_REACH = 0.5  # largest change of a slope over the first step
_BEYOND = 1.2  # longest step, in units of the time in which the linearized flow reaches the last stop
_UNSEEN = 1.0  # tolerances: effect on the rate over a step below which a change of stiffness is ignored
_NEAR = 0.1  # share of the distance to the end of its domain that a slope is predicted to keep over a step
_STRAIGHT = 1.0  # in units of the slack: stiffness below which a coordinate counts as linear over a step
_UNMET = 1.5  # error reported for a step whose end violates the equations, so that its length is halved
_CORRECTIONS = 3  # evaluations of the end of a step, at most
_NEWTON = 12  # Newton iterations for the time of the linearized flow, at most


@dataclass(frozen=True, eq=False)
class State:
    """State of the flow: mirror map and the last change of slopes, ν, clock, outputs, negative gradient and
    log L."""

    here: MirrorMap
    change: Float | None
    nu: Float
    clock: float
    outputs: Float
    pull: Float
    log_loss: float


@dataclass(frozen=True, eq=False)
class Axes:
    """Λ, T and T⁻¹ at a state."""

    values: Float
    vectors: Float
    inverse: Float


@dataclass(frozen=True, eq=False)
class Stride:
    """A step with its initial state, axes, and final state."""

    start: State
    axes: Axes
    step: ExponentialStep
    end: State

    def nu(self, fractions: Float) -> Float:
        """Increments of ν up to these fractions of the step, one row for each."""
        return np.asarray(self.step.at(fractions) @ self.axes.vectors.T)

    def pull(self, fractions: Float) -> Float:
        """ν' at these fractions."""
        return np.asarray(self.step.rate(fractions) @ self.axes.vectors.T)


class MirrorFlow(Controlled):
    """The flow of a model in mirror space; its clock is time in units of the model's speed.

    last_level: log L at the last stop.
    """

    control = CONTROL

    def __init__(self, form: MirrorForm, samples: FittedSamples, rtol: float):
        self.form, self.X, self.samples, self.rtol = form, samples.X, samples, rtol
        even = bool((form.weight == form.weight[0]).all())
        self.weight = float(form.weight[0]) if even else form.weight
        self.kernel = Kernel(samples, self.weight)
        self.here, self.last_level = self.state(fast_map(form), None, np.zeros(len(self.X)), 0.0), -np.inf

    def state(self, here: MirrorMap, change: Float | None, nu: Float, clock: float) -> State:
        """The state with these slopes."""
        outputs = self.X @ here.predictor
        pull = self.samples.pull(outputs)
        return State(here, change, nu, clock, outputs, pull, float(self.samples.log_loss(pull)))

    def slopes(self, nu: Float) -> Float:
        """Change of the slopes due to ν."""
        return product(nu, self.X, self.samples.ties) / self.weight

    def axes(self, slack: float) -> Axes:
        """The axes at the current state, up to changes of stiffness below `slack`."""
        root = math.sqrt(1 / self.samples.count)
        self.kernel.update(self.here.here.stiffness / self.weight, slack)
        values, vectors = self.kernel.spectrum(root)
        return Axes(np.maximum(values, 0.0), root * vectors, vectors.T / root)

    def equations(self) -> _Equations:
        """The equations in the axes of the current state."""
        state, slack = self.here, 0.0
        if self.h is not None:  # changes of stiffness that are negligible over a step of this length
            slack = _UNSEEN * self.rtol / (self.h * self.samples.largest * (1 / self.samples.count))
        axes = self.axes(slack)
        nearby = self.kernel.nearby(state.here, state.outputs, self._nonlinear(slack))
        return _Equations(self, state, axes, nearby)

    def _nonlinear(self, slack: float) -> Index | None:
        """Coordinates that matter now or, at the rate of the last step, later in this one; None for all."""
        here, change = self.here.here, self.here.change
        if self.h is None or self.last is None or change is None:
            return None
        ahead = here.moved(change * (self.h / self.last.h), _NEAR)
        return np.flatnonzero(np.maximum(here.stiffness, ahead.stiffness) / self.weight > _STRAIGHT * slack)

    def accept(self, equations: _Equations, taken: Taken) -> Segment:
        """Go to the end of the step; every state of its segment is the `Stride` itself."""
        self.here = taken.step.end
        return Segment(self.clock, self.here.clock, lambda _: taken.step)

    def shorter(self, stride: Stride, fraction: float) -> Stride | None:
        """Repeat the step with a fraction of its length; None if that is not accurate."""
        start = stride.start
        nearby = self.kernel.nearby(start.here, start.outputs, None)
        return _Equations(self, start, stride.axes, nearby).attempt(fraction * stride.step.h)[0]

    def close(self, log_loss: float, level: float) -> bool:
        """Whether log L agrees with a level, within the tolerance of stops."""
        return abs(log_loss - level) <= min(_LOOSE * self.rtol, _MAX_LOSS_ERROR)

    def settled(self) -> bool:
        """Whether the distance to the limit, estimated by a Newton step, is within the tolerance."""
        here, axes = self.here.here, self.axes(0.0)
        left = np.linalg.norm(here.stiffness * self.remaining(axes.inverse @ self.here.pull, axes))
        return bool(left <= self.rtol * np.linalg.norm(here.predictor))

    def remaining(self, rate: Float, axes: Axes) -> Float:
        """Change of the slopes until the linearized flow ends."""
        positive = axes.values > EPS * len(axes.values) * axes.values.max()
        return self.slopes(
            axes.vectors @ np.divide(rate, axes.values, out=np.zeros_like(rate), where=positive)
        )

    def why(self) -> str:
        """The reason if no step is accurate enough."""
        return TOO_LONG


class _Equations(StepEquations):
    """The flow from a state, in axes where its Jacobian is diagonal."""

    def __init__(self, flow: MirrorFlow, state: State, axes: Axes, nearby: Nearby):
        self.flow, self.state, self.axes, self.nearby = flow, state, axes, nearby
        self.first = axes.inverse @ state.pull

    def _rate(self, x: Float) -> Float:
        return np.asarray(self.axes.inverse @ self.flow.samples.pull(self.nearby.at(self.axes.vectors @ x)))

    def first_length(self) -> float:
        """A length with small changes; unbounded if slopes hardly change until the linearized flow ends."""
        if np.abs(self.flow.remaining(self.first, self.axes)).max() < _REACH:
            return np.inf
        return _REACH / float(np.abs(self.flow.slopes(self.axes.vectors @ self.first)).max())

    def longest(self) -> float:
        """The longest step that is useful."""
        longest = 1 / (EPS * float(self.axes.values.max()))
        return min(_BEYOND * self._linear_time(self.state.log_loss - self.flow.last_level), longest)

    def _linear_time(self, gain: float) -> float:
        """A lower bound on the time in which log L of the linearized flow falls by `gain`.

        Newton's method for the convex function log ‖x'‖², which approaches the time from below.
        """
        values, powers, time = self.axes.values, self.first * self.first, 0.0
        total = powers.sum()
        for _ in range(_NEWTON):
            now = powers * np.exp(-2 * time * values)
            ahead = gain + np.log(now.sum() / total)
            if ahead <= 1e-2 * gain:
                break
            time += ahead * now.sum() / (2 * now @ values)
        return float(time) if np.isfinite(time) else np.inf

    def attempt(self, h: float) -> tuple[Stride | None, float]:
        """The step, or None if its error is too large, and the error.

        Components that decay fast within the step have small errors at its end, which can still dominate the
        loss if the rest of the residual is smaller. They are corrected with the rate at the end.
        """
        flow, state, axes = self.flow, self.state, self.axes
        tried = step(self._rate, self.first, axes.values, h)
        if tried is None:
            return None, np.inf
        for _ in range(_CORRECTIONS):
            change = axes.vectors @ tried.end
            slopes = flow.slopes(change)
            there = state.here.moved(slopes)
            error = self._error(there, flow.slopes(axes.vectors @ tried.error))
            if error > 1:
                return None, error
            end = flow.state(there, slopes, state.nu + change, state.clock + h)
            if end.log_loss <= state.log_loss + flow.rtol and self._met(tried, end):
                return Stride(state, axes, tried, end), error
            tried = refined(tried, axes.inverse @ end.pull)
        return None, _UNMET

    def _met(self, tried: ExponentialStep, end: State) -> bool:
        """Whether rate and loss at the end agree with those of the step, within the tolerance."""
        flow, axes = self.flow, self.axes
        defect = axes.inverse @ end.pull - tried.last
        moved = np.linalg.norm(tried.h / (3 + tried.h * tried.values) * defect)  # ≈ 2hφ₃·defect
        if moved > max(np.linalg.norm(tried.error), flow.rtol * np.linalg.norm(tried.end)):
            return False
        return flow.close(float(flow.samples.log_loss(axes.vectors @ tried.last)), end.log_loss)

    def _error(self, there: MirrorMap, slopes: Float) -> float:
        """Error of predictor and rapidities due to an error of the slopes, relative to the tolerance."""
        if not there.inside():
            return np.inf
        of_predictor = np.linalg.norm(there.stiffness * slopes) / np.linalg.norm(there.predictor)
        of_rapidity = np.abs(there.rapidity_rate * slopes).max() / min(1.0, there.farthest())
        error = max(float(of_predictor), float(of_rapidity) / _LOOSE) / self.flow.rtol
        return error if np.isfinite(error) else np.inf
