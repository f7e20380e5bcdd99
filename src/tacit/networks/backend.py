r"""What a network is to Tacit, whatever framework it was written in.

    f: (θ, X) ↦ (N, m),    θ one flat array of P weights, in named layers

and the products of its Jacobian J = ∂f/∂θ. A framework differentiates inside itself and hands over NumPy
arrays only; everything that is measured is written once above this protocol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError

Array = NDArray[Any]  # float32 or float64, as the weights are
SHOWN = 6  # names in a message


@dataclass(frozen=True)
class Layer:
    """An array of weights: its name in the network, its shape, and where it lies in the flat weights."""

    name: str
    shape: tuple[int, ...]
    slice: slice

    @property
    def size(self) -> int:
        """How many weights it has."""
        found: int = self.slice.stop - self.slice.start
        return found

    @property
    def in_order(self) -> list[tuple[int, int, str]]:
        """A key by which W2 comes before W10."""
        parts = re.split(r"(\d+)", self.name)
        return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]

    def of(self, flat: Array) -> Array:
        """Its weights, of all; leading axes stay."""
        return flat[..., self.slice].reshape((*flat.shape[:-1], *self.shape))


class Backend(Protocol):
    """A network in its framework. weights: (P,), whose floats are those that everything is computed in.

    outputs are (N, m), also where the network gives (N,); `as_vector` says which. fixed: names of what the
    network has and training does not change. channels: where layers have their outputs and inputs, as axes.
    """

    framework: str
    channels: tuple[int, int]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every array of weights."""
        ...

    @property
    def fixed(self) -> tuple[str, ...]:
        """What stays as it is."""
        ...

    def name(self) -> str:
        """What the network is called."""
        ...

    def chain(self) -> tuple[Layer, ...]:
        """The layers in the order in which they act, as far as that is known."""
        ...

    def start(self) -> Array:
        """The weights that it was given with."""
        ...

    def outputs(self, weights: Array, X: Array) -> Array:
        """f(θ, X), as the network gives it: any shape."""
        ...

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """J·direction, (N, m)."""
        ...

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """Jᵀ·cotangent, (P,)."""
        ...

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """The rows of J for each sample and each combination of outputs in the basis (q, m), (N·q, P').

        For all weights but those of `contracted`. An array of the framework, for `inner`.
        """
        ...

    def contracted(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """Layers whose part of a kernel at such inputs `contract` finds without their gradients."""
        ...

    def contract(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """Their part of the kernel."""
        ...

    def columns(self, weights: Array, X: Array) -> Any:
        """All of J by its columns, (N·m, P): cheaper where weights are fewer than outputs of a sample."""
        ...

    def inner(self, first: Any, second: Any) -> Array:
        """A·Bᵀ of two blocks of rows."""
        ...

    def params(self, weights: Array) -> Any:
        """The weights in the shape that the framework knows them by."""
        ...

    def current(self) -> tuple[Backend, Array]:
        """The network as it is now, where others may change it: with its weights."""
        ...

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """(f(θ₁, x) − f(θ₂, x))/√2 with θ₁ = θ₂ = θ."""
        ...


def layers_of(names: Iterable[str], shapes: Iterable[Sequence[int]]) -> tuple[Layer, ...]:
    """Layers that lie one after the other."""
    layers, begin = [], 0
    for name, shape in zip(names, shapes, strict=True):
        end = begin + math.prod(shape)
        layers.append(Layer(name, tuple(shape), slice(begin, end)))
        begin = end
    if not begin:
        raise InputError("the network has no weights to train: there is nothing to measure")
    return tuple(layers)


def as_floating(dtypes: Iterable[Any]) -> np.dtype[Any]:
    """float64 where one of the arrays has it, else float32."""
    return np.dtype(np.float64 if any(np.dtype(each) == np.float64 for each in dtypes) else np.float32)


def listed(names: Sequence[str]) -> str:
    """A few of the names."""
    return ", ".join(names[:SHOWN]) + (f", … ({len(names)} in all)" if len(names) > SHOWN else "")
