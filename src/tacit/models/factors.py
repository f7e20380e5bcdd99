r"""Parametrizations of a matrix that is observed through linear measurements.

The weights W (for U Vᵀ, the stacked W = [U; V]) obey W' = Ā(p) W with Ā(p) = Σ pₙĀₙ, where p is the negative
gradient of the loss with respect to the outputs, and the outputs are ½⟨Āₙ, W Wᵀ⟩ (Woodworth et al. 2020,
Section 6): Āₙ = [0 Xₙ; Xₙᵀ 0] for U Vᵀ, and Āₙ = 2Xₙ for W Wᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.models.alignment import Turned, alignment, identity_scale
from tacit.models.parametrizations import (
    Factored,
    Invariants,
    Parametrization,
    Weights,
    side_by_side,
    symmetric,
)
from tacit.models.reduction import Reduction, reduced_factors, reduced_square

_KERNEL = 20_000  # rows of the largest tangent kernel that is computed: 3.2 GB


@dataclass(frozen=True)
class Factors(Factored):
    """f(X) = ⟨U Vᵀ, X⟩ for matrices X (Woodworth et al. 2020, Section 6)."""

    def outputs(self, weights: Weights, X: Any) -> Any:
        """⟨U Vᵀ, Xₙ⟩ for every n."""
        if isinstance(X, Entries):
            return X.products(weights["U"], weights["V"])
        product = self.predictor(weights)
        return X.reshape(X.shape[0], -1) @ product.reshape(-1)

    def reduced(self, weights: Weights, X: Any) -> Reduction:
        """Weights no wider than the predictor; if M̄ = s²·I, in a common basis of the measurements."""
        small, restore = reduced_factors(weights)
        d1, entries = len(small["U"]), isinstance(X, Entries)
        scale = None if entries else identity_scale(np.vstack(list(small.values())))
        found = None if scale is None else alignment(X)
        if found is None or scale is None:
            return Reduction(small, X, self.predictor, restore, lift=PairLift(X, d1))
        P, Q, W = found.P, found.Q, scale * np.eye(d1 + len(small["V"]))

        def predictor(inside: Weights) -> Float:
            return np.asarray(P @ self.predictor(inside) @ Q.T)

        back = Turned({"U": P, "V": Q}, weights, scale)
        start = {"U": W[:d1].copy(), "V": W[d1:].copy()}
        return Reduction(start, found.X, predictor, back, lift=PairLift(found.X, d1))

    def force(self, X: Any, r: Float) -> Any:
        """Σ rₙ Xₙ, sparse if the data are entries of the matrix."""
        return X.adjoint(r) if isinstance(X, Entries) else np.tensordot(r, X, 1)

    def push(self, weights: Weights, X: Any, r: Float) -> Float:
        """U Uᵀ G + G V Vᵀ."""
        G, U, V = self.force(X, r), weights["U"], weights["V"]
        return np.asarray(U @ (G.T @ U).T + (G @ V) @ V.T)

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """XₙV and XₙᵀU."""
        return side_by_side(weights, {"U": X @ weights["V"], "V": X.transpose(0, 2, 1) @ weights["U"]})

    def kernel(self, weights: Weights, X: Any) -> Float:
        """⟨XₙV, X'V⟩ + ⟨XₙᵀU, X'ᵀU⟩."""
        return PairLift(X, len(weights["U"])).kernel(np.vstack([weights["U"], weights["V"]]))


@dataclass(frozen=True)
class SymmetricFactors(Parametrization):
    """f(X) = ⟨W Wᵀ, X⟩ for symmetric matrices X (Woodworth et al. 2020, Section 6 and Appendix H)."""

    homogeneous = written_out = True

    def predictor(self, weights: Weights) -> Any:
        """W Wᵀ."""
        return weights["W"] @ weights["W"].T

    def outputs(self, weights: Weights, X: Any) -> Any:
        """⟨W Wᵀ, Xₙ⟩ for every n."""
        return X.reshape(X.shape[0], -1) @ self.predictor(weights).reshape(-1)

    def reduced(self, weights: Weights, X: Float) -> Reduction:
        """Weights no wider than the predictor; if W Wᵀ = s²·I, in a common basis of the measurements."""
        small, restore = reduced_square(weights)
        scale = identity_scale(small["W"])
        found = None if scale is None else alignment(X, symmetric=True)
        if found is None or scale is None:
            return Reduction(small, X, self.predictor, restore, lift=SquareLift(X))
        P = found.P

        def predictor(inside: Weights) -> Float:
            return np.asarray(P @ self.predictor(inside) @ P.T)

        start = {"W": scale * np.eye(len(P))}
        back = Turned({"W": P}, weights, scale)
        return Reduction(start, found.X, predictor, back, lift=SquareLift(found.X))

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r = 2 G W, with G = Σ rₙXₙ."""
        return {"W": 2 * np.tensordot(r, X, 1) @ weights["W"]}

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """2 G W Wᵀ + 2 W Wᵀ G."""
        half = self.pull(weights, X, r)["W"] @ weights["W"].T
        return np.asarray(half + half.T)

    def jacobian(self, weights: Weights, X: Float) -> Float:
        """2XₙW."""
        return side_by_side(weights, {"W": 2 * X @ weights["W"]})

    def curvature(self, weights: Weights, X: Float, r: Float) -> Float:
        """2G between entries of W in the same column."""
        bent = np.kron(2 * np.tensordot(r, X, 1), np.eye(weights["W"].shape[1]))
        return symmetric(weights, {("W", "W"): np.asarray(bent, dtype=float)})

    def kernel(self, weights: Weights, X: Float) -> Float:
        """4⟨XₙW, X'W⟩."""
        return SquareLift(X).kernel(weights["W"])

    def invariants(self, weights: Weights) -> Invariants:
        """None, except the row space of W, which the reduced weights cannot leave."""
        return {}


