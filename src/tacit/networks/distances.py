"""How far a network is from other weights of itself: by its tangent kernel, and layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array

if TYPE_CHECKING:
    from tacit.networks.network import Network


def _check_same(network: Network, other: Any) -> None:
    shapes = [(each.name, each.shape) for each in network.layers]
    if [(each.name, each.shape) for each in getattr(other, "layers", ())] != shapes:
        raise InputError(f"the other network must have the same layers as {network!r}, got {other!r}")


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


def kernel_distance(network: Network, other: Network, X: Any) -> float:
    """`distance_between` the tangent kernels of two networks."""
    _check_same(network, other)
    return distance_between(network.tangent_kernel(X), other.tangent_kernel(X))


def kernel_angle(network: Network, other: Network, X: Any) -> float:
    """The angle itself, 2·arcsin(‖K/‖K‖ − K'/‖K'‖‖/2)."""
    return angle_of(kernel_distance(network, other, X))


def movement(network: Network, other: Network) -> dict[str, float]:
    """‖W' − W‖/‖W‖ of each layer; from a layer of zeros that moved, infinity."""
    _check_same(network, other)
    found = {}
    for layer in network.layers:
        W, moved = (layer.of(each.weights).astype(np.float64) for each in (network, other))
        size, far = float(np.linalg.norm(W)), float(np.linalg.norm(moved - W))
        found[layer.name] = far / size if size > 0 else (np.inf if far > 0 else 0.0)
    return found
