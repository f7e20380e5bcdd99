"""The start that explains given final weights."""

import numpy as np
import pytest

import tacit
from tacit import Training


def problem(seed=0, N=5, d=12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)), rng.standard_normal(N)


def adam(X, y, scale, steps=20_000, lr=1e-3):
    """Adam on w₊ and w₋, from its definition."""
    W = np.full((2, X.shape[1]), scale)
    m, v = np.zeros_like(W), np.zeros_like(W)
    for k in range(1, steps + 1):
        g = X.T @ (X @ (W[0] ** 2 - W[1] ** 2) - y) / len(y)
        G = 2 * np.array([g, -g]) * W
        m, v = 0.9 * m + 0.1 * G, 0.999 * v + 0.001 * G**2
        W = W - lr * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    return W


def test_a_flow_is_explained_by_its_scale():
    X, y = problem()
    weights = tacit.flow(tacit.Diagonal(2, 0.1), X, y, method="parameters", rtol=1e-10).weights_at(-1)
    found = tacit.audit((weights["w₊"], weights["w₋"]), X)
    np.testing.assert_allclose(found.scale, 0.1, rtol=1e-8)
    assert found.explained and found.shift_share < 1e-8
    assert "yes" in found.summary()


def test_the_start_that_is_read_ends_there():
    """Gradient descent, batches and momentum: the weights alone and the run give the same start."""
    X, y = problem(1)
    for training in (Training(0.05), Training(0.02, batch=1), Training(0.0005, 0.9)):
        run = tacit.descend(tacit.Diagonal(2, 0.1), X, y, training, until=1e-12)
        found = tacit.audit((run.weights["w₊"], run.weights["w₋"]), X)
        np.testing.assert_allclose(tacit.limit(found.model, X, y).predictor, run.predictor, atol=1e-9)
        assert found.explained and found.spread > 1.0001
        np.testing.assert_allclose(found.predictor, run.predictor, atol=1e-12)


def test_no_flow_from_one_scale_explains_adam():
    X, y = problem(2)
    W = adam(X, y, 0.01)
    assert np.linalg.norm(X @ (W[0] ** 2 - W[1] ** 2) - y) < 1e-2 * np.linalg.norm(y)
    found = tacit.audit(W, X)
    assert not found.explained and "no:" in found.summary()
    assert found.spread > 10 and found.shift_share > 0.05


def test_a_dead_weight_is_named():
    X, _ = problem(0, 2, 3)
    found = tacit.audit(([1.0, 0.0, 0.5], [0.1, 0.2, 0.3]), X)
    assert found.dead.tolist() == [1] and not found.explained
    assert "x1" in found.summary()
    with pytest.raises(tacit.NoPotentialError, match="coordinate 1 is 0"):
        _ = found.model
    assert found.to_dict()["dead"] == [1] and found.to_xarray().scale.size == 3


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "must be a pair"),
        ({"w₊": 1, "w₋": 2}, "must be a pair"),
        (([1.0], [1.0, 2.0, 3.0]), "w_plus has 1 entries"),
        (([1.0, 2.0, np.nan], [1.0, 2.0, 3.0]), "must be finite"),
    ],
)
def test_bad_weights_are_named(weights, message):
    with pytest.raises(tacit.InputError, match=message):
        tacit.audit(weights, np.ones((2, 3)))
