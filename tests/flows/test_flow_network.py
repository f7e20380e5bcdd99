"""Flows and descent of networks given as functions, compared with built-in models and simulations."""

import numpy as np
import pytest
from network_problems import Perceptron, params
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import tacit
from tacit.autodiff import jnp

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 5))
Y = RNG.standard_normal(3)
LABELS = np.array([2, 0, 1, 2, 0])


def linear(p, X):
    return X @ p["U"] @ p["V"].T


def untied(p, X):
    return X @ (p["u₊"] * p["v₊"] - p["u₋"] * p["v₋"])


def squares(p, X):
    return X @ (p["w₊"] ** 2 - p["w₋"] ** 2)


def test_linear_networks_flow_as_the_one_that_is_built_in():
    model = tacit.LinearNetwork.gaussian(5, 4, std=0.5, seed=2)
    network = tacit.Network(linear, model.start(5))
    times = [0.5, 3.0, 40.0]
    ours, other = (tacit.flow(each, X, Y, times=times) for each in (network, model))
    assert np.abs(ours.predictor - other.predictor[:, :, 0] @ X.T).max() < 1e-8
    for name in "UV":
        assert np.abs(ours.weights[name] - other.weights[name]).max() < 1e-8
    assert np.abs(ours.kernel_distance - other.kernel_distance).max() < 1e-8
    assert ours.drift < 1e-8 and list(ours.drifts) == ["imbalance matrix, U → V"]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("model", "function", "predictor"),
    [
        (tacit.Diagonal(2, 0.3), squares, lambda w: w["w₊"] ** 2 - w["w₋"] ** 2),
        (tacit.UntiedDiagonal(0.3, 0.5), untied, lambda w: w["u₊"] * w["v₊"] - w["u₋"] * w["v₋"]),
    ],
)
def test_diagonal_networks_end_at_their_limit(model, function, predictor):
    run = tacit.flow(tacit.Network(function, model.start(5)), X, Y)
    limit = tacit.limit(model, X, Y).predictor
    assert run.converged and np.abs(predictor(run.weights_at(-1)) - limit).max() < 1e-8 * np.abs(limit).max()
    assert run.drift < 1e-8 and np.array_equal(run.predictor, run.outputs)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [6, 13])
def test_along_kinks_it_slides_as_leaky_neurons_do(seed):
    """Its flow along a kink is known. The documented accuracy is ten times √rtol, 1e-2; the measured error
    is 3e-5."""
    rng = np.random.default_rng(seed)
    inputs, y = rng.standard_normal((4, 2)), rng.standard_normal(4)
    neuron = tacit.Neuron(0.4, rng.standard_normal(2), slope=0.2)

    def leaky(p, X):
        z = X @ p["w"]
        return p["a"] * jnp.where(z > 0, z, 0.2 * z)

    times = [0.5, 2.0, 8.0]
    ours = tacit.flow(tacit.Network(leaky, neuron.start(2)), inputs, y, times=times, rtol=1e-6)
    other = tacit.flow(neuron, inputs, y, times=times)
    size = np.abs(other.outputs).max()
    assert ours.converged and "along kinks" in ours.method
    assert np.abs(ours.outputs - other.outputs).max() <= 1e-3 * size


def test_one_layer_under_cross_entropy_is_that_of_a_simulation():
    """θ' = Xᵀ(y − softmax(Xθ))/N, in time, by another integrator."""
    inputs, W = RNG.standard_normal((5, 4)), RNG.standard_normal((4, 3))
    targets = np.eye(3)[LABELS]

    def rate(_, flat):
        f = inputs @ flat.reshape(4, 3)
        p = np.exp(f - f.max(1, keepdims=True))
        return (inputs.T @ (targets - p / p.sum(1, keepdims=True)) / 5).ravel()

    times = [0.3, 2.0, 30.0]
    expected = solve_ivp(rate, (0, 30), W.ravel(), t_eval=times, method="DOP853", rtol=1e-10, atol=1e-12).y.T
    run = tacit.flow(tacit.Network(lambda p, X: X @ p, W), inputs, LABELS, loss="cross-entropy", times=times)
    assert np.abs(run.weights["θ"].reshape(3, -1) - expected).max() < 1e-7
    named = tacit.flow(
        tacit.Network(lambda p, X: X @ p, W),
        inputs,
        np.array(list("abc"))[LABELS],
        loss="cross-entropy",
        times=times,
    )
    assert np.array_equal(named.outputs, run.outputs)
    tangent = tacit.flow(
        tacit.Network(lambda p, X: X @ p, W),
        inputs,
        LABELS,
        loss="cross-entropy",
        times=times,
        linearized=True,
    )
    assert np.abs(tangent.outputs - run.outputs).max() < 1e-5  # the network is linear in its weights


