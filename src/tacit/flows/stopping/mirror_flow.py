r"""The flow of ν in mirror space, in exponential steps that are as long as a modest accuracy allows.

    s = s(0) + Xᵀν/weight,    ν' = pull(X·w(s)),    Jacobian −D·X (∂w/∂Q') Xᵀ = −T Λ T⁻¹

with D the slope of the pull, T = D^½U from the eigenvectors of D^½ X(∂w/∂Q')Xᵀ D^½. N unknowns for all d
weights, a matrix of N×N for each step, and nothing larger than X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap, fast_map
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import Controlled, Equations
from tacit.flows.stopping.exponential import ORDER, Step, refined, step
from tacit.flows.stopping.kernel import Kernel, Nearby
from tacit.flows.stopping.losses import StoppedLoss
from tacit.flows.stopping.samples import Samples
from tacit.flows.termination import TOO_LONG
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import StepControl, Taken
from tacit.numerics.ties import product

CONTROL = StepControl(-1 / ORDER, 0.8, (0.2, 0.5), unsolved=0.2, growth=(0.2, 20.0), attempts=10_000)
_LOOSE = 10.0  # tolerances: error of a rapidity, of coordinates that may not matter
_NO_FARTHER = 0.1  # of logarithms of losses, at any tolerance
_REACH = 0.5  # change of a slope over the first step
_BEYOND = 1.2  # times the time in which the linear flow reaches the last stop
_UNSEEN = 1.0  # tolerances: what a coordinate that does not count may make of the rate over a step
_NEAR = 0.1  # of the distance to the end of its domain, what a coordinate is thought to leave of it
_STRAIGHT = 1.0  # times that: what a coordinate may count for whose way over a step is as good as straight
_SHORTEST = 1e-300  # in place of slopes of 0
_UNMET = 1.5  # in place of an error, of a step whose end does not meet the equations: its length is halved
_CORRECTIONS = 3  # of the end of a step, at most, less one
_NEWTON = 12  # iterations for that time


@dataclass(frozen=True, eq=False)
class State:
    """Where the flow is: its slopes and the last change of them, ν, the clock, outputs and pull."""

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
    turn: Float
    back: Float


@dataclass(frozen=True, eq=False)
class Stride:
    """A step as the flow sees it: its start, its axes, and where it ends."""

    start: State
    axes: Axes
    step: Step
    end: State

    def nu(self, shares: Float) -> Float:
        """What the step adds to ν until these shares of it, one row for each."""
        return np.asarray(self.step.at(shares) @ self.axes.turn.T)

    def pull(self, shares: Float) -> Float:
        """ν' there."""
        return np.asarray(self.step.rate(shares) @ self.axes.turn.T)


class MirrorFlow(Controlled):
    """The flow of a model in mirror space; its clock is time in units of the model's speed.

    last_level: where to get, a logarithm of loss.
    """

    control = CONTROL

    def __init__(self, form: MirrorForm, samples: Samples, loss: StoppedLoss, rtol: float):
        self.form, self.X, self.loss, self.rtol = form, samples.X, loss, rtol
        even = bool((form.weight == form.weight[0]).all())
        self.weight = float(form.weight[0]) if even else form.weight
        self.kernel = Kernel(samples, self.weight)
        self.size, self.ties = samples.largest, samples.ties
        self.here, self.last_level = self.state(fast_map(form), None, np.zeros(len(self.X)), 0.0), -np.inf

    def state(self, here: MirrorMap, change: Float | None, nu: Float, clock: float) -> State:
        """The state where the slopes are these."""
        outputs = self.X @ here.predictor
        pull = self.loss.pull(outputs)
        return State(here, change, nu, clock, outputs, pull, float(self.loss.log_loss(pull)))

    def slopes(self, nu: Float) -> Float:
        """What ν adds to the slopes."""
        return product(nu, self.X, self.ties) / self.weight

    def axes(self, slack: float) -> Axes:
        """Those of the state that the flow has reached."""
        root = np.sqrt(np.maximum(self.loss.slope(self.here.pull), _SHORTEST))
        self.kernel.update(self.here.here.stiffness / self.weight, slack)
        values, turn = self.kernel.spectrum(root)
        return Axes(np.maximum(values, 0.0), root[:, None] * turn, turn.T / root)

    def equations(self) -> _Equations:
        """In the axes of the state that the flow has reached."""
        state, slack = self.here, 0.0
        if self.h is not None:  # of a stiffness, what does not count over a step of this length
            slack = _UNSEEN * self.rtol / (self.h * self.size * float(self.loss.slope(state.pull).max()))
        axes = self.axes(slack)
        return _Equations(
            self, state, axes, self.kernel.nearby(state.here, state.outputs, self._counting(slack))
        )

    def _counting(self, slack: float) -> Index | None:
        """Coordinates that count, now or at the pace of the last step at the end of this one."""
        here, change = self.here.here, self.here.change
        if self.h is None or self.last is None or change is None:
            return None
        ahead = here.moved(change * (self.h / self.last.h), _NEAR)
        return np.flatnonzero(np.maximum(here.stiffness, ahead.stiffness) / self.weight > _STRAIGHT * slack)

    def accept(self, equations: _Equations, taken: Taken) -> Segment:
        """Go to the end of the step; the states of its segment are the stride itself."""
        self.here = taken.step.end
        return Segment(self.clock, self.here.clock, lambda _: taken.step)

    def shorter(self, stride: Stride, share: float) -> Stride | None:
        """A share of a step as a step of its own, if that is accurate."""
        start = stride.start
        nearby = self.kernel.nearby(start.here, start.outputs, None)
        return _Equations(self, start, stride.axes, nearby).attempt(share * stride.step.h)[0]

    def close(self, log_loss: float, level: float) -> bool:
        """Is a loss near enough to another?"""
        return abs(log_loss - level) <= min(_LOOSE * self.rtol, _NO_FARTHER)

    def settled(self) -> bool:
        """Is what is left of the way to the end within the tolerance? By one step of Newton's method."""
        here, axes = self.here.here, self.axes(0.0)
        left = np.linalg.norm(here.stiffness * self.rest(axes.back @ self.here.pull, axes))
        return bool(left <= self.rtol * np.linalg.norm(here.predictor))

    def rest(self, rate: Float, axes: Axes) -> Float:
        """How far slopes are from where the linear flow ends."""
        sure = axes.values > EPS * len(axes.values) * axes.values.max()
        return self.slopes(axes.turn @ np.divide(rate, axes.values, out=np.zeros_like(rate), where=sure))

    def why(self) -> str:
        """No step is short enough."""
        return TOO_LONG


