"""Diagonal networks and the square loss: gradient flow in mirror space, N unknowns for all the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.forms.mirror import MIRROR, MirrorMap, at_an_end, within_floats
from tacit.flows.forms.stagnation import Pace
from tacit.flows.segments import Segment
from tacit.flows.steps import stiff
from tacit.flows.steps.stepper import Controlled
from tacit.flows.steps.stiff import Field, Spectrum
from tacit.flows.termination import NO_STEP, PREDICTED, ROUNDING_LEFT, UNDERFLOW, Rest, Rounded, Stall
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import Taken
from tacit.numerics.ties import Ties, product

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


class DualSquare(Form):
    """ν' = −∂L/∂f(X·w), ∇Q(w) = ∇Q(w(0)) + Xᵀν: its Jacobian is −2c·X (∂w/∂z) Xᵀ.

    The clock is time in units of the model's speed.
    """

    name = "mirror space (Radau IIA)"
    premise = MIRROR

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

    def stepper(self) -> _Steps:
        """Radau IIA for flows whose Jacobian is symmetric."""
        self.steps, self.pace, self.count = _Steps(self), Pace(), 0
        return self.steps

    def after(self, segment: Segment) -> None:
        """Look now and then whether the flow rests, or stands still."""
        steps = self.steps
        if self.count % _LOOK == 0 and steps.last is not None:
            self._check_stall(segment.last, steps.last.step.lifetimes)
        self.count += 1
        if self.pace.stands(steps.clock, self._left):
            raise Stall(steps.why())

    def _left(self) -> tuple[float, float]:
        """The logarithm of the residual, and how near the end of its domain a slope is."""
        here = self.steps.here
        residual = float(np.linalg.norm(self.y - self.rows @ here.predictor))
        return math.log(residual or 1e-300), 1.0 if here.power == np.inf else float(here.distance.min())

    def _natural_size(self, here: MirrorMap) -> Float:
        """How far ν goes: to the ends of the slopes' domain, or as far as the tangent kernel takes it."""
        gap = 1.0 if here.power == np.inf else float(here.distance.min()) * min(1.0, _STEEP / here.power)
        tangent = np.einsum("nd,nd->n", self.rows * here.stiffness, self.reach)
        ways = gap / np.linalg.norm(self.reach, axis=0).max(), np.abs(self.y).max() / tangent
        near, far = (np.where((way > 0) & (way < np.inf), way, np.inf) for way in ways)
        sizes = np.minimum(near, far)
        return np.maximum(np.where(sizes < np.inf, sizes, 1.0), 1e-290)

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
            raise Rest(ROUNDING_LEFT, minimum=True)

    def outputs(self, state: _State) -> Float:
        """X w."""
        return self.X @ self._there(state).predictor

    def observe(self, state: _State) -> Observation:
        """Everything that is recorded of a state."""
        there = self._there(state)
        return Observation(there.predictor, self.X @ there.predictor, self.form.lift(there.rapidity))

    def log_time(self, state: _State) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.base + state.clock)) - self.form.log_speed


class _Steps(Controlled):
    """Steps of ν, each told by its changes: so slopes keep the digits of their distances to their ends."""

    control = stiff.CONTROL

    def __init__(self, form: DualSquare):
        self.form, self.here = form, form.map
        self.way, self.natural = (
            np.zeros_like(form.y),
            form._natural_size(form.map),
        )  # how far ν has come, and goes

    def equations(self) -> Field:
        """The flow of ν from here, with the Jacobian of midway, which serves all of the step."""
        form, here, last = self.form, self.here, self.last
        factor, weight = 2 * form.loss.factor(form.samples), form.form.weight
        stiffness = np.minimum(self._midway().stiffness, _HUGE)
        root = form.rows * np.sqrt(factor * stiffness / weight)
        spectra: list[Callable[[], Spectrum]] = [partial(Spectrum.fast, root), partial(Spectrum.sharp, root)]
        if self.h is not None and last is not None:
            spectrum = last.step.spectrum
            spectra[0] = partial(spectrum.next, root, self.h)
            if last.step.iterations <= _FEW and spectrum.serves(root):
                spectra.insert(0, lambda: spectrum)
        terms = form.sizes @ np.abs(here.predictor) + np.abs(form.y)
        slopes = np.sqrt(factor * weight * np.minimum(here.stiffness, _HUGE)) * here.rounding()
        noise = _NOISE * factor * float(np.linalg.norm(terms)), _NOISE * float(np.linalg.norm(slopes))
        size = form.rtol * np.maximum(self.way, 0.1 * self.natural)
        return Field(self._velocity, spectra, size, noise, last, self._inside)

    def _midway(self) -> MirrorMap:
        """Where the next step will have got to at half its length, at the rate of now."""
        if self.h is None or self.last is None:
            return self.here
        floor = max(_NEAR, math.exp(-2 * _FAR / self.here.power))
        change = self.h / 2 * self.form._slopes(self.last.step.rates[-1])
        return self.here.moved(np.clip(change, -_FAR, _FAR), floor)

    def _velocity(self, nu: Float) -> Float:
        form = self.form
        w = self.here.reached(form._slopes(nu), _FLOOR)
        fitted = np.minimum(np.maximum(w, -_HUGE), _HUGE) @ form.rows.T
        return 2 * form.loss.factor(form.samples) * (form.y - fitted)

    def _inside(self, nu: Float) -> bool:
        """Is every slope inside its domain?"""
        return self.here.moved(self.form._slopes(nu)).inside()

    def accept(self, equations: Field, taken: Taken) -> Segment:
        """To the end; not longer next time, if lengths had to be tried at which Newton's method failed."""
        here, clock, h, step = self.here, self.clock, taken.h, taken.step
        moved = step.at(h)
        self.here, self.way = here.moved(self.form._slopes(moved)), self.way + np.abs(moved)
        self.h = min(taken.next_h, h) if equations.failures else taken.next_h
        return Segment(0.0, h, lambda part: _State(here, clock, part, step.at(part)))

    def why(self) -> str:
        """Why there is no step from here."""
        return UNDERFLOW + PREDICTED if at_an_end(self.here) else NO_STEP.format(self.clock)
