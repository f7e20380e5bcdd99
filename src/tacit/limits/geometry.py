"""The potential of a model, and the parts of it that solvers of separable problems take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.limits.newton import Separable
from tacit.potentials import Bregman
from tacit.potentials.arrays import check_features


def potential_of(model: Any, features: int) -> Any:
    """The potential of a model, or the potential itself where one is given."""
    if isinstance(model, type):
        raise InputError(
            f"model must be an object, got the class {model.__name__}: write {model.__name__}(…)"
        )
    if hasattr(model, "potential") and callable(model.potential):
        return model.potential(features)
    if hasattr(model, "gradient") and hasattr(model, "value"):
        check_features(model, features)
        return model
    raise InputError(f"model must be a Tacit model or potential, got {type(model).__name__}")


def as_separable(potential: Any, features: int) -> Separable:
    """Power, scales, weights and origin of the potential of a diagonal network, one per coordinate."""
    base, origin = potential, None
    if isinstance(potential, Bregman):
        base, origin = potential.potential, np.broadcast_to(np.asarray(potential.origin, float), (features,))
    log_scale = np.broadcast_to(np.asarray(base.log_scale, float), (features,))
    weight = np.broadcast_to(np.asarray(base.weight, float), (features,))
    return Separable(base.power, log_scale, weight, origin)
