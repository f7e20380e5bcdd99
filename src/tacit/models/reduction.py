r"""Reduction of two-layer models to an equivalent network of small width.

U' = G V and V' = Gᵀ U with G = −∂L/∂(UVᵀ), so that the stacked matrix Z = [U; V] obeys Z' = A(t) Z with a
matrix A that does not depend on the width: the row space of Z is constant. If Z(0) = C Qᵀ with QᵀQ = I, the
factor C, which has few columns, is a network with the same predictor at all times. Without this
reduction, the cost would grow with the width. The part of U outside the row space of X is constant (Min et
al. 2021, Section 3).
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
    """The identity, for weights that were not reduced."""
    return weights


@dataclass(frozen=True, eq=False)
class Widened:
    """The map from reduced weights to those of the model: basis·inner·Qᵀ + outside, and outer·Qᵀ.

    outside: the constant part of the inner weights. Q: None if the width was not reduced.
    """

    inner: str
    outer: str
    basis: Float | None = None
    outside: Float | float = 0.0
    Q: Float | None = None

    def __call__(self, weights: Weights) -> Weights:
        """The weights of the model."""
        inner, outer = weights[self.inner], weights[self.outer]
        if self.Q is not None:
            inner, outer = inner @ self.Q.T, outer @ self.Q.T
        inner = inner if self.basis is None else self.basis @ inner
        return {**weights, self.inner: inner + self.outside, self.outer: outer}


@dataclass(frozen=True, eq=False)
class Rotated:
    """The map from the reduced weights of a single layer to those of the model, W Qᵀ."""

    Q: Float

    def __call__(self, weights: Weights) -> Weights:
        """The weights of the model."""
        return {**weights, "W": weights["W"] @ self.Q.T}


@dataclass(frozen=True)
class Reduction:
    """Weights and inputs of a smaller network with the same outputs, and the map back to the model's weights.

    two_layers: the names of U and v if the predictor is Uv, for the integrator of such networks. lift: the
    measurements of the lifted matrix of a factorization, for the integrator of factorizations.
    """

    weights: Weights
    X: Any
    predictor: Callable[[Weights], Float]
    restore: Callable[[Weights], Weights] = same
    two_layers: tuple[str, str] | None = None
    lift: Any = None


def reduced_layers(weights: Weights, X: Float) -> Reduction:
    """Reduce f(x) = V Uᵀx to the row space of X, with a width of at most features + outputs."""
    basis = _visible(X)
    inner = basis.T @ weights["U"]
    outside = weights["U"] - basis @ inner
    narrow, Q = _narrow(np.vstack([inner, weights["V"]]))
    constant = outside if Q is None else outside @ Q
    rank = basis.shape[1]

    def predictor(small: Weights) -> Float:
        return np.asarray(basis @ (small["U"] @ small["V"].T) + constant @ small["V"].T)

    small = {"U": narrow[:rank].copy(), "V": narrow[rank:].copy()}
    return Reduction(small, X @ basis, predictor, Widened("U", "V", basis, outside, Q), ("U", "V"))


def reduced_factors(weights: Weights) -> tuple[Weights, Widened]:
    """Reduce ⟨UVᵀ, X⟩ to a width of at most rows + columns."""
    rows = len(weights["U"])
    narrow, Q = _narrow(np.vstack([weights["U"], weights["V"]]))
    return {"U": narrow[:rows].copy(), "V": narrow[rows:].copy()}, Widened("U", "V", Q=Q)


def reduced_square(weights: Weights) -> tuple[Weights, Callable[[Weights], Weights]]:
    """Reduce ⟨WWᵀ, X⟩ to a width of at most the number of rows."""
    narrow, Q = _narrow(weights["W"])
    return {"W": narrow.copy()}, same if Q is None else Rotated(Q)


def reduced_neuron(weights: Weights, X: Float) -> Reduction:
    """Reduce f(x) = a·w·x to the row space of X."""
    basis = _visible(X)
    inner = basis.T @ weights["w"]
    outside = weights["w"] - basis @ inner

    def predictor(small: Weights) -> Float:
        return np.asarray(small["a"] * (basis @ small["w"] + outside))

    back = Widened("w", "a", basis, outside)
    return Reduction({**weights, "w": inner}, X @ basis, predictor, back, ("w", "a"))


def _visible(X: Float) -> Float:
    """A basis of the row space of X, with at least one column."""
    basis = row_space(X)
    return basis if basis.size else np.eye(X.shape[1], 1)


def _narrow(Z: Float) -> tuple[Float, Float | None]:
    """C and Q with Z = C Qᵀ and at most as many columns as rows in C; Q is None if C = Z."""
    if Z.shape[1] <= Z.shape[0]:
        return Z, None
    Q, R = scipy.linalg.qr(Z.T, mode="economic", check_finite=False)
    return np.asarray(R.T, dtype=float), np.asarray(Q, dtype=float)
