"""How potentials take arrays: anything NumPy understands, or arrays of JAX, in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

# Under- and overflow are answers here (0 and ∞), not accidents.
quiet = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")


def as_array(values: Any) -> tuple[Any, Any]:
    """The values as a floating array, and its namespace."""
    if not is_array_api_obj(values) or isinstance(values, (np.ndarray, np.generic)):
        values = np.asarray(values, dtype=np.float64)
    return array_namespace(values), values
