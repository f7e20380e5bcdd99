"""Classes with noise: early stopping by default, class weights and calibrated probabilities."""

import pickle

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

import tacit
from tacit.estimators import FlowClassifier, FlowClassifierCV
from tacit.estimators.calibration import Calibration, HeldOutValues


def draw(seed=0, samples=150, features=300, steepness=4.0):
    """Features N(0, I) and labels with P(y = 1 | x) = σ(steepness·x_1)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, (rng.random(samples) < expit(steepness * X[:, 0])).astype(int)


def error(classifier, steepness=4.0):
    """The exact test error for `draw`: the integral over x_1, given which w·x + b is normal."""
    w, b = classifier.coef_[0], classifier.intercept_[0]
    x = np.linspace(-6, 6, 2001)
    positive = norm.cdf((w[0] * x + b) / np.linalg.norm(w[1:]))
    p = expit(steepness * x)
    return np.trapezoid(norm.pdf(x) * (positive * (1 - p) + (1 - positive) * p), x)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(2))
def test_the_default_stops_early_if_labels_are_noisy(seed):
    X, y = draw(seed)
    stopped = FlowClassifierCV(cv=3).fit(X, y)
    margins = FlowClassifierCV(cv=3, loss=None, stops=None).fit(X, y)
    assert stopped.separable_ and stopped.stop_ is not None
    assert error(stopped) < error(margins) - 0.05


@pytest.mark.parametrize("loss", ["square", None])
def test_chosen_stopped_flows_are_those_of_tacit(loss):
    X, y = draw(1, 40, 60)
    found = FlowClassifierCV([0.3], stops=[0.5], loss=loss, fit_intercept=False, cv=2).fit(X, y)
    labels, name = 2.0 * y - 1, {None: "logistic"}.get(loss, loss)
    first = {"square": 0.5, "logistic": np.log(2)}[name]  # losses of w = 0; the least are 0
    run = tacit.flow(found.model_, X, labels, loss=name, at=[-np.log(0.5 * first)], rtol=1e-8)
    np.testing.assert_allclose(
        found.coef_[0], run.predictor[-1], rtol=1e-5, atol=1e-7 * np.abs(found.coef_).max()
    )


@pytest.mark.parametrize("options", [{"stop": 0.4}, {"stop": 0.4, "loss": "square"}])
def test_class_weights_equal_repeated_samples(options):
    X, y = draw(2, 40, 20)
    factors = np.where(y == 1, 3, 1)
    weighted = FlowClassifier(0.1, class_weight={1: 3}, **options).fit(X, y)
    repeated = FlowClassifier(0.1, **options).fit(X.repeat(factors, 0), y.repeat(factors))
    by_sample = FlowClassifier(0.1, **options).fit(X, y, sample_weight=factors)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(weighted.coef_, by_sample.coef_)
    plain = FlowClassifier(0.1, **options).fit(X, y)
    assert weighted.intercept_[0] > plain.intercept_[0]
    balanced = FlowClassifier(0.1, class_weight="balanced", **options).fit(X, y)
    shares = {code: 1 / np.sum(y == code) for code in (0, 1)}
    np.testing.assert_allclose(
        balanced.coef_,
        FlowClassifier(0.1, class_weight=shares, **options).fit(X, y).coef_,
        rtol=1e-8,
        atol=1e-10,
    )


def test_class_weights_and_probabilities_of_a_search_equal_repeated_samples():
    X, y = draw(3, 40, 30)
    factors, groups = np.where(y == 1, 2, 1), np.arange(40) % 3
    model = {"scales": 2, "stops": [0.5, 0.2], "cv": LeaveOneGroupOut()}
    weighted = FlowClassifierCV(**model, class_weight={1: 2}).fit(X, y, groups=groups)
    repeated = FlowClassifierCV(**model).fit(
        X.repeat(factors, 0), y.repeat(factors), groups=groups.repeat(factors)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


MODELS = [FlowClassifierCV(1, stops=[0.5, 0.3], cv=3), FlowClassifier(3.0, stop=0.3)]


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_are_those_of_the_distribution(model):
    """Without calibration, σ(f) fails; the threshold leaves room for the error of sampling."""
    X, y = draw(4, 300, 3, steepness=2.0)
    there = draw(5, 2000, 3)[0]
    found = model.fit(X, y).predict_proba(there)
    assert np.abs(found[:, 1] - expit(2.0 * there[:, 0])).mean() < 0.08
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_sigmoids_are_fitted_to_values_of_held_out_samples():
    """The same as scikit-learn's cross_val_predict and a logistic fit to Platt's targets."""
    X, y = draw(6, 80, 100)
    model = FlowClassifier(0.5, stop=0.4, cv=4)
    f = cross_val_predict(model, X, y, cv=4, method="decision_function")
    up, down = y.sum(), (1 - y).sum()
    target = np.where(y == 1, (up + 1) / (up + 2), 1 / (down + 2))
    twice = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(
        np.tile(f, 2)[:, None], np.repeat([1, 0], len(f)), sample_weight=np.concatenate([target, 1 - target])
    )
    fitted = model.fit(X, y)
    sigmoid = twice.predict_proba(fitted.decision_function(X)[:, None])[:, 1]
    agree = (sigmoid > 0.5) == (fitted.decision_function(X) > 0)
    assert agree.mean() > 0.5
    np.testing.assert_allclose(fitted.predict_proba(X)[agree, 1], sigmoid[agree], atol=1e-5)


def test_probabilities_agree_with_predictions_and_survive_pickling():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((90, 30))
    y = np.array(["ash", "birch", "cedar"])[(X[:, :3] + rng.standard_normal((90, 3))).argmax(axis=1)]
    fitted = FlowClassifier(0.3, stop=0.5, loss="square").fit(X, y)
    copied = pickle.loads(pickle.dumps(fitted))
    there = rng.standard_normal((300, 30))
    p = fitted.predict_proba(there)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(there))
    np.testing.assert_array_equal(copied.predict_proba(there), p)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(there)), p)


def test_a_decision_function_worse_than_chance_gives_the_frequencies():
    values = HeldOutValues(np.array([[1.0], [2.0], [-1.0], [-2.0]]), np.array([0, 0, 1, 1]), None)
    found = Calibration.of(values)
    assert found.slopes[0] == 0
    np.testing.assert_allclose(found.probabilities(np.array([[5.0]]), [1]), [[0.5, 0.5]])


def test_the_slope_is_independent_of_the_unit_of_the_values():
    rng = np.random.default_rng(8)
    f, codes = rng.standard_normal((50, 1)), rng.integers(0, 2, 50)
    f[codes == 1] += 1
    one, other = (Calibration.of(HeldOutValues(unit * f, codes, None)) for unit in (1.0, 1e-9))
    np.testing.assert_allclose(one.slopes, 1e-9 * other.slopes, rtol=1e-6)


def test_probabilities_need_two_samples_of_every_class():
    fitted = FlowClassifier(0.1).fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
    with pytest.raises(ValueError, match=r"at least 2 samples of every class.*'b' has 1"):
        fitted.predict_proba([[2.0]])
