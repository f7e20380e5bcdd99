"""The parametrization of a network for flows: the map from weights to outputs and its derivatives."""

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
class NetworkParametrization(Parametrization):
    """The map from the weights of the layers to the outputs, in double precision.

    X: the inputs whose outputs are the predictor. quantities: what gradient flow conserves.
    """

    backend: Any  # a Backend; that of JAX also has the method `traced`
    X: Array | None = field(default=None, compare=False)
    quantities: tuple[Conserved, ...] = field(default=(), compare=False)
    linear = False

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """True for networks in JAX."""
        return hasattr(self.backend, "traced")

    def flat(self, weights: Weights) -> Array:
        """All weights in one flat array."""
        parts = [np.ravel(weights[layer.name]) for layer in self.backend.layers]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def by_name(self, flat: Array) -> Weights:
        """The weights of each layer."""
        return {layer.name: layer.of(flat) for layer in self.backend.layers}

    def predictor(self, weights: Weights) -> Any:
        """The outputs at the inputs X of the flow."""
        if self.X is None:
            raise InputError("a network has no predictor without inputs: use network.outputs(X)")
        return self.outputs(weights, self.X)

    def outputs(self, weights: Weights, X: Any) -> Any:
        """The outputs f(x₁), …, f(x_N): (N,) for one output, (N, m) for several."""
        if self.traceable and not isinstance(next(iter(weights.values())), np.ndarray):
            f = self.backend.traced([weights[layer.name] for layer in self.backend.layers], X)
        else:
            f = self.backend.outputs(self.flat(weights), np.asarray(X))
        return f[:, 0] if f.ndim == 2 and f.shape[1] == 1 else f

    def pull(self, weights: Weights, X: Float, r: Float) -> Weights:
        """Jᵀ r."""
        return self.by_name(self.backend.vjp(self.flat(weights), X, r.reshape(len(X), -1)))

    def push(self, weights: Weights, X: Float, r: Float) -> Float:
        """J Jᵀ r: the change of the outputs when the weights change by Jᵀ r."""
        flat = self.flat(weights)
        return self.backend.jvp(flat, X, self.backend.vjp(flat, X, r.reshape(len(X), -1))).reshape(r.shape)

    def kernel(self, weights: Weights, X: Float) -> Float:
        """The tangent kernel J Jᵀ, computed in blocks."""
        m = self.outputs(weights, X[:1]).size
        return tangent_kernel(self.backend, self.flat(weights), X, None, m, MEMORY)

    def invariants(self, weights: Weights) -> Invariants:
        """The conserved quantities, with the size of their terms."""
        flat = self.flat(weights) if self.quantities else np.zeros(0)
        return {each.name: each.value(flat) for each in self.quantities}
