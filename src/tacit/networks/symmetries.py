r"""Quantities conserved by gradient flow on a network, found by testing symmetries with Jacobian products.

If θ ↦ θ + εAθ with a symmetric A leaves the outputs unchanged to first order, J·Aθ = 0, then gradient flow on
any loss of the outputs conserves ⟨θ, Aθ⟩, since d⟨θ, Aθ⟩/dt = 2⟨Aθ, Jᵀr⟩ = 2⟨JAθ, r⟩. For two layers with
hidden units between them, A multiplies the incoming weights of the units by B and divides the outgoing ones:

    linear units                    any symmetric B     W_{l+1}ᵀW_{l+1} − W_lW_lᵀ      a matrix
    positively homogeneous units    any diagonal B      the diagonal of this matrix    a number for each unit
    all units together only         B = 1               the trace of this matrix       a number
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.networks.backend import Array, Backend
from tacit.networks.chain import Link, joints, weight_layers

# A symmetry holds if both layers together change the outputs by less than this fraction of what the first
# changes alone: far above the round-off of Jacobian products in float64.
_ROUND_OFF = 1e-9
_SAMPLES = 8  # inputs at which symmetries are tested
_MOST_VECTORS = 12  # vectors of a network without matrices, all pairs of which are tested (66 pairs)
_MOST_UNITS = 500  # beyond this width, imbalance matrices are not stored, only their diagonals
_KIND_NAMES = {"matrix": "imbalance matrix", "unit": "imbalance by unit", "layer": "imbalance"}


@dataclass(frozen=True)
class Conserved:
    """A conserved quantity of a link: kind is "matrix", "unit" (a number for each unit) or "layer" (one)."""

    link: Link
    kind: str

    @property
    def name(self) -> str:
        """The name shown to users."""
        return f"{_KIND_NAMES[self.kind]}, {self.link.name}"

    def value(self, weights: Array) -> tuple[Array, Array]:
        """The quantity, and the size of the terms whose difference it is."""
        if self.kind == "matrix":
            into, out = self.link.grams(weights)
            return out - into, np.asarray(np.linalg.norm(into) + np.linalg.norm(out))
        first, second, bias = self.link.rows(weights)
        into = np.sum(np.square(first, dtype=np.float64), axis=1)
        into = into if bias is None else into + np.square(bias, dtype=np.float64)
        out = np.sum(np.square(second, dtype=np.float64), axis=1)
        if self.kind == "layer":
            into, out = into.sum(), out.sum()
        return np.asarray(out - into), np.asarray(out + into)


def conserved(backend: Backend, weights: Array, X: Array) -> tuple[Conserved, ...]:
    """Conserved quantities of consecutive layers, or of any two if all are vectors (float64 weights)."""
    X, rng = X[:_SAMPLES], np.random.default_rng(0)
    layers = weight_layers(backend)
    pairs: Any = pairwise(layers)
    if all(len(layer.shape) == 1 for layer in layers):
        pairs = combinations(layers[:_MOST_VECTORS], 2)
    random = _random_weights(backend, weights, X, rng)
    found = (_of_pair(backend, random, X, list(joints(backend, *pair)), rng) for pair in pairs)
    return tuple(each for each in found if each is not None)


def _random_weights(backend: Backend, weights: Array, X: Array, rng: np.random.Generator) -> Array:
    """Random weights of at least natural size: near 0, a smooth activation such as tanh would seem linear."""
    random = weights.copy()
    for layer in backend.layers:
        W = layer.of(weights)
        size = float(np.sqrt(np.mean(np.square(W, dtype=np.float64))))
        unit = 1 / np.sqrt(max(np.prod(W.shape) ** 0.5, 1.0)) if W.ndim >= 2 else 1.0
        random[layer.slice] = rng.standard_normal(W.size) * max(size, unit)
    return random if np.isfinite(backend.outputs(random, X)).all() else weights


def _of_pair(
    backend: Backend, weights: Array, X: Array, candidates: list[Link], rng: np.random.Generator
) -> Conserved | None:
    """The conserved quantity with most numbers, over all candidates for the hidden units of two layers."""
    for kind in _KIND_NAMES:
        for link in candidates:
            if (kind == "matrix" and link.units > _MOST_UNITS) or (kind != "layer" and link.units == 1):
                continue
            into, out = _directions(weights, link, kind, rng)
            one, both = (np.abs(backend.jvp(weights, X, each)).max() for each in (into, into - out))
            if one > 0 and both <= _ROUND_OFF * one:
                return Conserved(link, kind)
    return None


def _directions(weights: Array, link: Link, kind: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """The directions B·W_l (with B·b_l) and W_{l+1}·B in the space of all weights, for a random B."""
    first, second, bias = link.rows(np.arange(weights.size))  # positions in the flat weights
    B = np.ones(link.units) if kind == "layer" else rng.standard_normal(link.units)
    matrix = rng.standard_normal((link.units, link.units)) if kind == "matrix" else None

    def multiplied(positions: Array) -> Array:
        W = weights[positions]
        return (B * W.T).T if matrix is None else (matrix + matrix.T) @ W

    into, out = np.zeros_like(weights), np.zeros_like(weights)
    into[first], out[second] = multiplied(first), multiplied(second)
    if bias is not None:
        into[bias] = multiplied(bias)
    return into, out
