r"""Rapidity: the coordinate in which the mirror maps of all diagonal networks are well-conditioned.

In each coordinate of a diagonal network of depth D, the predictor w and the derivative s of the potential are

    w/m = 2 cosh^p(u/p) sinh(u),    s = tanh(u/p),    p = D/(D−2)        (depth D > 2)
    w/m = 2 sinh(u),                s = u                                (depth 2, the limit p → ∞)

with predictor scale m. We call u the rapidity. The first line is h_D(s) = (1−s)^{−p} − (1+s)^{−p} of
Woodworth et al. 2020, Theorem 3. As a function of s that formula cancels at s = 0, overflows at |s| = 1, and
cannot represent slopes closer to 1 than round-off; in u the slack 1 − |s| = 2/(1 + e^{2|u|/p}) keeps all its
digits.

The functions are elementwise, require u ≥ 0 unless stated otherwise, and work with the logarithm of w/m.
`xp` is the namespace of the arrays (NumPy or JAX); `power` is p, math.inf for depth 2.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

from tacit.potentials.arrays import as_array

Array = Any
Same = TypeVar("Same")  # an array, of NumPy or JAX
LOG2 = math.log(2.0)
_LINEAR = 1e-7  # rapidity below which s and w are linear in u to round-off (the next terms are of order u²)
_NEWTON_STEPS = 6  # the initial guess is within 10%, and each step squares the relative error


def power_of_depth(depth: float) -> float:
    """p = D/(D−2); infinite at depth 2."""
    return math.inf if depth == 2 else depth / (depth - 2)


def log_abs(xp: Any, w: Array) -> Array:
    """log|w|; −∞ at 0, without a warning."""
    zero = w == 0
    return xp.where(zero, -xp.inf, xp.log(xp.abs(xp.where(zero, 1.0, w))))


def log_cosh(xp: Any, v: Array) -> Array:
    """log cosh v for v ≥ 0, to full relative accuracy (log of cosh itself would lose it near 0)."""
    near = xp.where(v < 1, v, 1.0)
    far = xp.where(v < 1, 1.0, v)
    return xp.where(v < 1, 0.5 * xp.log1p(xp.sinh(near) ** 2), far - LOG2 + xp.log1p(xp.exp(-2 * far)))


def log_predictor(xp: Any, u: Array, power: float) -> Array:
    """log(w/m) at rapidity u ≥ 0; −∞ at 0."""
    positive = u > 0
    safe = xp.where(positive, u, 1.0)
    value = safe + xp.log(-xp.expm1(-2 * safe))
    if power != math.inf:
        value = value + power * log_cosh(xp, safe / power)
    return xp.where(positive, value, -xp.inf)


def slope(xp: Any, u: Array, power: float) -> Array:
    """Slope s = ∂q at rapidity u (any sign)."""
    return u if power == math.inf else xp.tanh(u / power)


def slack(xp: Any, u: Array, power: float) -> Array:
    """Slack 1 − s at rapidity u ≥ 0 (finite power), to full relative accuracy."""
    decay = xp.exp(-2 * u / power)
    return 2 * decay / (1 + decay)


def slope_between(xp: Any, start: Array, end: Array, power: float) -> Array:
    """s(end) − s(start) for rapidities ≥ 0, without cancellation."""
    if power == math.inf:
        return end - start
    near = xp.maximum(start, end) < power
    a, b = xp.where(near, end, 0.0) / power, xp.where(near, start, 0.0) / power
    return xp.where(
        near, xp.sinh(a - b) / (xp.cosh(a) * xp.cosh(b)), slack(xp, start, power) - slack(xp, end, power)
    )


def log_stiffness(xp: Any, u: Array, power: float) -> Array:
    """log of d(w/m)/ds at rapidity u (any sign): the inverse Hessian of the potential."""
    u = xp.abs(u)
    value = u + xp.log1p(xp.exp(-2 * u))
    if power == math.inf:
        return value
    v = u / power
    ratio = xp.log1p(xp.tanh(u) * xp.tanh(v))
    return value + (power + 2) * log_cosh(xp, v) + ratio + math.log(power)


def deficit(xp: Any, u: Array, power: float) -> Array:
    """s − q(z)/z: the slope at z minus its average over [0, z]; u ≥ 0 is the rapidity of z.

    Multiplied by z it is the convex conjugate of q. Depth 2: tanh(u/2). Depth D: expm1(E)/(a·cosh^p
    v·sinh(pv)) with v = u/p, a = p − 1 and E = a·log cosh v + log cosh(av), which follows from
    q_D = zs − (D−2)/2·[(1−s)^{−a} + (1+s)^{−a} − 2].
    """
    if power == math.inf:
        return xp.tanh(u / 2)
    safe = xp.where(u < _LINEAR, 1.0, u)
    v, a = safe / power, power - 1
    growth = a * log_cosh(xp, v) + log_cosh(xp, a * v)
    log_growth = growth + xp.log(-xp.expm1(-growth))  # log(expm1), which may overflow
    value = xp.exp(log_growth - math.log(a) - log_predictor(xp, safe, power) + LOG2)
    return xp.where(u < _LINEAR, slope(xp, u, power) / 2, value)


def mean_slope(xp: Any, u: Array, power: float) -> Array:
    """q(z)/z, the average slope over [0, z]; u ≥ 0 is the rapidity of z."""
    return slope(xp, u, power) - deficit(xp, u, power)


def rapidity_of_slope(xp: Any, s: Array, power: float) -> Array:
    """Rapidity with slope s; for finite power ±∞ at s = ±1 and NaN beyond."""
    if power == math.inf:
        return s
    inside = xp.abs(s) < 1
    edge = xp.where(xp.abs(s) == 1, xp.sign(s) * xp.inf, xp.nan)
    return xp.where(inside, power * xp.atanh(xp.where(inside, s, 0.0)), edge)


def _asinh_half_exp(xp: Any, level: Array) -> Array:
    """arcsinh(e^level / 2), also if e^level underflows or overflows."""
    below, above = xp.minimum(level, xp.zeros_like(level)), xp.maximum(level, xp.zeros_like(level))
    return xp.where(
        level < 0, xp.asinh(xp.exp(below) / 2), above + xp.log(0.5 + xp.sqrt(0.25 + xp.exp(-2 * above)))
    )


def rapidity_of_log(xp: Any, level: Array, power: float) -> Array:
    """Rapidity u ≥ 0 with log_predictor(u) = level: closed form at depth 2, otherwise Newton's method."""
    u = _asinh_half_exp(xp, level)
    if power == math.inf:
        return u
    u = xp.minimum(u, (u + power * LOG2) / 2)
    positive = u > 0
    u = xp.where(positive, u, 1.0)
    for _ in range(_NEWTON_STEPS):
        rate = 1 / xp.tanh(u) + xp.tanh(u / power)
        u = u - (log_predictor(xp, u, power) - xp.where(positive, level, 0.0)) / rate
    return xp.where(positive, u, 0.0)


