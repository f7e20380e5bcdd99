"""Gradient flow of the square loss with the optimal intercept at each time, standardized or not."""

import numpy as np
import pytest
from intercept_oracles import raw, raw_descent, raw_flow, shifted_problem, units
from scipy.linalg import expm

import tacit

D = 7
_RNG = np.random.default_rng(4)
BIASED = 0.6 * _RNG.standard_normal((4, D))
INNER, OUTER = 0.5 * _RNG.standard_normal((D, 9)), 0.5 * _RNG.standard_normal((1, 9))
SEVERAL = 0.5 * _RNG.standard_normal((2, 9))
ONES = np.ones(D)
CASES = {  # a model, and the same as raw weights
    "diagonal": (tacit.Diagonal(2, 0.3), raw("diagonal", 0.3 * ONES, 0.3 * ONES)),
    "deep": (tacit.Diagonal(3, 0.5), raw("diagonal", 0.5 * ONES, 0.5 * ONES, depth=3)),
    "biased": (tacit.UntiedDiagonal.from_weights(*BIASED), raw("untied", *BIASED)),
    "neuron": (tacit.Neuron(1.2, BIASED[0]), raw("neuron", 1.2, BIASED[0])),
    "small output": (tacit.Neuron(0.2, BIASED[1]), raw("neuron", 0.2, BIASED[1])),
    "network": (tacit.LinearNetwork(INNER, OUTER), raw("network", INNER, OUTER)),
    "outputs": (tacit.LinearNetwork(INNER, SEVERAL), raw("network", INNER, SEVERAL)),
}
TIMES = [0.0, 0.05, 0.5, 2.0, 8.0]
every = pytest.mark.parametrize("name", CASES)
one_of_each = pytest.mark.parametrize("name", ["diagonal", "biased", "neuron", "network"])


def problem(name, seed, samples=4):
    X, y = shifted_problem(seed, samples, D, 2 if name == "outputs" else None)
    return X, y


def raw_targets(name, y):
    """Targets of the raw network: a column for one output."""
    return y[:, None] if name == "network" else y


def near(found, expected, tol):
    expected = np.asarray(expected).reshape(np.shape(found))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * np.abs(expected).max())


def outputs(found, X):
    """x_n·w(t) + b(t), (T, N), or (T, N, m) for several outputs."""
    instants = len(found.intercept)
    scores = np.einsum("ni,tij->tnj", X, found.predictor.reshape(instants, X.shape[1], -1))
    scores = scores + found.intercept.reshape(instants, 1, -1)
    return scores[:, :, 0] if found.intercept.ndim == 1 else scores


@pytest.mark.every(3)
@every
@pytest.mark.parametrize("standardize", [False, True])
def test_at_each_time_it_is_where_raw_weights_are(name, standardize):
    X, y = problem(name, 0)
    model, network = CASES[name]
    w, b = raw_flow(network, X, raw_targets(name, y), TIMES, unit=units(X) if standardize else 1.0)
    found = tacit.flow(model, X, y, times=TIMES, intercept=True, standardize=standardize)
    assert found.intercept.shape == ((5, 2) if name == "outputs" else (5,))
    near(found.predictor, w, 1e-6)  # rtol is 1e-8
    near(found.intercept, b, 1e-6)
    near(outputs(found, X).mean(axis=1), np.broadcast_to(y.mean(axis=0), found.intercept.shape), 1e-12)


