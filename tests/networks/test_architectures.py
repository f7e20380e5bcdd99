"""Simple architectures: outputs compared with other implementations, and initializations."""

import numpy as np
import pytest

from tacit.networks import architectures as nets


def test_initial_weights_have_the_variance_of_he():
    shapes = [*nets.dense_shapes(400, 300, 10), (3, 3, 20, 200)]
    for make in (nets.he_normal, nets.he_uniform):
        weights = make(shapes, np.random.default_rng(0))
        for layer, inputs in zip(weights, (400, 300, 180), strict=True):
            assert np.var(layer) * inputs == pytest.approx(2, rel=5 * np.sqrt(2 / layer.size))
    assert max(np.abs(weights[0]).ravel()) == pytest.approx(np.sqrt(6 / 400), rel=1e-3)


def test_dense_networks_agree_with_numpy():
    rng = np.random.default_rng(1)
    for widths in [(3, 1), (3, 7, 1), (3, 5, 4, 2)]:
        weights = nets.he_normal(nets.dense_shapes(*widths), rng)
        h = X = rng.standard_normal((6, 3))
        for layer in weights[:-1]:
            h = np.maximum(h @ layer, 0)
        expected = h @ weights[-1]
        found = np.asarray(nets.dense(weights, X))
        np.testing.assert_allclose(
            found, expected[:, 0] if widths[-1] == 1 else expected, rtol=1e-5, atol=1e-6
        )


def test_a_univariate_network_is_a_sum_of_hinges():
    weights = (np.array([2.0, -1.0]), np.array([1.0, 0.5]), np.array([3.0, 4.0]), np.array(0.25))
    found = nets.univariate(weights, np.array([[-1.0], [0.0], [2.0]]))
    np.testing.assert_allclose(found, [0.25 + 4 * 1.5, 0.25 + 3 + 2, 0.25 + 15], rtol=1e-6)


def test_filters_agree_with_a_convolution():
    from jax import lax

    rng = np.random.default_rng(2)
    plan = (4, "M", 6, 5, "M")
    shapes = nets.convolutional_shapes(plan, 3, 2)
    assert shapes == [(3, 3, 3, 4), (3, 3, 4, 6), (3, 3, 6, 5), (5, 2)]
    weights = [layer.astype(np.float32) for layer in nets.he_uniform(shapes, rng)]
    images = X = rng.standard_normal((2, 4, 4, 3)).astype(np.float32)
    layers = iter(weights)
    for entry in plan:
        if entry == "M":
            X = lax.reduce_window(X, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        else:
            layout = ("NHWC", "HWIO", "NHWC")
            X = lax.conv_general_dilated(X, next(layers), (1, 1), "SAME", dimension_numbers=layout)
            X = np.maximum(X, 0)
    expected = np.asarray(X).reshape(2, 5) @ weights[-1]
    np.testing.assert_allclose(nets.convolutional(weights, images, plan), expected, rtol=1e-4, atol=1e-5)


def test_the_network_of_the_paper_has_eight_layers_and_degree_eight():
    shapes = nets.convolutional_shapes(nets.VGG11, 3, 10)
    assert len(shapes) == 8 and shapes[-1] == (512, 10)
    plan = tuple(entry if isinstance(entry, str) else entry // 32 for entry in nets.VGG11)
    rng = np.random.default_rng(3)
    weights = [w.astype(np.float32) for w in nets.he_uniform(nets.convolutional_shapes(plan, 3, 10), rng)]
    images = rng.standard_normal((3, 32, 32, 3)).astype(np.float32)
    once, twice = (np.asarray(nets.convolutional([s * w for w in weights], images, plan)) for s in (1, 2))
    np.testing.assert_allclose(twice, 2.0**8 * once, rtol=1e-4, atol=1e-4 * np.abs(twice).max())
