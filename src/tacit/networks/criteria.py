r"""Criteria for the kernel regime before training: how much would first-order training change the kernel?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.networks.network import Network

_DIFFERENCE = 1e-6  # change of the weights in finite differences of Jacobian products, relative to their norm
_POWERS = 12  # iterations of the power method, which give the norm to a few percent


def curvature(network: Network, X: Any, change: Float) -> float:
    r"""The operator norm ‖D²h(θ₀)[u, ·]‖ of the Jacobian's derivative along u = change/‖change‖.

    Computed by the power method on finite differences of Jacobian products.
    """
    length = float(np.linalg.norm(change))
    if not length > 0:
        return 0.0
    h = _DIFFERENCE * (float(np.linalg.norm(network.weights)) or 1.0)
    before, after = (network.with_weights(network.weights + sign * h * change / length) for sign in (-1, 1))
    v = np.random.default_rng(0).standard_normal(network.outputs(X).shape)
    size = 0.0
    for _ in range(_POWERS):
        v = v / (float(np.linalg.norm(v)) or 1.0)
        u = (after.vjp(X, v) - before.vjp(X, v)) / (2 * h)
        size = float(np.linalg.norm(u))
        if not size > 0:
            return 0.0
        v = (after.jvp(X, u / size) - before.jvp(X, u / size)) / (2 * h)
    return size


def scale_criterion(network: Network, X: Any, misfit: float, largest: float, change: Float) -> float:
    r"""The scale criterion κ = ‖h(θ₀) − y‖·‖D²h(θ₀)‖/‖Dh(θ₀)‖² of Chizat et al. 2019, Section 1.

    It is small in the kernel regime. D²h is taken along the change of weights in first-order training, and
    ‖Dh‖² is the largest eigenvalue of the tangent kernel. misfit: ‖h(θ₀) − y‖, or the norm of the change of
    the outputs in training for losses without targets.
    """
    return misfit * curvature(network, X, change) / largest if largest > 0 else np.inf


def moved_kernel(network: Network, X: Any, kernel: Float, change: Float) -> float:
    """The relative change ‖K(θ₀ + change) − K(θ₀)‖/‖K(θ₀)‖ of the kernel in first-order training."""
    with np.errstate(over="ignore", invalid="ignore"):
        after = np.asarray(network.with_weights(network.weights + change).tangent_kernel(X))
        moved = float(np.linalg.norm(after - kernel)) / (float(np.linalg.norm(kernel)) or 1.0)
    return moved if np.isfinite(moved) else np.inf
