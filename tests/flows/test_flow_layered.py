"""Flows of untied networks of several layers in mirror space, compared with flows of raw weights."""

import numpy as np
import pytest

import tacit

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 4))
Y = np.array([0.7, -0.4])
LAYERS = RNG.standard_normal((2, 3, 4))
STARTS = {
    "biased": tuple(LAYERS),
    "tied, and one of its sides dead": (
        np.full((3, 4), 0.4),
        np.array([np.zeros(4), np.full(4, 0.3), np.ones(4)]),
    ),
}
AT = [3.0, 5.0, 8.0]


@pytest.mark.every(2)
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(("loss", "y"), [("square", Y), ("exp", np.array([1.0, -1.0]))])
def test_mirror_space_and_raw_weights_agree(loss, y, name):
    """Predictors, weights and times at three accuracies; measured: 3e-10, and the tolerance is 1e-8."""
    model = tacit.UntiedDiagonal.from_layers(*STARTS[name])
    fast = tacit.flow(model, X, y, loss=loss, at=AT)
    raw = tacit.flow(model, X, y, loss=loss, at=AT, method="parameters", rtol=1e-9)
    assert fast.method.startswith("mirror space") and not raw.method.startswith("mirror space")
    size = np.abs(raw.predictor).max()
    np.testing.assert_allclose(fast.predictor, raw.predictor, atol=1e-7 * size)
    np.testing.assert_allclose(fast.time, raw.time, rtol=1e-6)
    for name, weight in raw.weights.items():
        np.testing.assert_allclose(fast.weights[name], weight, atol=1e-6 * np.abs(weight).max() + 1e-9)


def test_the_end_of_a_flow_is_the_limit_and_certified():
    model = tacit.UntiedDiagonal.from_layers([0.1, -0.2, 0.3, 0.4])
    flow, limit = tacit.flow(model, X, Y), tacit.limit(model, X, Y)
    np.testing.assert_allclose(flow.predictor[-1], limit.predictor, atol=1e-8 * np.abs(limit.predictor).max())
    assert tacit.certify(model, X, Y, flow.predictor[-1], tol=1e-6).holds
    assert max(np.max(drift) for drift in flow.drifts.values()) < 1e-12
