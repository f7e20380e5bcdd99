"""Integrate a differential equation of the raw weights with SciPy, with a bounded number of evaluations."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float

# Of the velocity. Well-scaled problems need some 1,000; features in extreme units make the equation so stiff
# that LSODA would not terminate.
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
                f"the simulation of the raw weights is incomplete after {_EVALUATIONS:,} evaluations; "
                "rescale features and targets to sizes near 1"
            )
        return velocity(time, weights)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # LSODA repeats its status and message as a warning
        run = solve_ivp(counted, (0, end), start, "LSODA", rtol=rtol, atol=atol)
    if not (run.success and np.isfinite(run.y[:, -1]).all()):
        raise tacit.NotConvergedError(f"the simulation of the raw weights failed: {run.message}")
    return np.asarray(run.y[:, -1])
