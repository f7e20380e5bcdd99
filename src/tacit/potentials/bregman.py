"""The distance from a start that is not zero, as a potential makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.potentials.arrays import as_array, parameter
from tacit.potentials.base import Potential

Array = Any
_OWN_ORIGIN = ("l1", "quadratic")  # families whose solvers know the origin 0 only


@dataclass(frozen=True, eq=False)
class Bregman(Potential):
    """D_Q(w, w⁰) = Q(w) − Q(w⁰) − ∇Q(w⁰)·(w − w⁰): minimized by a mirror flow that starts at w⁰.

    Its gradient vanishes at the origin w⁰, as ∇Q(w(t)) − ∇Q(w(0)) = Xᵀν demands. For a biased start of an
    untied network this, and not Q itself, is what the flow minimizes (Azulay et al. 2021, Theorem 1 and
    Appendix A, corrected). For a neuron it is the q of Theorem 2, up to a constant.

    Parameters
    ----------
    potential : Potential
        Q.
    origin : (d,) array-like
        w⁰.
    """

    potential: Any
    origin: Any

    def __post_init__(self) -> None:
        family = getattr(self.potential, "family", None)
        if not isinstance(self.potential, Potential) or family in _OWN_ORIGIN:
            raise InputError(
                "potential must be one of a diagonal network, of a neuron, or a smooth one of your own, got "
                f"{type(self.potential).__name__}"
            )
        object.__setattr__(self, "origin", parameter(self.origin, "origin"))

    @property
    def family(self) -> str:  # type: ignore[override]
        """That of the potential: its solver takes the origin, too."""
        return str(self.potential.family)

    @property
    def base(self) -> Potential:
        """The potential whose divergence this is."""
        found: Potential = self.potential
        return found

    def start(self, features: int) -> Array:
        """The origin."""
        return np.broadcast_to(np.asarray(self.origin, dtype=float), (features,))

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than origin or potential have."""
        super().check_features(features)
        self.potential.check_features(features)

    @property
    def aim_is_box(self) -> bool:  # type: ignore[override]
        """That of the potential."""
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
        """That of the potential, from the same origin."""
        inner = self.potential.shifted(shift, d)
        return None if inner is None else replace(self, potential=inner)

    def terms(self, w: Array) -> float:
        """The larger of ‖∇Q(w)‖∞ and ‖∇Q(w⁰)‖∞."""
        slopes = (float(np.abs(self.potential.gradient(v)).max()) for v in (w, self.origin))
        return max((slope for slope in slopes if np.isfinite(slope)), default=0.0)

    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point of ∂Q(w) nearest to a slope."""
        if self.potential.aim_is_box or np.any(w):
            return super().nearest_slope(w, slope)
        start = self.potential.gradient(self.origin)
        return self.potential.nearest_slope(w, slope + start) - start

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Ends of the interval in which the gradient at a rounded w lies."""
        lower, upper = self.potential.subdifferential(w)
        exact, shift = lower == upper, self.potential.gradient(self.origin)
        xp, gradient = as_array(self.gradient(w))
        return xp.where(exact, gradient, lower - shift), xp.where(exact, gradient, upper - shift)
