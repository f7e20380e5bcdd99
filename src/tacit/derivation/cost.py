r"""What a derivation will cost, said before it is begun.

Three things grow with the size of θ and w: brackets of the gradient fields, d·n of them for a Lie algebra of
dimension n ≤ p at every sampled point; the tensors of the metric, d³ numbers; and the search for conserved
polynomials, a singular value decomposition in all p(p+3)/2 monomials.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.derivation.closure import Level
from tacit.derivation.conserved import MOST, ROOM
from tacit.derivation.smooth_map import checked_model

LARGE_P, LARGE_D = 40, 6  # beyond which a cost is worth saying
_FLOPS = 4e9  # of a core, in singular value decompositions
_COMPILED = 4.0  # seconds for what JAX compiles, of a map of some lines
_FLOW = 400  # evaluations on an orbit, or along a flow


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes, within a factor of some; verdict: without the search for conserved polynomials."""

    parameters: int
    features: int
    verdict: float
    polynomials: float
    memory: int

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.verdict + self.polynomials

    @property
    def large(self) -> bool:
        """Is it worth saying?"""
        return self.parameters > LARGE_P or self.features > LARGE_D

    def __str__(self) -> str:
        size = f"{self.parameters} parameters to {self.features} features"
        times = (
            f"about {self.verdict:.0f} s to a verdict and {self.polynomials:.0f} s for conserved polynomials"
        )
        return f"{size}: {times}, {self.memory / 1e9:.1g} GB"


def cost(parametrization: Callable[[Any], Any], theta0: Any, *, samples: int = 8) -> Cost:
    """What `derive` of the same arguments will take, from the time of one call and one set of brackets."""
    _, jets, start = checked_model(parametrization, theta0)
    p, d = len(start), len(jets.value(start))
    call = _timed(lambda: jets.slopes(start))
    brackets = _timed(lambda: jets(Level(()), start))
    verdict = _COMPILED + samples * (brackets * max(1.0, min(p, 2 * d) / d) + 2 * _FLOW * call)
    unknowns = p + p * (p + 1) // 2
    searched = unknowns <= MOST
    rows = ROOM * unknowns + p
    flops = 4 * rows * unknowns**2 + 8 * unknowns**3
    polynomials = flops / _FLOPS + 3 * _FLOW * call if searched else 0.0
    arrays = 8 * (7 * rows * unknowns * searched + 4 * d * d * p + d**3)
    return Cost(p, d, verdict, polynomials, int(arrays) + 300_000_000)


def _timed(work: Callable[[], Any]) -> float:
    """Seconds of a call that is not the first: that one compiles."""
    work()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
