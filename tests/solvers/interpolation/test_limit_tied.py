"""Tied columns: the limit for the exact data, not converged if it depends on the last bits of the data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from near_duplicates import Geometry, truth
from oracles import relative_error
from properties import examples
from sklearn.exceptions import ConvergenceWarning
from tied_problems import Tied, tied

import tacit
from tacit.estimators import FlowRegressor

WRONG, FLATTERY = 1e-6, 10  # an error that no converged limit may have, and how much more than the estimate
NOISE = 1e-15  # errors below are rounding of the result itself


def solved(task):
    return tacit.limit(tacit.Diagonal(task.depth, task.scale), task.X, task.y, **task.options)


def off(predictor, exact):
    return relative_error(predictor, exact) if any(exact) else float(np.abs(predictor).max())


@given(st.integers(0, 10**6))
@examples(60)
def test_random_tables_with_ties(index):
    """Binary, count, duplicated, proportional columns; `TACIT_FUZZ=40 make fuzz` tries over 2,000 others."""
    task = tied(index)
    found = solved(task)
    assert found.summary() and (found.converged or found.reason)
    true = off(found.predictor, task.exact)
    assert not found.converged or true <= min(WRONG, FLATTERY * max(found.error, NOISE))


PROPORTIONAL = [[-9, -3, 7, -108], [-9, -2, 0, -108], [8, 3, 2, 96]], [-30, -29, 27]


def test_proportional_columns_share_as_their_symmetry_says():
    """Column 3 is 12 times column 0: standardized they are equal, hence w₀ = 12 w₃; X w = y does the rest."""
    found = tacit.limit(tacit.Diagonal(4, 1e-6), *PROPORTIONAL, standardize=True)
    np.testing.assert_allclose(found.predictor, [1.5, 1, 0, 0.125], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 4, 10])
@pytest.mark.parametrize("scale", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_change_of_units_changes_nothing_in_standardized_features(depth, scale, intercept):
    """Feet beside metres, rounded: columns that are proportional up to their last bits."""
    rng = np.random.default_rng(int(depth))
    X = np.round(rng.standard_normal((4, 6)), 2)
    X = np.column_stack([X, X[:, 0] / 0.3048, 12 * X[:, 1], 1.8 * X[:, 2] + 32])
    task = Tied(X, np.round(rng.standard_normal(4), 2), depth, scale, intercept, True)
    found = solved(task)
    assert off(found.predictor, task.exact) <= FLATTERY * max(found.error, NOISE)


def test_two_samples_of_standardized_features():
    """Divided by their standard deviations, differences of two samples are ±2 in every feature."""
    X, y = [[0.19, -0.52, -0.41, -2.44], [1.8, 1.14, -0.33, 0.77]], [0.28, -0.55]
    task = Tied(np.array(X), np.array(y), 10, 0.01, True, True)
    found = solved(task)
    inside = found.predictor * np.std(X, axis=0)
    np.testing.assert_allclose(inside, inside[0], rtol=1e-13)
    assert off(found.predictor, task.exact) <= 1e-13


@pytest.mark.parametrize("depth", [3, 4, 10])
def test_tied_features_beside_an_intercept(depth):
    """Columns 0 and 2 are equal: the choice on a face of the differences of samples."""
    X, y = np.array([[-3.0, 3, -3], [1, 1, 1]]), np.array([-6.0, 1])
    for scale in (1e-4, 1e-6):
        task = Tied(X, y, depth, scale, True, False)
        found = solved(task)
        assert off(found.predictor, task.exact) <= 1e-13
        np.testing.assert_allclose(X @ found.predictor + found.intercept, y, rtol=1e-14)
        np.testing.assert_allclose(found.dual.sum(), 0, atol=1e-13 * np.abs(found.dual).max())


def duplicated(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((3, 5)), 2)
    X = np.column_stack([X, X[:, 0]])
    return X, X @ np.array([1.0, 1, 0, 0, 0, 1])


@pytest.mark.parametrize(("depth", "scale"), [(4, 1e-8), (4, 1e-6), (3, 1e-8), (10, 1e-3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_error_tells_what_the_last_bit_of_an_entry_decides(depth, scale, seed):
    X, y = duplicated(seed)
    found = tacit.limit(tacit.Diagonal(depth, scale), X, y)
    exact = truth(X, y, Geometry(depth, scale))
    assert off(found.predictor, exact.predictor) <= 1e-13  # of these very floats
    worst = 0.0
    for row in range(3):
        changed = X.copy()
        changed[row, 0] = np.nextafter(X[row, 0], np.inf)
        other = truth(changed, y, Geometry(depth, scale), start=found.predictor)
        worst = max(worst, off(found.predictor, other.predictor))
    assert worst <= FLATTERY * found.error
    assert not found.converged or worst <= WRONG


def test_a_doubt_is_explained():
    found = tacit.limit(tacit.Diagonal(4, 1e-8), *PROPORTIONAL, standardize=True)
    assert not found.converged and found.status == "rounding"
    assert "the last digits of X determine how the predictor is shared among features 0 and 3" in found.reason
    assert found.reason in found.summary()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_ties_are_no_reason_for_doubt_at_moderate_scales(depth):
    X, y = duplicated(0)
    for options in ({}, {"standardize": True}, {"intercept": True}):
        found = tacit.limit(tacit.Diagonal(depth, 1e-2), X, y, **options)
        assert found.converged and found.error < 1e-10


@pytest.mark.parametrize("seed", [18, 27])
def test_what_rounding_leaves_of_the_equations_moves_no_slopes(seed):
    """With fewer large coordinates than samples, round-off in the residual changed ν, and the last step was
    lost."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (6, 20))
    model = tacit.Diagonal(depth=3, log_scale=np.log(1e-25) / 3)
    found = tacit.limit(model, X, X[:, :2].sum(axis=1))
    exact = truth(X, X[:, :2].sum(axis=1), Geometry(3, float(np.exp(model.log_scale))))
    assert off(found.predictor, exact.predictor) <= 3e-13


