"""Flows on few samples: limits compared with closed forms and with gradient descent with tiny steps."""

import numpy as np
import pytest

from tacit.networks.architectures import dense, dense_shapes, he_uniform, univariate
from tacit.networks.exponential_flow import settle
from tacit.networks.network import Network

RNG = np.random.default_rng(0)


def linear(params, X):
    return X @ params["w"]


def squares(params, X):
    """A diagonal network, β = u² − v²."""
    return X @ (params[0] ** 2 - params[1] ** 2)


def test_a_linear_model_reaches_the_nearest_solution_in_few_steps():
    X, y, w = RNG.standard_normal((4, 9)), RNG.standard_normal(4), RNG.standard_normal(9)
    X[:, :3] *= 1e4  # ill-conditioned
    end = settle(Network(linear, {"w": w}), X, y, loss=1e-20)
    assert end.converged and end.steps < 30
    np.testing.assert_allclose(
        end.network.params["w"], w + np.linalg.pinv(X) @ (y - X @ w), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-3, 0.1, 10.0])
def test_diagonal_networks_reach_the_theoretical_limit(scale):
    """Woodworth et al. 2020, Theorem 1: the error decreases with the tolerance of the steps."""
    import tacit

    X, y = RNG.standard_normal((3, 6)), RNG.standard_normal(3)
    limit = np.asarray(tacit.limit(tacit.Diagonal(2, scale), X, y).predictor)
    start = (np.full(6, scale), np.full(6, scale))
    far = []
    for tol in (1e-2, 1e-3, 1e-4):
        end = settle(Network(squares, start), X, y, loss=1e-18, tol=tol)
        assert end.converged
        u, v = end.network.params
        far.append(np.linalg.norm(u**2 - v**2 - limit) / np.linalg.norm(limit))
    assert far[1] < 1e-2 and far[2] < 1e-3
    assert far[2] < far[0] / 5 or far[0] < 1e-6


def descended(weights, X, y, step, count):
    """Gradient descent on ½Σ(f − y)² of a network with one hidden layer, with explicit gradients."""
    W, a = (w.copy() for w in weights)
    for _ in range(count):
        h = X @ W
        r = np.maximum(h, 0) @ a[:, 0] - y
        W, a = (
            W - step * X.T @ ((r[:, None] * (h > 0)) * a[:, 0]),
            a - step * (np.maximum(h, 0).T @ r)[:, None],
        )
    return W, a


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_networks_reach_the_limit_of_gradient_descent(scale):
    rng = np.random.default_rng(4)
    X, y, seen = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((20, 3))
    start = [scale * w for w in he_uniform(dense_shapes(3, 12, 1), rng)]
    end = settle(Network(dense, start), X, y, loss=1e-12, tol=1e-3)
    W, a = descended(start, X, y, 2e-3, 40_000)
    inner, outer = end.network.params
    expected, found = np.maximum(seen @ W, 0) @ a[:, 0], np.maximum(seen @ inner, 0) @ outer[:, 0]
    assert end.converged and np.abs(np.maximum(X @ W, 0) @ a[:, 0] - y).max() < 1e-4
    assert np.abs(found - expected).max() < 2e-2


def test_a_flow_that_cannot_fit_is_not_converged():
    X, y = np.zeros((2, 1)), np.array([1.0, -1.0])  # the same input, two targets
    weights = (np.ones(3), np.ones(3), np.ones(3), np.array(0.0))
    network = Network(univariate, weights)
    end = settle(network, X, y)
    assert not end.converged and end.steps < 100 and end.loss == pytest.approx(1.0, rel=1e-9)
    assert not settle(network, X, y, most=3).converged
