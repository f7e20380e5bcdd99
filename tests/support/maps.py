"""Parametrizations θ ↦ w with known geometry; most accept θ of any suitable length."""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np


def tied(depth):
    def tied_layers(theta):
        plus, minus = jnp.split(theta, 2)
        return plus**depth - minus**depth

    return tied_layers


TIED = {depth: tied(depth) for depth in (2, 3, 4)}


def untied(theta):
    u, v, u_minus, v_minus = jnp.split(theta, 4)
    return u * v - u_minus * v_minus


def untied_three(theta):
    layers = theta.reshape(6, -1)
    return layers[:3].prod(axis=0) - layers[3:].prod(axis=0)


def neuron(theta):
    return theta[0] * theta[1:]


def two_neurons(theta):
    first, second = jnp.split(theta, 2)
    return neuron(first) + neuron(second)


def exponential(theta):
    return jnp.exp(theta)


def linear(theta):
    return jnp.array([[1.0, 2.0, -1.0, 0.5], [0.0, 1.0, 3.0, -2.0]]) @ theta


def sums_of_squares(theta):
    """The Hopf map, z ∈ ℂ² ↦ |z₁|² − |z₂|², 2z₁z̄₂: JJᵀ = 4‖w‖·I, although w is not a coordinate on orbits."""
    a, b, c, d = theta
    return jnp.array([a * a + b * b - c * c - d * d, 2 * (a * c + b * d), 2 * (b * c - a * d)])


def symmetric_factors(theta):
    """The three entries of U Uᵀ, 2×2."""
    U = theta.reshape(2, 2)
    S = U @ U.T
    return jnp.array([S[0, 0], S[0, 1], S[1, 1]])


def normalized(theta):
    """Weight normalization."""
    return theta[0] * theta[1:] / jnp.sqrt(jnp.sum(theta[1:] ** 2))


def convolved(theta):
    return jnp.convolve(theta[:2], theta[2:])


def shared(theta):
    """A diagonal network that uses a weight twice: u₁v, u₂v."""
    return theta[:2] * theta[2]


def two_layers(n, m, r):
    def product(theta):
        return (theta[: n * r].reshape(n, r) @ theta[n * r :].reshape(m, r).T).ravel()

    return product


def rectified(r, inputs):
    """Outputs of r ReLU neurons of two inputs, one output, on fixed inputs: smooth away from kinks."""
    X = jnp.asarray(inputs)

    def outputs(theta):
        inner, outer = theta[: 2 * r].reshape(r, 2), theta[2 * r :]
        return jnp.maximum(X @ inner.T, 0.0) @ outer

    return outputs


def untied_four(theta):
    layers = theta.reshape(8, -1)
    return layers[:4].prod(axis=0) - layers[4:].prod(axis=0)


def convolved_three(theta):
    """A convolutional linear network of width 3: two filters of three weights."""
    return jnp.convolve(theta[:3], theta[3:])


def convolved_four(theta):
    return jnp.convolve(theta[:4], theta[4:])


def quadratic(theta):
    """Three quadratic forms of four parameters whose gradient fields do not commute."""
    a, b, c, d = theta
    return jnp.array([a * a + b * c, b * b - a * d, c * d + a * b])


def separate_squares(theta):
    return jnp.array([theta[0] ** 2 + 2 * theta[1] ** 2, theta[2] ** 2 - theta[3] ** 2])


KNOWN = {  # function, number of parameters, verdict, reachable dimension
    "tied 2": (TIED[2], 6, "mirror", 3),
    "tied 3": (TIED[3], 6, "mirror", 3),
    "tied 4": (TIED[4], 6, "mirror", 3),
    "untied": (untied, 12, "mirror", 3),
    "untied three": (untied_three, 12, "mirror", 2),
    "exponential": (exponential, 3, "mirror", 3),
    "linear": (linear, 4, "mirror", 2),
    "neuron": (neuron, 4, "warped", 3),
    "weight normalization": (normalized, 4, "warped", 3),
    "sums of squares": (sums_of_squares, 4, "warped", 4),
    "two neurons": (two_neurons, 8, "none", 5),
    "symmetric factors": (symmetric_factors, 4, "none", 4),
    "convolution": (convolved, 4, "none", 3),
}


@dataclass(frozen=True)
class Shown:
    """A map of the gallery, a start, and the known verdict and dimension."""

    function: Callable
    start: np.ndarray
    kind: str
    dimension: int

    @property
    def code(self):
        return textwrap.dedent(inspect.getsource(self.function)).strip()


def _random(p, seed=0):
    return np.random.default_rng(seed).standard_normal(p)


_PARALLEL = np.concatenate([[each, *(abs(each) * np.array([2.0, -1.0, 2.0]) / 3)] for each in (0.5, 1.25)])
GALLERY = {
    "tied, depth 2": Shown(TIED[2], abs(_random(6)), "mirror", 3),
    "tied, depth 3": Shown(TIED[3], abs(_random(6)), "mirror", 3),
    "tied, depth 4": Shown(TIED[4], abs(_random(6)), "mirror", 3),
    "untied, two layers": Shown(untied, _random(12), "mirror", 3),
    "untied, three layers": Shown(untied_three, _random(18), "mirror", 3),
    "untied, four layers": Shown(untied_four, _random(24), "mirror", 3),
    "neuron, δ positive": Shown(neuron, np.array([1.6, 0.6, -0.3, 0.5]), "warped", 3),
    "neuron, δ zero": Shown(neuron, np.array([1.0, 0.48, -0.64, 0.6]), "warped", 3),
    "neuron, δ negative": Shown(neuron, np.array([0.6, 0.6, -0.8, 0.9]), "warped", 3),
    "two neurons, strictly balanced": Shown(two_neurons, _PARALLEL, "warped", 3),
    "two neurons": Shown(two_neurons, _random(8), "none", 5),
    "exponential": Shown(exponential, _random(3), "mirror", 3),
    "linear": Shown(linear, _random(4), "mirror", 2),
    "weight normalization": Shown(normalized, np.array([1.0, 0.5, -0.3, 0.8]), "warped", 3),
    "Burer–Monteiro, 2×2": Shown(symmetric_factors, _random(4), "none", 4),
    "shared weight": Shown(shared, _random(3), "warped", 2),
    "convolution, width 2": Shown(convolved, _random(4), "none", 3),
    "convolution, width 3": Shown(convolved_three, _random(6), "none", 5),
    "convolution, width 4": Shown(convolved_four, _random(8), "none", 7),
    "separate squares": Shown(separate_squares, _random(4), "mirror", 2),
    "quadratic forms": Shown(quadratic, _random(4), "none", 4),
    "Hopf map": Shown(sums_of_squares, _random(4), "warped", 4),
}
