"""The common part of derived potentials: Q is a divergence from w₀, Q(w₀) = 0 and ∇Q(w₀) = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.potentials.base import Potential


class DivergenceFromStart(Potential):
    """A potential of w with the minimum w₀, the attribute `origin`."""

    origin: Float

    def start(self, features: int) -> Float:
        """w₀."""
        self.check_features(features)
        return self.origin

    def check_features(self, features: int) -> None:
        """Raise `InputError` if the data has not as many features as w has entries."""
        if len(self.origin) != features:
            raise InputError(f"w has {len(self.origin)} entries but the data has {features} features")

    def _vector(self, values: Any, name: str) -> Float:
        array = np.asarray(values, dtype=float)
        if array.shape != self.origin.shape:
            raise InputError(f"{name} must have {len(self.origin)} entries, got shape {array.shape}")
        return array
