r"""How long a diagonal network stays near the saddle w = 0, Woodworth et al. 2020, Section 4.

"Taking α → 0 will likely increase the time needed to escape the vicinity of zero." Under L = ½‖Xβ − y‖² no
residual is longer than ‖y‖, so that |Xᵀ∫r|ᵢ ≤ ‖Xᵢ‖‖y‖t for the columns Xᵢ, and with equations 17 and 57

    |βᵢ(t)| ≤ α^D·h_D(c_D·‖Xᵢ‖‖y‖·t),      c₂ = 4, h₂ = 2 sinh,      c_D = α^{D−2}D(D−2).

Until Σ‖Xᵢ‖|βᵢ| is (1 − 1/√2)‖y‖ the loss cannot have halved. This time grows like log(1/α²) at depth 2 and
like α^{2−D} beyond, and so does the one that is seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.theorems.moroshko2020.separation import log_mirror, plain_diagonal
from tacit.theorems.registry import Assumption, Bound, Parts, theorem

_LOSS = tacit.losses.Square("half-sum")
_SCALES = (1e-2, 1e-4, 1e-6)  # α^D in units of ‖y‖/max‖Xᵢ‖, at depth 2 and from depth 3 on
_SMALLEST = 1e-250  # such a scale, that floats can follow
_FITTED = 1e-6  # relative residual below which data can be fitted
_SLACK = 0.25  # relative, of exponents and increments: what is not yet asymptotic at these scales


def waiting_time(X: Float, y: Float, depth: float, log_alpha: float) -> float:
    """The time before which the loss ½‖Xβ − y‖² cannot have halved."""
    columns = np.linalg.norm(X, axis=0)
    size = float(np.linalg.norm(y))
    log_rate = math.log(4) if depth == 2 else math.log(depth * (depth - 2)) + (depth - 2) * log_alpha
    log_needed = math.log((1 - math.sqrt(0.5)) * size)
    columns = columns[columns > 0]
    largest = float(columns.max())

    def missing(log_z: float) -> float:
        """log of Σ‖Xᵢ‖|βᵢ| over what is needed, where the largest argument of h_D is exp(log_z)."""
        z = np.exp(log_z) * columns / largest
        return (
            float(np.logaddexp.reduce(np.log(columns) + depth * log_alpha + log_mirror(z, depth)))
            - log_needed
        )

    high = -1e-14 if depth > 2 else math.log(700.0)
    log_z = high if missing(high) < 0 else float(brentq(missing, -700.0, high, xtol=1e-12))
    return math.exp(log_z - log_rate - math.log(largest * size))


def scales_of(depth: float) -> list[float]:
    """α^D at which the time grows as it does in the end, in units of ‖y‖/max‖Xᵢ‖.

    α^{D−2}t is a constant less (α^D)^{1−2/D} and smaller terms. Below depth 3 the scales are those at which
    this is what it is at depth 3; 0 where they are below all floats.
    """
    power = 1.0 if depth == 2 else max(1.0, 1 / (3 * (1 - 2 / depth)))
    return [math.exp(max(power * math.log(scale), -1e3)) for scale in _SCALES]


@theorem(
    "woodworth2020/escape-time",
    "The time in which the loss halves is at least that of |βᵢ| ≤ α^D·h_D(c_D‖Xᵢ‖‖y‖t), and grows like "
    "log(1/α²) as α → 0 at depth 2, like α^{2−D} beyond.",
    flows=6,
)
def escape_time(model: Any, X: Any, y: Any) -> Parts:
    """Section 4, before Theorem 1 (general case), at three small scales; the model gives the depth."""
    yield (setting := plain_diagonal(model))
    if not setting.holds:
        return
    X, y = check_problem(X, y)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(X @ least - y))
    yield Assumption("some w has Xw = y, and y is not zero", size > 0 and missing <= _FITTED * size)
    if size == 0 or missing > _FITTED * size:
        return
    unit = size / float(np.linalg.norm(X, axis=0).max())  # of a coefficient that fits y alone
    D = model.depth
    scales = scales_of(D)
    text = f"floats reach the scales at which the power of depth {D:g} is seen"
    yield (small := Assumption(text, scales[-1] >= _SMALLEST))
    if not small.holds:
        return
    logs = [math.log(scale * unit) / D for scale in scales]
    times, settled = zip(*(_halved(D, each, X, y) for each in logs), strict=True)
    yield Assumption("the flows halve the loss", all(settled))
    if not all(settled):
        return
    shares = np.array([waiting_time(X, y, D, each) for each in logs]) / np.array(times)
    yield Bound("least time over the time to half the loss, the largest", float(shares.max()), at_most=1.0)
    if D == 2:
        growth = (times[2] - times[1]) / (times[1] - times[0])
        text, expected = "growth of the time per factor of α², from one scale to the next", 1.0
    else:
        growth = math.log(times[2] / times[1]) / (logs[1] - logs[2])
        text, expected = "power of 1/α by which the time grows", D - 2
    yield Bound(text, float(growth), at_least=expected * (1 - _SLACK), at_most=expected * (1 + _SLACK))


def _halved(depth: float, log_scale: float, X: Float, y: Float) -> tuple[float, bool]:
    """The time in which the loss halves, and whether it does."""
    model = tacit.Diagonal(depth=depth, log_scale=log_scale)
    half = math.log(4) - 2 * math.log(float(np.linalg.norm(y)))
    flow = tacit.flow(model, X, y, loss=_LOSS, at=[half])
    return float(flow.time[-1]), bool(flow.converged)
