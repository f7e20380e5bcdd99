"""Combinations of nearly equal samples, compared with rational arithmetic and with their construction."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import tacit
from tacit.data.independence import combine


def exact_rows(found, X):
    """T X, with T and X taken exactly."""
    exact = np.vectorize(Fraction, otypes=[object])
    return (exact(found.T.high) + exact(found.T.low)) @ exact(X)


def nearly_equal(seed, gap, samples=5, features=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    X[1] = X[0] + gap * rng.standard_normal(features)
    X[3] = 0.3 * X[2] - X[4] + gap * rng.standard_normal(features)
    return X


@given(st.integers(0, 10**6), st.floats(4, 15))
@examples(25)
def test_rows_are_orthonormal_and_have_all_their_digits(seed, digits):
    X = nearly_equal(seed, 10.0**-digits)
    found = combine(X, np.ones(len(X)))
    assert len(found.rows) == len(X)
    units = np.exp2(np.frexp(np.abs(X).max(axis=0))[1])
    turned = found.rows / units
    assert np.abs(turned @ turned.T - np.eye(len(X))).max() <= 1e-8  # the factor of one pass
    wrong = np.abs((exact_rows(found, X) - np.vectorize(Fraction)(found.rows)).astype(float))
    assert (wrong / units).max() <= 1e-15  # T is as large as 1e16, and its products have 32 digits


@pytest.mark.parametrize("gap", [0.0, 1e-17])
def test_samples_that_are_equal_up_to_rounding_count_once(gap):
    X = nearly_equal(0, gap)
    found = combine(X, np.ones(len(X)))
    assert len(found.rows) == 3 and found.vanishing.high.shape == (2, 5)


@given(st.integers(0, 10**6))
@examples(20)
def test_no_more_than_features_among_collinear_samples_that_agree_but_for_some_last_bits(seed):
    """Some remainders are barely above round-off, of rows that nearly span the whole space."""
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_normal((30, 12))
        * np.logspace(0, -8, 12)
        @ np.linalg.qr(rng.standard_normal((12, 12)))[0]
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for place in range(1, 9, 2):
        X[place + 1] = X[place] * (1 + np.where(rng.random(12) < 0.4, 20, 0) * 2.0**-52)
    found = combine(X, np.ones(30), np.column_stack([-np.ones(29), np.eye(29)]))
    turned = found.rows / np.exp2(np.frexp(np.abs(X).max(axis=0))[1])
    assert len(turned) == 12
    assert np.abs(turned @ turned.T - np.eye(12)).max() <= 1e-8
    y = rng.standard_normal(30)
    assert tacit.limit(tacit.Diagonal(2, 1.0), X, y, intercept=True, least_squares=True).rank == 12


@given(st.integers(0, 10**6), st.integers(1, 20))
@examples(30)
def test_products_of_low_rank_have_it(seed, rank):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, rank)) @ rng.standard_normal((rank, 40))
    assert len(combine(X, np.ones(24)).rows) == rank


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 1e2, 1e4]))
@examples(20)
def test_centred_features_have_one_dimension_less(seed, mean):
    """The mean of centred numbers is round-off of the original ones, however large these were."""
    rng = np.random.default_rng(seed)
    X = mean * (1 + rng.random(30)) + rng.standard_normal((12, 30))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X @ np.r_[1.0, -2.0, np.zeros(28)]
    found = tacit.limit(tacit.Diagonal(2, 1e-2), X, y - y.mean())
    assert found.rank == 11 and found.converged


def test_a_table_of_many_scales():
    """Columns of a Vandermonde matrix: condition number 1e17, all rows independent."""
    X = np.vander(np.linspace(0.1, 1, 14), 14)
    found = combine(X, np.ones(14))
    units = np.exp2(np.frexp(np.abs(X).max(axis=0))[1])
    assert len(found.rows) == 14 and np.linalg.cond(found.rows / units) < 1 + 1e-6


@pytest.mark.parametrize("unit", [1e-150, 1e5, 1e150, 1e300])
def test_units_of_features_do_not_make_samples_dependent(unit):
    X = np.random.default_rng(0).standard_normal((4, 7))
    X[:, 2] *= unit
    assert len(combine(X, np.ones(4)).rows) == 4
