r"""What a derivation will cost, said before it is begun.

Small maps cost what JAX takes to compile their derivatives, in proportion to what it takes for the brackets.
Large ones cost brackets of the gradient fields, all pairs or p + 32 random ones at every point; tensors of
the metric, d³ numbers each, unless the brackets vanish; and the search for conserved polynomials, a singular
value decomposition in the p(p+3)/2 monomials of each block of parameters. No bracket is differentiated again:
what those of two fields do not span is asked of fields that flows carry along.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.derivation.closure import commutators
from tacit.derivation.metric import metric_bytes, torsion
from tacit.derivation.polynomials import MOST, ROOM, parameter_blocks, unknowns
from tacit.derivation.smooth_map import MEMORY, Jets, checked_model
from tacit.derivation.span import ZERO

LARGE_P, LARGE_D = 40, 6  # beyond which a cost is worth saying
_FLOPS = 4e9  # of a core, in singular value decompositions
_COMPILED = {True: (1.4, 2.0), False: (2.2, 3.6)}  # s, and times the brackets; by whether all of them vanish
_FLOW = 400  # evaluations on an orbit, or along a flow
_NEARBY = 3  # points near θ₀ at which the metric is measured besides
_ELSEWHERE = 30  # points off the orbit at which brackets are formed
_BASE = 300_000_000  # bytes of Python, NumPy and JAX


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
    _, known, start = checked_model(parametrization, theta0, samples)
    p, d = len(start), len(known.value(start))
    jets = Jets(known.function, known.layout, known.single)  # of which nothing is compiled yet
    compiled, brackets = _timed(lambda: commutators(jets, start, 1.0))
    call = _timed(lambda: jets.slopes(start))[1]
    vanish = bool(commutators(jets, start, 1.0).max() <= ZERO)
    constant, factor = _COMPILED[vanish]
    verdict = constant + factor * compiled + (samples + _ELSEWHERE) * brackets + 2 * samples * _FLOW * call
    fits = metric_bytes(p, d) <= MEMORY
    if fits and d > LARGE_P:
        verdict += (1 if vanish else d) * (samples + _NEARBY) * _timed(lambda: jets(torsion, start))[1]
    blocks = parameter_blocks(jets, start, 1.0)
    largest = max(map(unknowns, blocks))
    searched = largest <= MOST
    flops = sum(4 * ROOM * unknowns(n) ** 3 + 8 * unknowns(n) ** 3 for n in blocks)
    polynomials = flops / _FLOPS + (3 * _FLOW + ROOM * largest) * call if searched else 0.0
    arrays = 8 * (7 * ROOM * largest**2 * searched + 4 * samples * d * p) + fits * metric_bytes(p, d)
    return Cost(p, d, verdict, polynomials, int(arrays) + _BASE)


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a core: what a first call takes longer than a second, as it compiles, and the second."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return max(times[0] - times[1], 0.0), times[1]
