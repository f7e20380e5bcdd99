"""Flows of connected networks: neurons, linear networks, factorizations; kinks, saddles, widths."""

from types import MethodType

import numpy as np
import pytest
from flow_oracles import (
    exponential,
    factor_network,
    layer_network,
    linear_neuron,
    logistic,
    raw_flow,
    rounded_neuron,
    smoothed_leaky_flow,
    square,
    tangent_network,
)
from oracles import gaussian_problem
from scipy.integrate import LSODA
from scipy.linalg import expm

import tacit

LOSSES = {"square": square, "exp": exponential, "logistic": logistic}
METHODS = ["auto", "parameters"]


def distance(found, exact):
    """The largest distance along a trajectory, relative to the largest predictor on it."""
    axes = tuple(range(1, np.ndim(exact)))
    return np.sqrt(((found - exact) ** 2).sum(axis=axes)).max() / np.sqrt((exact**2).sum(axis=axes)).max()


def beyond(network, weights, X, y, loss, *steps):
    """Accuracies at these distances from the initial one."""
    return LOSSES[loss](network.outputs(weights, X), y)[0] + np.array(steps)


def assert_same(found, exact, at, *, tol=1e-6):
    assert found.converged
    np.testing.assert_array_equal(found.accuracy, at)
    assert found.predictor.shape == exact.predictor.shape
    assert distance(found.predictor, exact.predictor) < tol
    np.testing.assert_allclose(found.log_time, exact.log_time, rtol=1e-12, atol=10 * tol)


def separable(samples, features, seed):
    rng = np.random.default_rng(seed)
    X, hidden = rng.standard_normal((samples, features)), rng.standard_normal(features)
    y = np.sign(X @ hidden)
    return X + 0.3 * np.outer(y, hidden) / np.linalg.norm(hidden), y


