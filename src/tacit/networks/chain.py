r"""The layers of a network as a chain W₁, …, W_L, and their balance.

Gradient flow keeps ‖W_{l+1}‖² − ‖W_l‖² (with the bias of layer l counted to W_l) where the activation between
the two is positively homogeneous, and W_{l+1}ᵀW_{l+1} − W_l W_lᵀ where there is none (Du et al. 2018). What
of this holds of a network is not read from its source but measured (`symmetries`).

Which layers follow each other: those of a module in the order in which it has them; those of a pytree in its
order, with numbers in names read as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array, Backend, Layer


@dataclass(frozen=True)
class Link:
    """Two layers with hidden units between them, `axes[0]` of the first and `axes[1]` of the second.

    bias: that of the units. copies: how often each unit is met by the second, after a convolution whose
    places are all seen by a dense layer; by_unit: the places of a unit side by side, as PyTorch has them.
    """

    first: Layer
    second: Layer
    axes: tuple[int, int]
    bias: Layer | None = None
    copies: int = 1
    by_unit: bool = True

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name} → {self.second.name}"

    @property
    def units(self) -> int:
        """How many hidden units there are."""
        return self.first.shape[self.axes[0]]

    def rows(self, weights: Array) -> tuple[Array, Array, Array | None]:
        """What goes into each unit, (units, …), what comes out of it, and its bias."""
        into = np.moveaxis(self.first.of(weights), self.axes[0], 0)
        out = np.moveaxis(self.second.of(weights), self.axes[1], 0)
        if self.copies > 1:
            shape = (self.units, self.copies) if self.by_unit else (self.copies, self.units)
            out = np.moveaxis(out.reshape(*shape, *out.shape[1:]), 0 if self.by_unit else 1, 0)
        bias = None if self.bias is None else self.bias.of(weights)
        return into.reshape(self.units, -1), out.reshape(self.units, -1), bias

    def grams(self, weights: Array) -> tuple[Array, Array]:
        """Σ over what goes in, with the bias, and over what comes out: (units, units) each."""
        into, out, bias = (None if each is None else each.astype(np.float64) for each in self.rows(weights))
        assert into is not None and out is not None
        inner = into @ into.T + (0.0 if bias is None else np.outer(bias, bias))
        return inner, out @ out.T


def weight_layers(backend: Backend) -> list[Layer]:
    """Matrices and convolutions in the order of the chain; of networks that have none, all vectors."""
    layers = backend.chain()
    matrices = [layer for layer in layers if len(layer.shape) >= 2]
    return matrices or [layer for layer in layers if len(layer.shape) == 1]


def links(backend: Backend) -> list[Link]:
    """Every two layers that follow each other; `InputError` names those whose shapes do not."""
    layers, found = weight_layers(backend), []
    for first, second in pairwise(layers):
        ways = list(joints(backend, first, second))
        if not ways:
            raise InputError(
                f"{first.name} {first.shape} and {second.name} {second.shape} follow each other in the "
                "network but share no hidden units: the order of layers is that of the parameters, for dicts "
                "that of their keys; give them in a list, in the order in which they act"
            )
        found.append(ways[0])
    return found


def joints(backend: Backend, first: Layer, second: Layer) -> Iterator[Link]:
    """The ways in which hidden units can lie between two layers, the likeliest first."""
    out, into = backend.channels
    dense = len(first.shape) == len(second.shape) == 2
    if len(first.shape) == len(second.shape) == 1:
        ways = [(0, 0)]
    elif dense:
        ways = [(out % 2, into % 2), (into % 2, out % 2), (1, 1), (0, 0)]
    else:
        ways = [(out % len(first.shape), into % len(second.shape))]
    for a, b in ways:
        units, met = first.shape[a], second.shape[b]
        flattened = len(first.shape) > 2 and len(second.shape) == 2 and met % units == 0
        if met == units or flattened:
            bias = bias_of(backend, first, units)
            yield Link(first, second, (a, b), bias, met // units, backend.channels[0] == 0)


def bias_of(backend: Backend, layer: Layer, units: int) -> Layer | None:
    """The vector that stands beside the layer, or has the same number in its name."""
    vectors = [each for each in backend.layers if each.shape == (units,) and each is not layer]
    parent = _parent(layer)
    alone = sum(_parent(each) == parent and len(each.shape) >= 2 for each in backend.layers) == 1
    beside = [each for each in vectors if _parent(each) == parent] if alone else []
    numbered = [each for each in vectors if _parent(each) == parent and _digits(each) == _digits(layer) != ""]
    return next(iter(beside or numbered), None)


def _parent(layer: Layer) -> str:
    return layer.name.rpartition(".")[0]


def _digits(layer: Layer) -> str:
    return re.sub(r"\D", "", layer.name.rpartition(".")[2])


def balance(backend: Backend, weights: Array) -> dict[str, float]:
    """‖W_{l+1}‖² − ‖W_l‖² of layers that follow each other."""
    return {
        link.name: float(_square(link.second.of(weights)) - _square(link.first.of(weights)))
        for link in links(backend)
    }


def _square(W: Array) -> float:
    return float(np.sum(np.square(W, dtype=np.float64)))