UNIQUE = [[1, 2], [3, -1]], [1, 2]


@pytest.mark.parametrize("depth", [2, 3, 7])
@pytest.mark.parametrize("log_scale", [0, -30, -300])
@pytest.mark.parametrize("profile", [[1.0, 1.0], [0.01, 100.0], [1e3, 1e-4]])
def test_as_many_equations_as_features_have_one_solution_whatever_the_potential(depth, log_scale, profile):
    X, y = UNIQUE
    for inputs in (X, np.column_stack([X, [0, 0]])):
        unseen = len(inputs[0]) - 2
        model = tacit.Diagonal(depth, log_scale=log_scale, profile=[*profile, *[1.0] * unseen])
        found = tacit.limit(model, inputs, y)
        np.testing.assert_allclose(found.predictor, [5 / 7, 1 / 7, 0][: 2 + unseen], rtol=1e-15)
        assert found.converged and found.error < 1e-14
        assert found.summary()


def test_one_solution_beside_an_intercept_and_of_layers():
    X = np.array([[1.0, 2], [3, -1], [4, 3]])
    found = tacit.limit(tacit.Diagonal(5, 1e-9), X, X @ [2.0, -1] + 4, intercept=True, standardize=True)
    np.testing.assert_allclose([*found.predictor, found.intercept], [2, -1, 4], rtol=1e-14)
    layers = tacit.UntiedDiagonal.from_layers(np.array([[1e-9, 2], [3, 1e4], [1, 1.0]]))
    np.testing.assert_allclose(tacit.limit(layers, *UNIQUE).predictor, [5 / 7, 1 / 7], rtol=1e-14)


