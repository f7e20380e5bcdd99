"""Balance of layers, conserved quantities, and rebalanced and doubled networks."""

import numpy as np
import pytest
from network_problems import Perceptron, params

import tacit
from tacit.autodiff import jax, jnp

RNG = np.random.default_rng(5)
X = RNG.standard_normal((7, 3))
KEPT = {"relu": "imbalance by unit", "linear": "imbalance matrix"}


def network(activation, *sizes, **options):
    return tacit.Network(Perceptron(activation), params(*sizes, **options))


@pytest.mark.parametrize("activation", ["relu", "linear", "tanh"])
def test_conserved_quantities_are_constant_along_the_gradient(activation):
    """Along −∇L for random residuals r, by finite differences."""
    net = network(activation, 3, 6, 4, 2)
    found = net.conserved(X)
    assert list(found) == (
        [f"{KEPT[activation]}, {i}.0 → {i + 1}.0" for i in (0, 1)] if activation in KEPT else []
    )
    step = 1e-6 * net.vjp(X, RNG.standard_normal((7, 2)))
    after, before = (net.with_weights(net.weights + s).conserved(X) for s in (step, -step))
    for name in found:
        change = np.abs(after[name] - before[name]).max()  # of second order if the quantity is conserved
        assert change <= 1e-8 * np.linalg.norm(step) * np.abs(found[name]).max()
    W1, W2, b1 = net.params[0][0], net.params[1][0], net.params[0][1]
    if activation == "linear":
        assert (
            np.abs(found["imbalance matrix, 0.0 → 1.0"] - (W2 @ W2.T - W1.T @ W1 - np.outer(b1, b1))).max()
            < 1e-12
        )


def test_a_nonlinearity_is_detected_at_small_weights():
    """At these weights tanh is the identity to nine digits, but there is no conserved quantity."""
    small = network("tanh", 3, 6, 2).rescaled(1e-5)
    assert small.conserved(X) == {}


