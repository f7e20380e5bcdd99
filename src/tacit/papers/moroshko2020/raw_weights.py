"""Flows that figures show against flows of the raw weights, which do not use the potential.

The former are integrated in mirror space, whose metric is made from the same potential as the paths and
margins they are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, at_most

# γ̃ from which on and up to which they are compared, the first over α^D: before, predictors are differences
# of weights that have hardly moved, and are rounded as these are; afterwards little depends on the scale.
_FIRST, _LAST = 1e-2, 1e6


def middle(scales: Sequence[float]) -> int:
    """The place of the scale that is nearest to 1, where flows are between the regimes."""
    return int(np.argmin(np.abs(np.log(scales))))


def off_raw_weights(depth: float, scale: float, rows: Float, accuracy: Float, shown: Float) -> float:
    """The largest distance of directions of the flow of α^D = scale to those of its raw weights.

    accuracy: where; shown: the predictors there. NaN where the raw weights do not get there.
    """
    seen = (accuracy >= _FIRST * scale) & (accuracy <= _LAST)
    run = raw_weights(depth, scale, rows, accuracy[seen])
    if not run.converged:
        return np.nan
    first, second = (w / np.linalg.norm(w, axis=1, keepdims=True) for w in (shown[seen], run.predictor))
    return float(np.linalg.norm(first - second, axis=1).max())


def raw_weights(depth: float, scale: float, rows: Float, accuracy: Float) -> tacit.Trajectory:
    """Gradient flow on the exponential loss that integrates every weight, at these accuracies."""
    model = tacit.Diagonal(depth=depth, log_scale=np.log(scale) / depth)
    return tacit.flow(model, rows, np.ones(len(rows)), loss="exp", at=accuracy, method="parameters")


def raw_weights_claim(data: xr.Dataset) -> Claim:
    """Scale and clock of what is shown are those of the weights."""
    return at_most(1e-6, "a hundred times what integrators leave").claim(
        "at the scale nearest to 1 raw weights go the same way (largest distance at the same accuracy)",
        data.off_raw_weights.max(skipna=False),
    )
