"""The rounding of floats."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)
