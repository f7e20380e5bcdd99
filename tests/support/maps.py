"""Parametrizations θ ↦ w whose geometry is known, each for any θ of its size."""

import jax.numpy as jnp


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
    """z ∈ ℂ² to |z₁|² − |z₂|² and 2z₁z̄₂, the Hopf map: JJᵀ = 4‖w‖·I though no leaf has w as coordinate."""
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
    """A diagonal net that uses a weight twice: u₁v, u₂v."""
    return theta[:2] * theta[2]


def two_layers(n, m, r):
    def product(theta):
        return (theta[: n * r].reshape(n, r) @ theta[n * r :].reshape(m, r).T).ravel()

    return product


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
