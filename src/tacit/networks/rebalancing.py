r"""The same function with balanced layers.

Where the activations are positively homogeneous, W_l → c_l W_l with Π c_l = 1 changes nothing, if the bias of
each layer is multiplied by c_1 ⋯ c_l; c_l = (Π_k ‖W_k‖)^{1/L} / ‖W_l‖ makes all norms the same. That
the function is the same is not assumed but measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array
from tacit.networks.chain import bias_of, links, weight_layers

if TYPE_CHECKING:
    from tacit.networks.network import Network

_SAME = {"float32": 1e-4, "float64": 1e-10}  # of the largest output
_GUESSED = 16  # inputs, where none are given


def rebalanced(network: Network, X: Any) -> Network:
    """The network with ‖W_1‖ = … = ‖W_L‖; `InputError` where that would change its function."""
    found = network.with_weights(_balanced(network))
    X = inputs_of(network) if X is None else X
    before, after = network.outputs(X), found.outputs(X)
    change = float(np.abs(after - before).max()) / (float(np.abs(before).max()) or 1.0)
    if not change <= _SAME[str(network.weights.dtype)]:
        raise InputError(
            f"layers cannot be balanced without changing the function (by {change:.1e} of its outputs): that "
            "takes layers one after the other, activations with σ(ct) = c·σ(t), such as ReLU and not tanh, "
            "and nothing between them that has a size of its own, such as batch normalization or skips"
        )
    return found


def _balanced(network: Network) -> Array:
    backend, weights = network._backend, network.weights.astype(np.float64)
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
    return weights.astype(network.weights.dtype)


def inputs_of(network: Network) -> Array:
    """Random inputs for the first layer, if it is a matrix; `InputError` where no guess fits."""
    first, rng = weight_layers(network._backend)[0], np.random.default_rng(0)
    into = network._backend.channels[1]
    sizes = [first.shape[into], *first.shape] if len(first.shape) == 2 else list(first.shape[:1])
    for size in dict.fromkeys(sizes):
        X = rng.standard_normal((_GUESSED, size)).astype(network.weights.dtype)
        try:
            network.outputs(X)
        except InputError:
            continue
        return X
    raise InputError("what the network takes as inputs is not known: give some, X with samples first")
