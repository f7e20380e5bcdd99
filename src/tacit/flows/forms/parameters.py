"""The raw weights of any model, and of networks, along kinks too: slow, and independent of its potential Q.

Nothing here asks the model for more than its parametrization and its start. Steps, tolerances, clock and
stopping rule are those of `WeightFlow`, which sees weights, outputs and gradients of the loss.
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
_TOO_MANY = 4000  # weights whose Jacobian no machine wants to factorize
_LOOK, _STUCK = 200, 1e-3  # steps, and the part of the clock by which they must advance it
_FLOOR = 10.0  # times the root of rtol: the part of the clock that steps along kinks are not shorter than
_UNIT = 1e-3  # of the time in which the loss or a layer would be gone: before it, steps may be short


class Parameters(WeightFlow):
    """LSODA on all weights, with its Jacobian; DOP853 where that would have too many entries."""

    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        model, X = problem.model, problem.X.dense() if isinstance(problem.X, Entries) else problem.X
        start = model.start(problem.features)
        layout = Layout.of(start)
        flat = layout.flat(start)
        if not np.isfinite(flat).all():
            raise InputError("the weights at the start overflow; take a smaller scale, or method='auto'")
        self.X, self.parametrization = X, model.parametrization
        self.smooth = self.parametrization.smoothed(start, X)
        implicit = layout.size <= _TOO_MANY
        self.name = f"raw weights ({'LSODA' if implicit else 'DOP853'})"
        super().__init__(problem, start, self._velocity, self._velocity_jacobian if implicit else None)
        # A function of θ may start at 0; the weights of models with forms of their own have underflowed.
        if self.parametrization.written_out and not flat.any() and not np.any(self.velocity(flat)):
            raise InputError(
                "the weights at the start underflow to 0, where the gradient is 0; use method='auto', which "
                "follows their logarithms"
            )
        if self.smooth is not self.parametrization:
            self.rtol = max(0.1 * self.rtol, 1e-13)

    def _velocity(self, flat: Float) -> Float:
        """−∇L (square loss) or −∇L/L (the others): Jᵀp, p the pull of the loss on the outputs."""
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
    """A flow that may meet kinks: where accurate steps come to a standstill, with steps of a least length."""

    def first_stepper(self) -> Stepper:
        """A solver, and another one from where it gets stuck."""
        unit = _UNIT * self._natural_size() / self._speed  # a time in which little happens at the start

        def stuck(before: float, now: float) -> bool:
            return now - before < _STUCK * max(now, unit)

        return Relay(super().first_stepper(), _LOOK, stuck, partial(self._along_kinks, unit))

    def _along_kinks(self, unit: float, clock: float, unknowns: Float) -> DormandPrince:
        self.name += ", along kinks with steps that are not shorter than a part of the clock"

        def level(unknowns: Float) -> float:
            outputs = self.outputs(self._state(0.0, unknowns))
            return float(self.problem.loss.accuracy(outputs, self.problem.y))

        atol = np.full(unknowns.size, 1e-2 * self.rtol * self._natural_size())
        options = {"rtol": self.rtol, "floor": _FLOOR * math.sqrt(self.problem.rtol), "unit": unit}
        return DormandPrince(self._rate, clock, unknowns, level, self._state, atol=atol, **options)


class Gradients(Kinked):
    """A network of another framework: LSODA on few weights and DOP853 on many, with gradients as arrays."""

    name = "raw weights, by gradients (LSODA or DOP853)"
    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        check_start(problem)
        self.X, self.parametrization = problem.X, problem.model.parametrization
        super().__init__(problem, problem.model.start(), self.pulled)


def check_start(problem: Problem) -> None:
    """Refuse weights that are all 0."""
    if not any(each.any() for each in problem.model.start().values()):
        raise InputError("the weights at the start are all 0, and such a start never moves; change some")
