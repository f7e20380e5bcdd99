"""The potential of a model, and the parts of it that solvers of separable problems take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.limits.interpolation.newton import Separable
from tacit.potentials import Potential


def potential_of(model: Any, features: int) -> Potential:
    """The potential of a model, or the potential itself where one is given."""
    if isinstance(model, type):
        raise InputError(
            f"model must be an object, got the class {model.__name__}: write {model.__name__}(…)"
        )
    found = model if isinstance(model, Potential) else None
    if found is None and callable(getattr(model, "potential", None)):
        found = model.potential(features)
    if not isinstance(found, Potential):
        raise InputError(f"model must be a Tacit model or potential, got {type(model).__name__}")
    found.check_features(features)
    return found


def as_separable(potential: Any, features: int) -> Separable:
    """Power, scales, weights and origin of the potential of a diagonal network, one per coordinate."""
    base, origin = potential.base, None if potential.base is potential else potential.start(features)
    log_scale = np.broadcast_to(np.asarray(base.log_scale, float), (features,))
    weight = np.broadcast_to(np.asarray(base.weight, float), (features,))
    return Separable(base.power, log_scale, weight, origin)
