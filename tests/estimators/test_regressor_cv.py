"""`FlowRegressorCV`: agreement with an explicit search over all points."""

from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import ttest_1samp
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import FlowRegressor, FlowRegressorCV
from tacit.estimators.cross_validation import _cautious, select, smoothed
from tacit.estimators.grid import Grid


def draw(seed=0, samples=24, features=50, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) * rng.uniform(0.5, 2, features) + rng.standard_normal(
        features
    )
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + noise * rng.standard_normal(samples) + 5


def near(found, wanted, tolerance):
    assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)


@pytest.mark.every(6)
@parametrize_with_checks([FlowRegressorCV(scales=2, stops=3, cv=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [FlowRegressorCV(scales=3), FlowRegressorCV(scales=2, depth=(2, 3), stops=[0.1, None], cv=2)]
)
def test_scikit_learn_checks_with_other_options(estimator, check):
    check(estimator)


@pytest.mark.every(3)
@pytest.mark.parametrize("options", [{}, {"scoring": "r2"}, {"standardize": True, "fit_intercept": False}])
def test_scores_agree_with_a_grid_search(options):
    X, y = draw()
    scales, stops, depths = [1.0, 0.03], [0.3, 0.03, None], [2, 3]
    found = FlowRegressorCV(scales, depths, stops=stops, cv=2, rule="best", **options).fit(X, y)
    plain = {name: value for name, value in options.items() if name != "scoring"}
    grid = {"scale": scales, "depth": depths, "stop": stops}
    scoring = options.get("scoring", "neg_mean_squared_error")
    search = GridSearchCV(FlowRegressor(**plain), grid, cv=2, scoring=scoring).fit(X, y)
    wanted = {
        tuple(sorted(p.items(), key=str)): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    scores = found.cv_results_["mean_test_score"]
    for point, score in zip(found.cv_results_["params"], scores, strict=True):
        assert score == pytest.approx(
            wanted[tuple(sorted(point.items(), key=str))], rel=5e-2
        )  # predictors of folds are accurate to 1%
    assert found.best_score_ == scores.max() == scores[found.best_index_]
    final = FlowRegressor(found.scale_, found.depth_, stop=found.stop_, **plain).fit(X, y)
    np.testing.assert_array_equal(found.coef_, final.coef_)
    assert found.intercept_ == final.intercept_ and found.n_splits_ == 2
    assert found.cv_results_["split1_test_score"].shape == scores.shape == (12,)


def test_the_default_grid_reaches_ridge_and_sparse():
    """The first scale is the kernel end: gradient descent on least squares, which resembles ridge."""
    X, y = draw(1, noise=0.01)
    found = FlowRegressorCV().fit(X, y)
    assert len(found.cv_results_["params"]) == 8 * 26  # 25 stops and the limit
    best = found.predict(draw(2, 200)[0]) - draw(2, 200, noise=0.0)[1]
    ridge = (
        RidgeCV(np.geomspace(1e-4, 1e4, 30)).fit(X, y).predict(draw(2, 200)[0]) - draw(2, 200, noise=0.0)[1]
    )
    assert np.linalg.norm(best) < 0.5 * np.linalg.norm(ridge)  # three of fifty features are relevant
    assert found.scale_ < 0.1


def test_without_noise_the_flow_is_not_stopped():
    """Basis pursuit finds the three relevant features of fifty; stopping early leaves a part unfitted."""
    X, y = draw(5, noise=0.0)
    found = FlowRegressorCV(scales=4).fit(X, y)
    assert found.stop_ is None and found.interpolates_
    there, truth = draw(6, 200, noise=0.0)
    assert np.linalg.norm(found.predict(there) - truth) < 0.01 * np.linalg.norm(truth)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "options", [{"stops": 6}, {"stops": None}, {"stops": 6, "standardize": True, "depth": 3}]
)
def test_predictions_are_independent_of_units_and_order(options):
    X, y = draw(3)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    folds = list(KFold(3).split(X))
    place = np.argsort(rows)
    moved = [(np.sort(place[train]), np.sort(place[test])) for train, test in folds]
    there = draw(4)[0]
    fit = FlowRegressorCV(scales=3, cv=folds, **options).fit(X, y)
    other = FlowRegressorCV(scales=3, cv=moved, **options).fit(30 * X[rows][:, columns], 7e3 * y[rows] + 1)
    near(other.predict(30 * there[:, columns]), 7e3 * fit.predict(there) + 1, 1e-8)
    assert other.scale_ == pytest.approx(fit.scale_, rel=1e-9) and other.stop_ == fit.stop_


def test_integer_sample_weights_equal_repeated_samples():
    X, y = draw(5)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    groups = np.arange(len(y)) % 3
    model = FlowRegressorCV(scales=3, stops=5, cv=LeaveOneGroupOut())
    weighted = clone(model).fit(X, y, sample_weight=weights, groups=groups)
    counted = clone(model).fit(X.repeat(weights, 0), y.repeat(weights), groups=groups.repeat(weights))
    near(weighted.coef_, counted.coef_, 1e-7)
    near(weighted.cv_results_["mean_test_score"], counted.cv_results_["mean_test_score"], 1e-2)


def test_groups_and_jobs():
    X, y = draw(6)
    groups = np.arange(24) // 3
    model = FlowRegressorCV(scales=3, stops=4, cv=GroupKFold(4))
    found = clone(model).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, y)
    with parallel_config(backend="threading"):
        twice = clone(model).set_params(n_jobs=2).fit(X, y, groups=groups)
    np.testing.assert_array_equal(found.coef_, twice.coef_)


def test_one_standard_error_selects_the_earliest_stop_within_the_error():
    X, y = draw(7)
    best, simple = (
        FlowRegressorCV(scales=2, stops=12, rule=rule).fit(X, y) for rule in ("best", "one-standard-error")
    )
    scores = np.array([best.cv_results_[f"split{k}_test_score"] for k in range(5)])
    error = scores[:, best.best_index_].std(ddof=1) / np.sqrt(5)
    good = [
        p["stop"] or 0.0
        for p, s in zip(best.cv_results_["params"], scores.mean(axis=0), strict=True)
        if s >= best.best_score_ - error
    ]
    assert simple.stop_ == max(good) > (best.stop_ or 0.0)


def test_in_a_pipeline():
    X, y = draw(8)
    inside = FlowRegressorCV(scales=3, stops=4, cv=3, standardize=True).fit(X, y)
    by_hand = make_pipeline(StandardScaler(), FlowRegressor(inside.scale_, stop=inside.stop_)).fit(X, y)
    near(inside.predict(X), by_hand.predict(X), 1e-8)
    assert make_pipeline(StandardScaler(), FlowRegressorCV(3, stops=4, cv=3)).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scales": [0.1, -1]}, "scales must be positive"),
        ({"stops": [2.0]}, "stops must be fractions"),
        ({"depth": 1}, "depth must be at least 2"),
        ({"rule": "worst"}, "rule must be one of"),
        ({"cv": 100}, "greater than the number of samples"),
        ({"scoring": "accurate"}, "scoring"),
    ],
)
def test_invalid_options_raise_a_specific_error(options, words):
    with pytest.raises(ValueError, match=words):
        FlowRegressorCV(**options).fit(*draw())


