"""`FlowRegressor`: agreement with limit and flow, independence of units, and scikit-learn's conventions."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit.estimators import FlowRegressor


def draw(seed=0, samples=20, features=60, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) * rng.uniform(0.5, 2, features) + rng.standard_normal(
        features
    )
    w = np.zeros(features)
    w[:4] = [3, -2, 1, 1]
    return X, X @ w + noise * rng.standard_normal(samples) + 5


def near(found, wanted, tolerance):
    assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)


@pytest.mark.every(6)
@parametrize_with_checks([FlowRegressor(), FlowRegressor(stop=0.1, depth=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options",
    [{}, {"depth": 3}, {"shape": 0.5}, {"fit_intercept": False}, {"standardize": True}, {"scale": 10.0}],
)
def test_coefficients_agree_with_the_limit(options):
    X, y = draw()
    fit = FlowRegressor(**options).fit(X, y)
    intercept, standardize = (options.get(k, v) for k, v in (("fit_intercept", True), ("standardize", False)))
    limit = tacit.limit(fit.model_, X, y, intercept=intercept, standardize=standardize)
    near(fit.coef_, limit.predictor, 1e-12)
    assert abs(fit.intercept_ - limit.intercept) <= 1e-11
    assert fit.interpolates_ and not fit.stopped_
    near(fit.predict(X), y, 1e-10)
    assert fit.certificate_.holds and fit.regime_ == limit.regime


def test_the_scale_is_relative_to_the_data():
    """If features and y have root mean square 1, the scale is that of the model."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((10, 30)), rng.standard_normal(10)
    X -= X.mean(axis=0)
    X, y = X / np.sqrt((X**2).mean()), (y - y.mean()) / y.std()
    for depth, scale in [(2, 1e-3), (3, 0.1)]:
        model = FlowRegressor(scale, depth).fit(X, y).model_
        assert model.depth == depth and abs(model.scale / scale - 1) < 1e-12
    fit = FlowRegressor(1e-3, shape=0.3, weights=np.full(30, 2.0)).fit(X, y)
    np.testing.assert_allclose(fit.model_.scale, 4e-6, rtol=1e-12)
    near(fit.coef_, tacit.limit(tacit.UntiedDiagonal(4e-6, 0.3), X, y, intercept=True).predictor, 1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize("stop", [0.3, 0.01])
@pytest.mark.parametrize("options", [{}, {"depth": 3}, {"fit_intercept": False, "standardize": True}])
def test_stopped_fits_agree_with_the_flow(stop, options):
    X, y = draw(1)
    fit = FlowRegressor(scale=0.1, stop=stop, **options).fit(X, y)
    intercept, standardize = (options.get(k, v) for k, v in (("fit_intercept", True), ("standardize", False)))
    apart = y - y.mean() if intercept else y
    at = -np.log(stop * (apart @ apart) / (2 * len(y)))
    run = tacit.flow(
        fit.model_, X, y, at=[at], intercept=intercept, standardize=standardize, method="parameters"
    )
    near(fit.coef_, run.predictor[-1], 1e-8)
    rest = y - fit.predict(X)
    assert abs(rest @ rest / (apart @ apart) / stop - 1) < 1e-8
    assert fit.stopped_ and not fit.interpolates_
    assert fit.certificate_.holds


def test_a_stopped_flow_has_the_least_potential_for_its_outputs():
    X, y = draw(2)
    fit = FlowRegressor(scale=0.1, stop=0.05).fit(X, y)
    limit = tacit.limit(fit.model_, X, fit.predict(X), intercept=True)
    near(limit.predictor, fit.coef_, 1e-7)
    assert fit.regime_ == limit.regime.name
    slopes = fit.model_.potential(X.shape[1]).gradient(fit.coef_)
    near(X.T @ fit.dual_, slopes, 1e-6)
    assert abs(fit.dual_.sum()) < 1e-9 * np.abs(fit.dual_).sum()


@pytest.mark.parametrize("options", [{}, {"stop": 0.05}, {"stop": 0.05, "depth": 4}, {"standardize": True}])
def test_predictions_are_independent_of_units_and_order(options):
    X, y = draw(4)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    there = draw(5)[0]
    fit = FlowRegressor(scale=0.03, **options).fit(X, y)
    other = FlowRegressor(scale=0.03, **options).fit(1e4 * X[rows][:, columns] / 3, 700 * y[rows] - 30)
    near(other.predict(1e4 * there[:, columns] / 3), 700 * fit.predict(there) - 30, 1e-8)
    np.testing.assert_allclose(
        other.dual_ / np.abs(other.dual_).max(), (fit.dual_ / np.abs(fit.dual_).max())[rows], atol=1e-6
    )


@pytest.mark.parametrize("options", [{}, {"stop": 0.05}])
def test_standardize_equals_explicit_standardization(options):
    X, y = draw(6)
    there = draw(7)[0]
    inside = FlowRegressor(standardize=True, **options).fit(X, y)
    outside = make_pipeline(StandardScaler(), FlowRegressor(**options)).fit(X, y)
    near(inside.predict(there), outside.predict(there), 1e-8)


@pytest.mark.every(3)
@pytest.mark.parametrize("stop", [None, 0.2])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("features", [8, 60])
def test_integer_sample_weights_equal_repeated_samples(stop, standardize, features):
    X, y = draw(8, samples=20, features=features, noise=1.0)
    y[3] += 4
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    model = FlowRegressor(scale=0.1, stop=stop, standardize=standardize)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    counted = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights))
    near(weighted.coef_, counted.coef_, 1e-7)
    assert abs(weighted.intercept_ - counted.intercept_) <= 1e-7 * np.abs(y).max()
    assert weighted.certificate_.holds
    sigma = np.sqrt(np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights))
    sigma = sigma if standardize else np.ones(features)
    slopes = weighted.model_.potential(features).gradient(weighted.coef_ * sigma)
    near((X / sigma).T @ weighted.dual_, slopes, 1e-6)


