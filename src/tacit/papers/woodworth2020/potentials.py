"""Potentials of one coordinate, at unit scale and others: what Figures 2 and 3 draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.potentials import DeepHypentropy, Hypentropy


def unit_potential(depth: float, log_scale: float = 0.0) -> Hypentropy | DeepHypentropy:
    """Q of depth D at one coordinate, predictor scale e^log_scale."""
    return Hypentropy(log_scale) if depth == 2 else DeepHypentropy(depth, log_scale)


def values(potential: Any, z: np.ndarray) -> np.ndarray:
    """Of a potential at each of these coordinates."""
    return np.array([float(potential.value(x)) for x in z])
