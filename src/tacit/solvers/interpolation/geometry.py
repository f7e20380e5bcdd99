"""The potential of a model, and the parameters that the solvers of separable problems use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.potentials import Potential
from tacit.potentials.rapidity import Geometry


@dataclass(frozen=True, eq=False)
class Separable(Geometry, Potential):
    """Q(w) = Σ weight·m·q_p(w/m) − offset·w, with one scale m and one weight per coordinate."""

    power: float
    log_scale: Float
    weight: Float
    origin: Float | None = None

    def shifted(self, shift: float, d: int | None = None) -> Separable:
        """The same potential with all scales m multiplied by e^shift."""
        return replace(self, log_scale=self.log_scale + shift)

    def in_units_of(self, unit: Any) -> Separable:
        """Q as a function of w/unit; a unit shared by all coordinates drops out as a factor of Q."""
        share = unit if np.ndim(unit) else 1.0
        origin = None if self.origin is None else self.origin / unit
        return Separable(self.power, self.log_scale - np.log(unit), self.weight * share, origin)

    @property
    def offset(self) -> Any:
        """∇Q at the origin, which a Bregman divergence subtracts; 0 without an origin."""
        return 0.0 if self.origin is None else self.slope(self.rapidity(self.origin))

    def gradient(self, w: Float) -> Float:
        """∇Q(w)."""
        return np.asarray(self.slope(self.rapidity(w)) - self.offset)

    def kernel_metric(self) -> Float:
        """Diagonal of (∇²Q)⁻¹ at w = 0, divided by its largest entry."""
        log_metric = self.log_scale - np.log(self.weight)
        return np.exp(log_metric - log_metric.max())


def potential_of(model: Any, features: int) -> Potential:
    """The potential of a model; a potential is returned unchanged."""
    if isinstance(model, type):
        raise InputError(
            f"model must be an instance, got the class {model.__name__}: write {model.__name__}(…)"
        )
    found = model if isinstance(model, Potential) else None
    if found is None and callable(getattr(model, "potential", None)):
        found = model.potential(features)
    if not isinstance(found, Potential):
        raise InputError(f"model must be a Tacit model or potential, got {type(model).__name__}")
    found.check_features(features)
    return found


def as_separable(potential: Any, features: int) -> Separable:
    """The potential of a diagonal network with scale, weight and origin as arrays over coordinates."""
    base, origin = potential.base, None if potential.base is potential else potential.start(features)
    log_scale = np.broadcast_to(np.asarray(base.log_scale, float), (features,))
    weight = np.broadcast_to(np.asarray(base.weight, float), (features,))
    return Separable(base.power, log_scale, weight, origin)
