r"""State evolution: the risk of limits on Gaussian features, compared with simulated data sets."""

from __future__ import annotations

from typing import Any

import tacit
from tacit.papers import Bound, Parts, theorem

# Bias at finite sizes: 1 to 5% were measured for N between 40 and 320; twice the largest is allowed.
_BIAS = 0.10
_ERRORS = 4  # standard errors of the mean of simulated risks


@theorem("practice/state-evolution", about=("State evolution",), flows=40, shell=None)
def state_evolution(
    model: Any, signal: Any, noise: Any, sample_size: Any, draws: int = 40, seed: int = 0
) -> Parts:
    """The mean of ‖w − signal‖² over Gaussian data sets is the R of state evolution, up to a few percent.

    τ² = (σ² + R)/N, R = Σ E(η(β*_j + τZ) − β*_j)², Σ E η' = N, η = (I + cq')⁻¹.
    """
    found = tacit.risk(model, signal, noise, sample_size, draws=draws, seed=seed)
    bias, error = found.bias
    text = "distance of the mean from the prediction, relative"
    yield Bound(text, abs(bias), at_most=_BIAS + _ERRORS * error)
