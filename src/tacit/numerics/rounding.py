"""Constants of double precision, array types, and a context that silences floating-point warnings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Index = NDArray[np.intp]
EPS = float(np.finfo(np.float64).eps)
ROUNDOFF = EPS / 2  # largest relative error of one rounding
TINY = 1e-300  # keeps quotients and logarithms finite; far below every number that matters
LEAST_NORMAL = float(np.finfo(np.float64).tiny)  # smaller numbers are subnormal, with fewer digits

# For code in which underflow to 0 and overflow to ∞ are correct results.
quiet = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
