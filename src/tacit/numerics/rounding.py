"""Machine epsilon, array types, and a context that silences floating-point warnings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Index = NDArray[np.intp]
EPS = float(np.finfo(np.float64).eps)

# For code in which underflow to 0 and overflow to ∞ are correct results.
quiet = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
