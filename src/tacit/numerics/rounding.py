"""The floats that everything is computed in: their rounding, and arrays of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Index = NDArray[np.intp]
EPS = float(np.finfo(np.float64).eps)

# Under- and overflow are answers where this stands (0 and ∞), not accidents.
quiet = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
