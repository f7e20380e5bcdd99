"""Flows of the square loss on data that cannot be fitted end at least squares and report it."""

import os

import numpy as np
import overdetermined
import pytest
from flow_oracles import power_network, product_network, raw_flow, square
from oracles import gaussian_problem
from properties import some

import tacit
from tacit.flows.driver import record
from tacit.flows.form import Flow
from tacit.flows.segments import Segment

CASES = int(os.environ.get("TACIT_OVERDETERMINED", "60"))


@pytest.mark.every(6)
@pytest.mark.parametrize("seeds", [range(i, CASES, 10) for i in range(10)], ids=overdetermined.KINDS)
def test_random_overdetermined_problems(seeds):
    """Cases by kind; TACIT_OVERDETERMINED=2000 sets their number and includes large ones."""
    judged = 0
    for seed in some(seeds, 2):
        problem = overdetermined.case(seed)
        if CASES <= 60 and problem.kind == "leaky" and len(problem.X) > 20:
            continue
        verdict = overdetermined.judge(problem)
        assert verdict.good, (seed, verdict)
        judged += 1
    assert judged


def problem(seed=11, samples=8, features=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((samples, features)), rng.standard_normal(samples)


def test_two_targets_for_one_feature_end_at_their_mean():
    """ν would grow without bound along the residual (1, −1), and the predictor would be lost in the round-off
    of ν."""
    run = tacit.flow(tacit.Diagonal(2, 10.0), [[1.0], [1.0]], [1.0, 2.0])
    assert run.converged and run.predictor[-1, 0] == pytest.approx(1.5, rel=1e-9)
    assert run.accuracy[-1] == pytest.approx(np.log(8), abs=1e-12)
    assert run.unfitted == pytest.approx(np.sqrt(0.5 / 5), rel=1e-12)
    for words in ("cannot be fitted", "0.316"):
        assert words in run.summary() and words in run.reason


MODELS = {
    "tied": (power_network(2), [np.full(3, 0.3)] * 2, tacit.Diagonal(scale=0.3)),
    "deep": (power_network(3), [np.full(3, 0.5)] * 2, tacit.Diagonal(depth=3, scale=0.5)),
    "untied": (
        product_network(),
        [np.full(3, 0.2), np.full(3, 0.6)] * 2,
        tacit.UntiedDiagonal(scale=0.12, shape=0.5),
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["auto", "parameters"])
def test_the_way_there_is_that_of_the_raw_weights(name, method):
    """Predictor, time and accuracy along the flow for targets that can be fitted only in part."""
    network, weights, model = MODELS[name]
    X, y = problem()
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    most = -np.log(np.mean((X @ best - y) ** 2) / 2)
    start = square(np.zeros(8), y)[0]
    at = start + (most - start) * np.array([0.1, 0.5, 0.9, 0.999, 0.99999])
    raw = raw_flow(weights, network, X, y, square, at)
    run = tacit.flow(model, X, y, at=at, method=method)
    assert run.converged
    np.testing.assert_array_equal(run.accuracy, at)
    np.testing.assert_allclose(run.predictor, raw.predictor, rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.log_time, raw.log_time, atol=1e-6)
    losses = np.mean((run.predictor @ X.T - y) ** 2, axis=1) / 2
    np.testing.assert_allclose(run.accuracy, -np.log(losses), atol=1e-9)


@pytest.mark.parametrize("options", [{"until": 99.0}, {"at": [0.8, 99.0]}], ids=["until", "at"])
def test_accuracies_beyond_least_squares_are_called_that(options):
    X, y = problem()
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    most = -np.log(np.mean((X @ best - y) ** 2) / 2)
    for model in (tacit.Diagonal(scale=0.3), tacit.Neuron(0.5, [0.1, 0.2, 0.3])):
        run = tacit.flow(model, X, y, **options)
        assert not run.converged and f"{most:.6g}" in run.reason and "99" in run.reason
        assert run.accuracy[-1] == pytest.approx(most, abs=1e-9)
        np.testing.assert_allclose(run.predictor[-1], best, atol=1e-8)
        if "at" in options:
            assert run.accuracy[0] == 0.8 and len(run.accuracy) == 2


def test_an_accuracy_just_below_least_squares_is_met():
    X, y = problem()
    most = tacit.flow(tacit.Diagonal(scale=0.3), X, y).accuracy[-1]
    run = tacit.flow(tacit.Diagonal(scale=0.3), X, y, until=most - 1e-6)
    assert run.converged and run.accuracy[-1] == most - 1e-6
    below = np.mean((X @ run.predictor[-1] - y) ** 2) / 2
    assert -np.log(below) == pytest.approx(most - 1e-6, abs=1e-12)


@pytest.mark.parametrize("depth", [2, 3])
def test_of_several_best_predictors_the_potential_chooses(depth):
    """Twelve features, five different rows, two of them with several targets."""
    X, y = gaussian_problem(5, 12, nonzero=3, seed=2)
    X, y = np.vstack([X, X[:2], X[:1]]), np.append(y, [3.0, -1.0, 0.5])
    model = tacit.Diagonal(depth=depth, scale=0.1)
    run = tacit.flow(model, X, y)
    expected = tacit.limit(model, *overdetermined.merged(X, y)).predictor
    assert run.converged and run.unfitted > 0.1
    assert np.linalg.norm(run.predictor[-1] - expected) < 1e-8 * np.linalg.norm(expected)


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_units_of_features_do_not_decide_what_can_be_fitted(unit):
    """The limit does not depend on the rate at which samples are learned, which varies by a factor of
    1e12."""
    X, y = problem(3, 9, 2)
    X[:, 1] *= unit
    model = tacit.Diagonal(profile=[1.0, unit**-0.5])
    run = tacit.flow(model, X, y)
    best = np.linalg.lstsq(X / [1, unit], y, rcond=None)[0]
    assert run.converged
    np.testing.assert_allclose(run.predictor[-1] * [1, unit], best, rtol=1e-8)
    assert (np.diff(run.accuracy) > -1e-12).all()


def test_rounding_is_not_called_unfittable():
    """Consistent data with many more samples than features, and targets with the round-off of sums."""
    rng = np.random.default_rng(5)
    for size in (1.0, 1e6):
        X, truth = rng.standard_normal((60, 4)), rng.standard_normal(4)
        X[:, 0] *= size
        X[:, 1] = X[:, 0] + rng.standard_normal(60)
        truth[1] = -truth[0]  # large terms that nearly cancel
        y = X @ truth
        run = tacit.flow(tacit.Diagonal(scale=1.0), X, y, rtol=1e-6)
        assert run.converged and run.unfitted == 0 and "cannot" not in run.summary()
    X = np.vstack([rng.standard_normal((3, 4))] * 2)
    run = tacit.flow(tacit.Diagonal(scale=1.0), X, X @ truth, until=40.0)
    assert run.converged and run.accuracy[-1] == 40.0


def test_a_small_residual_is_not_lost():
    X, y = problem(7, 20, 3)
    basis = np.linalg.qr(X)[0]
    rest = y - basis @ (basis.T @ y)
    y = X @ [1.0, -2.0, 0.5] + 1e-9 * rest
    run = tacit.flow(tacit.Diagonal(scale=0.5), X, y)
    assert run.unfitted == pytest.approx(1e-9 * np.linalg.norm(rest) / np.linalg.norm(y), rel=1e-5)
    assert run.converged and run.accuracy[-1] == pytest.approx(
        -np.log(1e-18 * rest @ rest / 40), abs=0.1
    )  # at a relative residual of 1e-10 on what can be fitted


def test_targets_that_no_feature_sees():
    """y is orthogonal to the range of X, so the flow stays at its start and reports convergence."""
    run = tacit.flow(tacit.Diagonal(), [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 0.0])
    assert run.converged and np.abs(run.predictor).max() < 1e-15
    assert run.accuracy[-1] == pytest.approx(np.log(3)) and run.unfitted == 1
    zero = tacit.flow(tacit.Diagonal(), np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert zero.converged and not zero.predictor.any() and zero.unfitted == 1


@pytest.mark.parametrize("linearized", [False, True])
def test_multiple_outputs_and_matrices(linearized):
    rng = np.random.default_rng(22)
    X, Y = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    run = tacit.flow(tacit.LinearNetwork.gaussian(3, 8, 2, seed=1), X, Y, linearized=linearized)
    assert run.converged and run.outputs.shape[1:] == (7, 2)
    np.testing.assert_allclose(run.predictor[-1], np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-8)
    np.testing.assert_allclose(run.outputs[-1], X @ run.predictor[-1], atol=1e-12)
    M, y = rng.standard_normal((9, 2, 3)), rng.standard_normal(9)
    run = tacit.flow(tacit.Factorization.gaussian((2, 3), 6, 1.0, seed=1), M, y, linearized=linearized)
    best = np.linalg.lstsq(M.reshape(9, -1), y, rcond=None)[0].reshape(2, 3)
    assert run.converged
    np.testing.assert_allclose(run.predictor[-1], best, atol=1e-8)


def test_the_kernel_turns_as_on_all_samples():
    X, y = problem()
    run = tacit.flow(tacit.UntiedDiagonal(scale=0.05), X, y)
    metric = 2 * np.sqrt(run.predictor[-1] ** 2 + 4 * 0.05**2)
    first, last = X @ X.T, (X * metric) @ X.T
    cosine = np.sum(first * last) / np.linalg.norm(first) / np.linalg.norm(last)
    assert run.final_kernel_distance == pytest.approx(1 - cosine, rel=1e-6)


def test_a_linearized_model_that_cannot_fit_rests_at_its_best():
    """One unit with output weight 0: only the output weight changes in its linearization."""
    X, y = problem(4, 3, 5)
    w = np.array([1.0, -0.5, 0.2, 0.0, 0.3])
    run = tacit.flow(tacit.Neuron(0.0, w), X, y, linearized=True)
    along = X @ w
    assert run.converged and "cannot fit" in run.reason
    np.testing.assert_allclose(run.outputs[-1], along * (along @ y) / (along @ along), atol=1e-9)


def test_a_leaky_neuron_rests_at_a_minimum():
    X, y = problem(6, 12, 4)
    model = tacit.Neuron.from_scale(0.3, 0.2, np.ones(4), slope=0.4)
    run = tacit.flow(model, X, y)
    assert run.converged and "at rest at a minimum" in run.summary()
    end = overdetermined.leaky_end(model, X, y)
    assert np.linalg.norm(run.predictor[-1] - end) < 1e-8 * np.linalg.norm(end)
    asked = tacit.flow(model, X, y, until=50.0)
    assert not asked.converged and f"{run.accuracy[-1]:.6g}" in asked.reason


def test_descent_ends_at_least_squares_too():
    X, y = problem()
    run = tacit.flow(tacit.Diagonal(scale=0.3), X, y, method="descent", step=0.02)
    assert run.converged
    np.testing.assert_allclose(run.predictor[-1], np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-8)


class Rising(Flow):
    """A form whose loss first falls and then rises, which is impossible for a flow."""

    name, restore, discrete = "wrong", staticmethod(lambda weights: weights), False

    def begin(self):
        return 0.0

    def stepper(self):
        self.clock = 0.0
        return self

    def step(self):
        self.clock += 1.0
        return Segment(self.clock - 1.0, self.clock, lambda now: now, self.discrete)

    def log_time(self, state):
        return np.log(state)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("loss", ["square", "exp"])
def test_a_loss_that_rises_ends_the_run(timed, loss):
    """Levels 0, 1, 2 and then 1.9: allowed for gradient descent, and for a flow within round-off."""
    fit, goal = _asked(loss, 1e-8, timed)
    with np.errstate(divide="ignore"):
        found = record(Rising(), lambda now: now if now < 3 else 1.9, goal, fit)
        assert not found.converged and "rises" in found.reason and found.states[-1] == 2.0
        Descending = type("Descending", (Rising,), {"discrete": True})
        assert "rises" not in record(Descending(), lambda now: now if now < 3 else 1.9, goal, fit).reason
        shaky = record(Rising(), lambda now: now if now < 3 else 2 - 1e-9, goal, fit)
        assert "rises" not in shaky.reason


def _asked(loss, rtol, timed):
    from tacit.flows.fitting import Fitting
    from tacit.flows.form import Problem
    from tacit.flows.goals import goal_of
    from tacit.losses import as_loss

    fit = Fitting(Problem(tacit.Diagonal(), np.ones((1, 1)), np.ones(1), as_loss(loss), rtol))
    return fit, goal_of(*((None, None, [3.9]) if timed else (5.0, None, None)), 0.0, fit)
