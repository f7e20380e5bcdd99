r"""Rescaling of the weights of a network: all together, or of its layers to equal norms.

The degree of homogeneity L, with f(cθ) = c^L f(θ), is measured by multiplying all weights by some c. If the
activations are positively homogeneous, W_l → c_l W_l with Π c_l = 1 leaves the function unchanged, provided
that the bias of each layer is multiplied by c_1 ⋯ c_l. All norms are equal for
c_l = (Π_k ‖W_k‖)^{1/L} / ‖W_l‖. The outputs before and after are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array, Backend
from tacit.networks.chain import bias_of, links, weight_layers

_SCALES = 2.0 ** np.linspace(-1, 1, 5)  # the factors c
_ROUND_OFF = {"float32": 1e-4, "float64": 1e-9}  # a smaller misfit, relative to the outputs, is round-off
_UNCHANGED = {"float32": 1e-4, "float64": 1e-10}  # of the largest output that rebalancing may change
_RANDOM_SAMPLES = 16  # number of random inputs


@dataclass(frozen=True)
class Homogeneity:
    """degree: the L that fits log‖f(cθ)‖ against log c best, for c from ½ to 2.

    misfit: the largest ‖f(cθ) − c^L f(θ)‖/‖c^L f(θ)‖ over these c. holds: whether the misfit is round-off.
    """

    degree: float
    misfit: float
    holds: bool

    def summary(self) -> str:
        """The result in one line."""
        if self.holds:
            return f"homogeneous of degree {self.degree:.6g} in its weights (misfit {self.misfit:.1e})"
        return (
            f"not homogeneous in its weights: the best-fitting degree is {self.degree:.3g}, with an error of "
            f"{100 * self.misfit:.2g}% of the outputs"
        )


def homogeneity(outputs: Callable[[float], Array], dtype: str) -> Homogeneity:
    """The homogeneity of outputs f(cθ), a function of c computed in "float32" or "float64"."""
    here = outputs(1.0).astype(np.float64)
    if not here.any():
        raise InputError(
            "the outputs are all 0, so that no degree can be measured: use other weights or inputs (for a "
            "doubled network, use the network before doubling)"
        )
    scaled = [outputs(c).astype(np.float64) for c in _SCALES]
    sizes = [float(np.linalg.norm(each)) for each in scaled]
    if not all(sizes):
        return Homogeneity(float("nan"), float("inf"), False)
    degree = float(np.polyfit(np.log(_SCALES), np.log(sizes), 1)[0])
    errors = [
        np.linalg.norm(f - c**degree * here) / np.linalg.norm(c**degree * here)
        for c, f in zip(_SCALES, scaled, strict=True)
    ]
    misfit = float(max(errors))
    return Homogeneity(degree, misfit, bool(misfit <= _ROUND_OFF[dtype]))


def balanced(backend: Backend, given: Array) -> Array:
    """The weights rescaled such that ‖W_1‖ = … = ‖W_L‖."""
    weights = given.astype(np.float64)
    layers = weight_layers(backend)
    links(backend)  # raises InputError if the layers are not a chain
    norms = np.array([np.linalg.norm(layer.of(weights)) for layer in layers])
    if not norms.all():
        name = layers[int(np.argmin(norms))].name
        raise InputError(f"the weights of {name} are all 0, so that the layers cannot be balanced")
    logs = np.log(norms)
    factors = np.exp(logs.mean() - logs)
    factors[-1] = 1 / np.prod(factors[:-1])
    for layer, factor, product in zip(layers, factors, np.cumprod(factors), strict=True):
        weights[layer.slice] *= factor
        bias = next((b for n in layer.shape if (b := bias_of(backend, layer, n)) is not None), None)
        if bias is not None and layer is not layers[-1]:
            weights[bias.slice] *= product
    return weights.astype(given.dtype)


def check_same(before: Array, after: Array, dtype: str) -> None:
    """Raise `InputError` if the outputs differ by more than round-off."""
    change = float(np.abs(after - before).max()) / (float(np.abs(before).max()) or 1.0)
    if not change <= _UNCHANGED[dtype]:
        raise InputError(
            "the layers cannot be balanced without changing the function (relative change of the outputs: "
            f"{change:.1e}): balancing needs a chain of layers and activations with σ(ct) = c·σ(t), such as "
            "ReLU but not tanh, without batch normalization or skip connections"
        )


def random_inputs(backend: Backend, dtype: Any) -> Iterator[Array]:
    """Random inputs of every size that the first layer admits, the most likely one first."""
    first, rng = weight_layers(backend)[0], np.random.default_rng(0)
    inputs = backend.channels[1]
    sizes = [first.shape[inputs], *first.shape] if len(first.shape) == 2 else list(first.shape[:1])
    for size in dict.fromkeys(sizes):
        yield rng.standard_normal((_RANDOM_SAMPLES, size)).astype(dtype)
