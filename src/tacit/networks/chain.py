r"""The layers of a network as a chain W₁, …, W_L, and their balance.

Gradient flow conserves ‖W_{l+1}‖² − ‖W_l‖² (with the bias of layer l included in W_l) if the activation
between the two layers is positively homogeneous, and W_{l+1}ᵀW_{l+1} − W_l W_lᵀ if there is none (Du et al.
2018). Which of these holds for a network is found by measurement (`symmetries`), not from its source.

The order of the layers is that of the module, or that of the pytree with numbers in names sorted as numbers.
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
    """Two consecutive layers whose hidden units are `axes[0]` of the first and `axes[1]` of the second.

    bias: the bias of the units. copies: the number of inputs of the second layer for each unit, which is the
    number of pixels if a dense layer follows a convolution. by_unit: True if pixels of a unit are adjacent
    (PyTorch), False if units of a pixel are (JAX).
    """

    first: Layer
    second: Layer
    axes: tuple[int, int]
    bias: Layer | None = None
    copies: int = 1
    by_unit: bool = True

    @property
    def name(self) -> str:
        """The names of both layers."""
        return f"{self.first.name} → {self.second.name}"

    @property
    def units(self) -> int:
        """The number of hidden units."""
        return self.first.shape[self.axes[0]]

    def rows(self, weights: Array) -> tuple[Array, Array, Array | None]:
        """Incoming weights of each unit, (units, …), outgoing weights, (units, …), and the biases."""
        into = np.moveaxis(self.first.of(weights), self.axes[0], 0)
        out = np.moveaxis(self.second.of(weights), self.axes[1], 0)
        if self.copies > 1:
            shape = (self.units, self.copies) if self.by_unit else (self.copies, self.units)
            out = np.moveaxis(out.reshape(*shape, *out.shape[1:]), 0 if self.by_unit else 1, 0)
        bias = None if self.bias is None else self.bias.of(weights)
        return into.reshape(self.units, -1), out.reshape(self.units, -1), bias

    def grams(self, weights: Array) -> tuple[Array, Array]:
        """Gram matrices of incoming weights with biases and of outgoing weights, (units, units) each."""
        into, out, bias = (None if each is None else each.astype(np.float64) for each in self.rows(weights))
        assert into is not None and out is not None
        inner = into @ into.T + (0.0 if bias is None else np.outer(bias, bias))
        return inner, out @ out.T


def weight_layers(backend: Backend) -> list[Layer]:
    """Matrices and convolutions in the order of the chain, or all vectors if there are none."""
    layers = backend.chain()
    matrices = [layer for layer in layers if len(layer.shape) >= 2]
    return matrices or [layer for layer in layers if len(layer.shape) == 1]


def links(backend: Backend) -> list[Link]:
    """All pairs of consecutive layers; `InputError` if the shapes of a pair do not match."""
    found = []
    for first, second in pairwise(weight_layers(backend)):
        link = next(joints(backend, first, second), None)
        if link is None:
            raise InputError(
                f"{first.name} {first.shape} and {second.name} {second.shape} are consecutive layers of the "
                "network but share no hidden units. The order of layers is that of the parameters, and dicts "
                "are sorted by their keys: use a list, in the order in which the layers act"
            )
        found.append(link)
    return found


def joints(backend: Backend, first: Layer, second: Layer) -> Iterator[Link]:
    """All choices of axes for the hidden units between two layers, the most likely one first."""
    out, into = backend.channels
    dense = len(first.shape) == len(second.shape) == 2
    if len(first.shape) == len(second.shape) == 1:
        axes = [(0, 0)]
    elif dense:
        axes = [(out % 2, into % 2), (into % 2, out % 2), (1, 1), (0, 0)]
    else:
        axes = [(out % len(first.shape), into % len(second.shape))]
    for a, b in axes:
        units, inputs = first.shape[a], second.shape[b]
        flattened = len(first.shape) > 2 and len(second.shape) == 2 and inputs % units == 0
        if inputs == units or flattened:
            bias = bias_of(backend, first, units)
            yield Link(first, second, (a, b), bias, inputs // units, backend.channels[0] == 0)


def bias_of(backend: Backend, layer: Layer, units: int) -> Layer | None:
    """The bias of a layer: the vector in the same module, or with the same number in its name."""
    parent = _parent(layer)
    vectors = [each for each in backend.layers if each.shape == (units,) and each is not layer]
    vectors = [each for each in vectors if _parent(each) == parent]
    if sum(_parent(each) == parent and len(each.shape) >= 2 for each in backend.layers) != 1:
        vectors = [each for each in vectors if _digits(each) == _digits(layer) != ""]
    return next(iter(vectors), None)


def _parent(layer: Layer) -> str:
    return layer.name.rpartition(".")[0]


def _digits(layer: Layer) -> str:
    return re.sub(r"\D", "", layer.name.rpartition(".")[2])


def balance(backend: Backend, weights: Array) -> dict[str, float]:
    """The balance ‖W_{l+1}‖² − ‖W_l‖² of consecutive layers."""
    return {
        link.name: float(_square(link.second.of(weights)) - _square(link.first.of(weights)))
        for link in links(backend)
    }


def _square(W: Array) -> float:
    return float(np.sum(np.square(W, dtype=np.float64)))