def test_data_that_cannot_be_fitted_give_least_squares():
    X, y = draw(9, samples=40, features=6, noise=1.0)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)[0]
    for stop in (None, 1e-6):  # a fraction of the loss that is not reached
        fit = FlowRegressor(stop=stop).fit(X, y)
        near(np.append(fit.coef_, fit.intercept_), best, 1e-10)
        assert not fit.interpolates_ and not fit.stopped_


def test_feature_weights_are_prior_importance():
    X, y = draw(10)
    plain = FlowRegressor().fit(X, y)
    i = int(np.argmin(np.abs(plain.coef_)))
    favoured = FlowRegressor(weights=np.where(np.arange(60) == i, 1e3, 1.0)).fit(X, y)
    assert np.abs(favoured.coef_[i]) > 10 * np.abs(plain.coef_[i])
    near(favoured.coef_, tacit.limit(favoured.model_, X, y, intercept=True).predictor, 1e-12)
    np.testing.assert_array_equal(favoured.model_.profile, favoured.weights)


def test_tables_and_sparse_matrices():
    X, y = draw(11)
    X[np.abs(X) < 1] = 0
    plain = FlowRegressor().fit(X, y)
    table = pd.DataFrame(X, columns=[f"f{i}" for i in range(60)])
    named = FlowRegressor().fit(table, y)
    assert list(named.feature_names_in_) == list(table.columns)
    near(named.predict(table), plain.predict(X), 1e-12)
    thin = FlowRegressor().fit(scipy.sparse.csr_array(X), y)
    near(thin.predict(scipy.sparse.csc_array(X)), plain.predict(X), 1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(table.rename(columns={"f3": "g"}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": 0}, "scale must be positive"),
        ({"depth": 1}, "depth must be at least 2"),
        ({"stop": 1.5}, "stop must be a fraction"),
        ({"stop": "early"}, "stop must be numbers"),
        ({"shape": 0.5, "depth": 3}, "depth 2"),
        ({"shape": 2}, "shape must lie"),
        ({"weights": [1.0]}, "one for each feature"),
        ({"tol": 2}, "tol must lie"),
    ],
)
def test_invalid_options_raise_a_specific_error(options, words):
    with pytest.raises(ValueError, match=words):
        FlowRegressor(**options).fit(*draw())


def test_invalid_use_raises_a_specific_error():
    X, y = draw()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FlowRegressor().predict(X)
    with pytest.raises(NotFittedError):
        _ = FlowRegressor().regime_
    fit = FlowRegressor().fit(X, y)
    with pytest.raises(ValueError, match="expecting 60 features"):
        fit.predict(X[:, :5])
    with pytest.raises(ValueError, match=r"could not convert|numeric"):
        FlowRegressor().fit(X, ["low", "high"] * 10)
    with pytest.raises(ValueError, match="NaN"):
        FlowRegressor().fit(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        FlowRegressor().fit(X, y, sample_weight=-np.ones(20))
