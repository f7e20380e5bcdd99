"""Diagonal networks and the square loss: gradient flow in mirror space, N unknowns for all the weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.forms.mirror import MIRROR, MirrorMap, at_an_end, within_floats
from tacit.flows.forms.pace import STRETCH, Pace
from tacit.flows.segments import UNDERFLOW, Observation, Problem, Rest, Rounded, Segment, Stall
from tacit.flows.steps.stiff import Field, Spectrum, Step
from tacit.models.model import MirrorForm
from tacit.models.reduction import same
from tacit.numerics.rounding import EPS
from tacit.numerics.ties import Ties, product
from tacit.potentials.arrays import quiet

_NOISE = 8 * EPS  # of the terms of a rate, what their sum is rounded by
_FLOOR = 1e-8  # how close to the end of its domain a trial step may bring a slope, as a fraction
_NEAR, _FAR = 0.5, 1.0  # the same for where a Jacobian is taken, and the most that slopes without ends change
_STEEP = 3.0  # powers above which slopes go no further than rapidities of 3 or so, at least
_HUGE = 1e150  # in place of predictors and stiffnesses beyond it, whose squares must be floats
_HIGH = 100.0  # slopes up to which a fiftieth of the tolerance is accurate enough for them
_LIFETIMES = 1e6  # in one step, of what decays most slowly: e^{-1e6} of it is left
_FEW = 3  # iterations of Newton's method after which its S serves the next step too
_LOOK = 16  # steps between two looks at whether the flow has come to rest


@dataclass(frozen=True)
class _State:
    here: MirrorMap
    base: float  # the clock when the map was set up; it may move on by less than its own rounding
    clock: float  # since then, and ν since then
    nu: Float


class DualSquare:
    """ν' = −∂L/∂f(X·w), ∇Q(w) = ∇Q(w(0)) + Xᵀν: its Jacobian is −2c·X (∂w/∂z) Xᵀ.

    The clock is time in units of the model's speed.
    """

    name = "mirror space (Radau IIA)"
    premise = MIRROR
    restore = staticmethod(same)

    def __init__(self, problem: Problem, form: MirrorForm):
        self.form = within_floats(form)
        self.parametrization = problem.model.parametrization
        self.X, self.loss = problem.X, problem.loss
        self.rtol = max(2e-2 * problem.rtol / max(1.0, self._height() / _HIGH), 1e-13)
        self.map = MirrorMap.of(self.form)
        self.samples = len(problem.y)
        self.axes = self._axes()
        self.rows, self.y = product(self.axes.T, self.X, Ties.of(self.X)), self.axes.T @ problem.y
        self.reach = self.rows if np.all(self.form.weight == 1) else self.rows / self.form.weight
        self.ties = Ties.of(self.reach)
        self.sizes = np.abs(self.rows)

    def _height(self) -> float:
        """How large rapidities are where slopes are small: log(w/m) at depth 2, or up to p.

        A relative error of such a slope is one of the rapidity, which is a relative one of w that many times.
        """
        return min(float(np.abs(self.form.log_scale).max()), self.form.power)

    @quiet
    def _axes(self) -> Float:
        """Orthonormal axes of the samples in which the tangent kernel of the start is diagonal.

        What is learned slowly makes ν large. A small part of that is a tolerable error along its own axis; as
        an error of what is learned fast it would be a large one.
        """
        logs = self.form.log_stiffness(self.form.start) - np.log(self.form.weight)
        return np.linalg.svd(self.X * np.exp((logs - logs.max()) / 2), full_matrices=False)[0]

    def begin(self) -> _State:
        """The state at the start."""
        return _State(self.map, 0.0, 0.0, np.zeros_like(self.y))

    def _there(self, state: _State) -> MirrorMap:
        return state.here.moved(self._slopes(state.nu), _FLOOR)

    def _slopes(self, nu: Float) -> Float:
        """What ν adds to the slopes; the same for features that are equal."""
        return product(nu, self.reach, self.ties)

    def segments(self) -> Iterator[Segment]:
        """Steps, each told by its changes: so slopes keep the digits of their distances to their ends."""
        here, clock, way = self.map, 0.0, np.zeros_like(self.y)
        h, last, count = None, None, 0
        natural, pace = self._natural_size(here), Pace()
        while True:
            step = self._step(self._field(here, h, last, np.maximum(way, 0.1 * natural)), here, h, last)
            if step is None:
                raise Stall(self._why(here, clock))
            yield Segment(0.0, step.h, partial(self._state, here, clock, step))
            moved = step.at(step.h)
            if count % _LOOK == 0:
                self._check_stall(_State(here, clock, step.h, moved), step.lifetimes)
            here, clock, way = here.moved(self._slopes(moved)), clock + step.h, way + np.abs(moved)
            h, last, count = step.next_h, step, count + 1
            if count % STRETCH == 0 and pace.stands(clock, *self._left(here)):
                raise Stall(self._why(here, clock))

    def _step(self, field: Field, here: MirrorMap, h: float | None, last: Step | None) -> Step | None:
        """The next step at whose end every slope is inside its domain."""
        step = field.step(h, last)
        while step is not None and not here.moved(self._slopes(step.at(step.h))).inside():
            step = field.step(step.h / 4, last)
        return step

    @staticmethod
    def _state(here: MirrorMap, base: float, step: Step, clock: float) -> _State:
        return _State(here, base, clock, step.at(clock))

    @quiet
    def _midway(self, here: MirrorMap, h: float | None, last: Step | None) -> MirrorMap:
        """Where the next step will have got to at half its length, at the rate of now."""
        if h is None or last is None:
            return here
        floor = max(_NEAR, math.exp(-2 * _FAR / here.power))
        return here.moved(np.clip(h / 2 * self._slopes(last.rates[-1]), -_FAR, _FAR), floor)

    @quiet
    def _field(self, here: MirrorMap, h: float | None, last: Step | None, size: Float) -> Field:
        """The flow of ν from here, with the Jacobian of midway, which serves all of the step."""
        factor = 2 * self.loss.factor(self.samples)
        stiffness = np.minimum(self._midway(here, h, last).stiffness, _HUGE)
        root = self.rows * np.sqrt(factor * stiffness / self.form.weight)
        spectra: list[Callable[[], Spectrum]] = [partial(Spectrum.fast, root), partial(Spectrum.sharp, root)]
        if h is not None and last is not None:
            spectra[0] = partial(last.spectrum.next, root, h)
            if last.iterations <= _FEW and last.spectrum.serves(root):
                spectra.insert(0, partial(Spectrum, *last.spectrum))
        terms = self.sizes @ np.abs(here.predictor) + np.abs(self.y)
        slopes = np.sqrt(factor * self.form.weight * np.minimum(here.stiffness, _HUGE)) * here.rounding()
        noise = _NOISE * factor * float(np.linalg.norm(terms)), _NOISE * float(np.linalg.norm(slopes))
        return Field(partial(self._velocity, here), spectra[0](), self.rtol * size, noise, spectra[1:])

    def _why(self, here: MirrorMap, clock: float) -> str:
        if not at_an_end(here):
            return f"step size underflow at clock {clock:.6g}: no step is accurate enough"
        return f"{UNDERFLOW}; tacit.limit predicts where the flow ends"

    @quiet
    def _left(self, here: MirrorMap) -> tuple[float, float]:
        """The logarithm of the residual, and how near the end of its domain a slope is."""
        residual = float(np.linalg.norm(self.y - self.rows @ here.predictor))
        return math.log(residual or 1e-300), 1.0 if here.power == np.inf else float(here.distance.min())

    @quiet
    def _natural_size(self, here: MirrorMap) -> Float:
        """How far ν goes: to the ends of the slopes' domain, or as far as the tangent kernel takes it."""
        gap = 1.0 if here.power == np.inf else float(here.distance.min()) * min(1.0, _STEEP / here.power)
        tangent = np.einsum("nd,nd->n", self.rows * here.stiffness, self.reach)
        ways = gap / np.linalg.norm(self.reach, axis=0).max(), np.abs(self.y).max() / tangent
        near, far = (np.where((way > 0) & (way < np.inf), way, np.inf) for way in ways)
        sizes = np.minimum(near, far)
        return np.maximum(np.where(sizes < np.inf, sizes, 1.0), 1e-290)

    @quiet
    def _velocity(self, here: MirrorMap, nu: Float) -> Float:
        w = here.reached(self._slopes(nu), _FLOOR)
        fitted = np.minimum(np.maximum(w, -_HUGE), _HUGE) @ self.rows.T
        return 2 * self.loss.factor(self.samples) * (self.y - fitted)

    @quiet
    def _check_stall(self, state: _State, lifetimes: float) -> None:
        """Stop at the rounding of the residual; that there is a solution has been seen to (`fitting`).

        So does a step of very many lifetimes of what decays most slowly: only rounding is left after it.
        """
        w = self._there(state).predictor
        residual = self.y - self.rows @ w
        size = float(np.linalg.norm(residual))
        rounding = 2 * EPS * float(np.linalg.norm(self.sizes @ np.abs(w) + np.abs(self.y)))
        if size <= rounding:
            raise Rounded
        if lifetimes > _LIFETIMES:
            raise Rest("at rest: what is left of the residual is rounding", minimum=True)

    @quiet
    def outputs(self, state: _State) -> Float:
        """X w."""
        return self.X @ self._there(state).predictor

    @quiet
    def observe(self, state: _State) -> Observation:
        """Everything that is recorded of a state."""
        there = self._there(state)
        return Observation(there.predictor, self.X @ there.predictor, self.form.lift(there.rapidity))

    @quiet
    def log_time(self, state: _State) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.base + state.clock)) - self.form.log_speed