def test_convolutions_conserve_by_channel():
    kernel, head = RNG.standard_normal((3, 3, 2, 4)), RNG.standard_normal((4 * 25, 2))

    def f(p, X):
        out = jax.lax.conv_general_dilated(
            X, p[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jax.nn.relu(out).reshape(len(X), -1) @ p[1]

    images = RNG.standard_normal((3, 5, 5, 2))
    net = tacit.Network(f, [kernel, head])
    (kept,) = net.conserved(images).values()
    by_hand = np.sum(head.reshape(25, 4, 2) ** 2, axis=(0, 2)) - np.sum(kernel**2, axis=(0, 1, 2))
    assert np.abs(kept - by_hand).max() < 1e-12
    assert np.abs(net.rebalanced(images).outputs(images) - net.outputs(images)).max() < 1e-10


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("activation", ["relu", "linear"])
def test_rebalanced_networks_have_the_same_outputs(activation, bias):
    net = network(activation, 3, 8, 5, 4, 2, bias=bias)
    found = net.rebalanced()
    scale = np.abs(net.outputs(X)).max()
    assert np.abs(found.outputs(X) - net.outputs(X)).max() <= 1e-10 * max(scale, 1)
    norms = [np.linalg.norm(W) for W, _ in found.params]
    assert np.ptp(norms) <= 1e-10 * norms[0] and np.ptp([np.linalg.norm(W) for W, _ in net.params]) > 0.1
    assert np.abs(list(found.balance().values())).max() < 1e-10 and np.prod(norms) == pytest.approx(
        np.prod([np.linalg.norm(W) for W, _ in net.params])
    )
    assert found.rebalanced().weights == pytest.approx(found.weights, abs=1e-12)


def test_balance_and_imbalances_agree_with_the_formulas():
    net = network("relu", 3, 6, 4, 1)
    (W1, b1), (W2, b2), (W3, _) = net.params
    squares = [np.sum(W**2) for W in (W1, W2, W3)]
    assert list(net.balance().values()) == pytest.approx(np.diff(squares))
    found = list(net.imbalances().values())
    assert np.abs(found[0] - (W2 @ W2.T - W1.T @ W1 - np.outer(b1, b1))).max() < 1e-12
    assert np.abs(found[1] - (W3 @ W3.T - W2.T @ W2 - np.outer(b2, b2))).max() < 1e-12


def test_layers_are_in_the_order_of_their_numbers():
    """W10 comes after W2, unlike in JAX, and each layer has its own bias."""
    layers = params(3, 6, 5, 2)
    named = {
        f"{n}{i}": each
        for i, pair in zip((1, 2, 10), layers, strict=True)
        for n, each in zip("Wb", pair, strict=True)
    }

    def f(p, X):
        h = jax.nn.relu(jax.nn.relu(X @ p["W1"] + p["b1"]) @ p["W2"] + p["b2"])
        return h @ p["W10"] + p["b10"]

    net = tacit.Network(f, named)
    assert list(net.balance()) == ["W1 → W2", "W2 → W10"]
    assert list(net.conserved()) == ["imbalance by unit, W1 → W2", "imbalance by unit, W2 → W10"]
    assert np.abs(net.rebalanced().outputs(X) - net.outputs(X)).max() < 1e-10


def test_networks_that_cannot_be_balanced_raise_an_error():
    def skip(p, X):
        return (jax.nn.relu(X @ p[0]) @ p[1] + X) @ p[2]

    shapes = ((3, 6), (6, 3), (3, 2))
    for net, words in (
        (network("tanh", 3, 6, 2), "such as ReLU but not tanh"),
        (
            tacit.Network(skip, [RNG.standard_normal(s) for s in shapes]),
            "cannot be balanced without changing",
        ),
        (network("relu", 3, 6, 2).rescaled(0.0), "are all 0"),
        (
            tacit.Network(lambda p, X: X @ p[0] @ p[1].sum(1)[:4], [np.ones((3, 4)), np.ones((5, 2))]),
            "share no hidden",
        ),
        (
            tacit.Network(lambda p, X: jnp.sum(X) * p[0][0] * p[1][:, 0], [np.ones((3, 4)), np.ones((4, 2))]),
            "pass X",
        ),
    ):
        with pytest.raises(tacit.InputError, match=words):
            net.rebalanced()


def test_doubled_networks_start_at_zero_with_the_same_kernel():
    for net in (network("tanh", 3, 6, 2), network("relu", 3, 5, 1)):
        double = net.doubled()
        assert not double.outputs(X).any() and double.weights.size == 2 * net.weights.size
        assert np.abs(double.tangent_kernel(X) - net.tangent_kernel(X)).max() < 1e-12
        moved = double.weights.copy()
        moved[: net.weights.size] *= 1.1
        difference = (net.rescaled(1.1).outputs(X) - net.outputs(X)) / np.sqrt(2)
        assert np.abs(double.with_weights(moved).outputs(X) - difference).max() < 1e-14


def test_degrees_of_homogeneity_are_measured():
    for net, degree in (
        (network("relu", 3, 6, 2, bias=0.0), 2),
        (network("linear", 3, 6, 4, 2, bias=0.0), 3),
        (tacit.Network(lambda p, X: X @ jnp.abs(p) ** 1.5, RNG.standard_normal(3)), 1.5),
    ):
        found = net.homogeneity(X)
        assert (
            found.holds
            and found.degree == pytest.approx(degree, abs=1e-9)
            and "homogeneous of" in found.summary()
        )
    for net in (network("tanh", 3, 6, 2), network("relu", 3, 6, 2)):  # a bias has another degree
        found = net.homogeneity(X)
        assert not found.holds and found.misfit > 1e-2 and found.summary().startswith("not homogeneous")
    with pytest.raises(tacit.InputError, match="all 0"):
        net.doubled().homogeneity(X)
