r"""The same function with balanced layers.

Where the activations are positively homogeneous, W_l → c_l W_l with Π c_l = 1 changes nothing, if the bias of
each layer is multiplied by c_1 ⋯ c_l; c_l = (Π_k ‖W_k‖)^{1/L} / ‖W_l‖ makes all norms the same. That
the function is the same is not assumed but measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array, Backend
from tacit.networks.chain import bias_of, links, weight_layers

_SAME = {"float32": 1e-4, "float64": 1e-10}  # of the largest output
_GUESSED = 16  # inputs, where none are given


def balanced(backend: Backend, given: Array) -> Array:
    """Weights with ‖W_1‖ = … = ‖W_L‖."""
    weights = given.astype(np.float64)
    layers = weight_layers(backend)
    _ = links(backend)  # which says what does not follow
    norms = np.array([np.linalg.norm(layer.of(weights)) for layer in layers])
    if not norms.all():
        name = layers[int(np.argmin(norms))].name
        raise InputError(f"the weights of {name} are all 0, and no factor balances them")
    logs = np.log(norms)
    factors = np.exp(logs.mean() - logs)
    factors[-1] = 1 / np.prod(factors[:-1])
    for layer, factor, product in zip(layers, factors, np.cumprod(factors), strict=True):
        weights[layer.slice] *= factor
        bias = next((b for n in layer.shape if (b := bias_of(backend, layer, n)) is not None), None)
        if bias is not None and layer is not layers[-1]:
            weights[bias.slice] *= product
    return weights.astype(given.dtype)


def check_same(before: Array, after: Array, floats: str) -> None:
    """Refuse, by `InputError`, what changes the outputs."""
    change = float(np.abs(after - before).max()) / (float(np.abs(before).max()) or 1.0)
    if not change <= _SAME[floats]:
        raise InputError(
            f"layers cannot be balanced without changing the function (by {change:.1e} of its outputs): that "
            "takes layers one after the other, activations with σ(ct) = c·σ(t), such as ReLU and not tanh, "
            "and nothing between them that has a size of its own, such as batch normalization or skips"
        )


def guessed_inputs(backend: Backend, floats: Any) -> Iterator[Array]:
    """Random inputs of the sizes that the first layer may take, if it is a matrix."""
    first, rng = weight_layers(backend)[0], np.random.default_rng(0)
    into = backend.channels[1]
    sizes = [first.shape[into], *first.shape] if len(first.shape) == 2 else list(first.shape[:1])
    for size in dict.fromkeys(sizes):
        yield rng.standard_normal((_GUESSED, size)).astype(floats)
