"""Simple network architectures in JAX, with their initializations; only `univariate` has biases.

Weights are a tuple with one array for each layer. Without biases, the output is homogeneous in the weights;
the degree is the number of layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Weights = tuple[Any, ...]
VGG11 = (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, "M")  # Woodworth et al. 2020, Appendix B.2


def he_normal(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Weights:
    """Weights from N(0, 2/n), where n is the product of all axes but the last (He et al. 2015)."""
    return tuple(rng.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape) for shape in shapes)


def he_uniform(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Weights:
    """Weights from U(−b, b) with b = √(6/n), which has the variance of `he_normal`."""
    bounds = [np.sqrt(6 / np.prod(shape[:-1])) for shape in shapes]
    return tuple(rng.uniform(-b, b, shape) for b, shape in zip(bounds, shapes, strict=True))


def dense_shapes(*widths: int) -> list[tuple[int, ...]]:
    """Shapes for a fully connected network, from the numbers of inputs, hidden units and outputs."""
    return list(pairwise(widths))


def dense_features(weights: Weights, X: Any) -> Any:
    """The inputs of the last layer, σ(… σ(X W₁) …) with the ReLU σ."""
    from tacit.autodiff import jax

    for layer in weights[:-1]:
        X = jax.nn.relu(X @ layer)
    return X


def dense(weights: Weights, X: Any) -> Any:
    """The network σ(… σ(X W₁) W₂ …) W_D; the result is (N,) if there is one output."""
    outputs = dense_features(weights, X) @ weights[-1]
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def univariate(weights: Weights, X: Any) -> Any:
    """The network w₂ σ(w₁ x + b₁) + b₂ for X of shape (N, 1), with weights w₁, b₁, w₂ (k,) and b₂ ()."""
    from tacit.autodiff import jax

    inner, bias, outer, offset = weights
    return jax.nn.relu(X * inner + bias) @ outer + offset


def convolutional_shapes(plan: Sequence[int | str], channels: int, outputs: int) -> list[tuple[int, ...]]:
    """Shapes of 3 × 3 filters and a final dense layer; plan: numbers of channels, and "M" for pooling."""
    shapes: list[tuple[int, ...]] = []
    for entry in plan:
        if isinstance(entry, int):
            shapes.append((3, 3, channels, entry))
            channels = entry
    return [*shapes, (channels, outputs)]


def convolutional_features(weights: Weights, X: Any, plan: Sequence[int | str] = VGG11) -> Any:
    """The inputs of the last layer, (N, channels): filters with ReLU, and maxima over 2 × 2 pixels.

    X: (N, height, width, channels); each "M" of the plan halves height and width, down to one pixel.
    """
    from tacit.autodiff import jax

    layers = iter(weights)
    for entry in plan:
        if entry == "M":
            samples, height, width, channels = X.shape
            X = X.reshape(samples, height // 2, 2, width // 2, 2, channels).max((2, 4))
        else:
            X = jax.nn.relu(_filtered(X, next(layers)))
    return X.reshape(len(X), -1)


def _filtered(X: Any, filters: Any) -> Any:
    """A 3 × 3 convolution with zero padding, as one matrix product.

    On a CPU this is ten times faster than XLA's convolution inside a loop; on a GPU it uses tensor cores.
    """
    from tacit.autodiff import jnp

    _, height, width, channels = X.shape
    padded = jnp.pad(X, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, -1) @ filters.reshape(9 * channels, -1)


def convolutional(weights: Weights, X: Any, plan: Sequence[int | str] = VGG11) -> Any:
    """The VGG11-like network of Appendix B.2: `convolutional_features` and a dense layer."""
    return convolutional_features(weights[:-1], X, plan) @ weights[-1]
