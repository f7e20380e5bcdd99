r"""Commuting measurements of a matrix, in the basis in which they are diagonal.

From M̄(0) = s²·I the flow remains diagonal in that basis (Woodworth et al. 2020, Theorem 4 and Appendix G).
Round-off off the diagonal must be set to 0: at small scales a mode can grow by a factor of e^{27}, shrink
back and be replaced by another, and an off-diagonal entry of 1e-16 meanwhile grows to 1e-3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.models.reduction import Weights

_ROUNDING = 1e-13  # round-off per row and column, relative to the largest entry of a measurement
_SEED = 6  # of the random combination whose singular vectors give the basis; almost any combination will do


@dataclass(frozen=True, eq=False)
class Alignment:
    """Orthogonal P and Q with PᵀXₙQ diagonal for every n, and X, the measurements PᵀXₙQ."""

    P: Float
    Q: Float
    X: Float


def alignment(X: Float, symmetric: bool = False) -> Alignment | None:
    """The common basis of measurements, or None unless all XₙXₘᵀ and XₙᵀXₘ are symmetric up to round-off."""
    mixed = np.tensordot(np.random.default_rng(_SEED).standard_normal(len(X)), X, 1)
    if symmetric:
        P = Q = np.linalg.eigh(mixed)[1]
    else:
        P, _, Qt = np.linalg.svd(mixed)
        Q = Qt.T
    turned = P.T @ X @ Q
    off_diagonal = np.eye(*mixed.shape) == 0
    sizes = np.abs(X).max(axis=(1, 2))
    largest = np.abs(turned[:, off_diagonal]).max(axis=1, initial=0.0)
    if (largest > _ROUNDING * sum(mixed.shape) * sizes).any():
        return None
    return Alignment(P, Q, np.where(off_diagonal, 0.0, turned))


def identity_scale(W: Float) -> float | None:
    """s if W Wᵀ = s²·I up to round-off, otherwise None."""
    if W.shape[1] < W.shape[0]:
        return None
    lifted = W @ W.T
    size = float(np.trace(lifted)) / len(W)
    exact = np.abs(lifted - size * np.eye(len(W))).max() <= _ROUNDING * size
    return float(np.sqrt(size)) if exact else None


@dataclass(frozen=True, eq=False)
class Turned:
    """The map from weights W' in the basis B of the alignment to those of the model, W = B·W'·(BᵀW₀/s)."""

    bases: dict[str, Float]
    first: Weights  # W₀, layer by layer
    scale: float

    def __call__(self, weights: Weights) -> Weights:
        """The weights of the model."""
        inner = np.vstack([self.bases[name].T @ first for name, first in self.first.items()]) / self.scale
        return {name: self.bases[name] @ (layer @ inner) for name, layer in weights.items()}
