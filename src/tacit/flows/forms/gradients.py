"""Networks, of which nothing is known but their gradients: raw weights, along kinks where there are some."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.flows.form import Problem
from tacit.flows.forms.parameters import INDEPENDENT
from tacit.flows.forms.weights import WeightFlow
from tacit.flows.steps.dormand_prince import DormandPrince
from tacit.flows.steps.stepper import Relay, Stepper

_LOOK, _STUCK = 200, 1e-3  # steps, and the part of the clock by which they must advance it
_FLOOR = 10.0  # times the root of rtol: the part of the clock that steps along kinks are not shorter than
_UNIT = 1e-3  # of the time in which the loss or a layer would be gone: before it, steps may be short


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
