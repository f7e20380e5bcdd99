"""How the weights of a network make its outputs, as flows ask for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.models.parametrizations import Invariants, Parametrization
from tacit.models.reduction import Weights
from tacit.networks.backend import Array
from tacit.networks.kernels import MEMORY, tangent_kernel
from tacit.networks.symmetries import Conserved


@dataclass(frozen=True)
class OfNetwork(Parametrization):
    """Weights by layer ↦ outputs, in double precision. X: the inputs whose outputs stand for the predictor.

    quantities: what the flow conserves.
    """

    backend: Any  # a Backend; one of JAX has `traced`
    X: Array | None = field(default=None, compare=False)
    quantities: tuple[Conserved, ...] = field(default=(), compare=False)
    linear = False

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Is the network one of JAX?"""
        return hasattr(self.backend, "traced")

    def flat(self, weights: Weights) -> Array:
        """All weights in one array."""
        parts = [np.ravel(weights[layer.name]) for layer in self.backend.layers]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def by_name(self, flat: Array) -> Weights:
        """The weights of each layer."""
        return {layer.name: layer.of(flat) for layer in self.backend.layers}

    def predictor(self, weights: Weights) -> Any:
        """The outputs at the inputs that the flow is on."""
        if self.X is None:
            raise InputError("a network has no predictor without inputs: network.outputs(X) are its outputs")
        return self.outputs(weights, self.X)

    def outputs(self, weights: Weights, X: Any) -> Any:
        """f(x₁), …, f(x_N): (N,) of one output, (N, m) of several."""
        if self.traceable and not isinstance(next(iter(weights.values())), np.ndarray):
            found = self.backend.traced([weights[layer.name] for layer in self.backend.layers], X)
        else:
            found = self.backend.outputs(self.flat(weights), np.asarray(X))
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        return self.by_name(self.backend.vjp(self.flat(weights), X, r.reshape(len(X), -1)))

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """J Jᵀ r: how that direction moves the outputs."""
        flat = self.flat(weights)
        moved = self.backend.jvp(flat, X, self.backend.vjp(flat, X, r.reshape(len(X), -1)))
        found: Float = moved.reshape(r.shape)
        return found

    def kernel(self, weights: Weights, X: Float) -> Float:
        """J Jᵀ, in blocks."""
        found = self.outputs(weights, X[:1])
        return tangent_kernel(self.backend, self.flat(weights), X, None, found.size, MEMORY)

    def invariants(self, weights: Weights) -> Invariants:
        """What was found to be conserved."""
        flat = self.flat(weights) if self.quantities else np.zeros(0)
        return {each.name: each.value(flat) for each in self.quantities}
