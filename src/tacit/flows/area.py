"""The area under the loss, ∫L dt, accumulated along a flow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.flows.form import Form
from tacit.flows.segments import Segment

# Lobatto's rule: both ends of a segment are known already, so that only two states are computed for it.
_NODES = np.array([0.0, 0.5 - math.sqrt(0.05), 0.5 + math.sqrt(0.05), 1.0])
_WEIGHTS = np.array([1.0, 5.0, 5.0, 1.0]) / 12
_LINEAR = 1e-6  # deviation of time from a linear function of the clock above which weights are recomputed


class Area:
    """∫L dt over the segments of a flow; NaN for steps of gradient descent."""

    def __init__(self, form: Form, level: Callable[[Any], float], start: Any, first: float):
        self.form, self.level, self.value = form, level, 0.0
        self.last = self._time(start), math.exp(-first)

    def add(self, segment: Segment, end: Any, level: float) -> None:
        """Add the area of a segment, with the state and the level at its end."""
        if segment.discrete:
            self.value = math.nan
            return
        length, (first, start_loss) = segment.end - segment.start, self.last
        self.last = last, end_loss = self._time(end), math.exp(-level)
        if not last > first:
            return
        states = [segment.state(segment.start + node * length) for node in _NODES[1:-1]]
        losses = np.array([start_loss, *(math.exp(-self.level(state)) for state in states), end_loss])
        places = (np.array([self._time(state) for state in states]) - first) / (last - first)
        self.value += (last - first) * float(_weights(places) @ losses)

    def _time(self, state: Any) -> float:
        return float(np.exp(self.form.log_time(state)))


def _weights(places: Any) -> Any:
    """Weights that integrate polynomials in time exactly: Lobatto's if time is linear in the clock."""
    if np.abs(places - _NODES[1:-1]).max() < _LINEAR:
        return _WEIGHTS
    powers = np.arange(4)
    return np.linalg.solve(np.array([0.0, *places, 1.0]) ** powers[:, None], 1 / (powers + 1.0))