class PairLift:
    """Āₙ = [0 Xₙ; Xₙᵀ 0], for W = [U; V]. rows: the number of rows of U."""

    def __init__(self, X: Any, rows: int):
        self.X, self.rows = X, rows

    @cached_property
    def reach(self) -> float:
        """The largest ‖Σ pₙĀₙ‖ at ‖p‖ = 1."""
        spread = 1.0 if isinstance(self.X, Entries) else _spectral_norm(self.X)
        return float(np.sqrt(2) * spread)

    def lift(self, pulls: Float) -> Float:
        """Σ pₙĀₙ for every p in the last axis of pulls."""
        G = self.X.matrix(pulls) if isinstance(self.X, Entries) else np.tensordot(pulls, self.X, 1)
        d1, d2 = G.shape[-2:]
        lifted = np.zeros((*G.shape[:-2], d1 + d2, d1 + d2))
        lifted[..., :d1, d1:], lifted[..., d1:, :d1] = G, np.swapaxes(G, -1, -2)
        return lifted

    def read(self, W: Float) -> Float:
        """⟨Xₙ, U Vᵀ⟩ for every W in the last two axes."""
        product = W[..., : self.rows, :] @ np.swapaxes(W[..., self.rows :, :], -1, -2)
        return _forward(self.X, product)

    def size(self, W: Float) -> Float:
        """⟨|Xₙ|, |U||V|ᵀ⟩."""
        return PairLift(abs(self.X), self.rows).read(np.abs(W))

    def kernel(self, W: Float) -> Float:
        """⟨Xₙ, Xₘ VVᵀ + UUᵀ Xₘ⟩."""
        U, V = W[: self.rows], W[self.rows :]
        left, right = U @ U.T, V @ V.T
        if not isinstance(self.X, Entries):
            return _products(self.X, self.X @ right + left @ self.X)
        if len(self.X) > _KERNEL:
            raise InputError(
                f"the tangent kernel of {len(self.X):,} entries needs {8e-9 * len(self.X) ** 2:,.1f} GB of "
                f"memory; pass at most {_KERNEL:,} entries"
            )
        i, j = self.X.rows, self.X.columns
        same_row, same_column = i[:, None] == i, j[:, None] == j
        return np.where(same_row, right[np.ix_(j, j)], 0.0) + np.where(same_column, left[np.ix_(i, i)], 0.0)


class SquareLift:
    """Āₙ = 2Xₙ, for symmetric Xₙ."""

    rows = None

    def __init__(self, X: Float):
        self.X = X

    @cached_property
    def reach(self) -> float:
        """The largest ‖Σ pₙĀₙ‖ at ‖p‖ = 1."""
        return 2 * _spectral_norm(self.X)

    def lift(self, pulls: Float) -> Float:
        """Σ pₙĀₙ for every p in the last axis of pulls."""
        return 2 * np.tensordot(pulls, self.X, 1)

    def read(self, W: Float) -> Float:
        """⟨Xₙ, W Wᵀ⟩ for every W in the last two axes."""
        return _forward(self.X, W @ np.swapaxes(W, -1, -2))

    def size(self, W: Float) -> Float:
        """⟨|Xₙ|, |W||W|ᵀ⟩."""
        return SquareLift(np.abs(self.X)).read(np.abs(W))

    def kernel(self, W: Float) -> Float:
        """4⟨Xₙ, Xₘ W Wᵀ⟩."""
        return _products(self.X, 4 * self.X @ (W @ W.T))


def _spectral_norm(X: Float) -> float:
    """The largest singular value of the matrix whose rows are the measurements."""
    flat = X.reshape(len(X), -1)
    return float(np.sqrt(np.linalg.eigvalsh(flat @ flat.T)[-1]))


def _forward(X: Any, product: Float) -> Float:
    """⟨Xₙ, M⟩ for every M in the last two axes."""
    if isinstance(X, Entries):
        return X.forward(product)
    return np.asarray(product.reshape(*product.shape[:-2], -1) @ X.reshape(len(X), -1).T)


def _products(X: Float, Y: Float) -> Float:
    """⟨Xₙ, Yₘ⟩, made symmetric, because round-off makes it slightly asymmetric."""
    kernel = X.reshape(len(X), -1) @ Y.reshape(len(X), -1).T
    return np.asarray((kernel + kernel.T) / 2)
