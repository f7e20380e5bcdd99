"""The flow of a linear network that the statements of Min et al. 2021 are asked of, with few columns."""

from __future__ import annotations

import math

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.theorems.min2021.network import LOSS, RTOL, Split, rounding
from tacit.theorems.sharing import shared

_INSTANTS = 121
_EARLY = 1e-3  # the first instant, as log(‖E(0)‖/‖E‖)
SETTLED = 1e-8  # ‖E‖/‖E(0)‖ at the last


def narrow(parts: Split) -> tacit.LinearNetwork:
    """A network of r inputs and at most r + m columns with the same flow on Σ_x^{1/2} and WᵀY."""
    Z = np.vstack([parts.seen, parts.outer])
    if Z.shape[1] > len(Z):
        Z = np.asarray(np.linalg.qr(Z.T, mode="r")).T
    return tacit.LinearNetwork(Z[: len(parts.seen)], Z[len(parts.seen) :])


@shared
def followed(parts: Split) -> tacit.Trajectory:
    """The narrow flow until ‖E‖ is 1e-8 of what it was, evenly in the logarithm of the fall."""
    start = math.log(2) - 2 * math.log(float(np.linalg.norm(parts.error)))
    left = max(SETTLED, 10 * rounding(parts) / float(np.linalg.norm(parts.error)))
    falls = 2 * np.geomspace(_EARLY, max(-math.log(left), 2 * _EARLY), _INSTANTS)
    return tacit.flow(
        narrow(parts), np.diag(parts.sizes), parts.targets, loss=LOSS, at=start + falls, rtol=RTOL
    )


def stacked(model: tacit.LinearNetwork, flow: tacit.Trajectory) -> Float:
    """[U₁; V] at the start and at each instant."""
    first = np.vstack([model.inner, model.outer])[None]
    return np.concatenate([first, np.concatenate([flow.weights["U"], flow.weights["V"]], axis=1)])


def errors_of(parts: Split, Z: Float) -> Float:
    """‖E‖ of Z = [U₁; V] at each instant."""
    rank = len(parts.sizes)
    outputs = parts.sizes[:, None] * (Z[:, :rank] @ Z[:, rank:].transpose(0, 2, 1))
    return np.asarray(np.linalg.norm(parts.targets - outputs, axis=(1, 2)))
