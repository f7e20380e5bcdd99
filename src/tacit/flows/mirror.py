r"""The mirror map of a diagonal network, followed without losing digits.

In mirror space the flow is ∇Q(w(t)) = ∇Q(w(0)) + Xᵀν(t): N unknowns ν instead of all the weights. The slope
s = ∂q of every coordinate is carried along the flow together with its distances 1 − s and 1 + s from the
ends of its domain (depth above 2), each updated by increments. Recomputed from ν, those distances would be
noise at small scales, where they fall far below the rounding of s itself.

Under- and overflow are answers here: call these functions where NumPy is told to be quiet about them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit.data import Float
from tacit.potentials import rapidity

_LEAST = float(np.finfo(np.float64).eps)  # of a/b, below which it is nothing beside 1


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

    @cached_property
    def _plain(self) -> bool:
        """Does nothing leave the range of floats before the predictor itself does?"""
        return self.power == math.inf and bool((np.abs(self.log_scale) < 300).all())

    def moved(self, change: Float) -> MirrorMap:
        """The map after the slopes changed by this much."""
        return replace(self, slope=self.slope + change, below=self.below - change, above=self.above + change)

    def rapidity(self, change: Float, floor: float = 0.0) -> Float:
        """u at slopes s + change, over leading axes of the change.

        Beyond the domain it is NaN; with a floor, the distance to its ends never falls below that fraction
        of what it is now.
        """
        if self.power == math.inf:
            return self.slope + change
        below, above = self.below - change, self.above + change
        if floor:
            below, above = np.maximum(below, floor * self.below), np.maximum(above, floor * self.above)
        slope = self.slope + change
        central = np.abs(slope) < 0.5
        inner = np.arctanh(np.where(central, slope, 0.0))
        return self.power * np.where(central, inner, 0.5 * np.log(above / below))

    def predictor_at(self, change: Float, floor: float = 0.0) -> Float:
        """w at slopes s + change, as `predictor(rapidity(change, floor))`, in fewer functions of them.

        For D > 2 it is m·((1−s)^{−p} − (1+s)^{−p}), with a = 1 − |s| and b = 1 + |s| as a^{−p}(1 − (a/b)^p).
        """
        if self.power == math.inf:
            return self.predictor(self.slope + change)
        below, above = self.below - change, self.above + change
        if floor:
            below, above = np.maximum(below, floor * self.below), np.maximum(above, floor * self.above)
        near, far = np.minimum(below, above), np.maximum(below, above)
        slope = self.slope + change
        part = -np.expm1(self.power * np.log1p(np.maximum(-2 * np.abs(slope) / far, _LEAST - 1)))
        return np.copysign(np.exp(self.log_scale - self.power * np.log(near)) * part, slope)

    def rounding(self) -> Float:
        """What slopes, or their distances to the ends, are rounded by, in units of the roundoff."""
        return np.abs(self.slope) if self.power == math.inf else np.minimum(self.below, self.above)

    def predictor(self, u: Float) -> Float:
        """w at rapidities u."""
        if self._plain:
            return 2 * np.exp(self.log_scale) * np.sinh(u)
        size = rapidity.log_predictor(np, np.abs(u), self.power) + self.log_scale
        return np.copysign(np.exp(size), u)

    def stiffness(self, u: Float) -> Float:
        """dw/ds at rapidities u."""
        if self._plain:
            return 2 * np.exp(self.log_scale) * np.cosh(u)
        return np.exp(rapidity.log_stiffness(np, u, self.power) + self.log_scale)

    def rapidity_rate(self, u: Float) -> Float:
        """du/ds at rapidities u."""
        return np.ones_like(u) if self.power == math.inf else self.power * np.cosh(u / self.power) ** 2
