"""Flows on separating losses with an optimal intercept."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize, minimize_scalar

import tacit
from tacit.estimators.separating_flow import LabelledSamples, SeparatingFlow, least_loss
from tacit.losses import Exponential, Logistic


def labelled(seed=0, samples=7, features=12, shift=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) + shift
    return X, np.where(np.arange(samples) % 3 == 0, -1.0, 1.0)


def equal_weights(X, y, loss, intercept=True):
    return LabelledSamples(X, y, np.full(len(y), 1 / len(y)), loss, intercept)


def relative_error(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


@pytest.mark.parametrize(("depth", "scale", "accuracy"), [(2, 1e-2, 8.0), (2, 2.0, 60.0), (3, 0.1, 5.0)])
def test_with_an_intercept_the_exponential_loss_is_that_of_all_pairs(depth, scale, accuracy):
    """min_b of the mean of exp(−y(f + b)) is (2/N)√(Σ exp(f_j − f_i)) over pairs of i in + and j in −."""
    X, y = labelled()
    above, below = X[y > 0], X[y < 0]
    pairs = (above[:, None] - below[None]).reshape(-1, X.shape[1])
    signs = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    model = tacit.Diagonal(depth, scale)
    found = SeparatingFlow(model, equal_weights(X, y, Exponential())).stops([accuracy])
    of_pairs = 2 * (accuracy + np.log(2 * np.sqrt(len(pairs)) / len(y)))
    run = tacit.flow(model, signs[:, None] * pairs, signs, loss="exp", at=[of_pairs])
    assert run.converged and relative_error(found.predictors[0], run.predictor[-1]) < 1e-7
    f = X @ found.predictors[0]
    assert abs(-np.log(np.mean(np.exp(-y * (f + found.intercepts[0])))) - accuracy) < 1e-7


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_without_an_intercept_it_agrees_with_flow(loss):
    X, y = labelled(1)
    model = tacit.Diagonal(2, 0.1)
    run = tacit.flow(model, X, y, loss=loss, at=[2.0, 6.0])
    found = SeparatingFlow(model, equal_weights(X, y, Exponential() if loss == "exp" else Logistic(), False))
    stops = found.stops([2.0, 6.0])
    assert max(relative_error(a, b) for a, b in zip(stops.predictors, run.predictor, strict=True)) < 1e-7
    assert not stops.intercepts.any()


@pytest.mark.parametrize(("depth", "features"), [(2, 3), (3, 3), (2, 20)])
def test_weighted_inseparable_samples_agree_with_the_raw_weights(depth, features):
    """Compared with a flow of the raw weights, whose intercept is optimized at every evaluation."""
    X, y = labelled(2, 14, features)
    X[7:] = X[:7]  # the same samples with the other label, so that no predictor separates them
    y[7:] = -y[:7]
    shares = np.random.default_rng(0).uniform(0.5, 2, 14)
    shares /= shares.sum()
    samples, scale = LabelledSamples(X, y, shares, Logistic(), True), 0.3

    def best(f):
        loss = minimize_scalar(lambda b: shares @ np.logaddexp(0, -y * (f + b)), tol=1e-14)
        return loss.x, loss.fun

    def rate(_, weights):
        plus, minus = np.split(weights, 2)
        f = X @ (plus**depth - minus**depth)
        pull = X.T @ (shares * y / (1 + np.exp(y * (f + best(f)[0]))))
        return np.concatenate([depth * plus ** (depth - 1) * pull, -depth * minus ** (depth - 1) * pull])

    start, least = np.full(2 * features, scale), np.exp(least_loss(samples))
    goal = least + 0.2 * (best(np.zeros(14))[1] - least)

    def gap(_, weights):
        plus, minus = np.split(weights, 2)
        return best(X @ (plus**depth - minus**depth))[1] - goal

    gap.terminal = True
    raw = solve_ivp(rate, (0, 1e4), start, rtol=1e-9, atol=1e-11, events=gap)
    plus, minus = np.split(raw.y_events[0][0], 2)
    found = SeparatingFlow(tacit.Diagonal(depth, scale), samples).stops([-np.log(goal)])
    assert relative_error(found.predictors[0], plus**depth - minus**depth) < 1e-6
    assert abs(found.intercepts[0] - best(X @ found.predictors[0])[0]) < 1e-6


@pytest.mark.parametrize("intercept", [True, False])
def test_the_least_logistic_loss(intercept):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 4)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    columns = np.column_stack([X, np.ones(30)]) if intercept else X
    best = minimize(
        lambda w: np.logaddexp(0, -y * (columns @ w)).mean(), np.zeros(columns.shape[1]), tol=1e-12
    )
    assert abs(np.exp(least_loss(equal_weights(X, y, Logistic(), intercept))) - best.fun) < 1e-9


def test_at_large_scales_it_agrees_with_the_linearized_flow():
    """The slopes are tiny at scale 1e5 for predictors of size 1."""
    X, y = labelled(4)
    near, far = (
        SeparatingFlow(tacit.Diagonal(2, scale), equal_weights(X, y, Logistic())).stops([4.0]).predictors[0]
        for scale in (1e3, 1e5)
    )
    assert relative_error(near, far) < 1e-6
    run = tacit.flow(tacit.Diagonal(2, 1e5), X, y, loss="logistic", at=[4.0], linearized=True)
    plain = SeparatingFlow(tacit.Diagonal(2, 1e5), equal_weights(X, y, Logistic(), False)).stops([4.0])
    assert relative_error(plain.predictors[0], run.predictor[-1]) < 1e-6
