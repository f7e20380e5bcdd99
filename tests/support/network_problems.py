"""Networks for tests, with a NumPy implementation as the reference for their outputs."""

from itertools import pairwise

import numpy as np

from tacit.autodiff import jax, jnp

ACTIVATIONS = {
    "relu": (jax.nn.relu, lambda z: np.maximum(z, 0)),
    "linear": (lambda z: z, lambda z: z),
    "tanh": (jnp.tanh, np.tanh),
}


class Perceptron:
    """X ↦ σ(… σ(X W₁ + b₁) …) W_L + b_L, for parameters [(W₁, b₁), …]; a vector if there is one output."""

    def __init__(self, activation):
        self.activation = activation
        self.__name__ = f"{activation}_network"

    def __call__(self, params, X):
        act = ACTIVATIONS[self.activation][0 if not isinstance(params[0][0], np.ndarray) else 1]
        for W, b in params[:-1]:
            X = act(X @ W + b)
        W, b = params[-1]
        found = X @ W + b
        return found[:, 0] if found.shape[1] == 1 else found


def params(*sizes, seed=0, bias=1.0, dtype=np.float64):
    """Gaussian weights of dense layers, of size 1/√(units)."""
    rng = np.random.default_rng(seed)
    layers = [
        (rng.standard_normal((a, b)) / np.sqrt(a), bias * rng.standard_normal(b)) for a, b in pairwise(sizes)
    ]
    return [(W.astype(dtype), b.astype(dtype)) for W, b in layers]


def differences(network, X, step=1e-3):
    """The Jacobian by differences, wrong by step⁴/30 of fifth derivatives, (N·m, P)."""
    theta, eye = network.weights, np.eye(network.weights.size)

    def column(e):
        near, far = (
            network.with_weights(theta + h * e).outputs(X) - network.with_weights(theta - h * e).outputs(X)
            for h in (step, 2 * step)
        )
        return (8 * near - far).ravel() / (12 * step)

    return np.column_stack([column(e) for e in eye])
