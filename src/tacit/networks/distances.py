"""Distances between a network and the same network with other weights: of tangent kernels, and by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.networks.backend import Array, Layer


def direction(K: Array) -> Array:
    """The kernel divided by its Frobenius norm, in double precision; a kernel of zeros stays 0."""
    K = np.asarray(K, dtype=np.float64)
    K = K / (float(np.abs(K).max(initial=0.0)) or 1.0)  # without this, squares of large entries overflow
    return K / (float(np.linalg.norm(K)) or 1.0)


def distance_between(first: Array, second: Array) -> float:
    """The distance 1 − cos φ between two kernels with the angle φ, computed as ½‖K/‖K‖ − K'/‖K'‖‖².

    This formula is accurate for small angles. The distance is 0 if both kernels are 0, and 1 if one of them
    is. Moroshko et al. 2020, Appendix H.4; Woodworth et al. 2020, Appendix B.
    """
    first, second = direction(first), direction(second)
    if not (first.any() and second.any()):
        return float(first.any() != second.any())
    return float(np.sum((first - second) ** 2) / 2)


def angle_of(distance: float) -> float:
    """The angle φ with 1 − cos φ equal to this distance."""
    return float(2 * np.arcsin(np.sqrt(min(distance, 2.0) / 2)))


def movement(
    layers: Sequence[Layer], first: Array, second: Array, dtype: Any = np.float64
) -> dict[str, float]:
    """The relative distance ‖W' − W‖/‖W‖ for each layer, computed in dtype; infinite if only W is 0."""
    found = {}
    for layer in layers:
        W, moved = (layer.of(weights).astype(dtype, copy=False) for weights in (first, second))
        size, change = float(np.linalg.norm(W)), float(np.linalg.norm(moved - W))
        found[layer.name] = change / size if size > 0 else (np.inf if change > 0 else 0.0)
    return found
