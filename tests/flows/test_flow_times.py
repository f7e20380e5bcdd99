"""Flows at given training times, and their weights there, compared with raw weights and closed forms."""

import json
import pickle

import numpy as np
import pytest
from flow_oracles import (
    factor_network,
    layer_network,
    linear_neuron,
    power_network,
    product_network,
    rounded_neuron,
    tangent_network,
)
from oracles import gaussian_problem
from scipy.integrate import solve_ivp
from scipy.special import expit

import tacit

PULLS = {
    "square": lambda f, y: (y - f) / len(y),
    "exp": lambda f, y: y * np.exp(-y * f) / len(y),
    "logistic": lambda f, y: y * expit(-y * f) / len(y),
}
X, Y = gaussian_problem(5, 7, nonzero=2, seed=3)
LABELS = np.where(Y > 0, 1.0, -1.0)
RNG = np.random.default_rng(9)
W = RNG.standard_normal
U, V, U1, V1, L, R = W((7, 4)), W((2, 4)), 0.5 * W((7, 9)), 0.5 * W((1, 9)), 0.5 * W((3, 5)), 0.5 * W((4, 5))
FOUR, NEURON = 0.5 * W((4, 7)), 0.4 * W(7)
CASES = {
    "tied": (power_network(2), [np.full(7, 0.3)] * 2, tacit.Diagonal(scale=0.3), ("w₊", "w₋")),
    "deep": (power_network(3), [np.full(7, 0.5)] * 2, tacit.Diagonal(3, 0.5), ("w₊", "w₋")),
    "untied": (product_network(), FOUR, tacit.UntiedDiagonal.from_weights(*FOUR), ("u₊", "v₊", "u₋", "v₋")),
    "neuron": (linear_neuron(), [0.6, NEURON], tacit.Neuron(0.6, NEURON), ("a", "w")),
    "leaky": (rounded_neuron(0.3, 1e-9), [0.6, NEURON], tacit.Neuron(0.6, NEURON, slope=0.3), ("a", "w")),
    "wide": (layer_network(), [U1, V1], tacit.LinearNetwork(U1, V1), ("U", "V")),
    "outputs": (layer_network(), [U, V], tacit.LinearNetwork(U, V), ("U", "V")),
    "factors": (factor_network(), [L, R], tacit.Factorization(L, R), ("U", "V")),
}
TIMES = np.array([0.0, 0.03, 0.5, 4.0, 20.0])


def data(name, loss):
    """Inputs and targets for the case."""
    if name == "outputs":
        return X, np.column_stack([Y, -Y[::-1]])
    inputs = X if name != "factors" else np.random.default_rng(4).standard_normal((5, 3, 4))
    return inputs, Y if loss == "square" else LABELS


def raw_weights(network, weights, X, y, loss, times):
    """The raw weights at these times: an explicit method of order 8 in raw time."""
    weights = [np.array(w, float) for w in weights]
    sizes = np.cumsum([w.size for w in weights])[:-1]

    def split(flat):
        return [part.reshape(w.shape) for part, w in zip(np.split(flat, sizes), weights, strict=True)]

    def velocity(_, flat):
        now = split(flat)
        pulled = network.pull(now, X, PULLS[loss](network.outputs(now, X), y))
        return np.concatenate([np.ravel(w) for w in pulled])

    flat = np.concatenate([np.ravel(w) for w in weights])
    span = (0, times[-1])
    run = solve_ivp(velocity, span, flat, "DOP853", times, rtol=1e-11, atol=1e-12, first_step=1e-4)
    return [split(state) for state in run.y.T]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for name in CASES for loss in PULLS if loss == "square" or name != "outputs"],
)
def test_weights_at_times_are_those_of_the_raw_flow(name, loss):
    network, weights, model, names = CASES[name]
    inputs, y = data(name, loss)
    run = tacit.flow(model, inputs, y, loss=loss, times=TIMES)
    assert run.converged and tuple(run.weights) == names
    np.testing.assert_array_equal(run.time, TIMES)
    np.testing.assert_allclose(run.log_time[1:], np.log(TIMES[1:]), rtol=1e-14)
    exact = raw_weights(network, weights, inputs, y, loss, TIMES)
    for i, now in enumerate(exact):
        for key, w in zip(names, now, strict=True):
            assert run.weights[key].shape == (5, *w.shape)
            np.testing.assert_allclose(run.weights[key][i], w, rtol=0, atol=2e-7)
            np.testing.assert_array_equal(run.weights_at(i)[key], run.weights[key][i])
        np.testing.assert_allclose(run.predictor[i], network.predictor(now), rtol=0, atol=5e-7)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["tied", "neuron", "wide"])
