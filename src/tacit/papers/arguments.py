"""What theorems and figures take: numbers checked, scales as logarithms, and results that have arrived."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

import tacit
from tacit.data.arrays import Float

_METHODS = ("auto", "parameters")


Found = TypeVar("Found")


class ParameterError(tacit.InputError):
    """A parameter of a theorem is not what it should be, whatever the data are."""


def positive(value: Any, name: str) -> float:
    """The number, if it is one and positive."""
    if not (isinstance(value, (int, float, np.number)) and 0 < value < math.inf):
        raise ParameterError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def whole(value: Any, name: str, least: int) -> int:
    """The number, if it is a whole one from `least` on."""
    if not (isinstance(value, (int, np.integer)) and value >= least):
        raise ParameterError(f"{name} must be a whole number from {least} on, got {value!r}")
    return int(value)


def arrived(found: Found, otherwise: str) -> Found:
    """A limit, margin, path or flow that has converged; NotConvergedError with these words if it has not."""
    if not np.all(found.converged):  # type: ignore[attr-defined]
        raise tacit.NotConvergedError(otherwise)
    return found


def log_alpha(model: tacit.Diagonal) -> float:
    """The logarithm of the initial weights."""
    return math.log(model.scale) if model.log_scale is None else float(model.log_scale)


def check_method(method: Any) -> None:
    """Refuse what is no way to follow a flow here."""
    if method not in _METHODS:
        raise ParameterError(f"method must be {' or '.join(map(repr, _METHODS))}, got {method!r}")


def increasing(scales: Any) -> Float:
    """Two scales or more, each larger than the last."""
    message = f"scales must be at least two increasing positive numbers, got {scales!r}"
    try:
        numbers = np.asarray(scales, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(message) from None
    usable = numbers.ndim == 1 and len(numbers) > 1 and np.isfinite(numbers).all()
    if not (usable and numbers[0] > 0 and (np.diff(numbers) > 0).all()):
        raise ParameterError(message)
    return numbers
