"""The weighted ℓ1 norm as a potential: convex, but not smooth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.potentials.arrays import as_array, parameter
from tacit.potentials.base import Potential

Array = Any


@dataclass(frozen=True, eq=False)
class L1(Potential):
    """Q(w) = Σ weightᵢ|wᵢ|, the limit of diagonal networks at zero scale.

    As the scale goes to 0 it is the limit of Q/log(1/m) at depth 2 (Woodworth et al. 2020, equation 7) and of
    Q itself at depth D > 2 (Theorem 3). The gradient is the subgradient of minimum norm.

    Parameters
    ----------
    weight : float or (d,) array-like, optional
        One positive number for all features, or one per feature.

    Examples
    --------
    >>> from tacit.potentials import L1
    >>> float(L1().value([1.0, -2.0]))
    3.0
    >>> float(L1(weight=[1.0, 3.0]).value([1.0, -2.0]))
    7.0
    """

    weight: Any = 1.0
    family = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", parameter(self.weight, "weight", positive=True))

    def value(self, w: Array) -> Array:
        """Σ weightᵢ|wᵢ|."""
        xp, w = as_array(w)
        return xp.sum(xp.asarray(self.weight) * xp.abs(w))

    def gradient(self, w: Array) -> Array:
        """weight·sign(w), 0 at 0."""
        xp, w = as_array(w)
        return xp.asarray(self.weight) * xp.sign(w)

    def mirror(self, z: Array) -> Array:
        """0 for |z| < weight; NaN for |z| > weight (no w) and |z| = weight (a whole ray of w)."""
        xp, z = as_array(z)
        return xp.where(xp.abs(z) < xp.asarray(self.weight), 0.0 * z, xp.nan)

    def hessian(self, w: Array) -> Array:
        """0 for w ≠ 0, ∞ at the kink w = 0."""
        xp, w = as_array(w)
        return xp.where(w == 0, xp.inf, 0.0 * w)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Lower and upper bound of ∂Q(w): −weight and weight at w = 0."""
        xp, w = as_array(w)
        gradient = self.gradient(w)
        edge = xp.asarray(self.weight) * xp.ones_like(w)
        return xp.where(w == 0, -edge, gradient), xp.where(w == 0, edge, gradient)
