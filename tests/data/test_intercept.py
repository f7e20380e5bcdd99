"""Regression with a free intercept and with standardized features: `limit` in the user's units."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intercept_oracles import by_differences, free_l1, free_quadratic, least_over_b, shifted_problem, units
from oracles import exact_limit, relative_error
from properties import examples

import tacit
from tacit.potentials import L1, Hypentropy, Power, Quadratic, WeightDistance

D = 7
_RNG = np.random.default_rng(11)
PROFILE = _RNG.uniform(0.5, 2, D)
BIASED = 0.4 * _RNG.standard_normal((4, D))
_ROOT = _RNG.standard_normal((D, D))
METRIC = _ROOT @ _ROOT.T + np.eye(D)
MODELS = {
    "diagonal": tacit.Diagonal(2, 0.3),
    "wide scale": tacit.Diagonal(2, 30.0),
    "rich": tacit.Diagonal(2, log_scale=-200),
    "deep": tacit.Diagonal(3, 0.5),
    "deeper": tacit.Diagonal(6, 0.2),
    "profile": tacit.Diagonal(2, 0.3, profile=PROFILE),
    "untied": tacit.UntiedDiagonal(0.2, 0.4),
    "shapes": tacit.UntiedDiagonal(0.2, np.linspace(-0.8, 0.8, D)),
    "biased": tacit.UntiedDiagonal.from_weights(*BIASED),
    "neuron": tacit.Neuron(1.5, 0.3 * BIASED[0]),
}
POTENTIALS = {
    "l1": L1(),
    "weighted l1": L1(PROFILE),
    "quadratic": Quadratic(),
    "metric": Quadratic(METRIC),
    "power": Power(1.5),
    "scales": Hypentropy(np.log(PROFILE) - 2),
    "distance": WeightDistance(-1.0),
}
EVERY = MODELS | POTENTIALS
ends = pytest.mark.parametrize("name", EVERY)


def network(X, outputs=1):
    """A network whose limit is the minimum-norm solution on the centred features."""
    return tacit.LinearNetwork.orthogonal(X - X.mean(axis=0), 2 * D, outputs=outputs)


def near(found, expected, tol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * np.abs(expected).max())


def new_inputs(X, seed=0):
    """New samples from the same distribution."""
    return X.mean(axis=0) + X.std(axis=0) * np.random.default_rng(seed).standard_normal((5, X.shape[1]))


def predictions(found, X):
    return X @ found.predictor + found.intercept


@ends
@pytest.mark.parametrize("standardize", [False, True])
def test_it_is_the_limit_of_differences_of_samples(name, standardize):
    X, y = shifted_problem(0)
    unit = units(X) if standardize else np.ones(D)
    expected = by_differences(EVERY[name], X, y, unit)
    found = tacit.limit(EVERY[name], X, y, intercept=True, standardize=standardize)
    assert found.converged and found.error <= 1e-7 and found.feasibility <= 1e-10
    assert isinstance(found.intercept, float) and found.predictor.shape == (D,)
    near(found.predictor * unit, expected.predictor * unit)
    assert found.intercept == pytest.approx(expected.intercept, rel=1e-9)
    assert found.value == pytest.approx(expected.limit.value, rel=1e-9)
    near(predictions(found, X), y)


@ends
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_multipliers_prove_it(name, intercept, standardize):
    """∇Q(s·w) = (X/s)ᵀν, and Σν = 0 from the derivative by b, if there is an intercept."""
    X, y = shifted_problem(1)
    unit = units(X) if standardize else np.ones(D)
    found = tacit.limit(EVERY[name], X, y, intercept=intercept, standardize=standardize)
    near(predictions(found, X), y)
    force, inner = (X / unit).T @ found.dual, unit * found.predictor
    if intercept:
        assert abs(found.dual.sum()) <= 1e-9 * np.abs(found.dual).sum()
    else:
        assert found.intercept == 0.0
    if name in ("l1", "weighted l1"):
        weight, used = np.ones(D) * POTENTIALS[name].weight, np.abs(inner) > 1e-9
        near(force[used], (np.sign(inner) * weight)[used])
        assert (np.abs(force) <= weight * (1 + 1e-9)).all() and 0 < used.sum() < D
    else:
        potential = MODELS[name].potential(D) if name in MODELS else POTENTIALS[name]
        near(force, potential.gradient(inner))


@pytest.mark.parametrize("name", ["diagonal", "deep", "untied", "biased", "neuron", "power", "metric", "l1"])
def test_no_other_intercept_has_a_smaller_value(name):
    X, y = shifted_problem(2)
    value, b = least_over_b(EVERY[name], X, y)
    found = tacit.limit(EVERY[name], X, y, intercept=True)
    assert found.value <= value * (1 + 1e-12)
    # the accuracy of a search with a tolerance of 1e-10 of its range
    assert found.value == pytest.approx(value, rel=1e-7)
    # the square root of round-off, because the minimum is flat
    assert found.intercept == pytest.approx(b, abs=1e-5)


@pytest.mark.parametrize("shift", [0.0, 100.0, 2.0**23])
@pytest.mark.parametrize(
    ("depth", "log_scale"), [(2, 1.0), (2, -4.0), (2, -300.0), (3, -3.0), (3, -12.0), (8, -6.0)]
)
def test_sixty_digits(depth, log_scale, shift):
    """Features far from 0 have fewer digits, which `error` reflects; their differences are exact."""
    X, y = shifted_problem(3)
    X = X + shift
    exact = exact_limit(np.diff(X, axis=0), np.diff(y), depth=depth, log_scale=log_scale)
    found = tacit.limit(tacit.Diagonal(depth, log_scale=log_scale / depth), X, y, intercept=True)
    wrong = relative_error(found.predictor, exact)
    assert wrong <= max(10 * found.error, 1e-14)
    assert wrong <= 1e-12 * (1 + shift / 100) and found.error <= 1e-10 * (1 + shift / 100)
    b = float(np.mean(y.astype(object) - X.astype(object) @ exact))
    assert found.intercept == pytest.approx(b, abs=1e-12 * (1 + shift))


@pytest.mark.parametrize("name", ["quadratic", "metric"])
def test_quadratic_potentials_solve_a_linear_system(name):
    X, y = shifted_problem(4)
    w, b, nu = free_quadratic(METRIC if name == "metric" else np.eye(D), X, y)
    found = tacit.limit(POTENTIALS[name], X, y, intercept=True)
    near(found.predictor, w)
    near(found.dual, nu)
    assert found.intercept == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_l1_solves_a_linear_program_with_a_free_variable(seed, standardize):
    X, y = shifted_problem(seed, samples=6, features=15)
    value, w, b = free_l1(X, y, units(X) if standardize else 1.0)
    found = tacit.limit(L1(), X, y, intercept=True, standardize=standardize)
    assert found.value == pytest.approx(value, rel=1e-9)
    near(found.predictor, w)
    assert found.intercept == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_networks_end_at_the_least_norm_about_the_mean(outputs, standardize):
    X, y = shifted_problem(5, outputs=outputs)
    unit = units(X) if standardize else np.ones(D)
    inner = np.linalg.pinv((X - X.mean(axis=0)) / unit) @ (y - y.mean(axis=0))
    targets = y[:, 0] if outputs == 1 else y
    found = tacit.limit(network(X / unit, outputs), X, targets, intercept=True, standardize=standardize)
    assert found.converged and np.shape(found.intercept) == (() if outputs == 1 else (outputs,))
    near(found.predictor.reshape(D, outputs), inner / unit[:, None])
    near(found.intercept, (y - X @ (inner / unit[:, None])).mean(axis=0))
    dual = found.dual.reshape(len(X), outputs)
    assert np.abs(dual.sum(axis=0)).max() <= 1e-9 * np.abs(dual).max()
    near((X / unit).T @ dual, inner)
    json.dumps(found.to_dict())
    assert np.shape(found.to_dict()["intercept"]) == np.shape(found.intercept)


@ends
def test_divided_features_without_an_intercept(name):
    X, y = shifted_problem(6)
    unit = units(X)
    plain, found = tacit.limit(EVERY[name], X / unit, y), tacit.limit(EVERY[name], X, y, standardize=True)
    near(found.predictor * unit, plain.predictor)
    assert found.converged and found.intercept == 0.0
    assert found.value == pytest.approx(plain.value, rel=1e-9)


def test_leaky_neurons_take_units_but_no_intercept():
    X, y = shifted_problem(7)
    leaky, unit = tacit.Neuron(1.5, 0.3 * BIASED[0], slope=0.5), units(X)
    with pytest.raises(tacit.InputError, match="intercept"):
        tacit.limit(leaky, X, y, intercept=True)
    found = tacit.limit(leaky, X, y, standardize=True)
    near(found.predictor * unit, tacit.limit(leaky, X / unit, y).predictor)
    outputs = X @ found.predictor
    near(np.maximum(outputs, 0.5 * outputs), y)


@given(st.integers(0, 10**6), st.sampled_from(sorted(EVERY)), st.booleans(), st.floats(1, 1000))
@examples(25)
def test_constants_added_to_features_and_targets_change_nothing(seed, name, standardize, size):
    X, y = shifted_problem(seed, samples=1 + seed % 5)
    rng = np.random.default_rng(seed)
    shift, lift, new = size * rng.standard_normal(D), size * rng.standard_normal(), new_inputs(X, seed)
    plain = tacit.limit(EVERY[name], X, y, intercept=True, standardize=standardize)
    found = tacit.limit(EVERY[name], X + shift, y + lift, intercept=True, standardize=standardize)
    near(predictions(found, new + shift) - lift, predictions(plain, new))


@pytest.mark.parametrize("outputs", [1, 2])
def test_constants_change_nothing_for_networks(outputs):
    X, y = shifted_problem(8, outputs=outputs)
    model, new, shift = network(X, outputs), new_inputs(X), 100 * BIASED[1]
    plain, found = (tacit.limit(model, X + c, y + c[:outputs], intercept=True) for c in (0 * shift, shift))
    near(predictions(found, new + shift) - shift[:outputs], predictions(plain, new))


@given(st.integers(0, 10**6), st.sampled_from(sorted(EVERY)), st.booleans())
@examples(25)
def test_units_of_features_change_nothing_once_they_are_divided(seed, name, intercept):
    X, y = shifted_problem(seed)
    unit, new = 10 ** np.random.default_rng(seed).uniform(-5, 5, D), new_inputs(X, seed)
    plain, found = (
        tacit.limit(EVERY[name], X * c, y, intercept=intercept, standardize=True) for c in (1.0, unit)
    )
    near(predictions(found, new * unit), predictions(plain, new))


@given(st.integers(0, 10**6), st.sampled_from(sorted(EVERY)), st.booleans())
@examples(25)
def test_the_order_of_samples_does_not_matter(seed, name, standardize):
    X, y = shifted_problem(seed)
    order, new = np.random.default_rng(seed).permutation(len(X)), new_inputs(X, seed)
    plain, found = (
        tacit.limit(EVERY[name], X[i], y[i], intercept=True, standardize=standardize)
        for i in (np.arange(len(X)), order)
    )
    near(predictions(found, new), predictions(plain, new))
    near(found.dual, plain.dual[order], 1e-8)


@ends
@pytest.mark.parametrize("standardize", [False, True])
def test_least_squares_with_a_free_intercept(name, standardize):
    X, y = shifted_problem(14, samples=12)
    *w, b = np.linalg.lstsq(np.column_stack([X, np.ones(12)]), y, rcond=None)[0]
    options = {"intercept": True, "standardize": standardize}
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(EVERY[name], X, y, **options)
    found = tacit.limit(EVERY[name], X, y, least_squares=True, **options)
    assert found.converged
    near(found.predictor, w)
    assert found.intercept == pytest.approx(b, rel=1e-9)


def test_least_squares_of_a_network_with_several_outputs():
    X, y = shifted_problem(16, samples=12, outputs=2)
    *w, b = np.linalg.lstsq(np.column_stack([X, np.ones(12)]), y, rcond=None)[0]
    found = tacit.limit(network(X, 2), X, y, intercept=True, least_squares=True)
    near(found.predictor, w)
    near(found.intercept, b)


@pytest.mark.parametrize("name", ["diagonal", "wide scale", "rich", "deep", "untied"])
def test_regimes_are_those_of_the_same_solutions(name):
    """The limits of zero and infinite scale have a free intercept, too."""
    X, y = shifted_problem(17)
    expected = by_differences(MODELS[name], X, y).limit.regime
    found = tacit.limit(MODELS[name], X, y, intercept=True).regime
    assert found.name == expected.name
    assert found.distance_to_kernel == pytest.approx(expected.distance_to_kernel, rel=1e-6, abs=1e-9)
    assert found.distance_to_rich == pytest.approx(expected.distance_to_rich, rel=1e-6, abs=1e-9)
    divided = tacit.limit(MODELS[name], X, y, intercept=True, standardize=True).regime
    assert divided.name == by_differences(MODELS[name], X, y, units(X)).limit.regime.name


def test_results_say_so():
    X, y = shifted_problem(18)
    plain, free, divided = (
        tacit.limit(tacit.Diagonal(), X, y, **options)
        for options in ({}, {"intercept": True}, {"standardize": True})
    )
    assert plain.intercept == 0.0 and "intercept" not in plain.summary() + divided.summary()
    assert "intercept" in free.summary() and f"{free.intercept:.3g}" in free.summary()
    assert "standard" in divided.summary() and "standard" not in plain.summary() + free.summary()
    assert json.loads(json.dumps(free.to_dict()))["intercept"] == free.intercept
    assert plain.to_dict()["intercept"] == 0.0
