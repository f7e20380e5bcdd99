"""Raw weights under an equation of motion of their own, integrated by SciPy within a bounded effort."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float

# Of the velocity. Well-scaled problems need some 1,000; features in extreme units are so stiff that LSODA
# would go on for ever.
_EVALUATIONS = 20_000


def simulated(
    velocity: Callable[[float, Float], Float], end: float, start: Float, rtol: float, atol: float
) -> Float:
    """The weights at a time. Raises `NotConvergedError` if the integration fails or takes too long."""
    evaluations = 0

    def counted(time: float, weights: Float) -> Float:
        nonlocal evaluations
        evaluations += 1
        if evaluations > _EVALUATIONS:
            raise tacit.NotConvergedError(
                f"the simulation of the raw weights has not ended after {_EVALUATIONS:,} evaluations; "
                "rescale features and targets to sizes near 1"
            )
        return velocity(time, weights)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # LSODA warns of what its status and message say, too
        run = solve_ivp(counted, (0, end), start, "LSODA", rtol=rtol, atol=atol)
    if not (run.success and np.isfinite(run.y[:, -1]).all()):
        raise tacit.NotConvergedError(f"the simulation of the raw weights failed: {run.message}")
    return np.asarray(run.y[:, -1])
