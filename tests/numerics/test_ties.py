"""Columns that are equal up to sign are found at any position and treated identically in products."""

import numpy as np
import pytest

from tacit.numerics.ties import Ties, product


def tied_columns(rng, samples=6, kinds=5, columns=25):
    kinds = rng.standard_normal((samples, kinds))
    place, sign = rng.integers(0, kinds.shape[1], columns), rng.choice([-1.0, 1.0], columns)
    return kinds[:, place] * sign, place, sign


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_told_by_one_of_their_kind(seed):
    X, place, _ = tied_columns(np.random.default_rng(seed))
    ties = Ties.of(X)
    np.testing.assert_array_equal(ties.spread(X[:, ties.first]), X)
    assert len(ties.first) == len(np.unique(place))


def test_a_last_bit_and_a_factor_make_columns_different():
    column = np.array([0.0, -0.3, 0.7])
    assert Ties.of(np.column_stack([column, np.nextafter(column, 1), 2 * column])) is None


def test_zeros_have_no_sign():
    ties = Ties.of(np.array([[0.0, -0.0, 1.0], [0.0, 0.0, -0.0]]))
    assert len(ties.first) == 2 and ties.place[0] == ties.place[1]


@pytest.mark.parametrize("shape", [(6,), (3, 6)])
def test_products_agree_to_the_last_bit_where_columns_do(shape):
    rng = np.random.default_rng(0)
    X, place, sign = tied_columns(rng, columns=41)
    left = rng.standard_normal(shape)
    found = product(left, X, Ties.of(X))
    np.testing.assert_allclose(found, left @ X, rtol=1e-13, atol=1e-14)
    for kind in np.unique(place):
        alike = (found * sign)[..., place == kind]
        np.testing.assert_array_equal(alike, alike[..., :1].repeat(alike.shape[-1], axis=-1))
