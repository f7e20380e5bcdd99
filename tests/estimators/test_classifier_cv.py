"""`FlowClassifierCV`: agreement with an explicit search over all points."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import FlowClassifier, FlowClassifierCV


def draw(seed=0, samples=30, features=40, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) + rng.standard_normal(features)
    W = rng.standard_normal((features, classes)) * (np.arange(features) < 5)[:, None]
    noise = 0.5 * rng.standard_normal((samples, classes))
    return X, np.array(["ash", "birch", "cedar"])[(X @ W - (X @ W).mean(axis=0) + noise).argmax(axis=1)]


@pytest.mark.every(6)
@parametrize_with_checks([FlowClassifierCV(scales=1, stops=[0.3, None], cv=2, tol=1e-6)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks([FlowClassifierCV(scales=2, cv=3)])
def test_scikit_learn_checks_with_other_options(estimator, check):
    check(estimator)


@pytest.mark.every(3)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [{"loss": None}, {"loss": "square"}, {"loss": None, "scoring": "balanced_accuracy", "standardize": True}],
)
def test_scores_agree_with_a_grid_search(classes, options):
    X, y = draw(5, classes=classes)
    scales, stops, depths = [0.3, 0.03], [0.3, None], [2, 3] if classes == 2 else [2]
    found = FlowClassifierCV(scales, depths, stops=stops, cv=2, **options).fit(X, y)
    plain = {name: value for name, value in options.items() if name != "scoring"}
    search = GridSearchCV(
        FlowClassifier(tol=1e-6, **plain),
        {"scale": scales, "depth": depths, "stop": stops},
        cv=2,
        scoring=options.get("scoring", "accuracy"),
    ).fit(X, y)
    wanted = {
        str(sorted(p.items())): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    given = [dict(point, depth=int(point["depth"])) for point in found.cv_results_["params"]]
    assert {point.pop("loss") for point in given} == {options["loss"] or "margin"}
    for point, score in zip(given, found.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(wanted[str(sorted(point.items()))], abs=1e-9)
    final = FlowClassifier(found.scale_, found.depth_, stop=found.stop_, **plain).fit(X, y)
    np.testing.assert_allclose(found.coef_, final.coef_, rtol=1e-9, atol=1e-12)
    assert found.mu_ == found.scale_**found.depth_
    equals = np.isclose(found.cv_results_["mean_test_score"], found.best_score_, atol=1e-9)
    assert (
        found.cv_results_["mean_test_side"][found.best_index_]
        == found.cv_results_["mean_test_side"][equals].max()
    )


def test_margins_are_tried_for_separable_data_only():
    X, y = draw(1)
    found = FlowClassifierCV(scales=3, cv=3).fit(X, y)
    tried = {(point["loss"], point["stop"]) for point in found.cv_results_["params"]}
    assert {("margin", None), ("square", None), ("margin", 0.6), ("square", 0.6)} <= tried
    found = FlowClassifierCV(scales=3, stops=None, cv=3, loss=None).fit(X, y)
    assert (found.loss_, found.stop_) == ("margin", None)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.random(60) < 0.5
    found = FlowClassifierCV(scales=2, cv=3, tol=1e-6).fit(X, y)
    assert found.loss_ in ("logistic", "square") and 0 < found.stop_ < 1 and not found.separable_
    assert set(found.cv_results_["param_loss"]) == {"margin", "square"}
    assert None not in found.cv_results_["param_stop"]
    assert FlowClassifierCV(scales=2, stops=None, cv=3, tol=1e-6).fit(X, y).stop_ == 0.01
    found = FlowClassifierCV(scales=2, stops=None, cv=3, loss="square").fit(X, y)
    assert (found.loss_, found.stop_) == ("square", None)  # least squares


def clusters(seed, far):
    """The first of many features separates the classes; `far` moves some samples far from the boundary."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 100))
    X[:, 0] += 4 * (2 * y - 1)
    X[far & (rng.random(60) < 0.3)] *= 10.0
    return X, y


@pytest.mark.parametrize("far", [False, True])
def test_the_better_loss_is_chosen(far):
    """The table contains both losses, with the same scores as separate searches."""
    X, y = clusters(0, far)
    both = FlowClassifierCV(scales=3, cv=3).fit(X, y)
    table = both.cv_results_
    for loss in ("margin", "square"):
        alone = FlowClassifierCV(scales=3, cv=3, loss={"margin": None}.get(loss, loss)).fit(X, y)
        here = table["param_loss"] == loss
        np.testing.assert_array_equal(table["mean_test_score"][here], alone.cv_results_["mean_test_score"])
        if both.loss_ == loss:
            np.testing.assert_array_equal(both.coef_, alone.coef_)
    assert both.best_score_ == table["mean_test_score"].max()
    assert both.loss_ == table["param_loss"][both.best_index_]


def test_integer_sample_weights_equal_repeated_samples():
    X, y = draw(2)
    weights, groups = np.random.default_rng(1).integers(0, 4, len(y)), np.arange(len(y)) % 3
    model = FlowClassifierCV(scales=3, stops=[0.2, None], cv=LeaveOneGroupOut(), tol=1e-8)
    weighted = clone(model).fit(X, y, sample_weight=weights, groups=groups)
    counted = clone(model).fit(X.repeat(weights, 0), y.repeat(weights), groups=groups.repeat(weights))
    np.testing.assert_allclose(weighted.coef_, counted.coef_, rtol=1e-5, atol=1e-8)


def test_predictions_are_independent_of_units():
    X, y = draw(3)
    columns = np.random.default_rng(0).permutation(X.shape[1])
    fit = FlowClassifierCV(scales=4, stops=[0.1, None], cv=3).fit(X, y)
    other = FlowClassifierCV(scales=4, stops=[0.1, None], cv=3).fit(300 * X[:, columns], y)
    there = draw(4)[0]
    one, two = fit.decision_function(there), other.decision_function(300 * there[:, columns])
    assert np.linalg.norm(one - two) < 1e-8 * np.linalg.norm(one)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stops": "all"}, "stops must be"),
        ({"rule": "worst"}, "rule must be"),
        ({"loss": "hinge"}, "loss must be 'square', 'auto', or None"),
        ({"cv": [([0, 1], [2])]}, "fold of cv"),
    ],
)
def test_invalid_options_raise_a_specific_error(options, words):
    X, y = draw()
    order = np.argsort(y)
    with pytest.raises(ValueError, match=words):
        FlowClassifierCV(**options).fit(X[order], y[order])
