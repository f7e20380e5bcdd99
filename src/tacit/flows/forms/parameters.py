"""Flow of the raw weights of any model: slow, but independent of the potential Q. Supports kinks.

Uses only the parametrization of the model and its initial weights. Steps, tolerances, clock and stopping rule
are those of `WeightFlow`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.flows.form import Premise, Problem
from tacit.flows.forms.weights import Layout, WeightFlow
from tacit.flows.steps.dormand_prince import DormandPrince
from tacit.flows.steps.stepper import Relay, Stepper

INDEPENDENT = Premise("independent of Q")
_TOO_MANY = 4000  # weights above which factorizing the Jacobian is too expensive
_WINDOW, _STUCK = 200, 1e-3  # this many steps must advance the clock by this relative amount
_FLOOR = 10.0  # least length of steps along kinks, in units of √rtol times the clock
_UNIT = 1e-3  # clock below which steps may be shorter, in units of the time scale at the start


class Parameters(WeightFlow):
    """LSODA on all weights with their Jacobian; DOP853 if there are too many weights."""

    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        model, X = problem.model, problem.X.dense() if isinstance(problem.X, Entries) else problem.X
        start = model.start(problem.features)
        layout = Layout.of(start)
        flat = layout.flat(start)
        if not np.isfinite(flat).all():
            raise InputError("the initial weights overflow; use a smaller scale or method='auto'")
        self.X, self.parametrization = X, model.parametrization
        self.smooth = self.parametrization.smoothed(start, X)
        implicit = layout.size <= _TOO_MANY
        self.name = f"raw weights ({'LSODA' if implicit else 'DOP853'})"
        super().__init__(problem, start, self._velocity, self._velocity_jacobian if implicit else None)
        # A user's function of θ may start at 0, but weights of a built-in model that are all 0 have
        # underflowed.
        if self.parametrization.written_out and not flat.any() and not np.any(self.velocity(flat)):
            raise InputError(
                "the initial weights underflow to 0, where the gradient is 0; use method='auto', which "
                "works with their logarithms"
            )
        if self.smooth is not self.parametrization:
            self.rtol = max(0.1 * self.rtol, 1e-13)

    def _velocity(self, flat: Float) -> Float:
        """−∇L, or −∇L/L for relative losses: Jᵀp with p the negative gradient with respect to the outputs."""
        weights = self.layout.unpack(flat)
        pull = self.problem.loss.pull(self.smooth.outputs(weights, self.X), self.problem.y)
        return self.layout.flat(self.smooth.pull(weights, self.X, pull))

    def _velocity_jacobian(self, flat: Float) -> Float:
        """Jᵀp'J + Σ pₙ∇²fₙ."""
        weights, loss, y = self.layout.unpack(flat), self.problem.loss, self.problem.y
        outputs = self.smooth.outputs(weights, self.X)
        J = self.smooth.jacobian(weights, self.X)
        bent = self.smooth.curvature(weights, self.X, loss.pull(outputs, y))
        return np.asarray(J.T @ loss.pull_jacobian(outputs, y) @ J + bent)


class Kinked(WeightFlow):
    """A flow with kinks: continues with steps of a least length when accurate steps become too short."""

    def first_stepper(self) -> Stepper:
        """A standard solver, replaced by `DormandPrince` where it gets stuck."""
        unit = _UNIT * self._natural_size() / self._speed  # short compared with the time scale at the start

        def stuck(before: float, now: float) -> bool:
            return now - before < _STUCK * max(now, unit)

        return Relay(super().first_stepper(), _WINDOW, stuck, partial(self._along_kinks, unit))

    def _along_kinks(self, unit: float, clock: float, unknowns: Float) -> DormandPrince:
        self.name += ", with a least step size along kinks"

        def level(unknowns: Float) -> float:
            outputs = self.outputs(self._state(0.0, unknowns))
            return float(self.problem.loss.accuracy(outputs, self.problem.y))

        atol = np.full(unknowns.size, 1e-2 * self.rtol * self._natural_size())
        options = {"rtol": self.rtol, "floor": _FLOOR * math.sqrt(self.problem.rtol), "unit": unit}
        return DormandPrince(self._rate, clock, unknowns, level, self._state, atol=atol, **options)


class Gradients(Kinked):
    """A network of another framework, whose gradients are arrays: LSODA on few weights, DOP853 on many."""

    name = "raw weights, by gradients (LSODA or DOP853)"
    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        check_start(problem)
        self.X, self.parametrization = problem.X, problem.model.parametrization
        super().__init__(problem, problem.model.start(), self.gradient_velocity)


def check_start(problem: Problem) -> None:
    """Raise if all initial weights are 0."""
    if not any(each.any() for each in problem.model.start().values()):
        raise InputError("the initial weights are all 0, where the gradient is 0; use other weights")
