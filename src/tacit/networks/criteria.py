r"""Before any training: how far would first-order training leave the kernel behind?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.networks.network import Network

_ASIDE = 1e-6  # of the weights: a step of a derivative
_POWERS = 12  # steps of the power method, which leave some percent


def curvature(network: Network, X: Any, change: Float) -> float:
    r"""‖D²h(θ₀)[u, ·]‖, u = change/‖change‖: how fast the Jacobian changes when weights move that way.

    Its operator norm, by the power method on differences of Jacobian products.
    """
    length = float(np.linalg.norm(change))
    if not length > 0:
        return 0.0
    aside = _ASIDE * (float(np.linalg.norm(network.weights)) or 1.0)
    ends = [network.with_weights(network.weights + way * aside * change / length) for way in (-1, 1)]
    v = np.random.default_rng(0).standard_normal(network.outputs(X).shape)
    size = 0.0
    for _ in range(_POWERS):
        v = v / (float(np.linalg.norm(v)) or 1.0)
        back = (ends[1].vjp(X, v) - ends[0].vjp(X, v)) / (2 * aside)
        size = float(np.linalg.norm(back))
        if not size > 0:
            return 0.0
        back = back / size
        v = (ends[1].jvp(X, back) - ends[0].jvp(X, back)) / (2 * aside)
    return size


def scale_criterion(network: Network, X: Any, misfit: float, largest: float, change: Float) -> float:
    r"""κ = ‖h(θ₀) − y‖·‖D²h(θ₀)‖/‖Dh(θ₀)‖² of Chizat et al. 2019, Section 1: small in the kernel regime.

    D²h along the change of weights that first-order training makes; ‖Dh‖² is the largest eigenvalue of the
    tangent kernel. misfit: ‖h(θ₀) − y‖, or what takes its place, how far training has to move the outputs.
    """
    return misfit * curvature(network, X, change) / largest if largest > 0 else np.inf


def moved_kernel(network: Network, X: Any, kernel: Float, change: Float) -> float:
    """‖K(θ₀ + change) − K(θ₀)‖/‖K(θ₀)‖: what first-order training does to the kernel, were it carried out."""
    with np.errstate(over="ignore", invalid="ignore"):
        there = np.asarray(network.with_weights(network.weights + change).tangent_kernel(X))
        moved = float(np.linalg.norm(there - kernel)) / (float(np.linalg.norm(kernel)) or 1.0)
    return moved if np.isfinite(moved) else np.inf