@every
def test_losses_and_outputs_count_the_intercept(name):
    X, y = problem(name, 1)
    found = tacit.flow(CASES[name][0], X, y, times=TIMES, intercept=True)
    computed = outputs(found, X)
    loss = ((computed - y) ** 2).reshape(5, -1).sum(axis=1) / (2 * len(X))
    np.testing.assert_allclose(found.loss, loss, rtol=1e-9)
    np.testing.assert_allclose(found.accuracy, -np.log(loss), rtol=1e-9, atol=1e-9)
    near(found.outputs, computed, 1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", ["diagonal", "deep", "biased", "neuron", "small output"])
def test_it_ends_at_the_limit(name, standardize):
    X, y = problem(name, 2)
    options = {"intercept": True, "standardize": standardize}
    limit, found = (verb(CASES[name][0], X, y, **options) for verb in (tacit.limit, tacit.flow))
    assert found.converged
    near(found.predictor[-1], limit.predictor, 1e-7)
    near(found.intercept[-1], limit.intercept, 1e-7)


@pytest.mark.parametrize("count", [1, 2])
def test_networks_end_at_the_limit(count):
    X, y = shifted_problem(3, outputs=count)
    model = tacit.LinearNetwork.orthogonal(X - X.mean(axis=0), 2 * D, outputs=count)
    limit, found = (verb(model, X, y, intercept=True) for verb in (tacit.limit, tacit.flow))
    near(found.predictor[-1], limit.predictor, 1e-7)
    near(found.intercept[-1], limit.intercept, 1e-7)


@one_of_each
def test_what_cannot_be_fitted_ends_at_least_squares(name):
    X, y = problem(name, 4, samples=12)
    *w, b = np.linalg.lstsq(np.column_stack([X, np.ones(12)]), y, rcond=None)[0]
    found = tacit.flow(CASES[name][0], X, y, intercept=True)
    assert found.converged
    near(found.predictor[-1], w, 1e-6)
    assert found.intercept[-1] == pytest.approx(b, rel=1e-6)


@one_of_each
def test_constants_added_to_features_and_targets_change_nothing(name):
    X, y = problem(name, 5)
    shift, lift = 100 * BIASED[2], -70.0
    plain, found = (
        tacit.flow(CASES[name][0], X + c * shift, y + c * lift, times=TIMES, intercept=True) for c in (0, 1)
    )
    near(outputs(found, X + shift) - lift, outputs(plain, X), 1e-9)
    near(found.predictor, plain.predictor, 1e-9)


@one_of_each
def test_units_of_features_change_nothing_once_they_are_divided(name):
    X, y = problem(name, 6)
    unit = np.logspace(-3, 3, D)
    plain, found = (
        tacit.flow(CASES[name][0], X * c, y, times=TIMES, intercept=True, standardize=True) for c in (1, unit)
    )
    near(outputs(found, X * unit), outputs(plain, X), 1e-9)


@pytest.mark.parametrize("name", ["diagonal", "neuron"])
def test_the_order_of_samples_and_constant_features_do_not_matter(name):
    X, y = problem(name, 7)
    order = np.array([2, 0, 3, 1])
    model, wider = CASES[name][0], np.insert(X, D, 0.1, axis=1)
    bigger = tacit.Neuron(1.2, np.append(BIASED[0], 0.0)) if name == "neuron" else model
    plain = tacit.flow(model, X, y, times=TIMES, intercept=True)
    near(tacit.flow(model, X[order], y[order], times=TIMES, intercept=True).predictor, plain.predictor, 1e-9)
    found = tacit.flow(bigger, wider, y, times=TIMES, intercept=True)
    near(found.predictor[:, :D], plain.predictor, 1e-9)
    near(outputs(found, wider), outputs(plain, X), 1e-9)


@pytest.mark.every(2)
@one_of_each
def test_raw_parameters_take_the_same_way(name):
    X, y = problem(name, 8)
    options = {"times": TIMES, "intercept": True, "standardize": True}
    found = tacit.flow(CASES[name][0], X, y, method="parameters", **options)
    w, b = raw_flow(CASES[name][1], X, raw_targets(name, y), TIMES, unit=units(X))
    near(found.predictor, w, 1e-6)
    near(found.intercept, b, 1e-6)


@pytest.mark.parametrize("name", ["deep", "neuron"])
def test_gradient_descent_takes_its_steps_about_the_mean(name):
    X, y = problem(name, 9)
    w, b = raw_descent(CASES[name][1], X, y, 1e-3, 200)
    found = tacit.flow(CASES[name][0], X, y, method="descent", step=1e-3, times=[0.2], intercept=True)
    near(found.predictor[-1], w, 1e-9)
    assert found.intercept[-1] == pytest.approx(b, rel=1e-9)


def test_the_tangent_model_has_an_intercept_too():
    """w' = −M Xᵀ(Xw + b − y)/N with M = 8α², as a diagonal network has it at its start."""
    X, y = problem("diagonal", 10)
    centred, targets = X - X.mean(axis=0), y - y.mean()
    end = np.linalg.pinv(centred) @ targets
    w = np.array([end - expm(-8 * 0.3**2 * t * centred.T @ centred / 4) @ end for t in TIMES])
    found = tacit.flow(CASES["diagonal"][0], X, y, times=TIMES, linearized=True, intercept=True)
    near(found.predictor, w, 1e-6)
    near(found.intercept, (y - w @ X.T).mean(axis=1), 1e-6)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize("name", ["diagonal", "neuron"])
def test_separating_losses_take_units_but_no_intercept(name, loss):
    X, y = problem(name, 11)
    model, labels, unit = CASES[name][0], np.where(y > y.mean(), 1.0, -1.0), units(X)
    with pytest.raises(tacit.InputError, match="intercept"):
        tacit.flow(model, X, labels, loss=loss, intercept=True)
    options = {"loss": loss, "at": [1.0, 3.0, 6.0]}
    found, plain = (
        tacit.flow(model, A, labels, **options, **kind)
        for A, kind in ((X, {"standardize": True}), (X / unit, {}))
    )
    near(found.predictor * unit, plain.predictor, 1e-7)
    np.testing.assert_allclose(found.accuracy, [1, 3, 6], rtol=1e-9)
    assert not np.any(found.intercept)


def test_leaky_neurons_take_units_but_no_intercept():
    X, y = problem("neuron", 12)
    leaky = tacit.Neuron(1.2, BIASED[0], slope=0.5)
    with pytest.raises(tacit.InputError, match="intercept"):
        tacit.flow(leaky, X, y, intercept=True)
    found = tacit.flow(leaky, X, y, times=TIMES, standardize=True)
    near(found.predictor * units(X), tacit.flow(leaky, X / units(X), y, times=TIMES).predictor, 1e-7)


def test_without_one_it_is_zero_and_with_one_it_is_told():
    X, y = problem("diagonal", 13)
    model = CASES["diagonal"][0]
    plain, free, divided = (
        tacit.flow(model, X, y, **options) for options in ({}, {"intercept": True}, {"standardize": True})
    )
    assert not np.any(plain.intercept) and not np.any(divided.intercept)
    assert "intercept" in free.summary() and "intercept" not in plain.summary() + divided.summary()
    assert "standard" in divided.summary() and "standard" not in plain.summary() + free.summary()
    np.testing.assert_array_equal(free.to_dict()["intercept"], free.intercept)


def test_targets_that_are_all_the_same_are_fitted_from_the_start():
    X, _ = problem("diagonal", 14)
    found = tacit.flow(CASES["diagonal"][0], X, np.full(4, 0.1), intercept=True)
    assert found.converged and np.abs(found.predictor).max() <= 1e-15
    np.testing.assert_allclose(found.intercept, 0.1, rtol=1e-14)