def test_smoothed_scores_average_over_neighbours():
    """Compared with loops over a small table; a single scale and stop is unchanged."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((2, 5, 7))
    found = smoothed(means.ravel(), means.shape).reshape(means.shape)
    reach = range(-6, 7)  # SciPy truncates the Gaussian at four standard deviations
    bell = np.exp(-0.5 * (np.array(reach) / 1.5) ** 2)
    bell /= bell.sum()
    for i in range(5):
        for j in range(7):
            exact = sum(
                bell[a + 6] * bell[b + 6] * means[:, min(max(i + a, 0), 4), min(max(j + b, 0), 6)]
                for a in reach
                for b in reach
            )
            np.testing.assert_allclose(found[:, i, j], exact, atol=1e-12)
    np.testing.assert_array_equal(smoothed(means[0, 0, :1], (1, 1, 1)), means[0, 0, :1])


def test_smoothing_ignores_an_isolated_best_point():
    """An isolated point that is far better than its neighbours loses to a region that is slightly better."""
    grid = Grid((2.0,), (np.geomspace(1, 1e-3, 10),), tuple(np.geomspace(0.9, 1e-3, 12)))
    means = -np.ones(grid.shape[1:])
    means[6:, 5:9] = -0.6
    means[1, 2] = -0.5
    scores = np.tile(means.ravel(), (5, 1))
    places = {}
    for rule in ("smoothed", "best"):
        estimator = SimpleNamespace()
        select(estimator, grid, scores, rule)
        places[rule] = np.unravel_index(estimator.best_index_, means.shape)
    assert places["best"] == (1, 2)
    assert places["smoothed"][0] >= 6 and 5 <= places["smoothed"][1] < 9


@pytest.mark.parametrize(
    ("gains", "taken"), [((0.1, 0.11, 0.09, 0.1, 0.1), True), ((0.6, -0.1, 0.0, 0.1, -0.1), False)]
)
def test_the_cautious_rule_leaves_the_kernel_end_only_for_significant_gains(gains, taken):
    """Two points with the same mean gain, in every fold or in one fold only, compared by a t test."""
    grid = Grid((2.0,), (np.geomspace(1, 1e-3, 8),), tuple(np.geomspace(0.9, 1e-3, 12)))
    scores = -np.ones((5, *grid.shape[1:]))
    scores[:, 5:] += np.array(gains)[:, None, None]
    scores[:, 0, 7] += 1e-3
    assert (ttest_1samp(gains, 0.0, alternative="greater").pvalue < 0.1) == taken
    scales = {}
    for rule in ("smoothed", "cautious"):
        estimator = SimpleNamespace()
        select(estimator, grid, scores.reshape(5, -1), rule)
        scales[rule] = estimator.scale_
    assert scales["smoothed"] < 0.01
    assert (scales["cautious"] == scales["smoothed"]) if taken else (scales["cautious"] == 1.0)


def test_the_cautious_rule_agrees_with_a_t_test():
    """Many random draws, some near the threshold: with few folds the t distribution has heavy tails."""
    rng = np.random.default_rng(5)
    for folds in (2, 3, 5):
        for gains in rng.uniform(0.2, 2.0, (200, 1)) + rng.standard_normal((200, folds)):
            means = np.array([0.0, gains.mean()])
            scores = np.stack([np.zeros(folds), gains], axis=1)
            place = _cautious(1, scores, means, (1, 2, 1), None)
            assert place == int(ttest_1samp(gains, 0.0, alternative="greater").pvalue < 0.1)


def test_weights_and_groups_are_routed():
    X, y = draw(9)
    weights, groups = np.random.default_rng(2).uniform(0.5, 2, 24), np.arange(24) // 4
    with config_context(enable_metadata_routing=True):
        model = FlowRegressorCV(scales=2, stops=3, cv=GroupKFold(3))
        model.set_fit_request(sample_weight=True, groups=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        piped = make_pipeline(scaler, model).fit(X, y, sample_weight=weights, groups=groups)
    alone = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(piped[-1].coef_, alone.coef_, rtol=1e-12)
