"""What a network in training is watched by: its kernel on few inputs, small enough to be looked at often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.networks.backend import Array
from tacit.networks.distances import angle_of, direction, distance_between
from tacit.networks.inputs import as_samples
from tacit.networks.network import Network

SAMPLES = 32  # inputs of a kernel that is looked at often
_ALL_OUTPUTS = 1 << 23  # numbers in rows of the Jacobian, up to which every output has its own
_MOST = 1 << 25  # numbers in rows of the Jacobian


@dataclass(frozen=True, eq=False)
class Watched:
    """A network at its start, some inputs, and combinations of outputs (q, m) whose kernel is compared."""

    network: Network
    X: Any
    basis: Array
    kernel: Float
    words: str

    @classmethod
    def of(cls, network: Network, X: Any, seed: int) -> Watched:
        """On a few of the inputs, drawn by the seed."""
        X, rng = as_samples(X), np.random.default_rng(seed)
        m = network.n_outputs(X)
        P = network.kernel_cost(X[:1]).weights  # those that need rows of the Jacobian
        count = min(len(X), SAMPLES, max(_MOST // max(P, 1), 4))
        words = []
        if count < len(X):
            X = X[np.sort(rng.permutation(len(X))[:count])]
            words.append(f"{count} of the inputs")
        basis = np.eye(m)
        if m > 1 and count * m * P > _ALL_OUTPUTS:
            basis = rng.standard_normal((1, m))
            basis /= np.linalg.norm(basis)
            words.append(f"one random combination of the {m} outputs")
        basis = basis.astype(network.weights.dtype)
        return cls(network, X, basis, direction(_kernel(network, X, basis)), " and ".join(words))

    def now(self, params: Any = None) -> Network | None:
        """The network with the weights that it has now; None where they are not finite."""
        backend: Any = self.network._backend
        if (params is None) == (backend.framework == "JAX"):
            raise InputError(
                "nobody changes parameters in JAX: record(step, params)"
                if params is None
                else "the weights of a module are read from it: record(step)"
            )
        if params is None:
            backend, weights = backend.current()
        else:
            given = type(backend)(backend.apply, params)
            if [each.shape for each in given.layers] != [each.shape for each in backend.layers]:
                raise InputError(f"the parameters have other layers than those of {self.network!r}")
            weights = given.start().astype(self.network.weights.dtype)
        if not np.isfinite(weights).all():
            return None
        found = Network._of(backend, weights)
        found._seen = self.network._seen
        return found

    def compare(self, now: Network) -> dict[str, Any]:
        """How far it is from its start."""
        distance = distance_between(self.kernel, _kernel(now, self.X, self.basis))
        outputs = np.asarray(now._backend.outputs(now.weights, self.X), dtype=np.float64)
        return {
            "kernel_distance": distance,
            "kernel_angle": angle_of(distance),
            "output_norm": float(np.sqrt(np.mean(outputs**2))),
            "movement": self._movement(now),
            "balance": now.balance(),
        }

    def _movement(self, now: Network) -> dict[str, float]:
        """As `Network.movement`, in the floats of the weights: those of large layers are many."""
        found = {}
        for layer in self.network.layers:
            W = self.network.weights[layer.slice]
            size, far = (float(np.linalg.norm(each)) for each in (W, now.weights[layer.slice] - W))
            found[layer.name] = far / size if size > 0 else (np.inf if far > 0 else 0.0)
        return found


def _kernel(network: Network, X: Any, basis: Array) -> Float:
    """Of these combinations of outputs; all rows at once where they are not the outputs themselves."""
    if basis.shape[0] == basis.shape[1]:
        return np.asarray(network.tangent_kernel(X), dtype=np.float64)
    rows = network._backend.rows(network.weights, X, basis)
    return np.asarray(network._backend.inner(rows, rows), dtype=np.float64)
