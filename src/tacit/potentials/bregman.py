"""The distance from a start that is not zero, as a potential makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.errors import InputError
from tacit.potentials.arrays import as_array, parameter
from tacit.potentials.radial import Radial
from tacit.potentials.separable import DiagonalPotential

Array = Any


@dataclass(frozen=True, eq=False)
class Bregman:
    r"""D_Q(w, w⁰) = Q(w) − Q(w⁰) − ∇Q(w⁰)·(w − w⁰): minimized by a mirror flow that starts at w⁰.

    Its gradient vanishes at the origin w⁰, as ∇Q(w(t)) − ∇Q(w(0)) = Xᵀν demands. For a biased start of
    an untied network this, and not Q itself, is what the flow minimizes (Azulay et al. 2021, Theorem 1
    and Appendix A, corrected). For a neuron it is the q of Theorem 2, up to a constant.
    """

    potential: Any
    origin: Any

    def __post_init__(self) -> None:
        if not isinstance(self.potential, DiagonalPotential | Radial):
            raise InputError(
                "potential must be one of a diagonal network or of a neuron, got "
                f"{type(self.potential).__name__}"
            )
        object.__setattr__(self, "origin", parameter(self.origin, "origin"))

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

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Ends of the interval in which the gradient at a rounded w lies."""
        lower, upper = self.potential.subdifferential(w)
        exact, shift = lower == upper, self.potential.gradient(self.origin)
        xp, gradient = as_array(self.gradient(w))
        return xp.where(exact, gradient, lower - shift), xp.where(exact, gradient, upper - shift)