@pytest.mark.parametrize("loss", ["square", "exp"])
def test_raw_parameters_keep_the_same_times(name, loss):
    inputs, y = data(name, loss)
    model, names = CASES[name][2:]
    found, raw = (
        tacit.flow(model, inputs, y, loss=loss, times=TIMES, method=how) for how in ("auto", "parameters")
    )
    assert raw.converged and "raw" in raw.method
    for key in names:
        np.testing.assert_allclose(raw.weights[key], found.weights[key], rtol=0, atol=1e-7)
    np.testing.assert_allclose(raw.accuracy, found.accuracy, atol=1e-6)


@pytest.mark.parametrize("name", ["tied", "untied", "neuron", "wide", "factors"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_linearized_weights_move_along_the_tangent(name, loss):
    network, weights, model, names = CASES[name]
    inputs, y = data(name, loss)
    run = tacit.flow(model, inputs, y, loss=loss, times=TIMES, linearized=True)
    assert run.converged
    exact = raw_weights(tangent_network(network, weights), weights, inputs, y, loss, TIMES)
    for i, now in enumerate(exact):
        for key, w in zip(names, now, strict=True):
            np.testing.assert_allclose(run.weights[key][i], w, rtol=0, atol=2e-7)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", CASES)
def test_weights_make_the_predictor_and_keep_what_is_conserved(name):
    network, _, model, names = CASES[name]
    inputs, y = data(name, "square")
    run = tacit.flow(model, inputs, y)
    first = model.start(7) if name in ("tied", "deep") else model.start()
    for i in range(0, len(run.time), 20):
        now = [run.weights[key][i] for key in names]
        np.testing.assert_allclose(network.predictor(now), run.predictor[i], rtol=1e-9, atol=1e-10)
    if name in ("wide", "outputs", "factors"):
        U, V = run.weights["U"], run.weights["V"]
        kept = np.einsum("tdh,tdk->thk", U, U) - np.einsum("tmh,tmk->thk", V, V)
        np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-7)
    for key in names:
        np.testing.assert_allclose(run.weights[key][0], first[key], rtol=1e-12, atol=1e-14)


def test_the_logistic_curve_at_times():
    """L = ½(uv − s)², u = v: w = s/(1 + (s/w₀ − 1)e^{−2st}) (Saxe et al. 2014), and u = √w."""
    s, start, times = 1.7, 1e-3, np.geomspace(0.1, 9, 25)
    model = tacit.LinearNetwork([[np.sqrt(start)]], [[np.sqrt(start)]])
    run = tacit.flow(model, [[1.0]], [s], times=times)
    exact = s / (1 + (s / start - 1) * np.exp(-2 * s * times))
    np.testing.assert_allclose(run.predictor[:, 0, 0], exact, rtol=1e-7)
    np.testing.assert_allclose(run.weights["U"][:, 0, 0], np.sqrt(exact), rtol=1e-7)


@pytest.mark.parametrize("loss", ["square", "exp"])
def test_times_and_accuracies_agree(loss):
    y = Y if loss == "square" else LABELS
    model = tacit.Diagonal(scale=0.3)
    timed = tacit.flow(model, X, y, loss=loss, times=[0.2, 5.0, 30.0])
    again = tacit.flow(model, X, y, loss=loss, at=timed.accuracy)
    np.testing.assert_allclose(again.time, timed.time, rtol=1e-6)
    np.testing.assert_allclose(again.predictor, timed.predictor, rtol=1e-6, atol=1e-9)


def test_times_long_after_the_flow_has_come_to_rest():
    for model in (tacit.Diagonal(scale=0.3), tacit.LinearNetwork(U1, V1)):
        run = tacit.flow(model, X, Y, times=[0.0, 1.0, 1e8, 1e200])
        end = tacit.flow(model, X, Y).predictor[-1]
        assert run.converged and "rest" in run.reason and "ended" in run.summary()
        np.testing.assert_array_equal(run.time, [0.0, 1.0, 1e8, 1e200])
        for last in run.predictor[2:]:
            assert np.linalg.norm(last - end) < 1e-8 * np.linalg.norm(end)
    saddle = tacit.flow(tacit.Neuron(0.0, [0.0, 0.0, 1.0]), np.eye(3)[:2], [1.0, 1.0], times=[1.0, 2.0])
    assert saddle.converged and not saddle.predictor.any() and len(saddle.time) == 2


@pytest.mark.parametrize("method", ["descent", "normalized"])
def test_descent_records_the_first_iterate_at_or_beyond_each_time(method):
    step, model = 0.1 if method == "descent" else 0.01, tacit.Diagonal(scale=0.5)
    network, weights, elapsed = power_network(2), [np.full(7, 0.5)] * 2, 0.0
    kept, times = [], [0.0, 0.3, 0.55, 2.0]  # 0.3 is three steps of 0.1, up to rounding
    for _ in range(1000):
        if elapsed >= times[len(kept)] - 1e-12:
            kept.append((elapsed, network.predictor(weights)))
            if len(kept) == len(times):
                break
        f = network.outputs(weights, X)
        loss = np.mean(np.exp(-LABELS * f)) if method == "normalized" else 1.0
        pulled = network.pull(weights, X, PULLS["exp"](f, LABELS))
        weights = [w + step / loss * g for w, g in zip(weights, pulled, strict=True)]
        elapsed += step / loss
    run = tacit.flow(model, X, LABELS, loss="exp", method=method, step=step, times=times)
    assert run.converged
    np.testing.assert_allclose(run.time, [time for time, _ in kept], rtol=1e-9)
    np.testing.assert_allclose(run.predictor, [w for _, w in kept], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": [1.0, 1.0]}, "times must be increasing"),
        ({"times": []}, "times must be increasing"),
        ({"times": [-1.0, 2.0]}, "negative"),
        ({"times": [1.0, np.inf]}, "times must be finite"),
        ({"times": [1.0], "at": [3.0]}, "not both"),
        ({"times": [1.0], "until": 3.0}, "not both"),
    ],
    ids=str,
)
def test_times_that_make_no_sense_are_refused(options, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.flow(tacit.Diagonal(), X, Y, **options)


@pytest.mark.parametrize("name", CASES)
def test_weights_and_times_survive_pickling(name):
    model, (inputs, y) = CASES[name][2], data(name, "square")
    run = tacit.flow(model, inputs, y, times=TIMES)
    other = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(other.time, TIMES)
    for key, weights in run.weights.items():
        np.testing.assert_array_equal(other.weights[key], weights)
    assert json.dumps(other.to_dict(), allow_nan=False) == json.dumps(run.to_dict(), allow_nan=False)
    table = run.to_xarray()
    names = {"w₊": "weights_w_plus", "u₋": "weights_u_minus", "U": "weights_U", "a": "weights_a"}
    for key in run.weights.keys() & names.keys():
        np.testing.assert_array_equal(table[names[key]], run.weights[key])


def test_huge_weights_are_given_one_instant_at_a_time(monkeypatch):
    monkeypatch.setattr("tacit.results.trajectory._MOST_WEIGHTS", 1000)
    monkeypatch.setattr("tacit.results.trajectory._LABELLED_WEIGHTS", 1000)
    run = tacit.flow(tacit.LinearNetwork(U1, V1), X, Y)
    with pytest.raises(tacit.InputError, match="weights_at"):
        _ = run.weights
    end = run.weights_at(-1)
    np.testing.assert_allclose(end["U"] @ end["V"].T, run.predictor[-1], atol=1e-12)
    assert "weights_U" not in run.to_xarray()