@pytest.mark.every(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("size", [0.05, 1.0])
def test_linear_networks_agree_with_the_raw_weights(method, outputs, size):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal((4, outputs))
    y = y[:, 0] if outputs == 1 else y
    weights = [size * rng.standard_normal((6, 5)), size * rng.standard_normal((outputs, 5))]
    at = beyond(layer_network(), weights, X, y, "square", 0.01, 0.5, 3.0, 15.0)
    raw = raw_flow(weights, layer_network(), X, y, square, at)
    found = tacit.flow(tacit.LinearNetwork(*weights), X, y, at=at, method=method)
    assert_same(found, raw, at)
    assert found.outputs.shape == (4, *y.shape) and found.drift < 1e-8


@pytest.mark.every(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_linear_networks_under_other_losses_agree_with_the_raw_weights(method, loss):
    X, y = separable(5, 4, seed=2)
    rng = np.random.default_rng(3)
    weights = [0.5 * rng.standard_normal((4, 6)), 0.5 * rng.standard_normal((1, 6))]
    at = beyond(layer_network(), weights, X, y, loss, 0.2, 2.0, 30.0)
    raw = raw_flow(weights, layer_network(), X, y, LOSSES[loss], at)
    found = tacit.flow(tacit.LinearNetwork(*weights), X, y, loss=loss, at=at, method=method)
    assert_same(found, raw, at)
    assert found.drift < 1e-8


@pytest.mark.every(2)
@pytest.mark.parametrize(("loss", "outputs"), [("square", 1), ("square", 2), ("exp", 1), ("logistic", 1)])
def test_width_does_not_matter(loss, outputs):
    """The flow depends on the Gram matrix of [U; V]: a rotation into 300 hidden units changes nothing."""
    rng = np.random.default_rng(4)
    X, y = separable(4, 5, seed=5)
    y = rng.standard_normal((4, outputs)) if outputs > 1 else y
    stacked = 0.4 * rng.standard_normal((5 + outputs, 3))
    wide = stacked @ np.linalg.qr(rng.standard_normal((300, 3)))[0].T
    at = beyond(layer_network(), [stacked[:5], stacked[5:]], X, y, loss, 0.3, 3.0, 15.0)
    models = (tacit.LinearNetwork(Z[:5], Z[5:]) for Z in (stacked, wide))
    one, other = (tacit.flow(model, X, y, loss=loss, at=at) for model in models)
    assert distance(other.predictor, one.predictor) < 1e-7
    np.testing.assert_allclose(other.log_time, one.log_time, atol=1e-7)


def test_one_weight_a_layer_follows_the_logistic_curve():
    """L = ½(uv − s)², u = v: w' = 2w(s − w), so w = s/(1 + (s/w₀ − 1)e^{−2st}) (Saxe et al. 2014)."""
    s, start = 1.7, 1e-3
    model = tacit.LinearNetwork([[np.sqrt(start)]], [[np.sqrt(start)]])
    for method in METHODS:
        found = tacit.flow(model, [[1.0]], [s], until=20.0, method=method)
        exact = s / (1 + (s / start - 1) * np.exp(-2 * s * found.time))
        np.testing.assert_allclose(found.predictor[:, 0, 0], exact, rtol=1e-6)


def test_orthogonal_starts_end_at_the_smallest_solution():
    """Min et al. 2021, Proposition 1."""
    X, y = gaussian_problem(5, 9, nonzero=2, seed=6)
    model = tacit.LinearNetwork.orthogonal(X, 20, seed=1)
    found = tacit.flow(model, X, y)
    assert found.converged and found.drift < 1e-8
    np.testing.assert_allclose(found.predictor[-1][:, 0], np.linalg.pinv(X) @ y, rtol=0, atol=1e-7)


def test_the_kernel_of_a_linear_network_turns_as_its_weights_say():
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal(4)
    weights = [0.3 * rng.standard_normal((6, 5)), 0.3 * rng.standard_normal((1, 5))]
    at = beyond(layer_network(), weights, X, y, "square", 0.5, 3.0, 15.0)
    raw = raw_flow(weights, layer_network(), X, y, square, at)
    found = tacit.flow(tacit.LinearNetwork(*weights), X, y, at=at)

    def kernel(U, V):
        return X @ (U @ U.T + np.sum(V * V) * np.eye(6)) @ X.T

    first = kernel(*weights)
    for (U, V), turned in zip(raw.weights, found.kernel_distance, strict=True):
        cosine = np.sum(kernel(U, V) * first) / np.linalg.norm(kernel(U, V)) / np.linalg.norm(first)
        assert abs(turned - (1 - cosine)) < 1e-7


@pytest.mark.parametrize("loss", ["square", "exp"])
def test_linearized_linear_networks_follow_the_tangent(loss):
    rng = np.random.default_rng(8)
    X, y = separable(4, 6, seed=9)
    weights = [0.5 * rng.standard_normal((6, 5)), 0.5 * rng.standard_normal((1, 5))]
    model = tacit.LinearNetwork(*weights)
    at = beyond(layer_network(), weights, X, y, loss, 0.3, 3.0, 12.0)
    found = tacit.flow(model, X, y, loss=loss, at=at, linearized=True)
    raw = raw_flow(weights, tangent_network(layer_network(), weights), X, y, LOSSES[loss], at)
    np.testing.assert_allclose(found.log_time, raw.log_time, atol=1e-6)
    outputs = [tangent_network(layer_network(), weights).outputs(end, X) for end in raw.weights]
    np.testing.assert_allclose(found.outputs, outputs, rtol=1e-6, atol=1e-6)
    if loss == "square":
        K, first = model.tangent_kernel(X), y - layer_network().outputs(weights, X)
        for time, output in zip(found.time, found.outputs, strict=True):
            np.testing.assert_allclose(y - output, expm(-K * time / 4) @ first, rtol=0, atol=1e-7)


@pytest.mark.every(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("a", "size"), [(0.8, 0.1), (-0.8, 0.1), (0.1, 0.8), (-0.05, 0.6), (0.5, 0.5)])
def test_linear_neurons_agree_with_the_raw_weights(method, a, size):
    """With |a| below ‖w‖, δ is negative and a may change its sign."""
    X, y = gaussian_problem(4, 6, nonzero=2, seed=10)
    w = np.random.default_rng(11).standard_normal(6)
    w *= size / np.linalg.norm(w)
    at = beyond(linear_neuron(), [a, w], X, y, "square", 0.01, 0.5, 3.0, 15.0)
    raw = raw_flow([a, w], linear_neuron(), X, y, square, at)
    found = tacit.flow(tacit.Neuron(a, w), X, y, at=at, method=method)
    assert_same(found, raw, at)
    assert found.drift < 1e-8


def test_one_of_those_neurons_does_change_its_sign():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=10)
    signs = set()
    for a, size in [(0.1, 0.8), (-0.05, 0.6)]:
        w = np.random.default_rng(11).standard_normal(6)
        w *= size / np.linalg.norm(w)
        begin = square(a * (X @ w), y)[0]
        end = raw_flow([a, w], linear_neuron(), X, y, square, [begin + 15.0]).weights[0][0]
        signs.add(bool(np.sign(end) != np.sign(a)))
    assert True in signs


@pytest.mark.every(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_linear_neurons_under_other_losses_agree_with_the_raw_weights(method, loss):
    X, y = separable(5, 4, seed=12)
    w = 0.4 * np.random.default_rng(13).standard_normal(4)
    at = beyond(linear_neuron(), [0.6, w], X, y, loss, 0.2, 2.0, 30.0)
    raw = raw_flow([0.6, w], linear_neuron(), X, y, LOSSES[loss], at)
    assert_same(tacit.flow(tacit.Neuron(0.6, w), X, y, loss=loss, at=at, method=method), raw, at)


def leaky_problem(seed):
    """Both signs of a and two slopes; in most cases the flow slides along a kink."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)
    a, w = rng.choice([-1, 1]) * rng.uniform(0.3, 1.0), 0.4 * rng.standard_normal(7)
    slope = rng.choice([0.1, 0.5])
    t = X @ w
    begin = square(a * np.maximum(t, slope * t), y)[0]
    return a, w, slope, X, y, begin + np.array([0.5, 1.0, 4.0, 10.0, 20.0])


SLIDING = [0, 1, 4, 6, 10, 14]


@pytest.mark.every(9)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6, 10, 14])
def test_leaky_neurons_agree_with_rounded_kinks(seed):
    a, w, slope, X, y, at = leaky_problem(seed)
    rounded = smoothed_leaky_flow(a, w, slope, X, y, at, rtol=1e-9)
    assert bool(rounded.slid) == (seed in SLIDING)
    found = tacit.flow(tacit.Neuron(a, w, slope=slope), X, y, at=at)
    assert found.converged and found.drift < 1e-8
    np.testing.assert_array_equal(found.accuracy, at)
    assert distance(found.predictor, rounded.predictor) < 2e-6
    assert distance(found.predictor[-1:], rounded.predictor[-1:]) < 1e-7
    np.testing.assert_allclose(found.log_time, rounded.log_time, atol=5e-6)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [3, 6])
def test_raw_parameters_find_the_same_leaky_neurons(seed):
    a, w, slope, X, y, at = leaky_problem(seed)
    model = tacit.Neuron(a, w, slope=slope)
    auto, raw = (tacit.flow(model, X, y, at=at, method=name) for name in METHODS)
    assert raw.converged and raw.drift < 1e-6
    assert distance(raw.predictor, auto.predictor) < 1e-5
    np.testing.assert_allclose(raw.log_time, auto.log_time, atol=1e-4)


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", [0, 1, 2, 8])
def test_leaky_neurons_end_where_the_theorem_says(seed):
    """Azulay et al. 2021, Theorem 4 with the sign of a kept: the linear neuron on σ⁻¹ of the targets."""
    a, w, slope, X, y, _ = leaky_problem(seed)
    found = tacit.flow(tacit.Neuron(a, w, slope=slope), X, y)
    assert found.converged
    sign = np.sign(a)
    targets = sign * np.where(sign * y > 0, sign * y, sign * y / slope)
    np.testing.assert_allclose(X @ found.predictor[-1], targets, rtol=0, atol=1e-8)
    # w(∞) = w(0) + Xᵀν and w̃ = a·w with a² − ‖w‖² conserved
    delta = a**2 - w @ w
    norm = np.linalg.norm(found.predictor[-1])
    size = np.sqrt(-delta / 2 + np.sqrt(delta**2 / 4 + norm**2))
    moved = sign * size / norm * found.predictor[-1] - w
    outside = moved - X.T @ np.linalg.lstsq(X.T, moved, rcond=None)[0]
    assert np.linalg.norm(outside) < 1e-7


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", ["square", "exp", "logistic"])
def test_leaky_neurons_without_a_kink_are_linear_ones(loss):
    """If all samples are on their correct sides from the start, negative ones are scaled by the slope."""
    X, y = separable(4, 5, seed=14)
    w = np.linalg.lstsq(X, 0.2 * y, rcond=None)[0]
    gates = np.where(y > 0, 1.0, 0.4)
    at = beyond(linear_neuron(), [0.7, w], gates[:, None] * X, y, loss, 0.2, 2.0, 15.0)
    raw = raw_flow([0.7, w], linear_neuron(), gates[:, None] * X, y, LOSSES[loss], at)
    assert (np.sign(raw.predictor @ X.T) == y).all()
    found = tacit.flow(tacit.Neuron(0.7, w, slope=0.4), X, y, loss=loss, at=at)
    assert_same(found, raw, at)


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", [1, 6, 10])
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_leaky_neurons_under_other_losses_agree_with_rounded_kinks(seed, loss):
    X, y = separable(5, 4, seed)
    rng = np.random.default_rng(seed)
    weights = [rng.choice([-1, 1]) * 0.7, 0.5 * rng.standard_normal(4)]
    network = rounded_neuron(0.3, 1e-7)
    at = beyond(network, weights, X, y, loss, 0.3, 1.0, 4.0, 20.0)
    rounded = raw_flow(weights, network, X, y, LOSSES[loss], at, rtol=1e-9)
    found = tacit.flow(tacit.Neuron(*weights, slope=0.3), X, y, loss=loss, at=at)
    assert_same(found, rounded, at)


def test_a_leaky_neuron_may_start_on_all_its_kinks():
    X, y = separable(4, 5, seed=3)
    at = square(np.zeros(4), y)[0] + np.array([0.1, 1.0, 8.0])
    rounded = smoothed_leaky_flow(0.7, np.zeros(5), 0.3, X, y, at)
    found = tacit.flow(tacit.Neuron(0.7, np.zeros(5), slope=0.3), X, y, at=at)
    assert found.converged and distance(found.predictor, rounded.predictor) < 1e-6


def test_equal_samples_slide_together():
    a, w, slope, X, y, _ = leaky_problem(6)
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])
    at = square(a * np.maximum(X @ w, slope * (X @ w)), y)[0] + np.array([0.5, 4.0, 15.0])
    rounded = smoothed_leaky_flow(a, w, slope, X, y, at, rtol=1e-9)
    found = tacit.flow(tacit.Neuron(a, w, slope=slope), X, y, at=at)
    assert rounded.slid and found.converged
    assert distance(found.predictor, rounded.predictor) < 2e-6


def test_a_sample_with_target_zero_slides_for_ever():
    """w·x reaches the kink in finite time from one side, and the target 0 keeps it there."""
    X, y = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([0.0, 1.0])
    at = [4.0, 8.0, 16.0]
    found = tacit.flow(tacit.Neuron(0.8, [0.3, 0.2], slope=0.2), X, y, at=at)
    rounded = smoothed_leaky_flow(0.8, np.array([0.3, 0.2]), 0.2, X, y, at, eps=1e-9)
    assert found.converged
    assert distance(found.predictor, rounded.predictor) < 1e-6


@pytest.mark.every(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0.05, 0.5])
def test_factorizations_agree_with_the_raw_weights(method, size):
    rng = np.random.default_rng(15)
    X, y = rng.standard_normal((5, 3, 4)), rng.standard_normal(5)
    weights = [size * rng.standard_normal((3, 6)), size * rng.standard_normal((4, 6))]
    at = beyond(factor_network(), weights, X, y, "square", 0.01, 0.5, 3.0, 15.0)
    raw = raw_flow(weights, factor_network(), X, y, square, at)
    found = tacit.flow(tacit.Factorization(*weights), X, y, at=at, method=method)
    assert_same(found, raw, at)
    assert found.drift < 1e-8


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_factorizations_classify_matrices(loss):
    rng = np.random.default_rng(16)
    X = rng.standard_normal((5, 3, 2))
    y = np.sign(X[:, 0, 0] + X[:, 1, 1])
    weights = [0.5 * rng.standard_normal((3, 4)), 0.5 * rng.standard_normal((2, 4))]
    at = beyond(factor_network(), weights, X, y, loss, 0.2, 2.0, 30.0)
    raw = raw_flow(weights, factor_network(), X, y, LOSSES[loss], at)
    assert_same(tacit.flow(tacit.Factorization(*weights), X, y, loss=loss, at=at), raw, at)


def test_width_does_not_matter_to_factorizations():
    rng = np.random.default_rng(17)
    X, y = rng.standard_normal((4, 3, 3)), rng.standard_normal(4)
    stacked = 0.3 * rng.standard_normal((6, 3))
    wide = stacked @ np.linalg.qr(rng.standard_normal((200, 3)))[0].T
    one, other = (tacit.flow(tacit.Factorization(Z[:3], Z[3:]), X, y, until=20.0) for Z in (stacked, wide))
    assert distance(one.predictor[-1:], other.predictor[-1:]) < 1e-7
    np.testing.assert_allclose(one.log_time[-1], other.log_time[-1], atol=1e-7)
    assert one.drift < 1e-8 and other.drift < 1e-8


def test_completion_of_observed_entries_reaches_them():
    rng = np.random.default_rng(18)
    target, where = rng.standard_normal((4, 1)) @ rng.standard_normal((1, 4)), [0, 3, 5, 6, 9, 10, 15]
    X = np.eye(16)[where].reshape(-1, 4, 4)
    found = tacit.flow(tacit.Factorization.gaussian((4, 4), 8, 1e-3, seed=1), X, target.ravel()[where])
    assert found.converged
    np.testing.assert_allclose(found.predictor[-1].ravel()[where], target.ravel()[where], atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["square", "exp"])
@pytest.mark.parametrize("inner", [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
def test_a_saddle_is_never_left(method, loss, inner):
    """With outer weights 0 and inner weights orthogonal to Xᵀy the gradient vanishes, but not the loss."""
    X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.ones(2)
    for model in (tacit.LinearNetwork(np.transpose([inner]), [[0.0]]), tacit.Neuron(0.0, inner)):
        found = tacit.flow(model, X, y, loss=loss, until=10.0, method=method)
        assert not found.converged and found.reason
        assert not found.predictor.any() and np.isfinite(found.accuracy).all()


@pytest.mark.parametrize("size", [1e-4, 1e-8])
def test_a_start_close_to_a_saddle_leaves_it_late(size):
    """Time grows with log(1/size); the predictor at a given accuracy does not depend on it much."""
    X, y = gaussian_problem(3, 5, nonzero=2, seed=20)
    rng = np.random.default_rng(21)
    weights = [size * rng.standard_normal((5, 3)), size * rng.standard_normal((1, 3))]
    at = beyond(layer_network(), weights, X, y, "square", 0.1, 1.0, 10.0)
    raw = raw_flow(weights, layer_network(), X, y, square, at)
    found = tacit.flow(tacit.LinearNetwork(*weights), X, y, at=at)
    assert_same(found, raw, at)


def test_too_narrow_a_network_rests_at_the_best_fit_of_its_rank():
    """One unit, two outputs: the best fits projected on their first direction (reduced-rank regression)."""
    rng = np.random.default_rng(22)
    X, Y = rng.standard_normal((3, 5)), rng.standard_normal((3, 2))
    found = tacit.flow(tacit.LinearNetwork.gaussian(5, 1, 2, seed=1), X, Y)
    assert found.converged and "at rest at a minimum" in found.reason and found.unfitted == 0
    left, sizes, right = np.linalg.svd(Y, full_matrices=False)
    np.testing.assert_allclose(found.outputs[-1], sizes[0] * np.outer(left[:, 0], right[0]), atol=1e-8)
    asked = tacit.flow(tacit.LinearNetwork.gaussian(5, 1, 2, seed=1), X, Y, until=30.0)
    assert not asked.converged and f"{found.accuracy[-1]:.6g}" in asked.reason


def test_descent_approaches_the_flow_at_first_order():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=23)
    rng = np.random.default_rng(24)
    weights = [0.5 * rng.standard_normal((6, 3)), 0.5 * rng.standard_normal((1, 3))]
    model, errors = tacit.LinearNetwork(*weights), []
    at = beyond(layer_network(), weights, X, y, "square", 0.5, 3.0)
    for step in (8e-3, 4e-3, 2e-3):
        steps = tacit.flow(model, X, y, at=at, method="descent", step=step)
        flow = tacit.flow(model, X, y, at=steps.accuracy, rtol=1e-10)
        errors.append(np.abs(steps.predictor - flow.predictor).max())
    ratios = np.array(errors[:-1]) / errors[1:]
    assert min(ratios) > 1.8 and max(ratios) < 2.2


@pytest.mark.parametrize(
    ("model", "X", "y", "loss"),
    [
        (tacit.LinearNetwork.gaussian(4, 5), np.ones((3, 5)), np.ones(3), "square"),
        (tacit.LinearNetwork.gaussian(4, 5, 2), np.ones((3, 4)), np.ones(3), "square"),
        (tacit.LinearNetwork.gaussian(4, 5, 2), np.ones((3, 4)), np.ones((3, 3)), "square"),
        (tacit.LinearNetwork.gaussian(4, 5, 2), np.ones((3, 4)), np.ones((3, 2)), "exp"),
        (tacit.Neuron(1.0, np.ones(4)), np.ones((3, 5)), np.ones(3), "square"),
        (tacit.Factorization.gaussian((2, 2), 3, 1.0), np.ones((3, 4)), np.ones(3), "square"),
        (tacit.Factorization.gaussian((2, 2), 3, 1.0), np.ones((3, 2, 3)), np.ones(3), "square"),
        (tacit.Factorization.gaussian((2, 2), 3, 1.0), np.full((3, 2, 2), np.nan), np.ones(3), "square"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(model, X, y, loss):
    with pytest.raises(tacit.InputError):
        tacit.flow(model, X, y, loss=loss)


@pytest.mark.every(10)
@pytest.mark.parametrize("slope", [1.0, 0.5])
@pytest.mark.parametrize("scale", [1e2, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_large_starts_reach_the_default_accuracy(scale, slope, seed):
    """Weights move by far more than the final residual, and must not count as resting before."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    model = tacit.Neuron.from_scale(scale, 0.6, rng.standard_normal(6), slope=slope)
    run = tacit.flow(model, X, y)
    assert run.converged, run.reason
    assert np.linalg.norm(run.outputs[-1] - y) <= 1.1e-10 * np.linalg.norm(y)


def test_a_residual_of_rounding_is_called_that():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    for model in (tacit.Neuron(1.0, rng.standard_normal(6)), tacit.LinearNetwork.gaussian(6, 20)):
        run = tacit.flow(model, X, y, until=90)
        assert not run.converged and "round-off of the data" in run.reason
        assert np.linalg.norm(run.outputs[-1] - y) < 1e-14 * np.linalg.norm(y)


@pytest.mark.every(12)
@pytest.mark.parametrize("slope", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_targets_of_zero_are_reached_from_either_side_of_the_kink(seed, slope):
    """Such a sample has zero gradient at the kink and may cross it. Solution: Xw̃ = σ⁻¹(y)."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((3, 4)), np.append(0.0, rng.standard_normal(2))
    run = tacit.flow(tacit.Neuron.from_scale(1.0, 0.5, rng.standard_normal(4), slope=slope), X, y)
    assert run.converged, run.reason
    targets = np.where(y > 0, y, y / slope)
    np.testing.assert_allclose(X @ run.predictor[-1], targets, atol=1e-7 * np.linalg.norm(targets))


def test_a_first_step_of_almost_nothing_is_no_rest():
    """LSODA begins this flow with a step of 6e-27, in which no weight can move."""
    numbers = (
        "0x1.1b44f8cee2bb2p-1 0x1.bda563617f9fcp-3 -0x1.db0dd1ac3ab5dp-5 -0x1.28d2e5e02bea2p+1 "
        "0x1.b9d99b6ae5a26p-2 -0x1.1029ef9c2e655p+1 0x1.d1e1319a18f37p-1 0x1.36411e9d20ff3p-1 "
        "-0x1.8af8ab3c40054p-8 -0x1.091f786ea961fp-14 0x1.e96af07d9c538p-9 -0x1.92f7c50f39ca6p-10"
    )
    X, w = np.split(np.array([float.fromhex(x) for x in numbers.split()]), [8])
    X, y = (
        X.reshape(2, 4),
        np.array([float.fromhex(x) for x in ("-0x1.2fae35262963ep-2", "0x1.3289960608298p+1")]),
    )
    model = tacit.Neuron(float.fromhex("0x1.1a4c1d0fbc5b6p-3"), w)
    run = tacit.flow(model, X, y, rtol=1e-9, until=45.0)
    assert run.converged
    exact = raw_flow([model.output, w], linear_neuron(), X, y, square, [45.0])
    assert distance(run.predictor[-1:], exact.predictor) < 1e-8


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_lsoda_never_gets_a_bound_method(monkeypatch, slope):
    """SciPy before 1.17 crashes on one, and the process with it."""
    given = []

    class Watched(LSODA):
        def __init__(self, fun, *arguments, jac=None, **options):
            given.append(jac)
            super().__init__(fun, *arguments, jac=jac, **options)

    for form in ("weights", "sliding"):
        monkeypatch.setattr(f"tacit.flows.forms.{form}.LSODA", Watched)
    X, y = gaussian_problem(4, 6, nonzero=2, seed=0)
    neuron = tacit.Neuron(0.5, np.ones(6), slope)
    tacit.flow(neuron, X, y, until=3, method="parameters")
    tacit.flow(neuron, X, np.sign(y), loss="exp", until=3)
    assert given and not any(isinstance(jac, MethodType) for jac in given)


def spread(decades, samples, features, seed):
    """Inputs whose singular values span this many decades, and targets that need all of them."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((samples, samples)))[0]
    right = np.linalg.qr(rng.standard_normal((features, samples)))[0]
    sizes = np.logspace(0, -decades, samples)
    return (left * sizes) @ right.T, left @ (sizes * rng.choice([-1.0, 1.0], samples))


@pytest.mark.parametrize("decades", [1, 3, 5])
def test_networks_on_ill_conditioned_data_follow_the_raw_weights(decades):
    X, y = spread(decades, 3, 5, seed=30)
    rng = np.random.default_rng(31)
    weights = [0.3 * rng.standard_normal((5, 4)), 0.3 * rng.standard_normal((1, 4))]
    at = beyond(layer_network(), weights, X, y, "square", 0.5, 2.0, 6.0)
    raw = raw_flow(weights, layer_network(), X, y, square, at, horizon=1e16)
    assert_same(tacit.flow(tacit.LinearNetwork(*weights), X, y, at=at), raw, at)


@pytest.mark.thorough
def test_a_wide_network_on_spectra_of_sixteen_decades_ends_at_the_solution_of_least_norm():
    """The tangent kernel has eigenvalues from 1 to 1e-16; explicit methods would need 1e16 steps."""
    X, y = spread(8, 40, 80, seed=32)
    run = tacit.flow(tacit.LinearNetwork.orthogonal(X, 130), X, y)
    assert run.converged and run.steps < 5000
    least = np.linalg.lstsq(X, y, rcond=1e-15)[0]
    scores = X @ (run.predictor[-1].ravel() - least)  # the precision of the loss
    assert np.linalg.norm(scores) < 2e-10 * np.linalg.norm(y)
    outside = run.predictor[-1].ravel() - np.linalg.pinv(X, rcond=1e-15) @ (X @ run.predictor[-1].ravel())
    assert np.linalg.norm(outside) < 1e-7 * np.linalg.norm(least)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(3))
def test_leaky_neurons_on_ill_conditioned_data_end_at_the_limit(seed):
    """A tangent kernel that spans ten decades, and samples that cross the kink."""
    X, y = spread(5, 12, 30, seed)
    y = y + 0.1 * np.abs(y).max() * np.random.default_rng(seed).standard_normal(12)
    model = tacit.Neuron.from_scale(0.3, 0.5, np.random.default_rng(seed + 50).standard_normal(30), slope=0.2)
    run = tacit.flow(model, X, y)
    crossed = (np.diff(np.sign(run.outputs), axis=0) != 0).any(axis=0)
    assert run.converged and crossed.any() and run.steps < 20_000 and run.drift < 1e-9
    scores = X @ (run.predictor[-1] - tacit.limit(model, X, y).predictor)  # the precision of the loss
    assert np.linalg.norm(scores) < 1e-8 * np.linalg.norm(y)
