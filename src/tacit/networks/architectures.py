"""Plain networks in JAX: how their weights start, and what they compute. All without biases, but one.

Weights are a tuple of arrays, a layer each, so that a network times α is every array times α. With no biases
the output is homogeneous in the weights, of a degree that is the number of layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Weights = tuple[Any, ...]
VGG11 = (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, "M")  # Woodworth et al. 2020, Appendix B.2


def he_normal(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Weights:
    """N(0, 2/n) with n inputs of a unit, which are all axes of an array but the last (He et al. 2015)."""
    return tuple(rng.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape) for shape in shapes)


def he_uniform(shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Weights:
    """U(−b, b) with b = √(6/n), which has the variance of `he_normal`."""
    bounds = [np.sqrt(6 / np.prod(shape[:-1])) for shape in shapes]
    return tuple(rng.uniform(-b, b, shape) for b, shape in zip(bounds, shapes, strict=True))


def dense_shapes(*widths: int) -> list[tuple[int, ...]]:
    """Of a fully connected network: inputs, hidden units of every layer, outputs."""
    return list(pairwise(widths))


def dense_features(weights: Weights, X: Any) -> Any:
    """What the last layer sees, σ(… σ(X W₁) …) with σ the ReLU."""
    from tacit.autodiff import jax

    for layer in weights[:-1]:
        X = jax.nn.relu(X @ layer)
    return X


def dense(weights: Weights, X: Any) -> Any:
    """σ(… σ(X W₁) W₂ …) W_D; (N,) where there is one output."""
    outputs = dense_features(weights, X) @ weights[-1]
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def univariate(weights: Weights, X: Any) -> Any:
    """w₂ σ(w₁ x + b₁) + b₂ of numbers x as X (N, 1), with weights w₁, b₁, w₂ (k,) and b₂ ()."""
    from tacit.autodiff import jax

    inner, bias, outer, offset = weights
    return jax.nn.relu(X * inner + bias) @ outer + offset


def convolutional_shapes(plan: Sequence[int | str], channels: int, outputs: int) -> list[tuple[int, ...]]:
    """Of 3 × 3 filters with so many channels each, "M" for pooling, and a last dense layer."""
    shapes: list[tuple[int, ...]] = []
    for entry in plan:
        if isinstance(entry, int):
            shapes.append((3, 3, channels, entry))
            channels = entry
    return [*shapes, (channels, outputs)]


def convolutional_features(weights: Weights, X: Any, plan: Sequence[int | str] = VGG11) -> Any:
    """What the last layer sees, (N, channels): filters, ReLU, and maxima of 2 × 2 pixels as planned.

    X: (N, height, width, channels), halved by every "M" until one pixel is left.
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
    """Sums over 3 × 3 pixels, with zeros around the image, as one product of matrices.

    In a loop on a CPU it is ten times faster than XLA's convolution, and on a GPU it is what tensor cores do.
    """
    from tacit.autodiff import jnp

    _, height, width, channels = X.shape
    padded = jnp.pad(X, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, -1) @ filters.reshape(9 * channels, -1)


def convolutional(weights: Weights, X: Any, plan: Sequence[int | str] = VGG11) -> Any:
    """`convolutional_features` and a dense layer: the VGG11-like network of Appendix B.2."""
    return convolutional_features(weights[:-1], X, plan) @ weights[-1]
