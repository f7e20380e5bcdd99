"""Monitoring a network during training, by its kernel on a few inputs: cheap enough to compute often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.networks.backend import Array, as_samples
from tacit.networks.kernels import angle_of, direction, distance_between, movement
from tacit.networks.network import Network

SAMPLES = 32  # the largest number of inputs
_MOST_FOR_ALL_OUTPUTS = 1 << 23  # entries of the Jacobian; above, one combination of the outputs replaces all
_MOST_ENTRIES = 1 << 25  # entries of the Jacobian; above, fewer inputs are used


@dataclass(frozen=True, eq=False)
class MonitoredKernel:
    """A network at its start, some inputs X, and combinations of outputs (q, m) whose kernel is compared.

    reduction: a description of the inputs and outputs that were selected, empty if all are used.
    """

    network: Network
    X: Any
    basis: Array
    kernel: Float
    reduction: str

    @classmethod
    def of(cls, network: Network, X: Any, seed: int) -> MonitoredKernel:
        """Select inputs and outputs at random, if necessary, and compute the kernel at the start."""
        X, rng = as_samples(X), np.random.default_rng(seed)
        m = network.n_outputs(X)
        P = network.kernel_cost(X[:1]).weights  # weights that need Jacobian rows
        count = min(len(X), SAMPLES, max(_MOST_ENTRIES // max(P, 1), 4))
        reduction = []
        if count < len(X):
            X = X[np.sort(rng.permutation(len(X))[:count])]
            reduction.append(f"{count} of the inputs")
        basis = np.eye(m)
        if m > 1 and count * m * P > _MOST_FOR_ALL_OUTPUTS:
            basis = rng.standard_normal((1, m))
            basis /= np.linalg.norm(basis)
            reduction.append(f"one random combination of the {m} outputs")
        basis = basis.astype(network.weights.dtype)
        return cls(network, X, basis, direction(_kernel(network, X, basis)), " and ".join(reduction))

    def now(self, params: Any = None) -> Network | None:
        """The network with its present weights, or None if they are not finite."""
        backend: Any = self.network._backend
        if (params is None) == (backend.framework == "JAX"):
            raise InputError(
                "a network in JAX needs its parameters: call record(step, params)"
                if params is None
                else "a PyTorch network reads the weights from its module: call record(step) without params"
            )
        if params is None:
            backend, weights = backend.current()
        else:
            present = type(backend)(backend.apply, params)
            if [each.shape for each in present.layers] != [each.shape for each in backend.layers]:
                raise InputError(f"the shapes of params differ from the layers of {self.network!r}")
            weights = present.start().astype(self.network.weights.dtype)
        if not np.isfinite(weights).all():
            return None
        network = Network._of(backend, weights)
        network._checked = self.network._checked
        return network

    def compare(self, now: Network) -> dict[str, Any]:
        """Differences between the network now and at its start."""
        distance = distance_between(self.kernel, _kernel(now, self.X, self.basis))
        outputs = np.asarray(now._backend.outputs(now.weights, self.X), dtype=np.float64)
        return {
            "kernel_distance": distance,
            "kernel_angle": angle_of(distance),
            "output_norm": float(np.sqrt(np.mean(outputs**2))),
            # In the precision of the weights: copies of large layers in float64 would take much memory.
            "movement": movement(self.network.layers, self.network.weights, now.weights, now.weights.dtype),
            "balance": now.balance(),
        }


def _kernel(network: Network, X: Any, basis: Array) -> Float:
    """The kernel of these combinations of outputs. A square basis is the identity."""
    if basis.shape[0] == basis.shape[1]:
        return np.asarray(network.tangent_kernel(X), dtype=np.float64)
    rows = network._backend.rows(network.weights, X, basis)
    return np.asarray(network._backend.inner(rows, rows), dtype=np.float64)
