"""Validation of the parameters of theorems and figures, and of the convergence of the results they use."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

import tacit
from tacit.data.arrays import Float

_METHODS = ("auto", "parameters")

Found = TypeVar("Found")


class ParameterError(tacit.InputError):
    """A parameter of a theorem is invalid for any data."""


def positive(value: Any, name: str) -> float:
    """Return the value as a float; raise ParameterError if it is not a positive finite number."""
    if not (isinstance(value, (int, float, np.number)) and 0 < value < math.inf):
        raise ParameterError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def between(value: Any, name: str, low: float, high: float) -> float:
    """Return the value as a float; raise ParameterError if it does not lie between two numbers."""
    if not (isinstance(value, (int, float, np.number)) and low < value < high):
        raise ParameterError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
    return float(value)


def whole(value: Any, name: str, least: int) -> int:
    """Return the value as an int; raise ParameterError if it is not an integer of at least `least`."""
    if not (isinstance(value, (int, np.integer)) and value >= least):
        raise ParameterError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def arrived(found: Found, otherwise: str) -> Found:
    """Return a limit, margin, path or flow, or raise NotConvergedError if it did not converge."""
    if not np.all(found.converged):  # type: ignore[attr-defined]
        raise tacit.NotConvergedError(otherwise)
    return found


def log_alpha(model: tacit.Diagonal) -> float:
    """Return the logarithm of the initial weights, log α."""
    return math.log(model.scale) if model.log_scale is None else float(model.log_scale)


def check_method(method: Any) -> None:
    """Raise ParameterError unless the method of the simulated flow is "auto" or "parameters"."""
    if method not in _METHODS:
        raise ParameterError(f"method must be {' or '.join(map(repr, _METHODS))}, got {method!r}")


def increasing(scales: Any) -> Float:
    """Return the scales as an array; raise ParameterError unless they are positive and increasing."""
    message = f"scales must be at least two increasing positive numbers, got {scales!r}"
    try:
        numbers = np.asarray(scales, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(message) from None
    usable = numbers.ndim == 1 and len(numbers) > 1 and np.isfinite(numbers).all()
    if not (usable and numbers[0] > 0 and (np.diff(numbers) > 0).all()):
        raise ParameterError(message)
    return numbers