class Geometry:
    r"""Predictor w and gradient ∂Q of a diagonal network, parametrized by the rapidity u of each coordinate.

        w = m·2cosh^p(u/p)·sinh(u),    ∂Q(w) = weight·tanh(u/p);    w = 2m·sinh(u), ∂Q(w) = weight·u for p = ∞

    power is p, log_scale is log m, and weight the weight of Q, each a number or one number per coordinate.
    The functions above have the formulas for m = 1; potentials, solvers and flows use this class.
    """

    power: float
    log_scale: Any
    weight: Any

    def rapidity(self, w: Same) -> Same:
        """Rapidities u of the predictor w.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        (d,) array
            The rapidities.
        """
        xp, at = as_array(w)
        found: Same = xp.sign(at) * self._abs_rapidity(xp, at)
        return found

    def _abs_rapidity(self, xp: Any, w: Any) -> Any:
        """|u| of the predictor w."""
        return rapidity_of_log(xp, log_abs(xp, w) - xp.asarray(self.log_scale), self.power)

    def predictor(self, u: Same) -> Same:
        """Predictor w at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The predictor.
        """
        xp, at = as_array(u)
        size = log_predictor(xp, xp.abs(at), self.power) + xp.asarray(self.log_scale)
        found: Same = xp.sign(at) * xp.exp(size)
        return found

    def slope(self, u: Same) -> Same:
        """Gradient ∂Q at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The gradient of Q.
        """
        xp, at = as_array(u)
        found: Same = xp.asarray(self.weight) * slope(xp, at, self.power)
        return found

    def log_stiffness(self, u: Same) -> Same:
        """log dw/ds at rapidities u, where s = ∂Q/weight.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The logarithms.
        """
        xp, at = as_array(u)
        found: Same = log_stiffness(xp, at, self.power) + xp.asarray(self.log_scale)
        return found

    def inverse_hessian(self, u: Same) -> Same:
        """Diagonal of (∇²Q)⁻¹, dw/d∂Q, at rapidities u.

        Parameters
        ----------
        u : (d,) array
            Rapidities.

        Returns
        -------
        (d,) array
            The diagonal.
        """
        xp, at = as_array(u)
        found: Same = xp.exp(self.log_stiffness(at)) / xp.asarray(self.weight)
        return found