class _Equations(Equations):
    """The flow from a state, in axes in which its Jacobian is diagonal."""

    def __init__(self, flow: MirrorFlow, state: State, axes: Axes, nearby: Nearby):
        self.flow, self.state, self.axes, self.nearby = flow, state, axes, nearby
        self.first = axes.back @ state.pull

    def _rate(self, x: Float) -> Float:
        return np.asarray(self.axes.back @ self.flow.loss.pull(self.nearby.at(self.axes.turn @ x)))

    def first_length(self) -> float:
        """As long as it takes where no slope changes much on the way to the end of the linear flow."""
        flow, linear = self.flow, self.flow.loss.linear
        if linear and np.abs(flow.rest(self.first, self.axes)).max() < _REACH:
            return np.inf
        length = _REACH / float(np.abs(flow.slopes(self.axes.turn @ self.first)).max())
        return length if linear else min(length, _REACH / float(self.axes.values.max()))

    def longest(self) -> float:
        """As long as a step has to be, at most."""
        longest = 1 / (EPS * float(self.axes.values.max()))
        if not self.flow.loss.linear:
            return longest
        return min(_BEYOND * self._linear_time(self.state.log_loss - self.flow.last_level), longest)

    def _linear_time(self, gain: float) -> float:
        """When the linear flow has gained that much, or earlier: Newton's method for log ‖x'‖², convex."""
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
        """The step, if its error is tolerable, and the error.

        What decays fast within a step is wrong at its end by little that the loss may show, where the rest of
        the residual is smaller still: the rate there corrects it.
        """
        flow, state, axes = self.flow, self.state, self.axes
        tried = step(self._rate, self.first, axes.values, h)
        if tried is None:
            return None, np.inf
        for _ in range(_CORRECTIONS):
            change = axes.turn @ tried.end
            slopes = flow.slopes(change)
            there = state.here.moved(slopes)
            error = self._error(there, flow.slopes(axes.turn @ tried.doubt))
            if error > 1:
                return None, error
            end = flow.state(there, slopes, state.nu + change, state.clock + h)
            if end.log_loss <= state.log_loss + flow.rtol and self._met(tried, end):
                return Stride(state, axes, tried, end), error
            tried = refined(tried, axes.back @ end.pull)
        return None, _UNMET

    def _met(self, tried: Step, end: State) -> bool:
        """Are rate and loss at the end what the step made of them, but for what is tolerated?"""
        flow, axes = self.flow, self.axes
        off = axes.back @ end.pull - tried.last
        moved = np.linalg.norm(tried.h / (3 + tried.h * tried.values) * off)  # 2hφ₃, about
        if moved > max(np.linalg.norm(tried.doubt), flow.rtol * np.linalg.norm(tried.end)):
            return False
        return flow.close(float(flow.loss.log_loss(axes.turn @ tried.last)), end.log_loss)

    def _error(self, there: MirrorMap, slopes: Float) -> float:
        """An error of slopes, as one of the predictor and of rapidities, relative to what is tolerated."""
        if not there.inside():
            return np.inf
        of_predictor = np.linalg.norm(there.stiffness * slopes) / np.linalg.norm(there.predictor)
        of_rapidity = np.abs(there.rapidity_rate * slopes).max() / min(1.0, there.farthest())
        error = max(float(of_predictor), float(of_rapidity) / _LOOSE) / self.flow.rtol
        return error if np.isfinite(error) else np.inf
