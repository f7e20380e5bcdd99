"""The relative entropy: minimized by predictors w = u², which cannot change sign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.potentials.arrays import as_array, parameter, quiet
from tacit.potentials.base import Potential
from tacit.potentials.rapidity import log_abs

Array = Any
# For |w/m − 1| below this the two terms of the entropy cancel; the Taylor series at m is used instead.
_NEAR = 0.05
_TERMS = 14  # of that series: 0.05^14 is below round-off


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
