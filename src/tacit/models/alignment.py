r"""Measurements that commute, in the basis that makes them diagonal.

From M̄(0) = s²·I the flow then never leaves that basis (Woodworth et al. 2020, Theorem 4 and Appendix G), but
only if what rounding leaves beside the diagonal is taken for 0: at small scales a mode may grow by e^{27},
shrink back and give way to another, and an admixture of 1e-16 grows to 1e-3 meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.models.reduction import Weights

_ROUNDING = 1e-13  # of the largest entry of a measurement, times the number of rows and columns
_SEED = 6  # of the combination whose singular vectors are tried: any that is not special does


@dataclass(frozen=True, eq=False)
class Alignment:
    """Orthogonal P and Q with PᵀXₙQ diagonal for every n, and the measurements X in that basis."""

    P: Float
    Q: Float
    X: Float


def alignment(X: Float, symmetric: bool = False) -> Alignment | None:
    """That of measurements which commute up to rounding: XₙXₘᵀ and XₙᵀXₘ symmetric; None of others."""
    mixed = np.tensordot(np.random.default_rng(_SEED).standard_normal(len(X)), X, 1)
    if symmetric:
        P = Q = np.linalg.eigh(mixed)[1]
    else:
        P, _, turned = np.linalg.svd(mixed)
        Q = turned.T
    inside = P.T @ X @ Q
    beside = np.eye(*mixed.shape) == 0
    sizes = np.abs(X).max(axis=(1, 2))
    if (np.abs(inside[:, beside]).max(axis=1, initial=0.0) > _ROUNDING * sum(mixed.shape) * sizes).any():
        return None
    return Alignment(P, Q, np.where(beside, 0.0, inside))


def identity_scale(W: Float) -> float | None:
    """s where W Wᵀ = s²·I up to rounding; None elsewhere."""
    if W.shape[1] < W.shape[0]:
        return None
    lifted = W @ W.T
    size = float(np.trace(lifted)) / len(W)
    exact = np.abs(lifted - size * np.eye(len(W))).max() <= _ROUNDING * size
    return float(np.sqrt(size)) if exact else None


@dataclass(frozen=True, eq=False)
class Turned:
    """The way back to all the weights: W = B·W'·(BᵀW₀/s) for W' in the basis B of the alignment."""

    bases: dict[str, Float]
    first: Weights  # W₀, layer by layer
    scale: float

    def __call__(self, weights: Weights) -> Weights:
        """All the weights, from those of the small model."""
        inner = np.vstack([self.bases[name].T @ first for name, first in self.first.items()]) / self.scale
        return {name: self.bases[name] @ (layer @ inner) for name, layer in weights.items()}
