"""What a solver of X w = y hands back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.results.limit import Estimate

Assess = Callable[[], float]


def none() -> float:
    """The error of a solution that has none."""
    return 0.0


def unknown() -> float:
    """The error of a predictor that is no solution."""
    return math.inf


class Assessed:
    """What comes with an estimate of its error, made when asked for: it costs about a step of Newton."""

    assess: Assess

    @cached_property
    def estimate(self) -> Estimate:
        """The same, for results to keep."""
        return Estimate(self.assess)

    @property
    def error(self) -> float:
        """An estimate of the relative forward error of the predictor, in the ℓ2 norm."""
        return self.estimate.value


@dataclass(frozen=True, eq=False)
class Solution(Assessed):
    """Predictor and multipliers, with the number of factorizations spent and whether the method settled."""

    predictor: Float
    nu: Pair
    iterations: int
    settled: bool
    assess: Assess


@dataclass(frozen=True, eq=False)
class Found:
    """A predictor of largest margin; lists: what else is known of the set of solutions (see `Margin`)."""

    predictor: Float
    intercept: float
    dual: Float
    unique: bool | None
    error: float
    settled: bool = True
    lists: dict[str, Any] = field(default_factory=dict)
