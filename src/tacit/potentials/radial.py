r"""Radial potentials q(‖w‖), minimized by neurons and balanced linear networks in a rescaled time.

A neuron with layers a and ω has the predictor w = a·ω and conserves δ = a² − ‖ω‖². With x = ‖w‖,

    P = ‖ω‖² = √(x² + δ²/4) − δ/2,      a² = P + δ,      x² = P(P + δ).

The difference in P cancels for δ > 0 and x ≪ δ. All formulas here are therefore written in a and ω: the
larger of them comes from a sum, the smaller is x divided by the larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.numerics.roots import crossing
from tacit.potentials.arrays import as_array, quiet
from tacit.potentials.base import Potential

Array = Any
_MAX_LOG = 700.0  # |log x| beyond which x leaves the floating-point range
_BRACKET_STEP = 2.0  # step in log x while a root is bracketed


class Radial(Potential):
    """Potentials of the form Q(w) = q(‖w‖)."""

    family = "radial"
    aim_is_box = False

    def steepness(self, x: Array) -> Array:
        """q'(x), where Q(w) = q(‖w‖).

        Parameters
        ----------
        x : array
            Norms ‖w‖.

        Returns
        -------
        array
            The derivatives.
        """
        raise TypeError(f"{type(self).__name__} must implement steepness")

    @quiet
    def gradient(self, w: Array) -> Array:
        """q'(‖w‖)·w/‖w‖; at w = 0 the subgradient 0."""
        xp, w = as_array(w)
        x = length(xp, w)
        return self.steepness(x) * (w / xp.where(x > 0, x, 1.0))

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """The gradient, twice; at w = 0 a box inside the ball of subgradients (a point if q is smooth)."""
        xp, w = as_array(w)
        gradient = self.gradient(w)
        edge = float(self.steepness(xp.asarray(0.0))) / max(len(w), 1) ** 0.5
        flat = xp.where(xp.any(w != 0), 0.0, edge)
        return gradient - flat, gradient + flat

    @quiet
    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂Q(w) nearest to `slope`: ∇Q(w), or at w = 0 a point of the ball ‖z‖ ≤ q'(0)."""
        xp, w = as_array(w)
        slope = xp.asarray(slope)
        size, edge = length(xp, slope), self.steepness(xp.asarray(0.0))
        inside = slope * xp.minimum(edge / xp.where(size > 0, size, 1.0), xp.asarray(1.0))
        return xp.where(xp.any(w != 0), self.gradient(w), inside)

    def reach(self, seen: float, unseen: float) -> float:
        """The norm x of a solution p + (x/q'(x))·z with p ⊥ z: x² = ‖p‖² + (x/q'(x))²·‖z‖².

        Parameters
        ----------
        seen : float
            ‖p‖.
        unseen : float
            ‖z‖.

        Returns
        -------
        float
            x.
        """

        def excess(log_x: float) -> float:
            x = np.exp(log_x)
            return float(np.log(np.hypot(seen, x / float(self.steepness(np.float64(x))) * unseen)) - log_x)

        if unseen == 0:
            return seen
        low = high = float(np.log(seen if seen > 0 else unseen))
        while excess(high) > 0 and high < _MAX_LOG:
            high += _BRACKET_STEP
        while excess(low) < 0 and low > -_MAX_LOG:
            low -= _BRACKET_STEP
        return float(np.exp(crossing(excess, low, high, xtol=1e-15))) if low < high else seen


def _radial_matrix(xp: Any, w: Array, around: Array, along: Array, difference: Array) -> Array:
    """around·(I − ûûᵀ) + along·ûûᵀ with û = w/‖w‖, every entry to full relative accuracy; around·I at w = 0.

    difference: around − along, without cancellation; the off-diagonal entries are −difference·ûᵢûⱼ.
    """
    x = length(xp, w)
    unit = w / xp.where(x > 0, x, 1.0)
    same, both = xp.eye(len(w)), unit[:, None] * unit[None, :]
    others = xp.where(x > 0, (1 - same) @ unit**2, 1.0)  # 1 − ûᵢ², as the sum over the other coordinates
    own = xp.where(others == 0, 0.0, around * others) + xp.where(unit == 0, 0.0, along * unit**2)
    return xp.where(same > 0, own[:, None], xp.where(both == 0, 0.0, -difference * both))