def test_a_small_loss_of_classes_is_a_large_accuracy():
    """Far beyond the accuracy at which exp(−accuracy) underflows, compared with a scalar flow."""
    run = tacit.flow(
        tacit.Network(lambda p, X: X @ p, np.eye(2) / 10),
        np.eye(2),
        [0, 1],
        loss="cross-entropy",
        until=1000.0,
    )
    assert run.converged and run.accuracy[-1] == 1000 and run.log_time[-1] > 900
    gap = run.outputs[:, 0, 0] - run.outputs[:, 0, 1]
    assert run.margin == pytest.approx(gap) and gap[-1] == pytest.approx(1000)  # log(1 + e^−m) is e^−m


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", ["square", "logistic", "cross-entropy"])
def test_descent_takes_the_steps_that_it_says(loss):
    outputs = 3 if loss == "cross-entropy" else 1
    network = tacit.Network(Perceptron("relu"), params(4, 6, outputs, seed=4))
    inputs = RNG.standard_normal((5, 4))
    y = {"square": RNG.standard_normal(5), "logistic": np.sign(LABELS - 0.5), "cross-entropy": LABELS}[loss]
    run = tacit.flow(network, inputs, y, loss=loss, method="descent", step=0.1, times=[0.1, 0.7])
    theta = network.weights
    for _ in range(7):
        f = network.with_weights(theta).outputs(inputs)
        if loss == "square":
            slope = (f - y[:, None]) / 5
        elif loss == "logistic":
            slope = (-y / (1 + np.exp(y * f[:, 0])) / 5)[:, None]
        else:
            slope = (np.exp(f) / np.exp(f).sum(1, keepdims=True) - np.eye(3)[y]) / 5
        theta = theta - 0.1 * network.with_weights(theta).vjp(inputs, slope)
    ended = np.concatenate([each.ravel() for each in run.weights_at(-1).values()])
    assert run.steps == 7 and np.abs(ended - theta).max() < 1e-12


def test_the_linearized_flow_is_the_closed_form():
    network = tacit.Network(Perceptron("tanh"), params(5, 6, 2))
    y = RNG.standard_normal((3, 2))
    run = tacit.flow(network, X, y, times=[0.1, 3.0], linearized=True)
    K, start = network.tangent_kernel(X), network.outputs(X).ravel()
    for time, outputs in zip(run.time, run.outputs, strict=True):
        left = expm(-K * time / 3) @ (y.ravel() - start)
        assert np.abs(outputs.ravel() - (y.ravel() - left)).max() < 1e-10
    assert np.array_equal(run.predictor, run.outputs) or np.abs(run.predictor - run.outputs).max() < 1e-10


def test_weights_of_single_precision_are_followed_in_double():
    single = tacit.Network(Perceptron("tanh"), params(5, 4, 1, dtype=np.float32))
    double = single.with_weights(single.weights.astype(np.float64))
    a, b = (tacit.flow(each, X, Y, times=[1.0]) for each in (single, double))
    assert np.array_equal(a.outputs, b.outputs)


def test_what_flows_of_networks_are_not_asked_for():
    one, three = (tacit.Network(Perceptron("relu"), params(5, 4, m)) for m in (1, 3))
    classes = {"loss": "cross-entropy"}
    for call, words in (
        (lambda: tacit.flow(three, X, [1, -1, 1], loss="exp"), "for models with one output"),
        (lambda: tacit.flow(one, X, [0, 1, 2], **classes), "use 'logistic'"),
        (lambda: tacit.flow(three, X, ["a", "b"], **classes), "for each of the 3 samples"),
        (lambda: tacit.flow(three, X, [0.5, 1, 2], **classes), "whole numbers or names, got 0.5"),
        (
            lambda: tacit.flow(tacit.Network(Perceptron("relu"), params(5, 4, 2)), X, list("abc"), **classes),
            "3 classes",
        ),
        (lambda: tacit.flow(three, X, np.ones((3, 3)), **classes), "single 1"),
        (lambda: tacit.flow(one, X, Y, standardize=True), "are not available for networks"),
        (lambda: tacit.flow(one.rescaled(0.0), X, Y), "all 0"),
        (lambda: tacit.limit(one, X, Y), "tacit.probe"),
        (lambda: tacit.limit(one, X.reshape(3, 5, 1, 1), Y), "tacit.probe"),
        (lambda: tacit.regime(one, X, Y), "tacit.probe"),
        (lambda: tacit.certify(one, X, Y, np.ones(5)), "tacit.probe"),
        (lambda: tacit.max_margin(X, np.sign(Y), one), "tacit.probe"),
        (lambda: tacit.margin_path(X, np.sign(Y), [1.0], model=one), "tacit.probe"),
        (lambda: tacit.theorems.check("woodworth2020/theorem1", one, X, Y), "tacit.probe"),
    ):
        with pytest.raises(tacit.TacitError, match=words):
            call()


def test_two_classes_need_not_be_separable_by_a_plane():
    """Networks are nonlinear: data that no linear predictor can classify must be accepted."""
    corners = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]) - 0.5
    network = tacit.Network(Perceptron("tanh"), params(2, 8, 1, seed=1))
    run = tacit.flow(network, corners, [-1, -1, 1, 1], loss="logistic", until=3.0, rtol=1e-6)
    assert run.converged and run.margin[-1] > 0
