"""Recording a flow: at accuracies asked for, or at some 200 points where it moves; never every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq

from tacit.data import Float
from tacit.flows.segments import Form, Segment, Stall
from tacit.progress import Meter

_POINTS = 200
_PATIENCE = 5000
_INSIDE = 1  # places at which a step is looked at; more where it spans decades of accuracy
_MORE = 40


@dataclass
class Recording:
    """States and their accuracies, why the flow stopped, and how many steps it took."""

    states: list[Any] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    converged: bool = False
    reason: str = ""
    steps: int = 0
    stride: int = 1  # of the instants offered, every so many is kept
    offered: int = 0
    best: float = -np.inf
    idle: int = 0  # segments without any gain

    def add(self, state: Any, accuracy: float) -> None:
        """Keep one more state."""
        self.states.append(state)
        self.accuracies.append(accuracy)

    def check_progress(self, accuracy: float) -> None:
        """Refuse to go on for thousands of steps that lead nowhere."""
        gained = accuracy > self.best + 1e-9
        self.best, self.idle = (accuracy, 0) if gained else (self.best, self.idle + 1)
        if self.idle > _PATIENCE:
            raise Stall(
                f"no gain in accuracy over the last {_PATIENCE:,} steps: a saddle or a stationary point, or "
                "the tolerance is too coarse for the accuracy asked for (lower rtol)"
            )

    def wants(self) -> bool:
        """Is the next instant that is offered to be kept?"""
        self.offered += 1
        if len(self.states) >= 2 * _POINTS:
            self.thin(_POINTS)
            self.stride *= 2
        return self.offered % self.stride == 0

    def thin(self, most: int) -> None:
        """Keep at most so many, evenly, the first and the last among them."""
        count = len(self.states)
        if count > most:
            kept = np.unique(np.linspace(0, count - 1, most).round().astype(int))
            self.states = [self.states[i] for i in kept]
            self.accuracies = [self.accuracies[i] for i in kept]


def record(form: Form, accuracy: Callable[[Any], float], until: float, at: Float | None) -> Recording:
    """Follow the flow until its accuracy is `until`, and keep the states at the accuracies `at`.

    Without `at`, some 200 states between its start and its end. A flow that stalls, or is interrupted
    with Ctrl-C, keeps what it has.
    """
    recording, targets = Recording(), None if at is None else list(at)
    state = form.begin()
    last = (state, accuracy(state))
    if targets is None or targets[0] <= last[1]:
        recording.add(*last)
    while targets and targets[0] <= last[1]:
        targets.pop(0)
    with Meter("gradient flow", last[1], until) as meter:
        try:
            for segment in form.segments() if last[1] < until else ():
                recording.steps += int(segment.end - segment.start) if segment.discrete else 1
                last = _follow(recording, segment, accuracy, until, targets)
                meter.update(last[1])
                recording.check_progress(last[1])
                if last[1] >= until:
                    break
            recording.converged, recording.reason = True, f"reached accuracy {until:.6g}"
        except Stall as stall:
            recording.reason = str(stall)
        except KeyboardInterrupt:
            recording.reason = "interrupted"
    if not recording.states or (not recording.converged and last[1] > recording.accuracies[-1]):
        recording.add(*last)
    if at is None:
        recording.thin(_POINTS)
    return recording


def _follow(
    recording: Recording,
    segment: Segment,
    accuracy: Callable[[Any], float],
    until: float,
    targets: list[float] | None,
) -> tuple[Any, float]:
    """Record what falls into this segment; the state at its end, or where `until` is reached."""
    reader = _Reader(segment, accuracy)
    last = reader(segment.end)
    if targets is not None:
        while targets and targets[0] <= min(last[1], until):
            recording.add(*reader.locate(targets.pop(0)))
        return reader.locate(until) if last[1] >= until else last
    for clock in _inside(segment, recording.best, last[1]):
        if recording.wants():
            state, level = last if clock == segment.end else reader(clock)
            if level < until:
                recording.add(state, level)
    if last[1] >= until:
        last = reader.locate(until)
        recording.add(*last)
    return last


def _inside(segment: Segment, before: float, after: float) -> Float:
    """Instants at which a segment is looked at, its end among them."""
    decades = np.log10((10 + abs(after)) / (10 + abs(before))) if np.isfinite([before, after]).all() else 0.0
    count = int(min(_MORE, _INSIDE + 5 * max(0.0, decades)))
    clocks = np.linspace(segment.start, segment.end, count + 1)[1:]
    return np.unique(np.ceil(clocks)) if segment.discrete else clocks


@dataclass
class _Reader:
    """The states of a segment with their accuracies."""

    segment: Segment
    accuracy: Callable[[Any], float]

    def __call__(self, clock: float) -> tuple[Any, float]:
        state = self.segment.state(clock)
        return state, self.accuracy(state)

    def locate(self, target: float) -> tuple[Any, float]:
        """The state at which the accuracy is the target."""
        start, end = self.segment.start, self.segment.end
        if self.segment.discrete:
            return self(self._first_step(target, int(start), int(end)))
        ends = [self(clock)[1] - target for clock in (start, end)]
        if ends[0] >= 0 or ends[1] <= 0:  # rounding only: the target is one of the ends
            clock = start if ends[0] >= 0 else end
        else:
            clock = brentq(
                lambda c: self(c)[1] - target, start, end, xtol=1e-300, rtol=4 * np.finfo(float).eps
            )
        return self.segment.state(float(clock)), target

    def _first_step(self, target: float, low: int, high: int) -> int:
        """The first of these steps at or beyond the target, by bisection; the last one is."""
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self(middle)[1] >= target else (middle, high)
        return high
