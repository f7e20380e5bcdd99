"""What goes into a network and comes out of it, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array, Backend

_ROUGH = {"float32": 1e-3, "float64": 1e-7}  # of the outputs: what rounding in another order leaves by far
_ASIDE = 0.05  # of a weight


def as_samples(X: Any, name: str = "X") -> Array:
    """X as an array with samples first, of any shape: floats, or whole numbers as they are."""
    if hasattr(X, "detach"):  # a tensor of PyTorch
        X = X.detach().cpu()
    if hasattr(X, "toarray"):
        X = X.toarray()
    try:
        array = np.asarray(X)
    except (ValueError, TypeError):
        raise InputError(
            f"{name} must hold samples first, all of one shape; got rows of different lengths"
        ) from None
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (ValueError, TypeError):
            raise InputError(f"{name} must hold numbers") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers, got values of type {array.dtype}")
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"{name} must hold at least one sample, samples first, got shape {array.shape}")
    if array.dtype.kind in "bf":
        array = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name} must be finite, got {array[bad]} at {name}{list(bad)}")
    return array


def as_outputs(found: Array, samples: int, name: str) -> Array:
    """What the network gave as (N, m), finite; `InputError` otherwise."""
    if found.ndim not in (1, 2) or len(found) != samples or found.size == 0:
        raise InputError(
            f"{name} must give one number or a row of numbers for each of the {samples} samples, (N,) or "
            f"(N, outputs); the shape of its outputs is {found.shape}"
        )
    if not np.isfinite(found).all():
        bad = int(np.argwhere(~np.isfinite(found))[0][0])
        raise InputError(
            f"{name} gives {found[bad].ravel()[~np.isfinite(found[bad].ravel())][0]} at sample {bad}: "
            "weights or inputs are too large, or it divides by 0 or takes a logarithm of it"
        )
    return found[:, None] if found.ndim == 1 else found


def check_function(backend: Backend, weights: Array, X: Array) -> Array:
    """The outputs of a network that has been seen to be a function, of each sample for itself.

    `InputError` where it gives something else when it is asked again, or where what it gives for a sample
    depends on which others come with it.
    """
    name = backend.name()
    found = as_outputs(backend.outputs(weights, X), len(X), name)
    again = getattr(backend, "untraced", backend.outputs)
    noise = np.random.default_rng(0).standard_normal(weights.size)
    near = weights * (1 + _ASIDE * noise).astype(
        weights.dtype
    )  # where outputs that cancel at the start do not
    among = as_outputs(backend.outputs(near, X), len(X), name)[:1]
    alone = [as_outputs(again(near, X[:1]), 1, name) for _ in range(2)]
    allowed = _ROUGH[str(weights.dtype)] * max(float(np.abs(among).max()), float(np.abs(found).max()), 1e-30)
    if not np.array_equal(alone[0], alone[1]):
        raise InputError(
            f"{name} is no function of its weights and inputs: asked twice, it gives {alone[0].ravel()[0]:g} "
            f"and {alone[1].ravel()[0]:g}; take random numbers, dropout and running averages out of it"
        )
    if not np.abs(alone[0] - among).max() <= allowed:
        raise InputError(
            f"what {name} gives for a sample depends on which others come with it ({among[0, 0]:g} among "
            f"{len(X)}, {alone[0][0, 0]:g} alone), as with batch normalization in training: use the averages "
            "of evaluation, or normalize each sample for itself"
        )
    return found
