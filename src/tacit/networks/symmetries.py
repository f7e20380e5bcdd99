r"""What gradient flow on a network conserves, found by products of its Jacobian.

Where θ ↦ θ + εAθ with a symmetric A does not change the outputs to first order, J·Aθ = 0, gradient flow on
any loss of the outputs keeps ⟨θ, Aθ⟩, since d⟨θ, Aθ⟩/dt = 2⟨Aθ, Jᵀr⟩ = 2⟨JAθ, r⟩. For two layers with hidden
units between them, A multiplies what goes into the units by B and divides what comes out of them:

    linear units                  any symmetric B      W_{l+1}ᵀW_{l+1} − W_lW_lᵀ       one matrix
    positively homogeneous ones   any diagonal B       the diagonal of it              a number for each unit
    only all of them together     B = 1                its trace                       a number
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.networks.backend import Array, Backend
from tacit.networks.chain import Link, joints, weight_layers

_NOTHING = 1e-9  # of what one of the two layers alone would change
_SAMPLES = 8  # on which symmetries are looked for
_MOST_LAYERS = 12  # of vectors, all pairs of which are tried
_MOST_UNITS = 500  # whose matrix is kept, and not only its diagonal
KINDS = ("matrix", "unit", "layer")


@dataclass(frozen=True)
class Conserved:
    """A link with what gradient flow keeps of it: a matrix, a number for each unit, or one for the layer."""

    link: Link
    kind: str

    @property
    def name(self) -> str:
        """In words."""
        what = {"matrix": "imbalance matrix", "unit": "imbalance by unit", "layer": "imbalance"}
        return f"{what[self.kind]}, {self.link.name}"

    def value(self, weights: Array) -> tuple[Array, Array]:
        """The quantity, and the size of the terms that make it."""
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
    """What the flow keeps, of layers that follow each other; of vectors, of any two. weights: of float64."""
    X, rng = X[:_SAMPLES], np.random.default_rng(0)
    layers = weight_layers(backend)
    pairs: Any = pairwise(layers)
    if all(len(layer.shape) == 1 for layer in layers):
        pairs = combinations(layers[:_MOST_LAYERS], 2)
    trial = _trial(backend, weights, X, rng)
    found = (_of_pair(backend, trial, X, list(joints(backend, *pair)), rng) for pair in pairs)
    return tuple(each for each in found if each is not None)


def _trial(backend: Backend, weights: Array, X: Array, rng: np.random.Generator) -> Array:
    """Weights of another size, at which an activation that is nearly linear near 0 shows that it is not."""
    trial = weights.copy()
    for layer in backend.layers:
        W = layer.of(weights)
        size = float(np.sqrt(np.mean(np.square(W, dtype=np.float64))))
        unit = 1 / np.sqrt(max(np.prod(W.shape) ** 0.5, 1.0)) if W.ndim >= 2 else 1.0
        trial[layer.slice] = rng.standard_normal(W.size) * max(size, unit)
    return trial if np.isfinite(backend.outputs(trial, X)).all() else weights


def _of_pair(
    backend: Backend, weights: Array, X: Array, ways: list[Link], rng: np.random.Generator
) -> Conserved | None:
    """The most that is kept of two layers, whichever way their units lie."""
    for kind in KINDS:
        for link in ways:
            if kind == "matrix" and link.units > _MOST_UNITS:
                continue
            if kind != "layer" and link.units == 1:
                continue
            if _is_symmetric(backend, weights, X, link, kind, rng):
                return Conserved(link, kind)
    return None


def _is_symmetric(
    backend: Backend, weights: Array, X: Array, link: Link, kind: str, rng: np.random.Generator
) -> bool:
    into, out = _directions(weights, link, kind, rng)
    one, both = (backend.jvp(weights, X, each) for each in (into, into - out))
    size = float(np.abs(one).max())
    return bool(size > 0 and np.abs(both).max() <= _NOTHING * size)


def _directions(weights: Array, link: Link, kind: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """B·W_l with B·b_l, and W_{l+1}·B, each as a direction of all weights."""
    first, second, bias = link.rows(np.arange(weights.size))  # where each of them lies
    B = np.ones(link.units) if kind == "layer" else rng.standard_normal(link.units)
    matrix = rng.standard_normal((link.units, link.units)) if kind == "matrix" else None

    def moved(places: Array) -> Array:
        W = weights[places]
        return (B * W.T).T if matrix is None else (matrix + matrix.T) @ W

    into, out = np.zeros_like(weights), np.zeros_like(weights)
    into[first], out[second] = moved(first), moved(second)
    if bias is not None:
        into[bias] = moved(bias)
    return into, out
