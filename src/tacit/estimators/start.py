"""The initialization of an estimator, with a scale that does not depend on the units of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.models import Diagonal, UntiedDiagonal
from tacit.models.model import Model


@dataclass(frozen=True, eq=False)
class Start:
    """An initialization whose scale is relative to the natural size of a coefficient.

    shape: that of `UntiedDiagonal`, for two untied layers; None for tied layers (`Diagonal`). weights: one
    factor of the initial scale for each feature.
    """

    depth: Any
    scale: Any
    shape: Any = None
    weights: Any = None

    def checked_scale(self) -> float:
        """The scale; `InputError` if it is not a positive number."""
        scale = float(as_floats(self.scale, "scale", ndim=(0,)))
        if not scale > 0:
            raise InputError(f"scale must be positive, got {scale}: weights that start at 0 stay at 0")
        return scale

    def model(self, unit: float, features: int) -> Model:
        """The model with initial weights scale·unit^{1/depth}, whose predictor scale is scale^depth·unit.

        unit: the natural size of a coefficient.
        """
        scale = self.checked_scale()
        profile = None if self.weights is None else _profile(self.weights, features)
        depth = float(as_floats(self.depth, "depth", ndim=(0,)))
        if self.shape is None:
            return Diagonal(depth, scale * unit ** (1 / depth), profile)
        if depth != 2:
            raise InputError(f"shape is defined for depth 2 only, got depth {depth:g}: omit one of them")
        return UntiedDiagonal(scale**2 * unit * (1.0 if profile is None else profile**2), self.shape)


def _profile(weights: Any, features: int) -> np.ndarray:
    profile = as_floats(weights, "weights", ndim=(1,))
    if len(profile) != features or not (profile > 0).all():
        raise InputError(f"weights must be {features} positive numbers, one for each feature")
    return profile
