"""Diagonal networks with the square loss: gradient flow in mirror space, with N unknowns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.forms.mirror import MIRROR, MirrorMap, Pace, at_an_end, within_floats
from tacit.flows.segments import Segment
from tacit.flows.steps import stiff
from tacit.flows.steps.stepper import Controlled
from tacit.flows.steps.stiff import Field, Spectrum
from tacit.flows.termination import NO_STEP, PREDICTED, ROUNDING_LEFT, UNDERFLOW, Rest, Rounded, Stall
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import Taken
from tacit.numerics.ties import Ties, product

_NOISE = 8 * EPS  # round-off of a rate, relative to the terms of its sum
_FLOOR = 1e-8  # share of the distance to the end of its domain that a slope keeps in a trial step
_NEAR, _FAR = 0.5, 1.0  # the same share, and the largest change of slopes, for the point of a Jacobian
_STEEP = 3.0  # powers above which a slope typically changes only up to a rapidity of about 3
_HUGE = 1e150  # bound on predictors and stiffnesses, so that their squares do not overflow
_HIGH = 100.0  # rapidities above which the tolerance is tightened in proportion (see `_amplification`)
_LIFETIMES = 1e6  # step length, in lifetimes of the slowest component, after which only round-off remains
_FEW = 3  # Newton iterations up to which the matrix S is reused for the next step
_CHECK_EVERY = 16  # steps between two checks for rest


@dataclass(frozen=True)
class _State:
    here: MirrorMap
    base: float  # clock at the start of the step; separate, since `clock` may be below its round-off
    clock: float  # since the start of the step
    nu: Float  # increment since the start of the step


class DualSquare(Form):
    """ν' = −∂L/∂f(X·w), ∇Q(w) = ∇Q(w(0)) + Xᵀν, with Jacobian −2c·X (∂w/∂z) Xᵀ.

    The clock is time in units of the model's speed.
    """

    name = "mirror space (Radau IIA)"
    premise = MIRROR

    def __init__(self, problem: Problem, form: MirrorForm):
        self.form = within_floats(form)
        self.parametrization = problem.model.parametrization
        self.X, self.loss = problem.X, problem.loss
        self.rtol = max(2e-2 * problem.rtol / max(1.0, self._amplification() / _HIGH), 1e-13)
        self.map = MirrorMap.of(self.form)
        self.samples = len(problem.y)
        self.axes = self._axes()
        self.rows, self.y = product(self.axes.T, self.X, Ties.of(self.X)), self.axes.T @ problem.y
        self.reach = self.rows if np.all(self.form.weight == 1) else self.rows / self.form.weight
        self.ties = Ties.of(self.reach)
        self.sizes = np.abs(self.rows)

    def _amplification(self) -> float:
        """Largest rapidity at small slopes: log(w/m) at depth 2, at most p at other depths.

        It is the factor by which a relative error of a slope is amplified to a relative error of w.
        """
        return min(float(np.abs(self.form.log_scale).max()), self.form.power)

    def _axes(self) -> Float:
        """Orthonormal axes of the samples in which the initial tangent kernel is diagonal.

        Components that are learned slowly make ν large. A small relative error of such a component is
        tolerable along its own axis, but would be a large error of components that are learned fast.
        """
        logs = self.form.log_stiffness(self.form.start) - np.log(self.form.weight)
        return np.linalg.svd(self.X * np.exp((logs - logs.max()) / 2), full_matrices=False)[0]

    def begin(self) -> _State:
        """The state at the start."""
        return _State(self.map, 0.0, 0.0, np.zeros_like(self.y))

    def _there(self, state: _State) -> MirrorMap:
        return state.here.moved(self._slopes(state.nu), _FLOOR)

    def _slopes(self, nu: Float) -> Float:
        """Change of the slopes due to ν; identical for equal features."""
        return product(nu, self.reach, self.ties)

    def stepper(self) -> _Steps:
        """Radau IIA for flows with a symmetric Jacobian."""
        self.steps, self.pace, self.count = _Steps(self), Pace(), 0
        return self.steps

    def after(self, segment: Segment) -> None:
        """Check for rest and for stagnation."""
        steps = self.steps
        if self.count % _CHECK_EVERY == 0 and steps.last is not None:
            self._check_stall(segment.last, steps.last.step.lifetimes)
        self.count += 1
        if self.pace.stagnates(steps.clock, self._progress):
            raise Stall(steps.why())

    def _progress(self) -> tuple[float, float]:
        """log of the residual, and the least distance of a slope from the end of its domain."""
        here = self.steps.here
        residual = float(np.linalg.norm(self.y - self.rows @ here.predictor))
        return math.log(residual or 1e-300), 1.0 if here.power == np.inf else float(here.distance.min())

    def _natural_size(self, here: MirrorMap) -> Float:
        """Typical size of ν: that at the ends of the slopes' domain, or that of the linearized flow."""
        gap = 1.0 if here.power == np.inf else float(here.distance.min()) * min(1.0, _STEEP / here.power)
        tangent = np.einsum("nd,nd->n", self.rows * here.stiffness, self.reach)
        both = gap / np.linalg.norm(self.reach, axis=0).max(), np.abs(self.y).max() / tangent
        ends, linear = (np.where((size > 0) & (size < np.inf), size, np.inf) for size in both)
        sizes = np.minimum(ends, linear)
        return np.maximum(np.where(sizes < np.inf, sizes, 1.0), 1e-290)

    def _check_stall(self, state: _State, lifetimes: float) -> None:
        """Stop when the residual is round-off; it can get there, since the problem was projected (`fitting`).

        Also stop after a step of very many lifetimes of the slowest component, which leaves only round-off.
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
        """The observed quantities of a state."""
        there = self._there(state)
        return Observation(there.predictor, self.X @ there.predictor, self.form.lift(there.rapidity))

    def log_time(self, state: _State) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.base + state.clock)) - self.form.log_speed


class _Steps(Controlled):
    """Steps of ν, as increments, so that slopes keep accurate distances to the ends of their domain."""

    control = stiff.CONTROL

    def __init__(self, form: DualSquare):
        self.form, self.here = form, form.map
        self.path_length, self.natural = np.zeros_like(form.y), form._natural_size(form.map)  # of ν

    def equations(self) -> Field:
        """The flow of ν from here, with the Jacobian at the predicted middle of the step."""
        form, here, last = self.form, self.here, self.last
        factor, weight = 2 * form.loss.factor(form.samples), form.form.weight
        stiffness = np.minimum(self._middle().stiffness, _HUGE)
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
        size = form.rtol * np.maximum(self.path_length, 0.1 * self.natural)
        return Field(self._velocity, spectra, size, noise, last, self._inside)

    def _middle(self) -> MirrorMap:
        """The predicted middle of the next step, at the current rate."""
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
        """Whether every slope is inside its domain after this increment."""
        return self.here.moved(self.form._slopes(nu)).inside()

    def accept(self, equations: Field, taken: Taken) -> Segment:
        """Go to the end of the step; do not increase the step size if Newton's method failed on the way."""
        here, clock, h, step = self.here, self.clock, taken.h, taken.step
        moved = step.at(h)
        self.here, self.path_length = here.moved(self.form._slopes(moved)), self.path_length + np.abs(moved)
        self.h = min(taken.next_h, h) if equations.failures else taken.next_h
        return Segment(0.0, h, lambda part: _State(here, clock, part, step.at(part)))

    def why(self) -> str:
        """The reason if no step is accurate enough."""
        return UNDERFLOW + PREDICTED if at_an_end(self.here) else NO_STEP.format(self.clock)
