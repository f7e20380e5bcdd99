"""Array conversion for potentials: NumPy and JAX arrays keep their library, anything else becomes NumPy."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np
from array_api_compat import is_array_api_obj

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.numerics.rounding import quiet as quiet


def array_namespace(values: Any) -> Any:
    """The array-API namespace of an array, with a fast path for NumPy arrays."""
    return np if type(values) is np.ndarray else array_api_compat.array_namespace(values)


def as_array(values: Any) -> tuple[Any, Any]:
    """The array-API namespace of the values, and the values as a floating-point array."""
    if not is_array_api_obj(values) or isinstance(values, (np.ndarray, np.generic)):
        values = np.asarray(values, dtype=np.float64)
    return array_namespace(values), values


def parameter(value: Any, name: str, *, positive: bool = False) -> Any:
    """Validate a parameter of a potential: a number, or one number per coordinate, as floats.

    Arrays of other libraries (traced JAX arrays, for example) are returned unchanged.
    """
    if is_array_api_obj(value) and not isinstance(value, (np.ndarray, np.generic)):
        return value
    array = as_floats(value, name, ndim=(0, 1))
    if positive and not (array > 0).all():
        raise InputError(f"{name} must be positive, got {array.min()}")
    return float(array) if array.ndim == 0 else array.copy()
