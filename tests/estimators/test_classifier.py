"""`FlowClassifier`: margins and flows for two and more classes, independent of units."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit.estimators import FlowClassifier


def draw(seed=0, samples=18, features=40, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) * rng.uniform(0.5, 2, features) + rng.standard_normal(
        features
    )
    W = rng.standard_normal((features, classes)) * (np.arange(features) < 5)[:, None]
    return X, np.array(["ash", "birch", "cedar"])[(X @ W - (X @ W).mean(axis=0)).argmax(axis=1)]


def signs(y):
    return np.where(y == np.unique(y)[1], 1, -1)


def overlapping(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    return X, np.where(X[:, 0] + rng.standard_normal(60) > 0.5, "yes", "no")


def near(found, wanted, tolerance):
    assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)


@pytest.mark.every(3)
@parametrize_with_checks([FlowClassifier(tol=1e-6)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [
        FlowClassifier(),
        FlowClassifier(accuracy=2),
        FlowClassifier(stop=0.1, depth=3),
        FlowClassifier(loss="square"),
        FlowClassifier(loss="square", stop=0.1),
    ]
)
def test_scikit_learn_checks_with_other_options(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"depth": 3, "scale": 0.1},
        {"mu": 0.1},
        {"fit_intercept": False},
        {"standardize": True, "scale": 10.0},
    ],
)
def test_coefficients_agree_with_max_margin(options):
    X, y = draw()
    fit = FlowClassifier(**options).fit(X, y)
    intercept = options.get("fit_intercept", True)
    path = tacit.margin_path(
        X,
        signs(y),
        [1.0],
        model=fit.model_,
        intercept=intercept,
        standardize=options.get("standardize", False),
    )
    near(fit.coef_[0], path.predictors[0], 1e-10)
    assert abs(fit.intercept_[0] - path.intercept[0]) < 1e-9
    assert (fit.loss_, fit.separable_) == ("margin", True)
    margins = signs(y) * fit.decision_function(X)
    assert abs(margins.min() - 1) < 1e-9 and (fit.predict(X) == y).all()
    assert fit.certificate_.holds
    assert fit.dual_.min() >= 0 and (margins[fit.dual_ > 0] < 1 + 1e-9).all()
    near(fit.dual_, path.duals[0], 1e-7)


def test_extreme_scales_give_l1_and_l2_margins():
    X, y = draw(1)
    for scale, norm, name in ((30.0, "l2", "kernel"), (1e-12, "l1", "rich")):
        fit = FlowClassifier(scale=scale).fit(X, y)
        near(fit.coef_[0], tacit.max_margin(X, signs(y), norm, intercept=True).predictor, 0.1)
        assert fit.regime_ == name


def test_scales_are_relative_to_the_data():
    X, y = draw(2)
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).mean())
    assert abs(FlowClassifier(0.1, 3).fit(X, y).model_.scale / (0.1 / spread ** (1 / 3)) - 1) < 1e-12
    assert abs(FlowClassifier(mu=0.2).fit(X, y).model_.scale / np.sqrt(0.2 / spread) - 1) < 1e-12
    near(FlowClassifier(0.3).fit(X, y).coef_, FlowClassifier(mu=0.09).fit(X, y).coef_, 1e-10)


def test_flows_on_the_exponential_loss():
    X, y = draw(3)
    fit = FlowClassifier(scale=0.1, accuracy=4.0, fit_intercept=False).fit(X, y)
    run = tacit.flow(fit.model_, X, signs(y), loss="exp", at=[4.0])
    near(fit.coef_[0], run.predictor[-1], 1e-8)
    assert fit.loss_ == "exp" and fit.accuracy_[0] == 4.0 and fit.intercept_[0] == 0
    beside = FlowClassifier(scale=0.1, accuracy=4.0).fit(X, y)
    outputs = signs(y) * beside.decision_function(X)
    assert abs(-np.log(np.exp(-outputs).mean()) - 4) < 1e-8
    pulls = signs(y) * np.exp(-outputs)  # they sum to 0 if the intercept is optimal
    assert abs(pulls.sum()) < 1e-8 * np.abs(pulls).sum()
    assert beside.certificate_.holds and beside.regime_.name in ("kernel", "intermediate", "rich")
    slopes = beside.model_.potential(X.shape[1]).gradient(beside.coef_[0])
    near(X.T @ (signs(y) * beside.dual_), slopes, 1e-6)


def test_inseparable_data_are_fitted_with_the_logistic_loss():
    X, y = overlapping()
    columns = np.column_stack([X, np.ones(60)])
    loss = lambda w: np.logaddexp(0, -signs(y) * (columns @ w)).mean()  # noqa: E731
    least, first = (
        minimize(loss, np.zeros(4), tol=1e-12).fun,
        minimize(lambda b: loss([0, 0, 0, b[0]]), [0]).fun,
    )
    for stop, share in ((None, 0.01), (0.3, 0.3)):
        fit = FlowClassifier(scale=0.1, stop=stop).fit(X, y)
        assert (fit.loss_, fit.separable_) == ("logistic", False)
        left = loss([*fit.coef_[0], fit.intercept_[0]]) - least
        assert abs(left / (first - least) / share - 1) < 1e-5
        assert abs(np.exp(-fit.accuracy_[0]) - loss([*fit.coef_[0], fit.intercept_[0]])) < 1e-9
    near(FlowClassifier(accuracy=50).fit(X, y).coef_, FlowClassifier().fit(X, y).coef_, 1e-9)


def test_several_classes_are_each_separated_from_the_others():
    X, y = draw(4, classes=3)
    fit = FlowClassifier(scale=0.1).fit(X, y)
    for place, name in enumerate(fit.classes_):
        alone = FlowClassifier(scale=0.1).fit(X, y == name)
        near(fit.coef_[place], alone.coef_[0], 1e-10)
        assert abs(fit.intercept_[place] - alone.intercept_[0]) < 1e-9
    assert fit.decision_function(X).shape == (18, 3) and (fit.predict(X) == y).all()
    assert len(fit.certificate_) == len(fit.regime_) == 3 and fit.dual_.shape == (3, 18)
    assert len(fit.path(3)) == 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"accuracy": 3.0},
        {"stop": 0.1},
        {"stop": 0.1, "standardize": True},
        {"accuracy": 3.0, "depth": 3},
        {"loss": "square"},
        {"loss": "square", "stop": 0.1, "depth": 3},
    ],
)
def test_predictions_are_independent_of_units_and_order(options):
    X, y = draw(5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    there = draw(6)[0]
    fit = FlowClassifier(scale=0.1, **options).fit(X, y)
    other = FlowClassifier(scale=0.1, **options).fit(1e3 * X[rows][:, columns] / 7, y[rows])
    near(other.decision_function(1e3 * there[:, columns] / 7), fit.decision_function(there), 1e-8)


@pytest.mark.parametrize("options", [{}, {"stop": 0.2}, {"loss": "square"}])
def test_standardize_equals_explicit_standardization(options):
    X, y = draw(7)
    there = draw(8)[0]
    inside = FlowClassifier(standardize=True, **options).fit(X, y)
    outside = make_pipeline(StandardScaler(), FlowClassifier(**options)).fit(X, y)
    near(inside.decision_function(there), outside.decision_function(there), 1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop": 0.2},
        {"accuracy": 3.0},
        {"accuracy": 3.0, "fit_intercept": False},
        {"loss": "square"},
        {"loss": "square", "stop": 0.2},
    ],
)
def test_integer_sample_weights_equal_repeated_samples(options):
    X, y = draw(9)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    model = FlowClassifier(scale=0.1, standardize=True, **options)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    counted = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights))
    near(weighted.coef_, counted.coef_, 1e-6)
    assert weighted.certificate_.holds and len(weighted.dual_) == len(y)


def test_feature_weights_and_sparse_matrices():
    X, y = draw(10)
    plain = FlowClassifier().fit(X, y)
    i = int(np.abs(plain.coef_[0]).argmin())
    favoured = FlowClassifier(weights=np.where(np.arange(40) == i, 1e3, 1.0)).fit(X, y)
    assert np.abs(favoured.coef_[0, i]) > 10 * np.abs(plain.coef_[0, i])
    thin = FlowClassifier().fit(scipy.sparse.csr_array(X), y)
    near(thin.decision_function(scipy.sparse.csr_array(X)), plain.decision_function(X), 1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": -1}, "scale must be positive"),
        ({"mu": 0}, "mu must be positive"),
        ({"stop": 1.0}, "stop must be positive, below 1"),
        ({"mu": 1, "stop": 0.1}, "give one, got mu and stop"),
        ({"accuracy": 1e-3}, "that of the start of the flow"),
        ({"depth": 1}, "depth must be at least 2"),
        ({"loss": "hinge"}, "loss must be 'square', or None for margins .*, got 'hinge'"),
        ({"loss": "square", "accuracy": 2.0}, "with loss='square' use stop"),
        ({"loss": "square", "scale": "large"}, "scale must be numbers, got 'large'"),
        ({"loss": "square", "scale": -1}, "scale must be positive, got -1.0:"),
    ],
)
def test_invalid_options_raise_a_specific_error(options, words):
    with pytest.raises(ValueError, match=words):
        FlowClassifier(**options).fit(*draw())


def test_invalid_use_raises_a_specific_error():
    X, y = draw()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FlowClassifier().predict(X)
    with pytest.raises(ValueError, match="at least 2 classes"):
        FlowClassifier().fit(X, np.ones(18, int))
    with pytest.raises(ValueError, match="at least 2 classes"):
        FlowClassifier().fit(X, y, sample_weight=(y == y[0]) * 1.0)
    with pytest.raises(ValueError, match="Unknown label type"):
        FlowClassifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expecting 40 features"):
        FlowClassifier().fit(X, y).predict(X[:, 1:])


@pytest.mark.parametrize("options", [{}, {"depth": 3, "scale": 0.1}, {"mu": 0.1, "standardize": True}])
@pytest.mark.parametrize("intercept", [True, False])
def test_square_loss_agrees_with_limit_and_flow(options, intercept):
    X, y = draw(11)
    options = {"loss": "square", "fit_intercept": intercept, **options}
    fit = FlowClassifier(**options).fit(X, y)
    kept = {"intercept": intercept, "standardize": options.get("standardize", False)}
    end = tacit.limit(fit.model_, X, signs(y), **kept)
    near(fit.coef_[0], end.predictor, 1e-12)
    np.testing.assert_allclose(fit.decision_function(X), signs(y), atol=1e-9)
    assert (fit.loss_, fit.separable_) == ("square", True) and fit.certificate_.holds
    rows = X - X.mean(axis=0) if intercept else X
    if not kept["standardize"]:
        slopes = fit.model_.potential(X.shape[1]).gradient(fit.coef_[0])
        near(rows.T @ (signs(y) * fit.dual_), slopes, 1e-6)
    if "mu" in options:
        return
    stopped = FlowClassifier(stop=0.1, **options).fit(X, y)
    errors = np.mean((stopped.decision_function(X) - signs(y)) ** 2)
    wanted = 0.1 * np.mean(
        (signs(y) - intercept * signs(y).mean()) ** 2
    )  # a tenth of the loss of the best constant
    assert abs(errors / wanted - 1) < 1e-6 and abs(stopped.accuracy_[0] + np.log(wanted / 2)) < 1e-12
    run = tacit.flow(stopped.model_, X, signs(y), at=stopped.accuracy_, **kept)
    near(stopped.coef_[0], run.predictor[-1], 1e-8)


def test_square_loss_at_the_kernel_end_is_least_squares():
    """The minimum-norm solution with more features than samples, the unique one otherwise."""
    for X, y in (draw(12), overlapping(1)):
        fit = FlowClassifier(scale=1e4, loss="square").fit(X, y)
        centred, numbers = X - X.mean(axis=0), signs(y) - signs(y).mean()
        near(fit.coef_[0], np.linalg.lstsq(centred, numbers, rcond=1e-10)[0], 1e-6)
        assert abs(np.mean(fit.decision_function(X)) - signs(y).mean()) < 1e-12
    assert not fit.separable_ and fit.loss_ == "square"


def test_square_loss_with_several_classes_has_one_initialization():
    X, y = draw(4, classes=3)
    fit = FlowClassifier(scale=0.1, loss="square").fit(X, y)
    for place, name in enumerate(fit.classes_):
        alone = FlowClassifier(scale=0.1, loss="square").fit(X, y == name)
        near(fit.coef_[place], alone.coef_[0], 1e-12)
        assert alone.model_.scale == fit.model_.scale == FlowClassifier(0.1).fit(X, y).model_.scale
    assert (fit.predict(X) == y).all() and len(fit.certificate_) == len(fit.regime_) == 3


@pytest.mark.parametrize("options", [{}, {"stop": 0.1}, {"loss": "square"}, {"loss": "square", "stop": 0.1}])
def test_paths_contain_the_fit_and_lie_between_both_ends(options):
    """One label in six is −1, so that the units of margins and of regressions differ."""
    X, y = draw(13)
    y = np.where(np.argsort(np.argsort(X[:, 0])) < 3, "ash", "birch")
    fit = FlowClassifier(scale=0.05, **options).fit(X, y)
    path = fit.path(6)
    (place,) = np.flatnonzero(np.isclose(path.scales, 0.05, rtol=1e-12))
    assert path.chosen == pytest.approx(0.05, rel=1e-12) and path.stop == options.get("stop")
    near(path.coefs[place], fit.coef_[0], 1e-2)
    last = 1e-60 if options.get("stop") is None else 1e-4
    given = fit.path([100.0, 0.05, last])
    near(given.coefs[1], fit.coef_[0], 1e-2)
    np.testing.assert_allclose(given.scales, [100.0, 0.05, last])
    near(given.coefs[0], given.kernel, 0.1)
    if options.get("stop") is None:
        least = np.abs(given.rich).sum()  # the norm converges before the predictor
        assert least - 1e-9 <= np.abs(given.coefs[2]).sum() <= 1.01 * least
