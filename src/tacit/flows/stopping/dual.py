r"""The flow of ν in mirror space, in exponential steps that are as long as a modest accuracy allows.

    s = s(0) + Xᵀν/weight,    ν' = pull(X·w(s)),    Jacobian −D·X (∂w/∂Q') Xᵀ = −T Λ T⁻¹

with D the slope of the pull, T = D^½U from the eigenvectors of D^½ X(∂w/∂Q')Xᵀ D^½. N unknowns for all d
weights, a matrix of N×N for each step, and nothing larger than X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.stopping.exponential import ORDER, Step, refined, step
from tacit.flows.stopping.gauges import Gauge
from tacit.flows.stopping.kernel import Kernel
from tacit.flows.stopping.samples import Samples
from tacit.flows.stopping.waves import start_of
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.ties import product

_SLOWER, _FASTER = 0.2, 20.0  # from one length of a step to the next
_CAREFUL = 0.8  # of the length that the error would allow
_LOOSE = 10.0  # tolerances: error of a rapidity, of coordinates that may not matter
_NO_FARTHER = 0.1  # of logarithms of losses, at any tolerance
_REACH = 0.5  # change of a slope over the first step
_BEYOND = 1.2  # times the time in which the linear flow reaches the last stop
_UNSEEN = 1.0  # tolerances: what a coordinate that does not count may make of the rate over a step
_NEAR = 0.1  # of the distance to the end of its domain, what a coordinate is thought to leave of it
_STRAIGHT = 1.0  # times that: what a coordinate may count for whose way over a step is as good as straight
_SHORTEST = 1e-300
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


class DualFlow:
    """The flow of a model in mirror space; its clock is time in units of the model's speed."""

    def __init__(self, form: MirrorForm, samples: Samples, gauge: Gauge, rtol: float):
        self.form, self.X, self.gauge, self.rtol = form, samples.X, gauge, rtol
        even = bool((form.weight == form.weight[0]).all())
        self.weight = float(form.weight[0]) if even else form.weight
        self.kernel = Kernel(samples, self.weight)
        self.size = samples.largest
        self.ties = samples.ties

    def begin(self) -> State:
        """The state at the start."""
        here = start_of(self.form)
        return self._state(here, None, np.zeros(len(self.X)), 0.0)

    def _state(self, here: MirrorMap, change: Float | None, nu: Float, clock: float) -> State:
        outputs = self.X @ here.predictor
        pull = self.gauge.pull(outputs)
        return State(here, change, nu, clock, outputs, pull, float(self.gauge.log_loss(pull)))

    def slopes(self, nu: Float) -> Float:
        """What ν adds to the slopes."""
        return product(nu, self.X, self.ties) / self.weight

    def _axes(self, state: State, slack: float) -> Axes:
        root = np.sqrt(np.maximum(self.gauge.slope(state.pull), _SHORTEST))
        self.kernel.update(state.here.stiffness / self.weight, slack)
        values, turn = self.kernel.spectrum(root)
        return Axes(np.maximum(values, 0.0), root[:, None] * turn, turn.T / root)

    def _slack(self, state: State, h: float | None) -> float:
        """Of a stiffness, what does not count over a step of length h."""
        if h is None:
            return 0.0
        return _UNSEEN * self.rtol / (h * self.size * float(self.gauge.slope(state.pull).max()))

    def _counting(self, state: State, h: float | None, last: float, slack: float) -> Index | None:
        """Coordinates that count, now or at the pace of the last step at the end of this one."""
        if h is None or state.change is None:
            return None
        ahead = state.here.moved(state.change * (h / last), _NEAR)
        return np.flatnonzero(
            np.maximum(state.here.stiffness, ahead.stiffness) / self.weight > _STRAIGHT * slack
        )

    def stride(
        self, state: State, h: float | None, before: float, last: float
    ) -> tuple[Stride | None, float]:
        """The next step, and the length to try after it.

        before: the length of the last one. last: where to get, a logarithm of loss.
        """
        slack = self._slack(state, h)
        axes = self._axes(state, slack)
        first = axes.back @ state.pull
        enough = self._enough(first, axes.values, state.log_loss - last)
        length = min(self._first_length(first, axes) if h is None else h, enough)
        rate = self._rate(state, axes, self._counting(state, h, before, slack))
        while length > _SHORTEST:
            tried = step(rate, first, axes.values, length)
            if tried is None:
                length *= _SLOWER
                continue
            stride, error = self._tried(state, axes, tried)
            growth = min(max(_CAREFUL * error ** (-1 / ORDER), _SLOWER), _FASTER) if error > 0 else _FASTER
            if stride is not None:
                return stride, length * growth
            length *= min(growth, 0.5)
        return None, length

    def shorter(self, stride: Stride, share: float) -> Stride | None:
        """A share of a step as a step of its own, if that is accurate."""
        rate = self._rate(stride.start, stride.axes, None)
        tried = step(rate, stride.step.first, stride.axes.values, share * stride.step.h)
        return None if tried is None else self._tried(stride.start, stride.axes, tried)[0]

    def _rate(self, state: State, axes: Axes, counts: Index | None) -> Callable[[Float], Float]:
        nearby = self.kernel.nearby(state.here, state.outputs, counts)

        def rate(x: Float) -> Float:
            return np.asarray(axes.back @ self.gauge.pull(nearby.at(axes.turn @ x)))

        return rate

    def _tried(self, state: State, axes: Axes, tried: Step) -> tuple[Stride | None, float]:
        """The step, if its error is tolerable, and the error.

        What decays fast within a step is wrong at its end by little that the loss may show, where the rest of
        the residual is smaller still: the rate there corrects it.
        """
        for _ in range(_CORRECTIONS):
            change = axes.turn @ tried.end
            slopes = self.slopes(change)
            there = state.here.moved(slopes)
            error = self._error(there, self.slopes(axes.turn @ tried.doubt))
            if error > 1:
                return None, error
            end = self._state(there, slopes, state.nu + change, state.clock + tried.h)
            if end.log_loss <= state.log_loss + self.rtol and self._met(tried, axes, end):
                return Stride(state, axes, tried, end), error
            tried = refined(tried, axes.back @ end.pull)
        return None, 1.0

    def _met(self, tried: Step, axes: Axes, end: State) -> bool:
        """Are rate and loss at the end what the step made of them, but for what is tolerated?"""
        off = axes.back @ end.pull - tried.last
        moved = np.linalg.norm(tried.h / (3 + tried.h * tried.values) * off)  # 2hφ₃, about
        if moved > max(np.linalg.norm(tried.doubt), self.rtol * np.linalg.norm(tried.end)):
            return False
        return self.close(float(self.gauge.log_loss(axes.turn @ tried.last)), end.log_loss)

    def close(self, log_loss: float, level: float) -> bool:
        """Is a loss near enough to another?"""
        return abs(log_loss - level) <= min(_LOOSE * self.rtol, _NO_FARTHER)

    def _error(self, there: MirrorMap, slopes: Float) -> float:
        """An error of slopes, as one of the predictor and of rapidities, relative to what is tolerated."""
        if not there.inside():
            return np.inf
        of_predictor = np.linalg.norm(there.stiffness * slopes) / np.linalg.norm(there.predictor)
        of_rapidity = np.abs(there.rapidity_rate * slopes).max() / min(1.0, there.farthest())
        error = max(float(of_predictor), float(of_rapidity) / _LOOSE) / self.rtol
        return error if np.isfinite(error) else np.inf

    def _rest(self, rate: Float, axes: Axes) -> Float:
        """How far slopes are from where the linear flow ends."""
        sure = axes.values > EPS * len(axes.values) * axes.values.max()
        return self.slopes(axes.turn @ np.divide(rate, axes.values, out=np.zeros_like(rate), where=sure))

    def _first_length(self, first: Float, axes: Axes) -> float:
        """As long as it takes where no slope changes much on the way to the end of the linear flow."""
        if self.gauge.linear and np.abs(self._rest(first, axes)).max() < _REACH:
            return np.inf
        length = _REACH / float(np.abs(self.slopes(axes.turn @ first)).max())
        return length if self.gauge.linear else min(length, _REACH / float(axes.values.max()))

    def _enough(self, first: Float, values: Float, gain: float) -> float:
        """As long as a step has to be, at most."""
        longest = 1 / (EPS * float(values.max()))
        return (
            min(_BEYOND * self._linear_time(first, values, gain), longest) if self.gauge.linear else longest
        )

    def _linear_time(self, first: Float, values: Float, gain: float) -> float:
        """When the linear flow has gained that much, or earlier: Newton's method for log ‖x'‖², convex."""
        powers, time = first * first, 0.0
        total = powers.sum()
        for _ in range(_NEWTON):
            now = powers * np.exp(-2 * time * values)
            ahead = gain + np.log(now.sum() / total)
            if ahead <= 1e-2 * gain:
                break
            time += ahead * now.sum() / (2 * now @ values)
        return float(time) if np.isfinite(time) else np.inf

    def settled(self, state: State) -> bool:
        """Is what is left of the way to the end within the tolerance? By one step of Newton's method."""
        axes = self._axes(state, 0.0)
        left = np.linalg.norm(state.here.stiffness * self._rest(axes.back @ state.pull, axes))
        return bool(left <= self.rtol * np.linalg.norm(state.here.predictor))
