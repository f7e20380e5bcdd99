"""Networks, of which nothing is known but their gradients: raw weights, along kinks where there are some."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.flows.forms.parameters import INDEPENDENT
from tacit.flows.forms.weights import WeightFlow, WeightState
from tacit.flows.segments import GaveUp, Problem, Segment, solver_segments
from tacit.flows.steps.floored import Floored
from tacit.potentials.arrays import quiet

_LOOK, _STUCK = 200, 1e-3  # steps, and the part of the clock by which they must advance it
_FLOOR = 10.0  # times the root of rtol: the part of the clock that steps along kinks are not shorter than
_UNIT = 1e-3  # of the time in which the loss or a layer would be gone: before it, steps may be short


class Kinked(WeightFlow):
    """A flow that may meet kinks: where accurate steps come to a standstill, on by `Floored` ones."""

    def segments(self) -> Iterator[Segment]:
        """Steps of the solver, and of another one from where it gets stuck."""
        clocks, state = deque[float](maxlen=_LOOK), self.begin()
        try:
            for segment in super().segments():
                yield segment
                clocks.append(segment.end)
                state = segment.state(segment.end)
                if len(clocks) == _LOOK and clocks[-1] - clocks[0] < _STUCK * max(clocks[-1], self._unit):
                    break
        except GaveUp:
            if not clocks:
                raise
        self.name += ", along kinks with steps that are not shorter than a part of the clock"
        for segment in solver_segments(self._floored(state), self._state):
            yield segment
            self._look_for_rest(segment)

    @property
    def _unit(self) -> float:
        """A time in which little happens at the start."""
        return _UNIT * self._natural_size() / self._speed

    def _floored(self, state: WeightState) -> Floored:
        unknowns = state.flat - self.start
        if state.relative_time is not None:
            unknowns = np.append(unknowns, state.relative_time)

        def level(unknowns: Float) -> float:
            outputs = self.outputs(self._state(0.0, unknowns))
            return float(self.problem.loss.accuracy(outputs, self.problem.y))

        atol = np.full(unknowns.size, 1e-2 * self.rtol * self._natural_size())
        floor = _FLOOR * math.sqrt(self.problem.rtol)
        options = {"rtol": self.rtol, "floor": floor, "unit": self._unit}
        return Floored(self._rate, state.clock, unknowns, level, atol=atol, **options)


class Gradients(Kinked):
    """A network of another framework: LSODA on few weights and DOP853 on many, with gradients as arrays."""

    name = "raw weights, by gradients (LSODA or DOP853)"
    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        check_start(problem)
        self.X, self.parametrization = problem.X, problem.model.parametrization
        super().__init__(problem, problem.model.start(), self._pull)

    @quiet
    def _pull(self, flat: Float) -> Float:
        """Jᵀ times the pull of the loss."""
        weights = self.layout.unpack(flat)
        outputs = np.asarray(self.parametrization.outputs(weights, self.X))
        pull = self.problem.loss.pull(outputs, self.problem.y)
        return self.layout.flat(self.parametrization.pull(weights, self.X, pull))


def check_start(problem: Problem) -> None:
    """Refuse weights that are all 0."""
    if not any(each.any() for each in problem.model.start().values()):
        raise InputError("the weights at the start are all 0, and such a start never moves; change some")