def length(xp: Any, w: Array) -> Array:
    """‖w‖, without overflow or underflow of its square."""
    size = xp.max(xp.abs(w)) if w.size else xp.asarray(0.0)
    unit = xp.where((size > 0) & xp.isfinite(size), size, 1.0)
    return unit * xp.sqrt(xp.sum((w / unit) ** 2))


@dataclass(frozen=True, eq=False)
class NeuronPotential(Radial):
    """Its Bregman divergence from w(0) is minimized by a neuron f = a·(ω·x) with δ = a² − ‖ω‖².

        Q(w) = √(P+δ)·(P − δ/2),    q' = (3/2)√P,    P = √(‖w‖² + δ²/4) − δ/2

    Azulay et al. 2021, Theorem 2 (6.1), with the factor 3/2 that the appendix drops. Mirror descent time
    runs 3|a|/2 times as fast as training time. For δ < 0 the potential has a conical kink at 0 and describes
    the flow as long as a keeps its sign. Since Q(0) = −δ^{3/2}/2 for δ > 0, values near the zero of Q have an
    absolute error of 1e-15·δ^{3/2}, not a relative one.

    Parameters
    ----------
    delta : float, optional
        δ, of either sign.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import NeuronPotential
    >>> Q = NeuronPotential(delta=0.0)  # balanced: ‖w‖^{3/2}
    >>> round(float(Q.value(np.array([0.0, 4.0]))), 6)
    8.0
    """

    delta: Any = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", float(as_floats(self.delta, "delta", ndim=(0,))))

    def layers(self, x: Array) -> tuple[Array, Array]:
        """|a| and ‖ω‖ at predictors of norm x.

        Parameters
        ----------
        x : array
            Norms ‖w‖.

        Returns
        -------
        tuple of arrays
            |a| and ‖ω‖.
        """
        xp, x = as_array(x)
        half = abs(self.delta) / 2
        root = xp.hypot(x, xp.asarray(half))
        large = xp.sqrt(root + half)  # the larger layer, whose square is a sum without cancellation
        small = xp.where(x > 0, x / xp.where(large > 0, large, 1.0), 0.0)
        return (large, small) if self.delta >= 0 else (small, large)

    @quiet
    def value(self, w: Array) -> Array:
        """√(P+δ)·(P − δ/2)."""
        xp, w = as_array(w)
        x = length(xp, w)
        a, inner = self.layers(x)
        if self.delta < 0:
            return x * (inner - self.delta / (2 * inner))  # a alone may underflow
        return a * (inner**2 - self.delta / 2)

    @quiet
    def steepness(self, x: Array) -> Array:
        """(3/2)√P."""
        return 1.5 * self.layers(x)[1]

    @quiet
    def mirror(self, z: Array) -> Array:
        """√(δ + ‖ω‖²)·ω with ω = 2z/3; 0 if the root is not real (z is a subgradient at the kink 0)."""
        xp, z = as_array(z)
        inner = 2 * z / 3
        x = length(xp, inner)
        if self.delta >= 0:
            return xp.hypot(x, xp.asarray(self.delta**0.5)) * inner
        edge = (-self.delta) ** 0.5
        return xp.sqrt(xp.maximum(x - edge, xp.asarray(0.0)) * (x + edge)) * inner

    @quiet
    def hessian(self, w: Array) -> Array:
        """(3/2|a|)·(I − ωωᵀ/(a² + ‖ω‖²)): (3/2)·|a|/(a² + ‖ω‖²) along w, 3/2|a| orthogonal to it."""
        xp, w = as_array(w)
        a, inner = self.layers(length(xp, w))
        size = xp.hypot(a, inner)
        return _radial_matrix(xp, w, 1.5 / a, 1.5 * (a / size) / size, 1.5 / a * (inner / size) ** 2)

    @quiet
    def _layer_changes(self, w: Array, origin: Array) -> tuple[Array, Array, Array, Array]:
        """ω − ω₀, a − a₀, |a| and |a₀|, without cancellation for w near the origin.

        ω − ω₀ = (w − w₀ − (a−a₀)·ω₀)/a = (w − w₀ − (a−a₀)·ω)/a₀; the form with the larger divisor is used.
        """
        xp, w = as_array(w)
        origin = xp.asarray(origin)
        half = xp.asarray(abs(self.delta) / 2)
        x, start = length(xp, w), length(xp, origin)
        a, first = self.layers(x)[0], self.layers(start)[0]
        roots = xp.hypot(x, half) + xp.hypot(start, half)
        square_change = xp.sum((w - origin) * ((w + origin) / xp.where(roots > 0, roots, 1.0)))  # a² − a₀²
        change = square_change / xp.where(a + first > 0, a + first, 1.0)
        larger = xp.maximum(a, first)
        other = 2 * xp.where(a < first, self.gradient(w), self.gradient(origin)) / 3
        larger_safe = xp.where(larger > 0, larger, 1.0)
        return (w - origin) / larger_safe - other * (change / larger_safe), change, a, first

    @quiet
    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin) = (3/2)(ω − ω₀), accurate also for w near the origin."""
        return 1.5 * self._layer_changes(w, origin)[0]

    @quiet
    def divergence(self, w: Array, origin: Array) -> Array:
        """D_Q(w, origin) = ¾a‖ω − ω₀‖² + ¼(a − a₀)²(a + 2a₀), a sum of nonnegative terms."""
        xp, _ = as_array(w)
        inner_change, change, a, first = self._layer_changes(w, origin)
        return 0.75 * a * xp.sum(inner_change**2) + 0.25 * change**2 * (a + 2 * first)


@dataclass(frozen=True, eq=False)
class Power(Radial):
    """Q(w) = ‖w‖^exponent, exponent > 1.

    With exponent 3/2 it is `NeuronPotential(0)`: its Bregman divergence from w(0) is minimized by a strictly
    balanced linear network with one output, at any width (Azulay et al. 2021, Proposition 1 (6.2)).

    Parameters
    ----------
    exponent : float, optional
        p, above 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import Power
    >>> float(Power(2.0).value(np.array([3.0, 4.0])))
    25.0
    """

    exponent: Any = 1.5

    def __post_init__(self) -> None:
        exponent = float(as_floats(self.exponent, "exponent", ndim=(0,)))
        if not exponent > 1:
            raise InputError(
                f"exponent must be greater than 1, got {self.exponent!r}: Q = ‖w‖ has no mirror map"
            )
        object.__setattr__(self, "exponent", exponent)

    @quiet
    def value(self, w: Array) -> Array:
        """‖w‖^exponent."""
        xp, w = as_array(w)
        return length(xp, w) ** self.exponent

    @quiet
    def steepness(self, x: Array) -> Array:
        """p·x^{p−1}."""
        return self.exponent * as_array(x)[1] ** (self.exponent - 1)

    @quiet
    def mirror(self, z: Array) -> Array:
        """(‖z‖/p)^{1/(p−1)}·z/‖z‖."""
        xp, z = as_array(z)
        size = length(xp, z)
        return (size / self.exponent) ** (1 / (self.exponent - 1)) * (z / xp.where(size > 0, size, 1.0))

    @quiet
    def hessian(self, w: Array) -> Array:
        """p·x^{p−2}·(I + (p−2)·ŵŵᵀ)."""
        xp, w = as_array(w)
        around = self.exponent * length(xp, w) ** (self.exponent - 2)
        return _radial_matrix(xp, w, around, (self.exponent - 1) * around, (2 - self.exponent) * around)

    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin)."""
        if self.exponent == 1.5:
            return NeuronPotential(0.0).slope_from(w, origin)
        return super().slope_from(w, origin)

    @quiet
    def divergence(self, w: Array, origin: Array) -> Array:
        """D_Q(w, origin); for exponents other than 3/2 only up to the round-off of Q(w) and Q(origin)."""
        if self.exponent == 1.5:
            return NeuronPotential(0.0).divergence(w, origin)
        return super().divergence(w, origin)
