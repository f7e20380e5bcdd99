r"""At which power of the width the distance to least norm falls, for every α of Theorem 2 of Min et al. 2021.

The figures of the paper have α = ½. Theorem 2 bounds the distance by a multiple of h^{½−2α}, ¼ < α ≤ ½, and
that is the power which is seen: ‖U₂V(∞)ᵀ‖ is about ‖U₂V(0)ᵀ‖, a product of almost orthogonal rows. For α < ½
this takes an imbalance, of the order of h^{1−2α}, that is not small beside ‖Θ̂‖.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.theorems.arguments import ParameterError, whole
from tacit.theorems.min2021.network import LOSS, Split, linear_network, power_of, split
from tacit.theorems.registry import Assumption, Bound, Parts, theorem
from tacit.theorems.woodworth2020.wide import gaussian_factor

_DRAWS = 2  # of starts that are almost the same at every width: their exponents hardly vary
_LEFT, _RTOL = 1e-4, 1e-6  # of ‖E(0)‖ at the end of a flow, and its accuracy: a distance to 1e-3
_SLACK = 0.1  # of the exponent: what is above leading order in the width makes less than half of it


@theorem(
    "min2021/rate",
    "U, V ~ N(0, h^{−2α}), ¼ < α ≤ ½: the distance ‖U(∞)V(∞)ᵀ − Θ̂‖ falls like h^{½−2α}.",
    flows=6,
)
def rate(
    model: Any,
    X: Any,
    y: Any,
    alpha: float = 0.375,
    widths: tuple[int, ...] = (500, 2000, 8000),
    seed: int = 0,
) -> Parts:
    """The power of the width in Theorem 2; the model gives numbers of features and outputs alone.

    widths, seed: of the Gaussian networks whose distance is fitted; its root mean square over two draws,
    which are narrow factors of them (`gaussian_factor`).
    """
    power, tried, first = power_of(alpha), _increasing(widths), _whole(seed, "seed", 0)
    yield (setting := linear_network(model))
    if not setting.holds:
        return
    parts = split(model, X, y)
    unseen = (len(parts.basis) - len(parts.sizes)) * model.outputs
    yield Assumption("there are directions that the samples do not see", unseen > 0)
    if not unseen:
        return
    level, size = tried[0] ** (1 - 2 * power), float(np.linalg.norm(parts.solution, 2))
    calm = power == 0.5 or size <= level
    yield Assumption(f"‖Θ̂‖₂ = {size:.4g} is at most h^(1−2α) = {level:.4g}, or α = ½", calm)
    if not calm:
        return
    spread = [[_distance(parts, X, y, h, power, [first, draw]) for draw in range(_DRAWS)] for h in tried]
    arrived = all(settled for row in spread for _, settled in row)
    yield Assumption("the flows reach the least loss", arrived)
    distances = [math.sqrt(np.mean([square for square, _ in row])) for row in spread]
    yield Bound(
        f"power of the width by which it falls, fitted from {tried[0]} to {tried[-1]}, α = {power:g}",
        float(np.polyfit(np.log(tried), np.log(distances), 1)[0]),
        at_most=0.5 - 2 * power + _SLACK,
        at_least=0.5 - 2 * power - _SLACK,
    )


def _distance(parts: Split, X: Any, y: Any, width: int, power: float, seed: list[int]) -> tuple[float, bool]:
    """‖U(∞)V(∞)ᵀ − Θ̂‖_F² of one draw, and whether its flow has arrived."""
    features, rows = len(parts.basis), len(parts.basis) + len(parts.outer)
    Z = gaussian_factor(rows, width, np.random.default_rng(seed)) * width ** (0.5 - power)
    drawn = tacit.LinearNetwork(Z[:features], Z[features:])
    error = float(np.linalg.norm(split(drawn, X, y).error))
    until = math.log(2) - 2 * math.log(_LEFT * error)
    flow = tacit.flow(drawn, parts.inputs, parts.targets, loss=LOSS, at=[until], rtol=_RTOL)
    end = np.asarray(flow.predictor[-1]).reshape(features, -1)
    return float(np.sum((end - parts.basis @ (parts.basis.T @ end)) ** 2)), bool(flow.converged)


def _increasing(widths: Any) -> list[int]:
    """At least two increasing widths."""
    found = [_whole(each, "widths", 1) for each in np.atleast_1d(widths).tolist()]
    if len(found) < 2 or found != sorted(set(found)):
        raise ParameterError(f"widths must be at least two increasing whole numbers, got {widths!r}")
    return found


def _whole(value: Any, name: str, least: int) -> int:
    """A whole number, as the command line gives it too: 500.0."""
    return whole(int(value) if isinstance(value, float) and value.is_integer() else value, name, least)
