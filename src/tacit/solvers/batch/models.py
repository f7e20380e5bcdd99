"""The models of a batch, and the parameters of their potentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError, TacitError
from tacit.models.model import Model
from tacit.potentials import Potential
from tacit.potentials.separable import DiagonalPotential
from tacit.solvers.interpolation.geometry import potential_of

Models = Model | Potential | Sequence[Any]
_WHOLE_RANGE = 600.0  # |log m| up to which predictors and their parts neither overflow nor underflow


def model_array(models: Any) -> Any:
    """The models as an array of objects; raise unless they are of one family."""
    if isinstance(models, Model | Potential) or not isinstance(models, Sequence | np.ndarray):
        models = np.array(models, dtype=object)
    given = np.empty(np.shape(models), dtype=object)
    given[...] = models
    kinds = sorted({type(each).__name__ for each in given.flat})
    if not kinds:
        raise InputError("models must be a model or a sequence of models, got an empty sequence")
    for each in given.flat:
        if not isinstance(each, Model | Potential):
            potential_of(each, 1)  # raises an InputError that says what is wrong
    if len(kinds) > 1:
        raise InputError(
            f"models must be of one family, got {' and '.join(kinds)}; call tacit.limits once for each family"
        )
    return given


def batchable(model: Any, d: int) -> DiagonalPotential | None:
    """The potential of a model, if its problems can be solved in a batch; None for others."""
    try:
        potential = potential_of(model, d)
    except TacitError:  # raised again, for each of its problems, by tacit.limit
        return None
    if not isinstance(potential, DiagonalPotential) or np.abs(potential.log_scale).max() > _WHOLE_RANGE:
        return None
    return potential


def parameters(values: Sequence[Any], d: int) -> Float:
    """Parameters of all problems, (B, 1) if each has equal ones for all coordinates, else (B, d)."""
    arrays = [np.asarray(each, dtype=float) for each in values]
    equal = [each.flat[0] if each.ndim == 0 or (each == each[0]).all() else None for each in arrays]
    if all(each is not None for each in equal):
        return np.array(equal)[:, None]
    return np.array([np.broadcast_to(each, d) for each in arrays])
