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


def _directions(network: Network, other: Network, X: Any) -> tuple[Array, Array]:
    """Both kernels with Frobenius norm 1, in double precision."""
    _check_same(network, other)
    kernels = [np.asarray(each.tangent_kernel(X), dtype=np.float64) for each in (network, other)]
    first, second = (K / (float(np.abs(K).max(initial=0.0)) or 1.0) for K in kernels)
    return first / (float(np.linalg.norm(first)) or 1.0), second / (float(np.linalg.norm(second)) or 1.0)


def kernel_distance(network: Network, other: Network, X: Any) -> float:
    """1 − cos of the angle between two kernels: ½‖K/‖K‖ − K'/‖K'‖‖², which keeps the digits of small ones.

    Moroshko et al. 2020, Appendix H.4; Woodworth et al. 2020, Appendix B. 0 where both kernels are 0, 1 where
    one of them is.
    """
    first, second = _directions(network, other, X)
    if not (first.any() and second.any()):
        return float(first.any() != second.any())
    return float(np.sum((first - second) ** 2) / 2)


def kernel_angle(network: Network, other: Network, X: Any) -> float:
    """The angle itself, 2·arcsin(‖K/‖K‖ − K'/‖K'‖‖/2)."""
    return float(2 * np.arcsin(np.sqrt(kernel_distance(network, other, X) / 2)))


def movement(network: Network, other: Network) -> dict[str, float]:
    """‖W' − W‖/‖W‖ of each layer; from a layer of zeros that moved, infinity."""
    _check_same(network, other)
    found = {}
    for layer in network.layers:
        W, moved = (layer.of(each.weights).astype(np.float64) for each in (network, other))
        size, far = float(np.linalg.norm(W)), float(np.linalg.norm(moved - W))
        found[layer.name] = far / size if size > 0 else (np.inf if far > 0 else 0.0)
    return found
