r"""Two-layer models with their width taken out.

U' = G V and V' = Gᵀ U with G = −∂L/∂(UVᵀ), so the stacked matrix Z = [U; V] obeys Z' = A(t) Z with A small:
its columns move only within the span that they start in. A factor C of few columns, Z(0) = C Qᵀ with QᵀQ = I,
is therefore a network of its own with the same predictor, and a width of 10,000 costs what a width of 100
costs. The part of U outside the row space of X never moves at all (Min et al. 2021, Section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from tacit.data.arrays import Float
from tacit.numerics.subspaces import row_space

Weights = dict[str, Any]


def same(weights: Weights) -> Weights:
    """The weights of a form that observes those of the model."""
    return weights


@dataclass(frozen=True, eq=False)
class Widened:
    """The way back to all the weights: inner weights basis·inner·Qᵀ + outside, outer ones outer·Qᵀ.

    outside: the part of the inner weights that never moves. Q: None where the width was not reduced.
    """

    inner: str
    outer: str
    basis: Float | None = None
    outside: Float | float = 0.0
    Q: Float | None = None

    def __call__(self, weights: Weights) -> Weights:
        """All the weights, from those of the small network."""
        inner, outer = weights[self.inner], weights[self.outer]
        if self.Q is not None:
            inner, outer = inner @ self.Q.T, outer @ self.Q.T
        inner = inner if self.basis is None else self.basis @ inner
        return {**weights, self.inner: inner + self.outside, self.outer: outer}


@dataclass(frozen=True, eq=False)
class Rotated:
    """The way back to all the weights of one layer, W Qᵀ."""

    Q: Float

    def __call__(self, weights: Weights) -> Weights:
        """All the weights, from those of the small model."""
        return {**weights, "W": weights["W"] @ self.Q.T}


@dataclass(frozen=True)
class Reduction:
    """Weights and inputs of a smaller network that computes the same outputs, and the way back.

    two_layers: the names of U and v where the predictor is Uv, which has an integrator of its own. lift: the
    measurements of the lifted matrix of a factorization, which has one, too.
    """

    weights: Weights
    X: Any
    predictor: Callable[[Weights], Float]
    restore: Callable[[Weights], Weights] = same
    two_layers: tuple[str, str] | None = None
    lift: Any = None


def reduced_layers(weights: Weights, X: Float) -> Reduction:
    """Of f(x) = V Uᵀx: no wider than features and outputs, and with the features that X sees."""
    basis = _visible(X)
    inner = basis.T @ weights["U"]
    outside = weights["U"] - basis @ inner
    narrow, Q = _narrow(np.vstack([inner, weights["V"]]))
    beside = outside if Q is None else outside @ Q
    rank = basis.shape[1]

    def predictor(small: Weights) -> Float:
        return np.asarray(basis @ (small["U"] @ small["V"].T) + beside @ small["V"].T)

    small = {"U": narrow[:rank].copy(), "V": narrow[rank:].copy()}
    return Reduction(small, X @ basis, predictor, Widened("U", "V", basis, outside, Q), ("U", "V"))


def reduced_factors(weights: Weights) -> tuple[Weights, Widened]:
    """Of ⟨UVᵀ, X⟩: no wider than its rows and columns."""
    rows = len(weights["U"])
    narrow, Q = _narrow(np.vstack([weights["U"], weights["V"]]))
    return {"U": narrow[:rows].copy(), "V": narrow[rows:].copy()}, Widened("U", "V", Q=Q)


def reduced_square(weights: Weights) -> tuple[Weights, Callable[[Weights], Weights]]:
    """Of ⟨WWᵀ, X⟩: no wider than its rows."""
    narrow, Q = _narrow(weights["W"])
    return {"W": narrow.copy()}, same if Q is None else Rotated(Q)


def reduced_neuron(weights: Weights, X: Float) -> Reduction:
    """Of f(x) = a·w·x: with the features that X sees."""
    basis = _visible(X)
    inner = basis.T @ weights["w"]
    outside = weights["w"] - basis @ inner

    def predictor(small: Weights) -> Float:
        return np.asarray(small["a"] * (basis @ small["w"] + outside))

    back = Widened("w", "a", basis, outside)
    return Reduction({**weights, "w": inner}, X @ basis, predictor, back, ("w", "a"))


def _visible(X: Float) -> Float:
    """The row space of X, with one direction at least."""
    basis = row_space(X)
    return basis if basis.size else np.eye(X.shape[1], 1)


def _narrow(Z: Float) -> tuple[Float, Float | None]:
    """C and Q with Z = C Qᵀ and no more columns in C than rows; Q is None where Z is narrow already."""
    if Z.shape[1] <= Z.shape[0]:
        return Z, None
    Q, R = scipy.linalg.qr(Z.T, mode="economic", check_finite=False)
    return np.asarray(R.T, dtype=float), np.asarray(Q, dtype=float)
