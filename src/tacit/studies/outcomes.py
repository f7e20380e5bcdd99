"""The outcome of the function of a study at a point: numbers, text and arrays by name, or an error."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.parallel.transport import unpacked
from tacit.studies.points import Values
from tacit.studies.versions import check_versions

ERRORS = "errors"  # the variable of the data set that holds errors
# Errors that depend on the machine and not on the point: resuming evaluates these points again.
_OF_MACHINE = (MemoryError, OSError, ImportError)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The values at a point, or the type and message of the exception that was raised there.

    kept: whether it is put in the store; an error that depends on the machine is not.
    """

    values: dict[str, np.ndarray]
    seconds: float
    error: str = ""
    kept: bool = True


def evaluate(
    function: Any, versions: dict[str, str], points: Sequence[tuple[Values, int | None]], attempt: int
) -> tuple[float, list[Outcome]]:
    """The total time and the outcomes at some points; this runs in a worker.

    function: packed for another process, or unchanged. attempt: distinguishes repeated calls, because
    executors may remember failures of equal calls.
    """
    check_versions(versions)
    function = unpacked(function) if isinstance(function, bytes) else function
    begun = time.perf_counter()
    found = [outcome_at(function, point, seed) for point, seed in points]
    return time.perf_counter() - begun, found


def outcome_at(function: Any, point: Values, seed: int | None) -> Outcome:
    """Call the function at a point; an exception becomes part of the outcome."""
    begun = time.perf_counter()
    given = point if seed is None or "seed" in point else {**point, "seed": seed}
    try:
        values = as_values(function(**given), point)
    except Exception as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Outcome({}, time.perf_counter() - begun, text, not isinstance(error, _OF_MACHINE))
    return Outcome(values, time.perf_counter() - begun)


def as_values(found: Any, point: Values) -> dict[str, np.ndarray]:
    """The returned dictionary as arrays of numbers; text is allowed as a single value."""
    if not isinstance(found, Mapping) or not found:
        raise InputError(f"the function must return a dict of numbers or arrays, got {found!r:.80}")
    values = {}
    for name, value in found.items():
        array = np.asarray(value)
        if not isinstance(name, str) or name in (*point, ERRORS) or not name or name.startswith("_"):
            raise InputError(f"the function returned {name!r}, which cannot be the name of a variable here")
        if array.dtype.kind not in "biuf" and not (array.dtype.kind == "U" and array.ndim == 0):
            raise InputError(f"{name} must be a number, text or an array of numbers, got {value!r:.80}")
        if array.dtype.itemsize > 8 and array.dtype.kind == "f":
            raise InputError(f"{name} has more digits than float64 ({array.dtype})")
        values[name] = array
    return values
