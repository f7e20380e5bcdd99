"""Separable potentials Q(w) = Σ qᵢ(wᵢ): the implicit regularizers of diagonal networks, and the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.numerics.rounding import LEAST_NORMAL
from tacit.potentials import rapidity
from tacit.potentials.arrays import as_array, parameter, quiet
from tacit.potentials.base import Potential
from tacit.potentials.rapidity import Geometry, log_abs

Array = Any
_GAUSS = tuple(  # nodes and weights on [0, 1] for the divergence near its origin
    (float(x + 1) / 2, float(c) / 2) for x, c in zip(*np.polynomial.legendre.leggauss(16), strict=True)
)
# For |w/m − 1| below this the two terms of the entropy cancel; the Taylor series at m is used instead.
_NEAR = 0.05
_TERMS = 14  # of that series: 0.05^14 is below round-off


class DiagonalPotential(Geometry, Potential):
    """Base class of the potentials of diagonal networks, all computed through the rapidity u of w/m.

    A subclass only needs the attributes `power` (p = D/(D−2), infinite at depth 2), `log_scale` (log m) and
    `weight`.

    Examples
    --------
    >>> import math
    >>> from dataclasses import dataclass
    >>> from tacit.potentials import DiagonalPotential, Hypentropy
    >>> @dataclass(frozen=True)
    ... class DepthTwo(DiagonalPotential):
    ...     log_scale: float
    ...     weight: float = 1.0
    ...     power: float = math.inf
    >>> float(DepthTwo(0.0).value([1.0])) == float(Hypentropy(0.0).value([1.0]))
    True
    """

    family = "separable"

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        """The potential with log m increased by `shift`."""
        return replace(self, log_scale=np.asarray(self.log_scale) + shift)  # type: ignore[type-var]

    @quiet
    def value(self, w: Array) -> Array:
        """Q(w), the sum over coordinates."""
        xp, w = as_array(w)
        mean = rapidity.mean_slope(xp, self._abs_rapidity(xp, w), self.power)
        return xp.sum(xp.asarray(self.weight) * xp.abs(w) * mean)

    @quiet
    def gradient(self, w: Array) -> Array:
        """∇Q(w)."""
        return self.slope(self.rapidity(w))

    @quiet
    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z)."""
        xp, z = as_array(z)
        return self.predictor(rapidity.rapidity_of_slope(xp, z / xp.asarray(self.weight), self.power))

    @quiet
    def hessian(self, w: Array) -> Array:
        """Diagonal of ∇²Q(w)."""
        xp, w = as_array(w)
        return xp.asarray(self.weight) * xp.exp(-self.log_stiffness(self._abs_rapidity(xp, w)))

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Bounds on ∇Q(w), given that numbers below the smallest normal float are not exact.

        At tiny scales most coordinates underflow and are stored as 0. Their gradient is then only known to
        lie between the gradients at ± the smallest normal float.
        """
        xp, w = as_array(w)
        gradient = self.gradient(w)
        reach = self.gradient(xp.full_like(w, LEAST_NORMAL))
        underflow = xp.abs(w) < LEAST_NORMAL
        return xp.where(underflow, -reach, gradient), xp.where(underflow, reach, gradient)

    @quiet
    def divergence(self, w: Array, origin: Array) -> Array:
        """D_Q(w, origin) = Q(w) − Q(origin) − ∇Q(origin)·(w − origin), accurate also for w near the origin.

        There the three terms cancel, so the divergence is computed as an integral of the Hessian.
        """
        xp, w = as_array(w)
        origin = xp.asarray(origin) * xp.ones_like(w)
        near = xp.abs(w - origin) <= xp.abs(origin) / 2
        integral = self._curvature_integral(xp, xp.where(near, w, origin), origin)
        terms = xp.where(near, integral, self._conjugate_gap(xp, w, origin))
        return xp.sum(xp.asarray(self.weight) * terms)

    def _curvature_integral(self, xp: Any, w: Array, origin: Array) -> Array:
        """(w−o)²∫₀¹ (1−t) q''(o + t(w−o)) dt, free of cancellation; for |w − o| ≤ |o|/2."""
        step = w - origin
        total = xp.zeros_like(w)
        for node, weight in _GAUSS:
            total = total + weight * (1 - node) * self.hessian(origin + node * step)
        return step * step * total / xp.asarray(self.weight)

    def _conjugate_gap(self, xp: Any, w: Array, origin: Array) -> Array:
        """w·(s(w) − s(o)) − C(w) + C(o) with the conjugate C(w) = |w|·deficit; for w away from o."""
        u, v = self._abs_rapidity(xp, w), self._abs_rapidity(xp, origin)
        between = rapidity.slope_between(xp, v, u, self.power)
        apart = rapidity.slope(xp, u, self.power) + rapidity.slope(xp, v, self.power)
        change = xp.abs(w) * xp.where(xp.sign(w) * xp.sign(origin) < 0, apart, between)
        here, there = rapidity.deficit(xp, u, self.power), rapidity.deficit(xp, v, self.power)
        return change - xp.abs(w) * here + xp.abs(origin) * there


@dataclass(frozen=True, eq=False)
class Hypentropy(DiagonalPotential):
    """Minimized by depth-2 diagonal networks trained with the square loss.

        Q(w) = weight · Σ mᵢ q(wᵢ/mᵢ),    q(z) = 2 − √(4 + z²) + z·arcsinh(z/2),    m = exp(log_scale)

    Woodworth et al. 2020, Theorem 1, with predictor scale mᵢ = α²·w₀ᵢ² and weight 1; Azulay et al. 2021,
    Theorem 1 (Q_k, untied weights), with m = √k/4 and weight ½. It tends to Σ w²/(4m) for m → ∞ (kernel
    regime) and, divided by log(1/m), to ‖w‖₁ for m → 0 (rich regime). The scale is stored as a logarithm, so
    m = 1e-600 is as accurate as m = 1.

    Parameters
    ----------
    log_scale : float or (d,) array-like
        log m.
    weight : float or (d,) array-like, optional
        A positive factor.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import Hypentropy
    >>> Q = Hypentropy(log_scale=0.0)
    >>> w = np.array([1.0, -2.0])
    >>> bool(np.allclose(Q.mirror(Q.gradient(w)), w))
    True
    """

    log_scale: Any
    weight: Any = 1.0
    power = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_scale", parameter(self.log_scale, "log_scale"))
        object.__setattr__(self, "weight", parameter(self.weight, "weight", positive=True))

    @quiet
    def slope_from(self, w: Array, origin: Array) -> Array:
        """∇Q(w) − ∇Q(origin): arcsinh(w/2m) − arcsinh(origin/2m), accurate also for w near the origin."""
        xp, w = as_array(w)
        origin = xp.asarray(origin)
        width = 2 * xp.exp(xp.asarray(self.log_scale))
        total = xp.abs(w) + xp.abs(origin)
        total = xp.where(total > 0, total, 1.0)
        mean = xp.abs(w) / total * xp.hypot(origin, width) + xp.abs(origin) / total * xp.hypot(w, width)
        close = xp.asarray(self.weight) * xp.asinh((w - origin) / mean)
        return xp.where(xp.sign(w) * xp.sign(origin) > 0, close, self.gradient(w) - self.gradient(origin))


@dataclass(frozen=True, eq=False)
class DeepHypentropy(DiagonalPotential):
    """Minimized by diagonal networks of depth D > 2 trained with the square loss.

        Q(w) = Σ weightᵢ · mᵢ q_D(wᵢ/mᵢ),    q_D' = h_D⁻¹,    h_D(s) = (1−s)^{−p} − (1+s)^{−p},  p = D/(D−2)

    Woodworth et al. 2020, Theorem 3, with predictor scale m = α^D; the depth is any real number above 2. It
    tends to (D−2)/(4D)·Σ w²/m for m → ∞ and to Σ weightᵢ|wᵢ| for m → 0. A network initialized at α·profile
    has m = (α·profile)^D and weight = profile^{2−D}: unlike at depth 2, the profile affects the rich limit.

    Parameters
    ----------
    depth : float
        D, above 2.
    log_scale : float or (d,) array-like
        log m.
    weight : float or (d,) array-like, optional
        A positive factor.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import DeepHypentropy
    >>> Q = DeepHypentropy(depth=3, log_scale=-700.0)
    >>> w = np.array([1.0, -2.0])
    >>> round(float(Q.value(w)), 6)  # m = e⁻⁷⁰⁰: the ℓ1 norm
    3.0
    >>> bool(np.allclose(Q.mirror(Q.gradient(w) * 0.5), 0.0))
    True
    """

    depth: float
    log_scale: Any
    weight: Any = 1.0

    def __post_init__(self) -> None:
        if not float(as_floats(self.depth, "depth", ndim=(0,))) > 2:
            raise InputError(f"depth must be a number above 2, got {self.depth!r}; depth 2 is Hypentropy")
        object.__setattr__(self, "log_scale", parameter(self.log_scale, "log_scale"))
        object.__setattr__(self, "weight", parameter(self.weight, "weight", positive=True))

    @property
    def power(self) -> float:  # type: ignore[override]
        """p = D/(D−2)."""
        return rapidity.power_of_depth(self.depth)


@dataclass(frozen=True, eq=False)
class WeightDistance(DiagonalPotential):
    """The explicit regularizer R: the squared distance that the weights of a depth-2 network must move.

        R(β) = min ‖w − α·w₀‖²  subject to  w₊² − w₋² = β,    R = Σ mᵢ r(βᵢ/mᵢ),    m = α²·w₀²

    Woodworth et al. 2020, equation 9 and Figure 2. With w± = √m/(1 ∓ λ) the multiplier λ solves 4λ = z(1−λ²)²
    and r = 2λ²(1+λ²)/(1−λ²)². Since r' = λ = h₄⁻¹(z), r equals q₄: the explicit regularizer of depth 2 is the
    implicit regularizer of depth 4.

    Parameters
    ----------
    log_scale : float or (d,) array-like
        log m.

    Examples
    --------
    >>> from tacit.potentials import DeepHypentropy, WeightDistance
    >>> float(WeightDistance(0.0).value([1.0])) == float(DeepHypentropy(4, 0.0).value([1.0]))
    True
    """

    log_scale: Any
    weight = 1.0
    power = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_scale", parameter(self.log_scale, "log_scale"))


@dataclass(frozen=True, eq=False)
class Entropy(Potential):
    """Q(w) = Σ wᵢ(log(wᵢ/mᵢ) − 1) + mᵢ for w ≥ 0, with m = exp(log_scale); infinite if any wᵢ < 0.

    Minimized by w = u² started at w(0) = m. Applied to eigenvalues (`Spectral(Entropy(log c),
    eigenvalues=True)`) it is minimized by W Wᵀ started at W(0)W(0)ᵀ = c·I if the measurements commute: then
    M(t) = c·exp(2Σν_n(t)X_n), since Ṁ = −(GM + MG) with G in their span (Woodworth et al. 2020, Section 6 and
    Appendix G).

    Parameters
    ----------
    log_scale : float or (d,) array-like
        log m.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import Entropy
    >>> Q = Entropy(log_scale=0.0)
    >>> float(Q.value(np.array([1.0, 0.0])))
    1.0
    >>> float(Q.value(np.array([-1.0, 1.0])))
    inf
    """

    log_scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_scale", parameter(self.log_scale, "log_scale"))

    def start(self, features: int) -> Array:
        """m, the minimizer."""
        return np.broadcast_to(np.exp(np.asarray(self.log_scale, dtype=float)), (features,))

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        """The entropy with log m increased by `shift`."""
        return replace(self, log_scale=np.asarray(self.log_scale) + shift)

    @quiet
    def value(self, w: Array) -> Array:
        """Σ w(log(w/m) − 1) + m."""
        xp, w = as_array(w)
        level = xp.asarray(self.log_scale)
        m = xp.exp(level) * xp.ones_like(w)
        off = xp.where(m > 0, (w - m) / m, xp.inf)
        near = xp.abs(off) < _NEAR
        t, total = xp.where(near, off, 0.0), 0.0 * w
        for k in range(_TERMS, 1, -1):  # t²/2 − t³/6 + t⁴/12 − …
            total = (1 if k % 2 == 0 else -1) / (k * (k - 1)) + t * total
        positive = xp.where(w > 0, w, 1.0)
        far = xp.where(w > 0, w * (xp.log(positive) - level - 1), 0.0) + m
        terms = xp.where(near, m * t * t * total, far)
        return xp.sum(xp.where(w < 0, xp.inf, terms))

    @quiet
    def gradient(self, w: Array) -> Array:
        """log(w/m); −∞ at 0, NaN for w < 0."""
        xp, w = as_array(w)
        return xp.where(w < 0, xp.nan, log_abs(xp, w) - xp.asarray(self.log_scale))

    @quiet
    def mirror(self, z: Array) -> Array:
        """m·e^z."""
        xp, z = as_array(z)
        return xp.exp(z + xp.asarray(self.log_scale))

    @quiet
    def hessian(self, w: Array) -> Array:
        """Diagonal of ∇²Q(w): 1/w."""
        xp, w = as_array(w)
        return xp.where(w < 0, xp.nan, 1 / xp.where(w < 0, 1.0, w))
