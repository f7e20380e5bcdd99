r"""An estimate of the time and memory that a derivation will take.

For small maps JAX's compilation of derivatives dominates, in proportion to the time that compiling the
brackets takes. For large maps these dominate: brackets of the gradient fields, for all pairs or p + 32 random
combinations at every point; tensors of the metric, d³ numbers each, unless the brackets vanish; and the
search for conserved polynomials, a singular value decomposition in the p(p+3)/2 monomials of each block of
parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.derivation.closure import commutators
from tacit.derivation.metric import metric_bytes, torsion
from tacit.derivation.polynomials import (
    EQUATIONS_PER_UNKNOWN,
    MAX_COEFFICIENTS,
    parameter_blocks,
    unknowns,
)
from tacit.derivation.smooth_map import MEMORY, Jets, checked_model
from tacit.derivation.span import ZERO

_LARGE_P, _LARGE_D = 40, 6  # parameters and features above which the cost is announced
_FLOPS = 4e9  # operations per second of one core in singular value decompositions
# Time for compilation: seconds, and a multiple of that for the brackets; depends on whether these vanish.
_COMPILATION = {True: (1.4, 2.0), False: (2.2, 3.6)}
_FLOW = 400  # evaluations on an orbit, or along a flow
_NEARBY = 3  # points near θ₀ at which the metric is measured as well
_ELSEWHERE = 30  # points off the orbit at which brackets are computed
_BASE = 300_000_000  # bytes of Python, NumPy and JAX


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and bytes, within a small factor; verdict: without the search for polynomials."""

    parameters: int
    features: int
    verdict: float
    polynomials: float
    memory: int

    @property
    def seconds(self) -> float:
        """The total time."""
        return self.verdict + self.polynomials

    @property
    def large(self) -> bool:
        """Is the map so large that the cost should be announced?"""
        return self.parameters > _LARGE_P or self.features > _LARGE_D

    def __str__(self) -> str:
        return (
            f"{self.parameters} parameters to {self.features} features: about {self.verdict:.0f} s to a "
            f"verdict and {self.polynomials:.0f} s for conserved polynomials, {self.memory / 1e9:.1g} GB"
        )


def cost(parametrization: Callable[[Any], Any], theta0: Any, *, samples: int = 8) -> Cost:
    """Estimate the cost of `derive` from the time of one evaluation and one set of brackets."""
    _, known, start = checked_model(parametrization, theta0, samples)
    p, d = len(start), len(known.value(start))
    jets = Jets(known.function, known.layout, known.single)  # a new one, to measure the compilation
    compilation, brackets = _timed(lambda: commutators(jets, start, 1.0))
    call = _timed(lambda: jets.slopes(start))[1]
    vanish = bool(commutators(jets, start, 1.0).max() <= ZERO)
    constant, factor = _COMPILATION[vanish]
    verdict = constant + factor * compilation + (samples + _ELSEWHERE) * brackets + 2 * samples * _FLOW * call
    measured = metric_bytes(p, d) <= MEMORY
    if measured and d > _LARGE_P:
        directions = 1 if vanish else d
        verdict += directions * (samples + _NEARBY) * _timed(lambda: jets(torsion, start))[1]
    blocks = parameter_blocks(jets, start, 1.0)
    largest = max(map(unknowns, blocks))
    searched = largest <= MAX_COEFFICIENTS
    flops = sum((4 * EQUATIONS_PER_UNKNOWN + 8) * unknowns(n) ** 3 for n in blocks)
    evaluations = 3 * _FLOW + EQUATIONS_PER_UNKNOWN * largest
    polynomials = flops / _FLOPS + evaluations * call if searched else 0.0
    arrays = 8 * (7 * EQUATIONS_PER_UNKNOWN * largest**2 * searched + 4 * samples * d * p)
    return Cost(p, d, verdict, polynomials, int(arrays + measured * metric_bytes(p, d)) + _BASE)


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds of two calls: the excess of the first, which compiles, and the second."""
    times = []
    for _ in range(2):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return max(times[0] - times[1], 0.0), times[1]
