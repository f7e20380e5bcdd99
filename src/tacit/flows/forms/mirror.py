r"""The mirror map of a diagonal network, followed without losing digits.

In mirror space the flow is ∇Q(w(t)) = ∇Q(w(0)) + Xᵀν(t): N unknowns ν instead of all the weights. The slope
s = ∂q of every coordinate is carried along the flow together with its distances 1 − s and 1 + s from the
ends of its domain (depth above 2), each updated by increments. Recomputed from ν, those distances would be
noise at small scales, where they fall far below the rounding of s itself. Hence the formulas of h in these
distances; those in the rapidity are in `tacit.potentials.geometry`.

Under- and overflow are answers here: call these functions where NumPy is told to be quiet about them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Premise
from tacit.models.model import MirrorForm
from tacit.models.parametrizations import Weights
from tacit.numerics import hyperbolic
from tacit.numerics.rounding import EPS
from tacit.potentials import rapidity

MIRROR = Premise("mirror form of the same potential Q", uses_potential=True)
_WHOLE = (2.0, 3.0)  # powers of depths 4 and 3
_TAME = 200.0  # logarithms of scales whose fourth powers are floats, and those of slopes that belong to them
_LOG_LARGEST = 709.0  # whose exponential is a float
_LINEAR = 150.0  # log m, twice which is beyond what may be squared, and beside which no predictor is anything
_MANY = 2000  # slopes, from which on one exponential takes less time than NumPy's own sinh
_CENTRAL = 0.5  # slopes below which they have more digits than their distances to the ends
_SQUARED = 300.0  # logarithms of scales that are floats, with their products
_SMALL_SLOPE = 1e-6  # slopes below which e^s − e^{−s} would lose more digits than eight
_LEAST = EPS  # of a/b, below which it is nothing beside 1


def within_floats(form: MirrorForm) -> MirrorForm:
    """The same flow from a smaller start, where predictor scales m themselves leave the range of floats.

    Beyond m = 10¹³⁰ the tangent kernel is constant to 100 digits and predictors are 2pm·s, so that only the
    product of m and ν counts: m may be divided by any number by which ν and time are multiplied.
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
        """The map at the start of a flow: this one, or one of its own that has the same methods."""
        own = form.own_map()
        return cls.at(form.power, form.log_scale, form.start) if own is None else own

    @cached_property
    def _plain(self) -> bool:
        """Does nothing leave the range of floats before the predictor itself does?"""
        return self.power == math.inf and bool((np.abs(self.log_scale) < 300).all())

    @cached_property
    def _whole(self) -> int:
        """p, where it is a whole number and m of a size that products do not lose; else 0."""
        tame = self.power in _WHOLE and bool((np.abs(self.log_scale) < _TAME).all())
        return int(self.power) if tame else 0

    def moved(self, change: Float, floor: float = 0.0) -> MirrorMap:
        """The map after the slopes changed by this much, which may have more axes in front.

        Beyond the domain the predictor is NaN; with a floor, the distance to the ends never falls below that
        fraction of what it is now.
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
        """The predictor of `moved`, in one pass where there is one."""
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
    def _grown(self) -> Float:
        """eˢ at depth 2."""
        return np.exp(self.slope)

    def __getitem__(self, place: int) -> MirrorMap:
        """The map at one of several slopes."""
        return replace(self, slope=self.slope[place], below=self.below[place], above=self.above[place])

    def inside(self) -> bool:
        """Is every slope inside its domain?"""
        inside = np.isfinite(self.slope) if self.power == math.inf else self.distance > 0
        return bool(inside.all())

    @cached_property
    def distance(self) -> Float:
        """a = 1 − |s|, of slopes with ends."""
        return np.minimum(self.below, self.above)

    @cached_property
    def _grown_by(self) -> Float:
        """m·a^{−p}, to the digits of a slope where it is small, and to those of its distance elsewhere.

        At small slopes a itself would not do: at depth 2 + 10⁻⁷ a^{−p} has p = 2·10⁷ times its round-off. Nor
        would logarithms elsewhere: that of m = 10⁻¹⁵⁰ has a round-off of 4·10⁻¹⁴.
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
        """a/b − 1 = −2|s|/b with b = 1 + |s|, where a/b counts beside 1."""
        return np.maximum(-2 * np.abs(self.slope) / np.maximum(self.below, self.above), _LEAST - 1)

    @cached_property
    def _shrunk(self) -> Float:
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
            return self._twice * (hyperbolic.sinh(self.slope, self._grown) if many else np.sinh(self.slope))
        if self.power == math.inf:
            size = rapidity.log_predictor(np, np.abs(self.slope), self.power) + self.log_scale
            return np.copysign(np.exp(size), self.slope)
        if self._whole:
            return self._twice * self._sum(self._product) * self.slope / self._product**self._whole
        return np.copysign(self._grown_by * -self._shrunk, self.slope)

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds: m·p·a^{−p−1}·(1 + (a/b)^{p+1}); √(4m² + w²) at depth 2."""
        if self._plain:
            many = self.slope.size > _MANY
            return (
                self._twice * hyperbolic.cosh(self._grown) if many else np.hypot(self._twice, self.predictor)
            )
        if self.power == math.inf:
            return np.exp(rapidity.log_stiffness(np, self.slope, self.power) + self.log_scale)
        if self._whole:
            p, (a, b) = self._whole, (self.below, self.above)
            return p * np.exp(self.log_scale) * (a ** (p + 1) + b ** (p + 1)) / self._product ** (p + 1)
        size = self.power * self._grown_by / self.distance
        return np.asarray(size * (1 + (1 + self._shrunk) * (1 + self._ratio)))

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
        """What slopes, or their distances to the ends, are rounded by, in units of the roundoff."""
        sizes = np.abs(self.slope)
        return sizes if self.power == math.inf else np.minimum(sizes, self.distance)


def at_an_end(here: MirrorMap) -> bool:
    """Is a slope nearer to an end of its domain than its round-off, so that steps are as short as that?"""
    return here.power < math.inf and bool(here.distance.min() < EPS)


@dataclass(frozen=True, eq=False)
class FastMirrorMap(MirrorMap):
    """Depth 2 by one exponential, to eight digits and more in a third of the time.

    w = m·(e^s − e^{−s}),    dw/ds = m·(e^s + e^{−s})
    """

    @cached_property
    def _parts(self) -> tuple[Float, Float]:
        grown = np.exp(self.log_scale) * np.exp(self.slope)
        return grown, np.exp(2 * self.log_scale) / grown

    @cached_property
    def predictor(self) -> Float:
        """w."""
        if np.abs(self.slope).max(initial=0.0) < _SMALL_SLOPE:
            return np.asarray(2 * np.exp(self.log_scale) * self.slope)
        return self._parts[0] - self._parts[1]

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds."""
        return self._parts[0] + self._parts[1]


def fast_map(form: MirrorForm) -> MirrorMap:
    """The map of a form at its start, for modest accuracy; one scale where all coordinates share it."""
    log_scale = form.log_scale[:1] if (form.log_scale == form.log_scale[0]).all() else form.log_scale
    kind = FastMirrorMap if form.power == math.inf and np.abs(log_scale).max() < _SQUARED else MirrorMap
    return kind.at(form.power, log_scale, form.start)
