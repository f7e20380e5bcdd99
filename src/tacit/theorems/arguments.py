"""What theorems take: numbers checked, and scales as logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit


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


def log_alpha(model: tacit.Diagonal) -> float:
    """The logarithm of the initial weights."""
    return math.log(model.scale) if model.log_scale is None else float(model.log_scale)
