r"""Parametrizations of a matrix that is observed through linear measurements.

The weights W (for U Vᵀ, the stacked W = [U; V]) obey W' = Ā(p) W with Ā(p) = Σ pₙĀₙ, where p is the negative
gradient of the loss with respect to the outputs, and the outputs are ½⟨Āₙ, W Wᵀ⟩ (Woodworth et al. 2020,
Section 6): Āₙ = [0 Xₙ; Xₙᵀ 0] for U Vᵀ, and Āₙ = 2Xₙ for W Wᵀ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.models.parametrizations import (
    Factored,
    Parametrization,
    Weights,
    side_by_side,
    symmetric,
)
from tacit.models.reduction import Reduction, Turned, alignment, identity_scale, narrowed, stacked, unstacked

_KERNEL = 20_000  # rows of the largest tangent kernel that is computed: 3.2 GB


class _Measured(Parametrization):
    """Base class of parametrizations ⟨M, X⟩ of a matrix M that is a product of the weights."""

    symmetric = False

    def lift(self, weights: Weights, X: Any) -> Lift:
        """The measurements of the lifted matrix."""
        raise TypeError(f"{type(self).__name__} must implement lift")

    def outputs(self, weights: Weights, X: Any) -> Any:
        """⟨M, Xₙ⟩ for every n."""
        return X.reshape(X.shape[0], -1) @ self.predictor(weights).reshape(-1)

    def kernel(self, weights: Weights, X: Any) -> Float:
        """J Jᵀ."""
        return self.lift(weights, X).kernel(stacked(weights))

    def reduced(self, weights: Weights, X: Any) -> Reduction:
        """Weights no wider than the predictor; if W Wᵀ = s²·I, in a common basis of the measurements."""
        small, restore = narrowed(weights)
        scale = None if isinstance(X, Entries) else identity_scale(stacked(small))
        found = None if scale is None else alignment(X, self.symmetric)
        if found is None or scale is None:
            return Reduction(small, X, self.predictor, restore, lift=self.lift(small, X))
        P, Q, W = found.P, found.Q, scale * np.eye(len(stacked(small)))

        def predictor(inside: Weights) -> Float:
            return np.asarray(P @ self.predictor(inside) @ Q.T)

        start, back = unstacked(W, small), Turned(dict(zip(small, (P, Q), strict=False)), weights, scale)
        return Reduction(start, found.X, predictor, back, lift=self.lift(start, found.X))


@dataclass(frozen=True)
class Factors(_Measured, Factored):
    """f(X) = ⟨U Vᵀ, X⟩ for matrices X (Woodworth et al. 2020, Section 6)."""

    def lift(self, weights: Weights, X: Any) -> PairLift:
        """Āₙ = [0 Xₙ; Xₙᵀ 0]."""
        return PairLift(X, len(weights["U"]))

    def outputs(self, weights: Weights, X: Any) -> Any:
        """⟨U Vᵀ, Xₙ⟩ for every n."""
        if isinstance(X, Entries):
            return X.products(weights["U"], weights["V"])
        return super().outputs(weights, X)

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


@dataclass(frozen=True)
class SymmetricFactors(_Measured):
    """f(X) = ⟨W Wᵀ, X⟩ for symmetric matrices X (Woodworth et al. 2020, Section 6 and Appendix H).

    Nothing is conserved except the row space of W, which the reduced weights cannot leave.
    """

    homogeneous = written_out = symmetric = True

    def lift(self, weights: Weights, X: Float) -> SquareLift:
        """Āₙ = 2Xₙ."""
        return SquareLift(X)

    def predictor(self, weights: Weights) -> Any:
        """W Wᵀ."""
        return weights["W"] @ weights["W"].T

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


class Lift(ABC):
    """The lifted measurements Āₙ = `unit`·(arrangement of Xₙ).

    rows: the number of rows of U if W = [U; V]; None for a single factor.
    """

    unit: float  # ‖Āₙ‖/‖Xₙ‖ in the Frobenius norm
    rows: int | None = None

    def __init__(self, X: Any):
        self.X = X

    @abstractmethod
    def lift(self, pulls: Float) -> Float:
        """Ā(p) = Σ pₙĀₙ for every p in the last axis of pulls."""

    @abstractmethod
    def product(self, W: Float) -> Float:
        """The measured matrix for every W in the last two axes."""

    @abstractmethod
    def kernel(self, W: Float) -> Float:
        """⟨ĀₙW, ĀₘW⟩."""

    @cached_property
    def reach(self) -> float:
        """The largest ‖Ā(p)‖ at ‖p‖ = 1."""
        return self.unit * _spectral_norm(self.X)

    def read(self, W: Float) -> Float:
        """The outputs ½⟨Āₙ, W Wᵀ⟩ for every W in the last two axes."""
        return _forward(self.X, self.product(W))

    def size(self, W: Float) -> Float:
        """Sums of the absolute values of the terms of the outputs."""
        return _forward(abs(self.X), self.product(np.abs(W)))


class PairLift(Lift):
    """Āₙ = [0 Xₙ; Xₙᵀ 0], for W = [U; V]."""

    unit = math.sqrt(2)

    def __init__(self, X: Any, rows: int):
        super().__init__(X)
        self.rows = rows

    def lift(self, pulls: Float) -> Float:
        """[0 G; Gᵀ 0] with G = Σ pₙXₙ."""
        G = self.X.matrix(pulls) if isinstance(self.X, Entries) else np.tensordot(pulls, self.X, 1)
        d1, d2 = G.shape[-2:]
        lifted = np.zeros((*G.shape[:-2], d1 + d2, d1 + d2))
        lifted[..., :d1, d1:], lifted[..., d1:, :d1] = G, np.swapaxes(G, -1, -2)
        return lifted

    def product(self, W: Float) -> Float:
        """U Vᵀ."""
        return W[..., : self.rows, :] @ np.swapaxes(W[..., self.rows :, :], -1, -2)

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


class SquareLift(Lift):
    """Āₙ = 2Xₙ, for symmetric Xₙ."""

    unit = 2.0

    def lift(self, pulls: Float) -> Float:
        """2Σ pₙXₙ."""
        return 2 * np.tensordot(pulls, self.X, 1)

    def product(self, W: Float) -> Float:
        """W Wᵀ."""
        return W @ np.swapaxes(W, -1, -2)

    def kernel(self, W: Float) -> Float:
        """4⟨Xₙ, Xₘ W Wᵀ⟩."""
        return _products(self.X, 4 * self.X @ (W @ W.T))


def _spectral_norm(X: Any) -> float:
    """The largest singular value of the matrix whose rows are the measurements."""
    if isinstance(X, Entries):
        return 1.0
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
