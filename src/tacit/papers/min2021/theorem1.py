"""Theorem 1 of Min et al. 2021: the loss falls at the rate of the imbalance, at the least.

Errata
------
### Theorem 1: which λ_r, and how tight
λ_r(Σ_x) is the square of the smallest nonzero singular value of X; no 1/n divides it, and the factor 2 in
the rate is tight (targets 0 and equal singular values attain it). The proof writes λ_n for λ_r. In 200
random runs, more samples than the rank and fewer hidden units than r + m among them, the bound was never
broken (largest share 0.99992). `test_no_number_of_samples_divides_the_rate`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers import Bound, Parts, Premise, theorem
from tacit.papers.arguments import ParameterError
from tacit.papers.min2021.network import (
    LOSS,
    RTOL,
    Split,
    guaranteed_rate,
    imbalance_level,
    linear_network,
    rounding,
    split,
)

_INSTANTS = 121  # of the flow that are looked at, evenly in the logarithm of log(L(0) − L*)/(L − L*)
_EARLY = 1e-3  # the first of these
_NOISE = 5.0  # times the rounding of E: the absolute accuracy of E along a flow of that rtol


@theorem("min2021/theorem1", flows=2)
def theorem1(model: Any, X: Any, y: Any, down_to: float = 1e-12) -> Parts:
    """L(t) − L* ≤ exp(−2λ_r(Σ_x)ct)·(L(0) − L*), c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊, for L = ½‖Y − XUVᵀ‖².

    Printed: The proof has λ_n(Σ_x) for λ_r(Σ_x), the smallest that is not 0.

    Theorem 1, equation 10, until L − L* is down_to of what it was.

    The bound holds where the share 2λ_r(Σ_x)ct / log((L(0) − L*)/(L − L*)) is at most 1, and the proof gives
    the rate at every instant too. The factor 2 is tight: where the targets are 0 and X has equal singular
    values, a network of width r + m or more tends to U₁Vᵀ = 0. There c = λ_r(U₁U₁ᵀ) + λ_m(VVᵀ), and the
    slowest part of E falls at just the guaranteed rate.
    """
    yield linear_network(model)
    if not (isinstance(down_to, (int, float, np.number)) and 0 < down_to < 0.9):
        raise ParameterError(f"down_to must lie between 0 and 0.9, got {down_to!r}")
    parts = split(model, X, y)
    moving = bool(np.linalg.norm(parts.error) > rounding(parts))
    yield Premise("the loss is above its minimum at the start", moving)
    level, rate = imbalance_level(model, X), guaranteed_rate(model, X)
    fall, time = _fall(model, parts, np.geomspace(_EARLY, -math.log(down_to), _INSTANTS))
    if level > 0 and len(fall) < _INSTANTS:
        raise tacit.NotConvergedError(f"the flow of {model!r} ended early; no bound can be checked")
    yield Bound(
        f"2λ_r(Σ_x)ct over log((L(0) − L*)/(L − L*)), the largest on the way, with c = {level:.4g}",
        float(np.max(rate * time / fall, initial=0.0)),
        at_most=1.0,
    )
    if len(fall) == _INSTANTS:
        left = math.sqrt(down_to) * float(np.linalg.norm(parts.error))
        yield Bound(
            "rate at which L − L* falls at the end, against 2λ_r(Σ_x)c less the accuracy of the flow there",
            float((fall[-1] - fall[-2]) / (time[-1] - time[-2])),
            at_least=rate * max(1 - _NOISE * rounding(parts) / left, 0.0),
        )


def _fall(model: tacit.LinearNetwork, parts: Split, falls: Float) -> tuple[Float, Float]:
    """log((L(0) − L*)/(L − L*)), as asked for where the flow gets there, and the time."""
    start = math.log(2) - 2 * math.log(float(np.linalg.norm(parts.error)))
    flow = tacit.flow(model, parts.inputs, parts.targets, loss=LOSS, at=start + falls, rtol=RTOL)
    return flow.accuracy - start, flow.time
