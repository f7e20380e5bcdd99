r"""Reduction of two-layer models to an equivalent network of small width.

U' = G V and V' = Gᵀ U with G = −∂L/∂(UVᵀ), so that the stacked matrix Z = [U; V] obeys Z' = A(t) Z with a
matrix A that does not depend on the width: the row space of Z is constant. If Z(0) = C Qᵀ with QᵀQ = I, the
factor C, which has few columns, is a network with the same predictor at all times. Without this
reduction, the cost would grow with the width. The part of U outside the row space of X is constant (Min et
al. 2021, Section 3).

Commuting measurements of a matrix have a basis in which they are diagonal. From M̄(0) = s²·I the flow remains
diagonal in that basis (Woodworth et al. 2020, Theorem 4 and Appendix G). Round-off off the diagonal must be
set to 0: at small scales a mode can grow by a factor of e^{27}, shrink back and be replaced by another, and
an off-diagonal entry of 1e-16 meanwhile grows to 1e-3.
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
_ROUNDING = 1e-13  # round-off per row and column, relative to the largest entry of a measurement
# of the random combination whose singular vectors give the basis; almost any combination is suitable
_SEED = 6


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
    basis: Float
    outside: Float
    Q: Float | None = None

    def __call__(self, weights: Weights) -> Weights:
        """The weights of the model."""
        inner, outer = weights[self.inner], weights[self.outer]
        if self.Q is not None:
            inner, outer = inner @ self.Q.T, outer @ self.Q.T
        return {**weights, self.inner: self.basis @ inner + self.outside, self.outer: outer}


@dataclass(frozen=True, eq=False)
class Rotated:
    """The map from layers of reduced width to those of the model, W Qᵀ."""

    Q: Float

    def __call__(self, weights: Weights) -> Weights:
        """The weights of the model."""
        return {name: layer @ self.Q.T for name, layer in weights.items()}


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
    narrow, Q = _narrow(stacked({"U": inner, "V": weights["V"]}))
    constant = outside if Q is None else outside @ Q

    def predictor(small: Weights) -> Float:
        return np.asarray(basis @ (small["U"] @ small["V"].T) + constant @ small["V"].T)

    small = unstacked(narrow, {"U": inner, "V": weights["V"]})
    return Reduction(small, X @ basis, predictor, Widened("U", "V", basis, outside, Q), ("U", "V"))


def stacked(weights: Weights) -> Float:
    """The layers of a factorization, one below the other."""
    return np.vstack(list(weights.values()))


def unstacked(W: Float, weights: Weights) -> Weights:
    """Copies of the rows of W as layers with the names and the numbers of rows of these weights."""
    ends = np.cumsum([len(layer) for layer in weights.values()])[:-1]
    return {name: rows.copy() for name, rows in zip(weights, np.split(W, ends), strict=True)}


def narrowed(weights: Weights) -> tuple[Weights, Callable[[Weights], Weights]]:
    """Reduce ⟨UVᵀ, X⟩ or ⟨WWᵀ, X⟩ to a width of at most the number of rows of all layers."""
    narrow, Q = _narrow(stacked(weights))
    return unstacked(narrow, weights), same if Q is None else Rotated(Q)


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
        inner = stacked({name: self.bases[name].T @ first for name, first in self.first.items()}) / self.scale
        return {name: self.bases[name] @ (layer @ inner) for name, layer in weights.items()}
