"""FlowImputer compared with PCA-EM, soft-impute, normal equations and conditional expectations."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from support.completion_oracles import tuned

from tacit.data.additive import additive_fit
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.estimators import FlowImputer, FlowRegressor


def table(shape=(40, 15), rank=2, noise=0.1, effects=0.0, share=0.6, seed=0):
    """A matrix of low rank, and noisy observations of a share of its cells."""
    rng = np.random.default_rng(seed)
    truth = (
        rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1])) / np.sqrt(max(rank, 1))
    )
    truth += effects * (rng.standard_normal((shape[0], 1)) + rng.standard_normal((1, shape[1])))
    values = truth + noise * rng.standard_normal(shape)
    values[rng.random(shape) > share] = np.nan
    return truth, values


def error(filled, truth, values):
    gaps = np.isnan(values)
    return np.linalg.norm((filled - truth)[gaps]) / np.linalg.norm(truth[gaps])


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.03, 0.1, 0.3])
def test_it_is_as_accurate_as_pca_em_and_soft_impute(noise):
    for seed in range(2):
        truth, values = table((100, 60), 3, noise, share=0.4, seed=seed)
        best = min(error(each, truth, values) for each in tuned(values).values())
        assert error(FlowImputer().fit_transform(values), truth, values) <= 1.1 * best


def test_noise_is_not_fitted():
    truth, values = table()
    imputer = FlowImputer()
    filled = imputer.fit_transform(values)
    best = min(error(each, truth, values) for each in tuned(values).values())
    assert error(filled, truth, values) <= 1.25 * best  # one small table: 1.1 holds on larger ones
    assert 0.1 < imputer.held_out_error_ < 0.3
    np.testing.assert_array_equal(filled[~np.isnan(values)], values[~np.isnan(values)])


@pytest.mark.thorough
def test_a_matrix_of_low_rank_without_noise_is_recovered():
    truth, values = table(noise=0.0)
    # the held-out cells settle to 1e-6; the power of the smallest start bounds what is left
    assert error(FlowImputer().fit_transform(values), truth, values) < 1e-4


def test_effects_are_the_least_squares_solution():
    _, values = table(effects=1.0)
    rows, columns = np.nonzero(~np.isnan(values))
    X, y = Entries(rows, columns, values.shape), values[rows, columns]
    design = np.hstack([np.eye(values.shape[0])[rows], np.eye(values.shape[1])[columns]])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(additive_fit(X, y).at(X), expected, atol=1e-8)


def test_effects_are_chosen_by_the_error_on_held_out_cells():
    found = []
    for rank, share in ((2, 0.6), (0, 0.5)):
        _, values = table(rank=rank, effects=float(rank == 0), noise=0.3, share=share, shape=(30, 12))
        errors = [FlowImputer(1e-4, effects=each).fit(values).held_out_error_ for each in (False, True)]
        chosen = FlowImputer(1e-4).fit(values)
        assert chosen.held_out_error_ == min(errors)
        found.append(chosen.completion_.chosen.effects)
    assert found == [False, True]


def test_rows_and_columns_without_cells_are_filled_by_the_effects():
    row, column = np.arange(8.0), np.arange(5.0)
    values = row[:, None] + 10 * column
    values[3], values[:, 1] = np.nan, np.nan
    for effects in (None, False):
        with pytest.warns(UserWarning, match="row 3, column 1"):
            filled = FlowImputer(effects=effects).fit_transform(values)
        others = np.delete(row, 3)
        np.testing.assert_allclose(
            np.delete(filled[3], 1), np.delete(others.mean() + 10 * column, 1), atol=1e-6
        )
        expected = np.delete(row + 10 * np.delete(column, 1).mean(), 3)
        np.testing.assert_allclose(np.delete(filled[:, 1], 3), expected, atol=1e-6)


def test_new_rows_have_the_conditional_expectation():
    _, values = table(noise=0.2)
    imputer = FlowImputer(effects=False).fit(values)
    fit, new = imputer.completion_, np.array([0.5, np.nan, -1.0] + [np.nan] * 11 + [0.3])
    U, V, sigma = fit.left, fit.right, imputer.held_out_error_
    covariance = V @ (U.T @ U / len(U)) @ V.T
    seen = ~np.isnan(new)
    precision = np.linalg.inv(covariance[np.ix_(seen, seen)] + sigma**2 * np.eye(seen.sum()))
    expected = np.where(seen, new, covariance[:, seen] @ precision @ new[seen])
    np.testing.assert_allclose(imputer.transform([new])[0], expected, rtol=1e-8)


def test_in_a_pipeline_with_an_indicator_and_names():
    pd = pytest.importorskip("pandas")
    truth, values = table()
    frame = pd.DataFrame(values, columns=[f"c{i}" for i in range(15)])
    imputer = FlowImputer(scale=1e-4, add_indicator=True, random_state=3).fit(frame)
    names = imputer.get_feature_names_out()
    assert list(names[:2]) == ["c0", "c1"] and names[15] == "missingindicator_c0" and len(names) == 30
    np.testing.assert_array_equal(imputer.transform(frame)[:, 15:], np.isnan(values))
    steps = make_pipeline(StandardScaler(), FlowImputer(scale=1e-4), FlowRegressor(scale=1.0, stop=0.1))
    assert steps.fit(frame, truth[:, 0]).score(frame, truth[:, 0]) > 0.5


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ({"scale": 0.0}, [[1.0, 2.0]], "scale must be positive"),
        ({"width": 0}, [[1.0, 2.0]], "width"),
        ({}, [[np.nan, np.nan]], "no observed values"),
    ],
)
def test_bad_input_is_named(options, values, message):
    with pytest.raises(InputError, match=message):
        FlowImputer(**options).fit(values)


@pytest.mark.thorough
def test_it_follows_the_conventions_of_scikit_learn():
    check_estimator(FlowImputer())
