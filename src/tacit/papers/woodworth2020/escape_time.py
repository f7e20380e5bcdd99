r"""How long a diagonal network stays near the saddle w = 0, Woodworth et al. 2020, Section 4.

"Taking α → 0 will likely increase the time needed to escape the vicinity of zero." Under L = ½‖Xβ − y‖² no
residual is longer than ‖y‖, so that |Xᵀ∫r|ᵢ ≤ ‖Xᵢ‖‖y‖t for the columns Xᵢ, and with equations 17 and 57

    |βᵢ(t)| ≤ α^D·h_D(c_D·‖Xᵢ‖‖y‖·t),      c₂ = 4, h₂ = 2 sinh,      c_D = α^{D−2}D(D−2).

Until Σ‖Xᵢ‖|βᵢ| is (1 − 1/√2)‖y‖ the loss cannot have halved. On the other hand ∇Q(β)' = −c_D·Xᵀr makes the
divergence D_Q(β*, β) of an interpolating β* fall at the rate c_D‖r‖², from Q(β*) at the start. As long as the
loss has not halved that is c_D‖y‖²/2 at least, so that it has after the time 2Q(β*)/(c_D‖y‖²), for β* the
limit. As α → 0 the first bound is log(1/α²) at depth 2 and α^{2−D} beyond, but for a factor, and so is the
second, for Q is log(1/α²)‖β‖₁ or ‖β‖₁. How near they are to these ends tells how near a scale is to 0.
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
_FIRST = math.log(1e-2)  # log of the largest α^D looked at, in units of ‖y‖/max‖Xᵢ‖
_SMALLER = 1.5  # by which this logarithm is multiplied until both bounds grow as in the end
_BELOW = math.log(1e-2)  # from one scale to the next beyond depth 2
_SMALLEST = math.log(1e-250)  # such a scale, that floats can follow
_FITTED = 1e-6  # relative residual below which data can be fitted
_SLACK = 0.1  # relative, by which bounds may be off their ends, and growth then off its power


@dataclass(frozen=True, eq=False)
class Escape:
    """How long flows of a depth need to halve the loss, by the size of their start: log_scale is log α^D."""

    X: Float
    y: Float
    depth: float

    @property
    def log_unit(self) -> float:
        """Of a coefficient that fits y alone, ‖y‖/max‖Xᵢ‖."""
        return math.log(float(np.linalg.norm(self.y)) / float(np.linalg.norm(self.X, axis=0).max()))

    def model(self, log_scale: float) -> tacit.Diagonal:
        """The network of this scale."""
        return tacit.Diagonal(depth=self.depth, log_scale=log_scale / self.depth)

    def least(self, log_scale: float) -> float:
        """The time before which the loss cannot have halved."""
        return waiting_time(self.X, self.y, self.depth, log_scale / self.depth)

    def most(self, log_scale: float) -> tuple[float, float]:
        """The time after which it has, and the part of it that it is when Q is as in the end."""
        limit = tacit.limit(self.model(log_scale), self.X, self.y)
        size = float(self.y @ self.y) * math.exp(self._log_rate(log_scale))
        end = float(np.abs(limit.predictor).sum()) * self._growth(log_scale)
        return 2 * float(limit.value) / size, float(limit.value) / end

    def halved(self, log_scale: float) -> tuple[float, bool]:
        """The time in which the loss halves, and whether it does."""
        half = math.log(4) - 2 * math.log(float(np.linalg.norm(self.y)))
        flow = tacit.flow(self.model(log_scale), self.X, self.y, loss=_LOSS, at=[half])
        return float(flow.time[-1]), bool(flow.converged)

    def scales(self) -> list[float]:
        """Three scales at which both bounds grow as they do in the end, each smaller than the last."""
        relative = _FIRST
        while relative > _SMALLEST and self._off(relative + self.log_unit) > _SLACK:
            relative *= _SMALLER
        steps = (relative, 3 * relative) if self.depth == 2 else (_BELOW, 2 * _BELOW)
        return [relative + step + self.log_unit for step in (0.0, *steps)]

    def reaches(self, scales: list[float]) -> bool:
        """Can floats follow the flows of these scales, and are they small enough?"""
        followed = self.depth == 2 or scales[-1] - self.log_unit >= _SMALLEST
        return followed and self._off(scales[0]) <= _SLACK

    def _off(self, log_scale: float) -> float:
        """By what part the bounds are off what they are as α → 0, the larger."""
        size = float(np.linalg.norm(self.y)) ** 2 * math.exp(self._log_rate(log_scale) - self.log_unit)
        least = self.least(log_scale) * size / self._growth(log_scale)
        return max(abs(least - 1), abs(self.most(log_scale)[1] - 1))

    def _growth(self, log_scale: float) -> float:
        """log(1/α²) at depth 2, in the unit of coefficients; c_D has the rest beyond."""
        return self.log_unit - log_scale if self.depth == 2 else 1.0

    def _log_rate(self, log_scale: float) -> float:
        return _log_rate(self.depth, log_scale / self.depth)


def _log_rate(depth: float, log_alpha: float) -> float:
    """log c_D."""
    return math.log(4) if depth == 2 else math.log(depth * (depth - 2)) + (depth - 2) * log_alpha


def waiting_time(X: Float, y: Float, depth: float, log_alpha: float) -> float:
    """The time before which the loss ½‖Xβ − y‖² cannot have halved."""
    columns = np.linalg.norm(X, axis=0)
    size = float(np.linalg.norm(y))
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
    log_z = high if missing(high) < 0 else crossing(missing, -700.0, high, xtol=1e-12)
    return math.exp(log_z - _log_rate(depth, log_alpha) - math.log(largest * size))


@theorem("woodworth2020/escape-time", flows=6, about=("Section 4, optimization",))
def escape_time(model: Any, X: Any, y: Any) -> Parts:
    """The time in which the loss halves is at least that of |βᵢ| ≤ α^D·h_D(c_D‖Xᵢ‖‖y‖t), at most
    2Q(β(∞))/(c_D‖y‖²), and grows like log(1/α²) as α → 0 at depth 2, like α^{2−D} beyond.

    Section 4, before Theorem 1 (general case), at three small scales; the model gives the depth.
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
    text = f"floats reach the scales at which the power of depth {model.depth:g} is seen"
    yield Premise(text, escape.reaches(scales))
    times, settled = zip(*map(escape.halved, scales), strict=True)
    yield Premise("the flows halve the loss", all(settled))
    shares = max(escape.least(scale) / time for scale, time in zip(scales, times, strict=True))
    yield Bound("least time over the time to half the loss, the largest", shares, at_most=1.0)
    shares = max(time / escape.most(scale)[0] for scale, time in zip(scales, times, strict=True))
    yield Bound("time to half the loss over the most it can take, the largest", shares, at_most=1.0)
    yield _growth(model.depth, scales, times)


def _growth(depth: float, scales: list[float], times: tuple[float, ...]) -> Bound:
    """How times grow as scales fall, against what they do in the end."""
    if depth == 2:
        growth = (times[2] - times[1]) / (times[1] - times[0]) * (scales[1] - scales[0])
        growth /= scales[2] - scales[1]
        text, expected = "growth of the time per factor of α², from one scale to the next", 1.0
    else:
        growth = math.log(times[2] / times[1]) / (scales[1] - scales[2]) * depth
        text, expected = "power of 1/α by which the time grows", depth - 2
    room = expected * _SLACK
    return Bound(text, growth, at_least=expected - room, at_most=expected + room)
