"""Compare the transition of limits between both regimes with training the raw weights.

Limits and flows in mirror space use the same potential, so a wrong potential would affect both. Gradient flow
on the weights themselves does not use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.numerics.roots import crossing


def level_at(measure: Callable[[float], float], value: float, lowest: float, highest: float) -> float:
    """Find the level between lowest and highest at which a measure crosses a value; NaN if it does not.

    Levels are logarithms of scales. They are found to 1e-9, far below the resolution of the claims.
    """
    above = np.array([measure(lowest), measure(highest)]) - value
    if not np.isfinite(above).all() or above.prod() >= 0:
        return math.nan
    return crossing(lambda level: measure(level) - value, lowest, highest, xtol=1e-9)


def trained(model: Any, X: Float, y: Float) -> Float:
    """Return the limit of gradient flow on the raw weights, for the square loss; NaN without convergence."""
    flow = tacit.flow(model, X, y, method="parameters")
    return np.asarray(flow.predictor[-1]) if flow.converged else np.full(X.shape[1], np.nan)


def farthest(values: Float, target: float = 1.0) -> float:
    """Return the value that is farthest from the target; NaN if a value is NaN or there is none."""
    return float(values[np.argmax(np.abs(values - target))]) if values.size else math.nan
