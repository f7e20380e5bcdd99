"""How far a network is from other weights of itself: by its tangent kernel, and layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.networks.backend import Array, Layer


def direction(K: Array) -> Array:
    """The kernel with Frobenius norm 1, in double precision; one of 0 stays."""
    K = np.asarray(K, dtype=np.float64)
    K = K / (float(np.abs(K).max(initial=0.0)) or 1.0)  # no square overflows
    return K / (float(np.linalg.norm(K)) or 1.0)


def distance_between(first: Array, second: Array) -> float:
    """1 − cos of the angle between two kernels: ½‖K/‖K‖ − K'/‖K'‖‖², which keeps the digits of small ones.

    Moroshko et al. 2020, Appendix H.4; Woodworth et al. 2020, Appendix B. 0 where both kernels are 0, 1 where
    one of them is.
    """
    first, second = direction(first), direction(second)
    if not (first.any() and second.any()):
        return float(first.any() != second.any())
    return float(np.sum((first - second) ** 2) / 2)


def angle_of(distance: float) -> float:
    """The angle whose 1 − cos it is."""
    return float(2 * np.arcsin(np.sqrt(min(distance, 2.0) / 2)))


def movement(layers: Sequence[Layer], first: Array, second: Array) -> dict[str, float]:
    """‖W' − W‖/‖W‖ of each layer; from a layer of zeros that moved, infinity."""
    found = {}
    for layer in layers:
        W, moved = (layer.of(weights).astype(np.float64) for weights in (first, second))
        size, far = float(np.linalg.norm(W)), float(np.linalg.norm(moved - W))
        found[layer.name] = far / size if size > 0 else (np.inf if far > 0 else 0.0)
    return found