@pytest.mark.parametrize("depth", [3.0, 6.0])
def test_no_reason_fails_where_nothing_was_found(depth):
    """Slopes of features that differ by forty orders of magnitude: `summary` works for any result."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        profile = 10 ** rng.uniform(-4, 4, 4)
        found = tacit.limit(
            tacit.Diagonal(depth, log_scale=-200, profile=profile),
            rng.standard_normal((2, 4)),
            rng.standard_normal(2),
        )
        assert found.summary() and (found.converged or found.reason)


def test_a_network_of_one_output_says_why_it_is_doubted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 5))
    X[1] = X[0] + 1e-10 * rng.standard_normal(5)
    found = tacit.limit(tacit.LinearNetwork.orthogonal(X, 10), X, rng.standard_normal(3))
    assert not found.converged
    assert "samples 0 and 1 nearly depend on each other" in found.summary()


def layers_of(depth, scale, features):
    return tacit.UntiedDiagonal.from_layers(np.full((int(depth), features), scale))


@pytest.mark.parametrize(
    ("depth", "scale"), [(3, 1e-3), (3, 1e-7), (4, 1e-3), (4, 1e-6), (5, 1e-4), (5, 1e-8)]
)
def test_equal_layers_share_as_the_symmetry_of_proportional_columns_says(depth, scale):
    found = tacit.limit(layers_of(depth, scale, 4), *PROPORTIONAL, standardize=True)
    np.testing.assert_allclose(found.predictor, [1.5, 1, 0, 0.125], rtol=1e-13, atol=1e-9)
    tied = tacit.limit(tacit.Diagonal(depth, scale), *PROPORTIONAL, standardize=True)
    assert found.converged == tied.converged
    assert tied.error / FLATTERY <= found.error or found.error > 1


@given(st.integers(0, 10**6))
@examples(20)
def test_random_tables_with_ties_and_equal_layers(index):
    task = tied(index)
    task = replace(task, depth=float(3 + index % 3))
    found = tacit.limit(layers_of(task.depth, task.scale, task.X.shape[1]), task.X, task.y, **task.options)
    assert found.summary() and (found.converged or found.reason)
    true = off(found.predictor, task.exact)
    assert not found.converged or true <= min(WRONG, FLATTERY * max(found.error, NOISE))


def test_layers_whose_slopes_come_close_to_their_ends():
    """Their round-off changed the predictor by 2e-5, while the estimated error was 5e-9."""
    group = np.array([1.0, 0, 1, 0, 0])
    value, offset = np.array([-0.79, -2.2, -1.53, -0.42, 0.88]), np.array([0.0, 1, 1, 1, 0])
    X = np.column_stack([group, 5 * group, value, offset, 5 * group])
    y = np.array([0.21, -2.2, -0.53, -0.42, 0.88])
    found = tacit.limit(layers_of(3, 2.0**-24, 5), X, y, intercept=True, standardize=True)
    assert found.converged
    np.testing.assert_allclose(found.predictor, [1 / 3, 1 / 15, 1, 0, 1 / 15], rtol=1e-12, atol=1e-12)


def test_flows_of_proportional_features_end_at_their_limit():
    """Standardized, they are the same floats."""
    flow = tacit.flow(tacit.Diagonal(4, 1e-6), *PROPORTIONAL, standardize=True)
    assert flow.converged
    np.testing.assert_allclose(flow.predictor[-1], [1.5, 1, 0, 0.125], atol=1e-6)


@pytest.mark.parametrize(("depth", "scale"), [(4, 1e-3), (4, 1e-6), (10, 0.05)])
@pytest.mark.parametrize("intercept", [False, True])
def test_margins_of_proportional_features(depth, scale, intercept):
    X, _ = PROPORTIONAL
    model = tacit.Diagonal(depth, scale)
    found = tacit.max_margin(X, [-1, 1, 1], model, standardize=True, intercept=intercept)
    np.testing.assert_allclose(found.predictor[0], 12 * found.predictor[3], rtol=1e-13)


def test_estimators_of_tied_features():
    """The differences of two samples, in which only the first and the last feature differ: w₀ = w₂ = 7/8."""
    X, y = np.array([[-3.0, 3, -3], [1, 1, 1]]), np.array([-6.0, 1])
    for weights in (None, [1, 2]):
        with pytest.warns(ConvergenceWarning, match="the last digits of X determine"):
            fit = FlowRegressor(1e-6, 4, standardize=False).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose([*fit.coef_, fit.intercept_], [7 / 8, 0, 7 / 8, -3 / 4], atol=1e-13)


def test_a_small_share_of_a_feature_that_is_nearly_tied_is_found():
    """Feature 7 differs from feature 6 in one last bit, and so gets 6e-9 of their predictor and not 6e-15."""
    feet = np.array([33.8, 32.0, 33.8])
    X = np.column_stack(
        [feet, [0, 1, 0], [1, 0, 1], 12 * feet, [0, -3, 0], [0, 1, 1], [np.nextafter(1, 2), 0, 0], [1, 0, 0]]
    )
    task = Tied(X, np.array([1.0, 1.0, 0.0]), 8.0, 2.3e-4, False, False)
    found = solved(task)
    assert found.converged and found.predictor[7] == pytest.approx(float(task.exact[7]), rel=1e-6)
    assert 1e-9 < found.predictor[7] < 1e-8
    assert found.error > 1e-9  # a change of X by half of its last bit has the same effect
