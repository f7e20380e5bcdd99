"""Potentials on JAX arrays: one formula serves both libraries, under jit and under differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.potentials import (
    Bregman,
    DeepHypentropy,
    Entropy,
    Hypentropy,
    Nuclear,
    Quadratic,
    Spectral,
    WeightDistance,
)

W = np.array([0.0, 1e-3, -2.0, 5e3])
START = np.array([1.0, 1.0, -2.0, 1e-3])
POTENTIALS = [  # every second case runs by default
    Hypentropy(-5.0),
    Hypentropy(np.array([-5.0, 0.0, 1.0, 2.0]), 0.5),
    DeepHypentropy(3, -5.0),
    DeepHypentropy(2.5, 0.0, np.array([1.0, 2.0, 0.5, 1.0])),
    WeightDistance(0.0),
    WeightDistance(-2.0),
    Bregman(Hypentropy(-5.0), START),
    Bregman(DeepHypentropy(4, -2.0), START),
    Quadratic(np.arange(1.0, 5.0)),
]
NAMES = [f"{type(Q).__name__}-{i}" for i, Q in enumerate(POTENTIALS)]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.every(6)
@pytest.mark.parametrize("Q", POTENTIALS, ids=NAMES)
def test_jitted_formulas_agree_with_numpy(Q):
    w = jnp.asarray(W)
    for name in ("value", "gradient", "hessian"):
        found = jax.jit(getattr(Q, name))(w)
        assert isinstance(found, jax.Array)
        atol = 1e-300 + 1e-15 * Q.terms(W)  # the round-off of the slopes whose difference it is
        np.testing.assert_allclose(found, getattr(Q, name)(W), rtol=1e-12, atol=atol)
    z = jnp.asarray(Q.gradient(W))
    np.testing.assert_allclose(jax.jit(Q.mirror)(z), Q.mirror(np.asarray(z)), rtol=1e-10, atol=1e-300)


@pytest.mark.every(9)
@pytest.mark.parametrize("Q", POTENTIALS, ids=NAMES)
def test_differentiating_the_value_gives_the_gradient_and_again_the_hessian(Q):
    w = jnp.asarray(W)
    np.testing.assert_allclose(jax.jit(jax.grad(Q.value))(w), Q.gradient(W), rtol=1e-10, atol=1e-14)
    if not isinstance(Q, Quadratic):
        away = jnp.asarray(np.where(W == 0, 0.3, W))
        second = jnp.diag(jax.jit(jax.jacfwd(Q.gradient))(away))
        np.testing.assert_allclose(second, Q.hessian(np.asarray(away)), rtol=1e-9)


@pytest.mark.parametrize("Q", [Spectral(Hypentropy(-4.0)), Spectral(Entropy(-4.0), True), Nuclear()])
def test_matrices(Q):
    M = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])
    found = Q.gradient(jnp.asarray(M))
    assert isinstance(found, jax.Array)
    np.testing.assert_allclose(found, Q.gradient(M), rtol=0, atol=1e-12)
    np.testing.assert_allclose(Q.value(jnp.asarray(M)), Q.value(M), rtol=1e-12)
