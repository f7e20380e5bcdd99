"""The goal of a flow: accuracies or times to record, and where to end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.flows.fitting import Fitting

_FITTED = 1e-2  # relative residual, in units of rtol, at which flows of the square loss end by default
_SEPARATED = 30.0  # accuracy at which flows of the other losses end by default
_SLACK = 1e-13  # subtracted from log times: k steps of size η take the time kη only up to round-off


@dataclass(frozen=True)
class Goal:
    """The marks and the end of a flow, in terms of a gauge: the level of a state or, if timed, its log time.

    end: value of the gauge at which the flow ends. marks: values to record, mapped to the requested accuracy
    or time; None for an overview. beyond: a requested accuracy that is impossible for these data. free: no
    accuracy or time was requested, and the flow may come to rest.
    """

    end: float
    marks: dict[float, float] | None = None
    timed: bool = False
    beyond: float | None = None
    free: bool = False

    def reached(self, fit: Fitting) -> str:
        """The reason for a flow that went to the end."""
        if self.timed and self.marks:
            return f"reached time {max(self.marks.values()):.6g}"
        if self.beyond is not None:
            return (
                f"accuracy {self.beyond:.6g} is impossible: these data cannot be fitted, and the accuracy of "
                f"every predictor is below {fit.max_accuracy:.6g} (a relative residual of {fit.unfitted:.3g})"
            )
        if self.free and fit.unfitted > 0:
            return (
                "at rest: these data cannot be fitted, and least squares leaves a relative residual of "
                f"{fit.unfitted:.3g} (accuracy {fit.max_accuracy:.6g})"
            )
        return f"reached accuracy {fit.accuracy(self.end):.6g}"


def goal_of(until: Any, at: Any, times: Any, level: float, fit: Fitting) -> Goal:
    """The goal given by `until`, `at` and `times`, checked against the level at the start."""
    if times is not None:
        if until is not None or at is not None:
            raise InputError("give either times, or accuracies (at, until), not both")
        return _timed(times)
    start = fit.accuracy(level)
    accuracies = None if at is None else increasing(at, "at", "accuracies")
    if accuracies is not None:
        _check_reachable(float(accuracies[0]), "at", start, fit)
    if until is not None:
        until = float(as_floats(until, "until", ndim=(0,)))
        _check_reachable(until, "until", start, fit)
        if accuracies is not None and accuracies[-1] > until:
            raise InputError(
                f"at has accuracy {accuracies[-1]:g}, which is beyond until={until:g}; omit until"
            )
    if accuracies is None:
        return Goal(_rest(level, fit), free=True) if until is None else _accurate([until], None, level, fit)
    wanted = accuracies.tolist()
    if until is not None and until > wanted[-1]:
        wanted.append(until)
    return _accurate(wanted, wanted, level, fit)


def _timed(times: Any) -> Goal:
    times = increasing(times, "times", "times")
    if times[0] < 0:
        raise InputError(f"times must not be negative, got {times[0]:g}; the flow starts at time 0")
    logs = [math.log(time) - _SLACK if time > 0 else -math.inf for time in times.tolist()]
    return Goal(logs[-1], dict(zip(logs, times.tolist(), strict=True)), timed=True)


def _accurate(wanted: list[float], record: list[float] | None, level: float, fit: Fitting) -> Goal:
    """The goal of these accuracies; impossible ones are left out of the marks and reported."""
    levels = [fit.level(accuracy) for accuracy in wanted]
    beyond = wanted[-1] if levels[-1] == math.inf else None
    reached = [level for level in levels if level < math.inf]
    end = levels[-1] if beyond is None else max([_rest(level, fit), *reached])
    marks = None if record is None else dict(zip(levels, wanted, strict=True))
    if marks is not None:
        marks.pop(math.inf, None)
    return Goal(end, marks, beyond=beyond)


def _rest(level: float, fit: Fitting) -> float:
    """The default level at which a flow ends, given the level at its start."""
    problem = fit.problem
    if problem.loss.relative:
        return max(_SEPARATED, level + 1.0)
    gain = -2 * math.log(_FITTED * problem.rtol)
    zero = float(problem.loss.accuracy(np.zeros_like(problem.y), problem.y))  # infinite if y = 0
    return gain + (zero if math.isfinite(zero) else level)


def increasing(values: Any, name: str, what: str) -> Float:
    """Convert to an array; raise unless there is at least one value and all increase."""
    found = np.atleast_1d(as_floats(values, name, ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) <= 0).any():
        raise InputError(f"{name} must be increasing {what}, at least one")
    return found


def _check_reachable(accuracy: float, name: str, start: float, fit: Fitting) -> None:
    if accuracy < start - 1e-12 * abs(start):
        raise InputError(
            f"{name} has accuracy {accuracy:.6g}, but the flow starts at {start + 0.0:.6g} and only "
            f"increases (accuracy is −log of the {fit.problem.loss.name})"
        )
