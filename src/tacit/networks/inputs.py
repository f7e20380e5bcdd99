"""Validation of the inputs and outputs of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import as_numeric, check_finite
from tacit.errors import InputError
from tacit.networks.backend import Array, Backend

# The output for a sample alone and in a batch may differ by this fraction of the outputs: far more than the
# round-off of summing in another order, far less than batch statistics make.
_BATCH_TOLERANCE = {"float32": 1e-3, "float64": 1e-7}
_PERTURBATION = 0.05  # of each weight: outputs that cancel at initialization do not cancel there


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
