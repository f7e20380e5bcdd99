r"""The mirror map of a diagonal network, updated along a flow without cancellation.

In mirror space the flow is ∇Q(w(t)) = ∇Q(w(0)) + Xᵀν(t), with N unknowns ν instead of all weights. Besides
the slope s = ∂q of every coordinate, its distances 1 − s and 1 + s from the ends of its domain (depth above
2) are stored, and each is updated by increments. At small scales these distances fall far below the round-off
of s, so recomputing them from ν would give only noise. The functions here are therefore written in terms of
the distances; formulas in terms of the rapidity are in `tacit.potentials.rapidity`.

Underflow and overflow are valid results: call these functions with floating-point warnings silenced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Premise
from tacit.models.model import MirrorForm
from tacit.models.parametrizations import Weights
from tacit.numerics.rounding import EPS
from tacit.potentials import rapidity

MIRROR = Premise("mirror form of the same potential Q", uses_potential=True)

_WHOLE = (2.0, 3.0)  # powers p of depths 4 and 3, for which h is a rational function
_TAME = 200.0  # |log m| up to which fourth powers of m, and of the distances that occur, do not overflow
_LOG_LARGEST = 709.0  # logarithm of the largest double
_LINEAR = 150.0  # log m above which the flow is linear, since predictors are negligible (`within_floats`)
_MANY = 2000  # coordinates from which on sinh by one exponential is faster than NumPy's sinh
_CENTRAL = 0.5  # |s| below which s is more accurate than its distances to the ends
_LEAST = EPS  # a/b below which 1 + a/b = 1

_SMALL = 0.5  # |s| below which eˢ − e⁻ˢ cancels; the series to s¹³ is accurate to double precision there
_SERIES = [1 / math.factorial(k) for k in range(13, 0, -2)]

# Stagnation of a flow.
_STRETCH = 512  # steps between two checks; a jump at a scale of 1e-300 takes about 1,000 steps at most
_SLOW = 0.1  # relative advance of the clock per stretch up to which the stretch counts as slow
_SLOWEST = 1e-3  # relative advance of the clock per stretch up to which the flow stagnates
_PATIENCE = 10  # number of slow stretches allowed; flows that reach their goal have at most 3
_IDLE = 5  # successive stretches without a change that count as stagnation; no plateau takes as many steps
_MOVED = 0.1  # change of log residual, log loss or log distance per stretch that is not noise


def within_floats(form: MirrorForm) -> MirrorForm:
    """Replace a predictor scale m near overflow by a smaller one with the same flow.

    Beyond m = 10¹³⁰ the tangent kernel is constant to 100 digits and predictors are 2pm·s, so that only the
    product m·ν matters: dividing m and multiplying ν and time by the same number leaves the flow unchanged.
    """
    shift = float(form.log_scale.min()) - _LINEAR
    if shift <= _LINEAR or form.start.any():
        return form

    def lift(u: Float) -> Weights:
        return form.lift(u * np.exp(-shift))

    return replace(form, log_scale=form.log_scale - shift, log_speed=form.log_speed + shift, lift=lift)


@dataclass(frozen=True, eq=False)
class MirrorMap:
    """Coordinates w = m·h(s) with log m = log_scale, power p = D/(D−2), at the slopes reached so far."""

    power: float
    log_scale: Float
    slope: Float
    below: Float  # 1 − s
    above: Float  # 1 + s

    @classmethod
    def at(cls, power: float, log_scale: Float, u: Float) -> MirrorMap:
        """The map at rapidities u."""
        slope = rapidity.slope(np, u, power)
        if power == math.inf:
            return cls(power, log_scale, slope, slope, slope)
        near, far = rapidity.slack(np, np.abs(u), power), 1 + np.abs(slope)
        return cls(power, log_scale, slope, np.where(u > 0, near, far), np.where(u > 0, far, near))

    @classmethod
    def of(cls, form: MirrorForm) -> Any:
        """The map at the start of a flow: this class, or the form's own class with the same methods."""
        own = form.own_map()
        return cls.at(form.power, form.log_scale, form.start) if own is None else own

    @cached_property
    def _plain(self) -> bool:
        """Depth 2 with a scale such that intermediate results overflow only if the predictor does."""
        return self.power == math.inf and bool((np.abs(self.log_scale) < 300).all())

    @cached_property
    def _whole(self) -> int:
        """p if it is 2 or 3 and products with m neither overflow nor underflow; else 0."""
        tame = self.power in _WHOLE and bool((np.abs(self.log_scale) < _TAME).all())
        return int(self.power) if tame else 0

    def moved(self, change: Float, floor: float = 0.0) -> MirrorMap:
        """The map after this change of the slopes, which may have leading axes.

        Outside the domain the predictor is NaN; with a floor, the distances to the ends are kept above that
        fraction of their current values.
        """
        if self.power == math.inf:
            slope = self.slope + change
            return replace(self, slope=slope, below=slope, above=slope)
        if floor:
            part = 1 - floor
            change = np.minimum(np.maximum(change, -part * self.above), part * self.below)
        slope = self.slope + change
        return replace(self, slope=slope, below=self.below - change, above=self.above + change)

    def reached(self, change: Float, floor: float) -> Float:
        """The predictor of `moved`, with fewer operations at depths 3 and 4."""
        if not self._whole:
            return self.moved(change, floor).predictor
        below = np.maximum(self.below - change, floor * self.below)
        product = below * np.maximum(self.above + change, floor * self.above)
        w: Float = self._twice * self._sum(product) * (self.slope + change) / product**self._whole
        return w

    @cached_property
    def _twice(self) -> Float:
        return 2 * np.exp(self.log_scale)

    @cached_property
    def _exp(self) -> Float:
        """eˢ at depth 2."""
        return np.exp(self.slope)

    def __getitem__(self, place: int) -> MirrorMap:
        """The map at one of several slopes."""
        return replace(self, slope=self.slope[place], below=self.below[place], above=self.above[place])

    def inside(self) -> bool:
        """Whether every slope is inside its domain."""
        inside = np.isfinite(self.slope) if self.power == math.inf else self.distance > 0
        return bool(inside.all())

    @cached_property
    def distance(self) -> Float:
        """a = 1 − |s|, of slopes with ends."""
        return np.minimum(self.below, self.above)

    @cached_property
    def _leading_term(self) -> Float:
        """m·a^{−p}, computed from s where s is small and from the distance a elsewhere.

        At small s, a^{−p} amplifies the round-off of a by p (2·10⁷ at depth 2 + 10⁻⁷). Elsewhere, logarithms
        are less accurate: log m for m = 10⁻¹⁵⁰ has a round-off of 4·10⁻¹⁴.
        """
        size = np.abs(self.slope)
        central = size < _CENTRAL
        gap = np.where(self.distance > 0, self.distance, np.nan)
        far = (gap * np.exp(np.minimum(-self.log_scale / self.power, _LOG_LARGEST))) ** -self.power
        if not central.any():
            return np.asarray(far)
        near = np.log1p(-np.where(central, size, 0.0))
        return np.where(central, np.exp(self.log_scale - self.power * near), far)

    @cached_property
    def _ratio(self) -> Float:
        """a/b − 1 = −2|s|/b with b = 1 + |s|, bounded below so that a/b ≥ ε."""
        return np.maximum(-2 * np.abs(self.slope) / np.maximum(self.below, self.above), _LEAST - 1)

    @cached_property
    def _ratio_power(self) -> Float:
        """(a/b)^p − 1."""
        return np.expm1(self.power * np.log1p(self._ratio))

    @cached_property
    def rapidity(self) -> Float:
        """u at the slopes."""
        if self.power == math.inf:
            return self.slope
        central = np.abs(self.slope) < _CENTRAL
        inner = np.arctanh(np.where(central, self.slope, 0.0))
        return self.power * np.where(central, inner, 0.5 * np.log(self.above / self.below))

    @cached_property
    def predictor(self) -> Float:
        """w: m·((1−s)^{−p} − (1+s)^{−p}) as m·a^{−p}·(1 − (a/b)^p); 2m·sinh(s) at depth 2."""
        if self._plain:
            many = self.slope.size > _MANY
            return self._twice * (sinh(self.slope, self._exp) if many else np.sinh(self.slope))
        if self.power == math.inf:
            size = rapidity.log_predictor(np, np.abs(self.slope), self.power) + self.log_scale
            return np.copysign(np.exp(size), self.slope)
        if self._whole:
            return self._twice * self._sum(self._product) * self.slope / self._product**self._whole
        return np.copysign(self._leading_term * -self._ratio_power, self.slope)

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds: m·p·a^{−p−1}·(1 + (a/b)^{p+1}); √(4m² + w²) at depth 2."""
        if self._plain:
            if self.slope.size > _MANY:
                return self._twice * cosh(self._exp)
            return np.hypot(self._twice, self.predictor)
        if self.power == math.inf:
            return np.exp(rapidity.log_stiffness(np, self.slope, self.power) + self.log_scale)
        if self._whole:
            p, (a, b) = self._whole, (self.below, self.above)
            return p * np.exp(self.log_scale) * (a ** (p + 1) + b ** (p + 1)) / self._product ** (p + 1)
        size = self.power * self._leading_term / self.distance
        return np.asarray(size * (1 + (1 + self._ratio_power) * (1 + self._ratio)))

    @cached_property
    def _product(self) -> Float:
        """(1 − s)(1 + s), NaN beyond the domain."""
        return np.where(self.distance > 0, self.below * self.above, np.nan)

    def _sum(self, product: Float) -> Float | float:
        """(b^p − a^p)/(b − a) for a = 1 − s and b = 1 + s with this product: 2, or 4 − ab."""
        return 2.0 if self._whole == 2 else 4 - product

    @cached_property
    def rapidity_rate(self) -> Float:
        """du/ds."""
        return np.ones_like(self.slope) if self.power == math.inf else self.power / self._product

    def farthest(self) -> float:
        """The largest |u|."""
        if self.power == math.inf:
            return float(np.abs(self.slope).max())
        largest, least = float(np.abs(self.slope).max()), float(self.distance.min())
        return self.power * (math.atanh(largest) if largest < _CENTRAL else 0.5 * math.log(2 / least - 1))

    def rounding(self) -> Float:
        """Round-off of the slopes, or of their distances to the ends, in units of ε."""
        sizes = np.abs(self.slope)
        return sizes if self.power == math.inf else np.minimum(sizes, self.distance)


def at_an_end(here: MirrorMap) -> bool:
    """Whether a slope is closer to an end of its domain than its round-off (steps become tiny)."""
    return here.power < math.inf and bool(here.distance.min() < EPS)


def fast_map(form: MirrorForm) -> MirrorMap:
    """The map of a form at its start, with a single scale if all coordinates share it."""
    log_scale = form.log_scale[:1] if (form.log_scale == form.log_scale[0]).all() else form.log_scale
    return MirrorMap.at(form.power, log_scale, form.start)


def sinh(s: Float, exp_s: Float) -> Float:
    """sinh s, given eˢ, with full relative accuracy also for small s.

    NumPy's sinh takes several times as long as its exp on most processors, and would dominate the cost of
    flows of depth 2.
    """
    squares = np.minimum(s * s, _SMALL**2)
    near = squares * _SERIES[0]
    for factor in _SERIES[1:-1]:
        near += factor
        near *= squares
    near += 1.0
    near *= s
    return np.where(np.abs(s) < _SMALL, near, 0.5 * (exp_s - 1 / exp_s))


def cosh(exp_s: Float) -> Float:
    """cosh s, given eˢ."""
    return 0.5 * (exp_s + 1 / exp_s)


@dataclass
class Pace:
    """Detects that neither the clock, nor the residual or loss, nor a slope's distance to its end changes.

    Round-off moves slopes by 1e-16 of the change of ν. Once a slope is closer to the end of its domain than
    that, steps are as short as its distance, and the flow cannot reach its next transition.
    """

    last: tuple[float, float, float] | None = None
    count: int = 0
    slow: int = 0
    idle: int = 0

    def stagnates(self, clock: float, progress: Callable[[], tuple[float, float] | None]) -> bool:
        """Whether too little has changed in the last stretch, or in many of them; call it after each step.

        progress: gives the log of a residual or of the loss, and a slope's distance from its end; None if no
        slope is at an end. With steps of constant size the clock advances by 1/k in the k-th stretch, so that
        an early stagnation is noticed only after several slow stretches.
        """
        self.count += 1
        found = None if self.count % _STRETCH else progress()
        if found is None:
            return False
        before, now = self.last, (clock, found[0], math.log(found[1]))
        self.last = now
        if before is None:
            return False
        if max(abs(now[1] - before[1]), abs(now[2] - before[2])) > _MOVED:
            self.idle = 0
            return False
        self.idle += 1
        gained = (now[0] - before[0]) / before[0]
        self.slow += gained <= _SLOW
        return gained <= _SLOWEST or self.slow > _PATIENCE or self.idle >= _IDLE
