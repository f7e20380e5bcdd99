r"""The protocol that connects Tacit to the framework of a network (JAX or PyTorch).

    f: (θ, X) ↦ (N, m),    θ one flat array of P weights, divided into named layers

together with products of its Jacobian J = ∂f/∂θ. The framework differentiates internally and returns NumPy
arrays; every measurement is written once, in terms of this protocol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from tacit.errors import InputError

Array = NDArray[Any]  # float32 or float64, like the weights
SHOWN = 6  # names listed in a message before it is cut short


@dataclass(frozen=True)
class Layer:
    """An array of weights: its name in the network, its shape, and its slice of the flat weights."""

    name: str
    shape: tuple[int, ...]
    slice: slice

    @property
    def size(self) -> int:
        """The number of weights."""
        return math.prod(self.shape)

    @property
    def sort_key(self) -> list[tuple[int, int, str]]:
        """A key that sorts W2 before W10."""
        parts = re.split(r"(\d+)", self.name)
        return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]

    def of(self, flat: Array) -> Array:
        """The layer's part of flat weights (…, P), with its shape; leading axes are kept."""
        return flat[..., self.slice].reshape((*flat.shape[:-1], *self.shape))


class Backend(Protocol):
    """A network in its framework, as a function of flat weights (P,) whose dtype sets the precision.

    Jacobian products have outputs (N, m), also if the network returns (N,). fixed: names of the parameters
    that training does not change. channels: the axes of the output and input channels in a layer's array.
    """

    framework: str
    channels: tuple[int, int]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The arrays of weights."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the parameters that are not trained."""

    def name(self) -> str:
        """The name of the network in messages."""

    def chain(self) -> tuple[Layer, ...]:
        """The layers in the order in which they act, as far as it is known."""

    def start(self) -> Array:
        """The initial weights."""

    def outputs(self, weights: Array, X: Array) -> Array:
        """f(θ, X) in the shape that the network returns."""

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """J·direction, (N, m)."""

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """Jᵀ·cotangent, (P,)."""

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """Rows of J for every sample and every combination of outputs in the basis (q, m): (N·q, P').

        The P' weights are those outside `factored_layers`. Returns an array of the framework, for `inner`.
        """

    def factored_layers(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """Layers whose contribution to the kernel `factored_kernel` computes without their gradients."""

    def factored_kernel(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """The contribution of the `factored_layers` to the kernel."""

    def columns(self, weights: Array, X: Array) -> Any:
        """All of J, (N·m, P), by columns: cheaper if a sample has more outputs than there are weights."""

    def inner(self, first: Any, second: Any) -> Array:
        """The product A·Bᵀ of two blocks of rows."""

    def params(self, weights: Array) -> Any:
        """The weights in the framework's own form."""

    def current(self) -> tuple[Backend, Array]:
        """The network in its present state, with its weights, if the user's object has changed since."""

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """The network (f(θ₁, x) − f(θ₂, x))/√2 and its weights θ₁ = θ₂ = θ."""


def layers_of(shapes: Iterable[tuple[str, Sequence[int]]]) -> tuple[Layer, ...]:
    """Layers with these names and shapes, stored consecutively in the flat weights."""
    layers, begin = [], 0
    for name, shape in shapes:
        end = begin + math.prod(shape)
        layers.append(Layer(name, tuple(shape), slice(begin, end)))
        begin = end
    if not begin:
        raise InputError("the network has no trainable floating-point weights")
    return tuple(layers)


def listed(names: Sequence[str]) -> str:
    """The first names, separated by commas, and their number if there are more."""
    return ", ".join(names[:SHOWN]) + (f", … ({len(names)} in all)" if len(names) > SHOWN else "")
