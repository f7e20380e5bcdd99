"""What a solver of X w = y hands back."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.data import Float
from tacit.numerics.pairs import Pair


@dataclass(frozen=True, eq=False)
class Solution:
    """Predictor and multipliers, with the number of factorizations spent and whether the method settled.

    error: an estimate of the relative forward error of the predictor, in the ℓ2 norm.
    """

    predictor: Float
    nu: Pair | Float
    iterations: int
    settled: bool
    error: float
