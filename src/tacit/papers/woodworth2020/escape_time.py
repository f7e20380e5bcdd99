r"""The time that a diagonal network stays near the saddle w = 0, Woodworth et al. 2020, Section 4.

"Taking α → 0 will likely increase the time needed to escape the vicinity of zero." Under L = ½‖Xβ − y‖² the
residual never exceeds ‖y‖. Hence |Xᵀ∫r|ᵢ ≤ ‖Xᵢ‖‖y‖t for the columns Xᵢ, and by equations 17 and 57

    |βᵢ(t)| ≤ α^D·h_D(c_D·‖Xᵢ‖‖y‖·t),      c₂ = 4, h₂ = 2 sinh,      c_D = α^{D−2}D(D−2).

The loss cannot have halved before Σ‖Xᵢ‖|βᵢ| reaches (1 − 1/√2)‖y‖. This is the lower bound of the time. For
the upper bound, ∇Q(β)' = −c_D·Xᵀr implies that the divergence D_Q(β*, β) of an interpolating β* decreases at
the rate c_D‖r‖², from Q(β*) at initialization. Until the loss has halved, this rate is at least c_D‖y‖²/2, so
the loss halves within the time 2Q(β*)/(c_D‖y‖²), where β* is the limit. As α → 0 the lower bound is
proportional to log(1/α²) at depth 2 and to α^{2−D} for D > 2. So is the upper bound, since Q tends to
log(1/α²)‖β‖₁ or ‖β‖₁. The distance of both bounds from this asymptotic form tells whether a scale is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.numerics.roots import crossing
from tacit.papers import Bound, Parts, Premise, theorem
from tacit.papers.moroshko2020.separation import log_mirror, plain_diagonal

_LOSS = tacit.losses.Square("half-sum")

# Scales are log α^D in units of ‖y‖/max‖Xᵢ‖, the size of a coefficient that fits y alone.
_FIRST = math.log(1e-2)  # the largest scale
_FACTOR = 1.5  # multiplies the logarithm of the scale until both bounds are asymptotic
_STEP = math.log(1e-2)  # from one scale to the next above depth 2
_SMALLEST = math.log(1e-250)  # the smallest scale that can be simulated in double precision
_FITTED = 1e-6  # relative residual below which the data count as fitted
_SLACK = 0.1  # relative distance of the bounds from their asymptotic form, and of the growth from its power


@dataclass(frozen=True, eq=False)
class Escape:
    """Times in which flows of a given depth halve the loss, as functions of log_scale = log α^D."""

    X: Float
    y: Float
    depth: float

    @property
    def log_unit(self) -> float:
        """log ‖y‖/max‖Xᵢ‖, the size of a coefficient that fits y alone."""
        return math.log(float(np.linalg.norm(self.y)) / float(np.linalg.norm(self.X, axis=0).max()))

    def model(self, log_scale: float) -> tacit.Diagonal:
        """The network of this scale."""
        return tacit.Diagonal(depth=self.depth, log_scale=log_scale / self.depth)

    def lower_bound(self, log_scale: float) -> float:
        """A time before which the loss cannot have halved."""
        return waiting_time(self.X, self.y, self.depth, log_scale / self.depth)

    def upper_bound(self, log_scale: float) -> tuple[float, float]:
        """A time after which the loss has halved, and the ratio of Q to its asymptotic form."""
        limit = tacit.limit(self.model(log_scale), self.X, self.y)
        size = float(self.y @ self.y) * math.exp(self._log_rate(log_scale))
        end = float(np.abs(limit.predictor).sum()) * self._growth(log_scale)
        return 2 * float(limit.value) / size, float(limit.value) / end

    def halved(self, log_scale: float) -> tuple[float, bool]:
        """The time in which the simulated flow halves the loss, and whether it does."""
        half = math.log(4) - 2 * math.log(float(np.linalg.norm(self.y)))
        flow = tacit.flow(self.model(log_scale), self.X, self.y, loss=_LOSS, at=[half])
        return float(flow.time[-1]), bool(flow.converged)

    def scales(self) -> list[float]:
        """Three decreasing scales at which both bounds are close to their asymptotic form."""
        relative = _FIRST
        while relative > _SMALLEST and self._deviation(relative + self.log_unit) > _SLACK:
            relative *= _FACTOR
        steps = (relative, 3 * relative) if self.depth == 2 else (_STEP, 2 * _STEP)
        return [relative + step + self.log_unit for step in (0.0, *steps)]

    def resolves(self, scales: list[float]) -> bool:
        """Are the scales small enough, but large enough for double precision?"""
        simulated = self.depth == 2 or scales[-1] - self.log_unit >= _SMALLEST
        return simulated and self._deviation(scales[0]) <= _SLACK

    def _deviation(self, log_scale: float) -> float:
        """The larger relative distance of the two bounds from their asymptotic form as α → 0."""
        size = float(np.linalg.norm(self.y)) ** 2 * math.exp(self._log_rate(log_scale) - self.log_unit)
        least = self.lower_bound(log_scale) * size / self._growth(log_scale)
        return max(abs(least - 1), abs(self.upper_bound(log_scale)[1] - 1))

    def _growth(self, log_scale: float) -> float:
        """The growth of Q as α → 0: log(1/α²) at depth 2; 1 above, where c_D contains the power of α."""
        return self.log_unit - log_scale if self.depth == 2 else 1.0

    def _log_rate(self, log_scale: float) -> float:
        return _log_rate(self.depth, log_scale / self.depth)


def _log_rate(depth: float, log_alpha: float) -> float:
    """log c_D."""
    return math.log(4) if depth == 2 else math.log(depth * (depth - 2)) + (depth - 2) * log_alpha


def waiting_time(X: Float, y: Float, depth: float, log_alpha: float) -> float:
    """A time before which the loss ½‖Xβ − y‖² cannot have halved."""
    columns = np.linalg.norm(X, axis=0)
    size = float(np.linalg.norm(y))
    log_needed = math.log((1 - math.sqrt(0.5)) * size)
    columns = columns[columns > 0]
    largest = float(columns.max())

    def missing(log_z: float) -> float:
        """log of Σ‖Xᵢ‖|βᵢ| relative to its required value, if the largest argument of h_D is exp(log_z)."""
        z = np.exp(log_z) * columns / largest
        return (
            float(np.logaddexp.reduce(np.log(columns) + depth * log_alpha + log_mirror(z, depth)))
            - log_needed
        )

    high = -1e-14 if depth > 2 else math.log(700.0)
    log_z = high if missing(high) < 0 else crossing(missing, -700.0, high, xtol=1e-12)
    return math.exp(log_z - _log_rate(depth, log_alpha) - math.log(largest * size))


@theorem("woodworth2020/escape-time", flows=6, about=("Section 4, optimization",))
def escape_time(model: Any, X: Any, y: Any) -> Parts:
    """The time in which the loss halves is at least that of |βᵢ| ≤ α^D·h_D(c_D‖Xᵢ‖‖y‖t), at most
    2Q(β(∞))/(c_D‖y‖²), and grows like log(1/α²) as α → 0 at depth 2, like α^{2−D} beyond.

    Section 4, before Theorem 1, at three small scales; the model gives the depth.
    """
    yield plain_diagonal(model)
    X, y = check_problem(X, y)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(X @ least - y))
    yield Premise("the targets are not zero", size > 0)
    fits = missing <= _FITTED * size
    yield Premise(f"some w has Xw = y (best relative residual: {missing / size:.2g})", fits)
    escape = Escape(X, y, model.depth)
    scales = escape.scales()
    text = f"double precision resolves the scales at which depth {model.depth:g} grows like its power"
    yield Premise(text, escape.resolves(scales))
    times, halved = zip(*map(escape.halved, scales), strict=True)
    yield Premise("the flows halve the loss", all(halved))
    ratio = max(escape.lower_bound(scale) / time for scale, time in zip(scales, times, strict=True))
    yield Bound("lower bound over the time in which the loss halves, the largest ratio", ratio, at_most=1.0)
    ratio = max(time / escape.upper_bound(scale)[0] for scale, time in zip(scales, times, strict=True))
    yield Bound("time in which the loss halves over its upper bound, the largest ratio", ratio, at_most=1.0)
    yield _growth(model.depth, scales, times)


def _growth(depth: float, scales: list[float], times: tuple[float, ...]) -> Bound:
    """The growth of times as the scale decreases, compared with the asymptotic growth."""
    if depth == 2:
        growth = (times[2] - times[1]) / (times[1] - times[0]) * (scales[1] - scales[0])
        growth /= scales[2] - scales[1]
        text, expected = "growth of the time per factor of α², from one scale to the next", 1.0
    else:
        growth = math.log(times[2] / times[1]) / (scales[1] - scales[2]) * depth
        text, expected = "power of 1/α by which the time grows", depth - 2
    slack = expected * _SLACK
    return Bound(text, growth, at_least=expected - slack, at_most=expected + slack)
