r"""The protocol that connects Tacit to the framework of a network (JAX or PyTorch).

    f: (θ, X) ↦ (N, m),    θ one flat array of P weights, divided into named layers

together with products of its Jacobian J = ∂f/∂θ. The framework differentiates internally and returns NumPy
arrays; every measurement is written once, in terms of this protocol. Inputs and outputs are validated here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import as_numeric, check_finite
from tacit.errors import InputError

Array = NDArray[Any]  # float32 or float64, like the weights
SHOWN = 6  # names listed in a message before it is cut short
# The output for a sample alone and in a batch may differ by this fraction of the outputs: far more than the
# round-off of summing in another order, far less than batch statistics make.
_BATCH_TOLERANCE = {"float32": 1e-3, "float64": 1e-7}
_PERTURBATION = 0.05  # of each weight: outputs that cancel at initialization do not cancel there


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


def as_samples(X: Any, name: str = "X") -> Array:
    """X as an array of any shape with samples first, of floats or integers."""
    array = as_numeric(X.detach().cpu() if hasattr(X, "detach") else X, name)  # detach: of PyTorch tensors
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"{name} must contain at least one sample, samples first, got shape {array.shape}")
    if array.dtype.kind in "bf":
        array = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    check_finite(array, name)
    return array


def as_outputs(found: Array, samples: int, name: str) -> Array:
    """Outputs with the shape (N, m); `InputError` if the shape is wrong or an output is not finite."""
    if found.ndim not in (1, 2) or len(found) != samples or found.size == 0:
        raise InputError(
            f"{name} must return an array of shape (N,) or (N, outputs) for the N = {samples} samples, got "
            f"shape {found.shape}"
        )
    finite = np.isfinite(found)
    if not finite.all():
        raise InputError(
            f"{name} returns {found[~finite][0]} at sample {np.argwhere(~finite)[0][0]}: weights or inputs "
            "are too large, or the network divides by 0 or takes the logarithm of 0"
        )
    return found[:, None] if found.ndim == 1 else found


def check_function(backend: Backend, weights: Array, X: Array) -> Array:
    """The outputs of a network, after checking that they are deterministic and computed sample by sample.

    Raises `InputError` if two calls return different outputs, or if the output for a sample depends on the
    other samples of the batch.
    """
    name = backend.name()
    outputs = as_outputs(backend.outputs(weights, X), len(X), name)
    # JAX would compile random numbers of NumPy in as constants: compare calls that are not traced.
    untraced = getattr(backend, "untraced", backend.outputs)
    noise = np.random.default_rng(0).standard_normal(weights.size)
    near = weights * (1 + _PERTURBATION * noise).astype(weights.dtype)
    batch = as_outputs(backend.outputs(near, X), len(X), name)[:1]
    alone, again = (as_outputs(untraced(near, X[:1]), 1, name) for _ in range(2))
    size = max(float(np.abs(batch).max()), float(np.abs(outputs).max()), 1e-30)
    if not np.array_equal(alone, again):
        raise InputError(
            f"{name} is not a deterministic function of its weights and inputs: two calls return "
            f"{alone.ravel()[0]:g} and {again.ravel()[0]:g}; remove random numbers, dropout and running "
            "averages"
        )
    if not np.abs(alone - batch).max() <= _BATCH_TOLERANCE[str(weights.dtype)] * size:
        raise InputError(
            f"the output of {name} for a sample depends on the other samples ({batch[0, 0]:g} in a batch of "
            f"{len(X)}, {alone[0, 0]:g} alone), as with batch normalization in training mode: use evaluation "
            "mode, or normalize each sample separately"
        )
    return outputs
