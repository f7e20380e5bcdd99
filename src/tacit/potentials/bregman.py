"""Bregman divergences: the potentials of flows that start away from the minimizer of Q."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.potentials.arrays import as_array, parameter
from tacit.potentials.base import Potential

Array = Any
_ZERO_ORIGIN_ONLY = ("l1", "quadratic")  # families whose solvers take no origin


@dataclass(frozen=True, eq=False)
class Bregman(Potential):
    """D_Q(w, w⁰) = Q(w) − Q(w⁰) − ∇Q(w⁰)·(w − w⁰), minimized by the mirror flow of Q that starts at w⁰.

    Its gradient vanishes at the origin w⁰, as ∇Q(w(t)) − ∇Q(w(0)) = Xᵀν requires. The flow of an untied
    network with a biased start minimizes this divergence, not Q itself (Azulay et al. 2021, Theorem 1 and
    Appendix A, corrected). For a neuron it equals the q of Theorem 2 up to a constant.

    Parameters
    ----------
    potential : Potential
        Q.
    origin : (d,) array-like
        w⁰.

    Examples
    --------
    >>> from tacit.potentials import Bregman, Hypentropy
    >>> Q = Bregman(Hypentropy(log_scale=0.0), origin=[1.0, -1.0])
    >>> [float(slope) for slope in Q.gradient([1.0, -1.0])]
    [0.0, 0.0]
    """

    potential: Any
    origin: Any

    def __post_init__(self) -> None:
        family = getattr(self.potential, "family", None)
        if not isinstance(self.potential, Potential) or family in _ZERO_ORIGIN_ONLY:
            raise InputError(
                "potential must be the potential of a diagonal network or a neuron, or a smooth one of your "
                f"own, got {type(self.potential).__name__}"
            )
        object.__setattr__(self, "origin", parameter(self.origin, "origin"))

    @property
    def family(self) -> str:  # type: ignore[override]
        """The family of Q, whose solver also takes an origin."""
        return str(self.potential.family)

    @property
    def base(self) -> Potential:
        """Q."""
        found: Potential = self.potential
        return found

    def start(self, features: int) -> Array:
        """The origin w⁰."""
        return np.broadcast_to(np.asarray(self.origin, dtype=float), (features,))

    def check_features(self, features: int) -> None:
        """Check that the origin and the parameters of Q have one entry per feature."""
        super().check_features(features)
        self.potential.check_features(features)

    @property
    def aim_is_box(self) -> bool:  # type: ignore[override]
        """Whether the subdifferentials of Q are boxes."""
        return bool(self.potential.aim_is_box)

    def value(self, w: Array) -> Array:
        """D_Q(w, origin)."""
        return self.potential.divergence(w, self.origin)

    def gradient(self, w: Array) -> Array:
        """∇Q(w) − ∇Q(origin)."""
        return self.potential.slope_from(w, self.origin)

    def mirror(self, z: Array) -> Array:
        """The w with ∇Q(w) = z + ∇Q(origin)."""
        xp, z = as_array(z)
        return self.potential.mirror(z + xp.asarray(self.potential.gradient(self.origin)))

    def hessian(self, w: Array) -> Array:
        """∇²Q(w)."""
        return self.potential.hessian(w)

    def shifted(self, shift: float, d: int | None = None) -> Potential | None:
        """The divergence of the shifted Q, with the same origin."""
        inner = self.potential.shifted(shift, d)
        return None if inner is None else replace(self, potential=inner)

    def terms(self, w: Array) -> float:
        """The larger of ‖∇Q(w)‖∞ and ‖∇Q(w⁰)‖∞."""
        slopes = (float(np.abs(self.potential.gradient(v)).max()) for v in (w, self.origin))
        return max((slope for slope in slopes if np.isfinite(slope)), default=0.0)

    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂D_Q(w, w⁰) nearest to `slope`."""
        if self.potential.aim_is_box or np.any(w):
            return super().nearest_slope(w, slope)
        start = self.potential.gradient(self.origin)
        return self.potential.nearest_slope(w, slope + start) - start

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Bounds on the gradient, given the round-off of w."""
        lower, upper = self.potential.subdifferential(w)
        exact, shift = lower == upper, self.potential.gradient(self.origin)
        xp, gradient = as_array(self.gradient(w))
        return xp.where(exact, gradient, lower - shift), xp.where(exact, gradient, upper - shift)
