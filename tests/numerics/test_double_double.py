"""Double-double products, compared with rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from tacit.data.prepared import Design
from tacit.numerics.double_double import Pair, moments, product, two_product, two_sum


def fractions(values):
    """Doubles or double-doubles as exact fractions."""
    if isinstance(values, Pair):
        return fractions(values.high) + fractions(values.low)
    return np.vectorize(Fraction, otypes=[object])(values)


def draw(rng, shape, decades):
    """Numbers of both signs over many decades."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-decades, decades, shape)


def pairs(rng, shape, decades):
    high = draw(rng, shape, decades)
    return Pair(high, high * rng.uniform(-1, 1, shape) * 2.0**-54)


def worst(found, exact, A, B):
    """The largest error, relative to the largest terms of each entry."""
    left, right = np.abs(A.high).max(axis=1), np.abs(B.high).max(axis=0)
    size = np.multiply.outer(left, right)
    error = fractions(found) - exact
    return max(abs(float(e / Fraction(s))) for e, s in zip(error.ravel(), np.ravel(size), strict=True))


@pytest.mark.parametrize("inner", [1, 2, 3, 10, 100, 1000])
@pytest.mark.parametrize("decades", [0, 6])
def test_products_of_pairs(inner, decades):
    """The bound is 2⁻¹⁰⁶ per term; measured errors are at most 2e-32 = 2⁻¹⁰⁵ in total."""
    rng = np.random.default_rng(inner)
    A, B = pairs(rng, (4, inner), decades), pairs(rng, (inner, 3), decades)
    assert worst(product(A, B), fractions(A) @ fractions(B), A, B) <= inner * 2.0**-104


@pytest.mark.parametrize("block", [7, 40])
def test_blocks_do_not_change_a_product(block, monkeypatch):
    rng = np.random.default_rng(3)
    A, B, v = rng.standard_normal((6, 5)), rng.standard_normal((5, 9)), rng.standard_normal(5)
    whole, vector = product(A, B), product(A, v)
    monkeypatch.setattr("tacit.numerics.double_double._BLOCK", block)
    for once, again in ((whole, product(A, B)), (vector, product(A, v))):
        assert (once.high == again.high).all() and (once.low == again.low).all()


def test_a_product_that_cancels_to_all_digits_of_floats():
    """(1 + ε)(1 − ε) − 1 = −ε², which is lost in double precision."""
    eps = 2.0**-40
    found = product(np.array([[1 + eps, 1.0]]), np.array([1 - eps, -1.0]))
    assert found.value[0] == -(eps**2)


def test_empty_and_zero_factors():
    assert product(np.zeros((0, 3)), np.ones((3, 2))).value.shape == (0, 2)
    assert product(np.ones((2, 3)), np.ones((3, 0))).value.shape == (2, 0)
    assert (product(np.zeros((2, 3)), np.ones((3, 2))).value == 0).all()
    assert (product(np.ones((2, 0)), np.ones(0)).value == 0).all()


@given(st.integers(0, 10**6))
@examples(50)
def test_sums_and_differences_of_pairs(seed):
    rng = np.random.default_rng(seed)
    a, b, c = pairs(rng, 5, 8), pairs(rng, 5, 8), draw(rng, 5, 8)
    for found, exact in (
        (a + b, fractions(a) + fractions(b)),
        (a - b, fractions(a) - fractions(b)),
        (a + c, fractions(a) + fractions(c)),
        (a - c, fractions(a) - fractions(c)),
    ):
        size = np.abs(a.high) + np.maximum(np.abs(b.high), np.abs(c))
        error = fractions(found) - exact
        assert all(abs(float(e)) <= 2.0**-104 * s for e, s in zip(error, size, strict=True))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
@examples(100)
def test_two_sum_is_exact(a, b):
    total, rest = two_sum(np.float64(a), np.float64(b))
    assert Fraction(float(total)) + Fraction(float(rest)) == Fraction(a) + Fraction(b)


@given(st.integers(0, 10**6))
@examples(50)
def test_quotients_and_roots_of_pairs(seed):
    rng = np.random.default_rng(seed)
    A, B = pairs(rng, 20, 6), pairs(rng, 20, 6)
    quotient, exact = fractions(A.over(B)), fractions(A) / fractions(B)
    assert max(abs(float(q / e - 1)) for q, e in zip(quotient, exact, strict=True)) <= 2.0**-100
    squared = A.scaled(np.where(A.high < 0, -1.0, 1.0))
    root = fractions(squared.sqrt())
    assert max(abs(float(r * r / e - 1)) for r, e in zip(root, fractions(squared), strict=True)) <= 2.0**-100


@given(st.floats(-1e120, 1e120), st.floats(-1e120, 1e120))
@examples(100)
def test_two_product_is_exact(a, b):
    if abs(a * b) > 1e-200 or 0 in (a, b):  # below this, the error itself underflows
        product, error = two_product(np.float64(a), np.float64(b))
        assert Fraction(float(product)) + Fraction(float(error)) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("block", [7, 1 << 16])
def test_moments_of_pairs(block, monkeypatch):
    monkeypatch.setattr("tacit.numerics.double_double._BLOCK", block)
    A = pairs(np.random.default_rng(0), (5, 40), 6)
    exact = fractions(A)
    for found, power in zip(moments(A), (1, 2), strict=True):
        size = [Fraction(float(np.abs(row).max() ** power)) for row in A.high]
        errors = (fractions(found) - (exact**power).sum(axis=1)) / size
        assert max(abs(float(e)) for e in errors) <= 2.0**-96


@pytest.mark.parametrize(
    ("samples", "mean", "size"), [(1, 0, 1), (2, 3, 1e-8), (5, 1e8, 1), (100, 5, 1e100), (7, 0, 1e-120)]
)
def test_standard_deviations_in_pairs(samples, mean, size):
    """Compared with rational arithmetic, with one constant feature; the root is checked by its square."""
    X = size * (mean + np.random.default_rng(samples).standard_normal((samples, 6)))
    X[:, 0] = 7.7
    spread = Design(X, standardize=True).spread
    apart = fractions(X) - fractions(X).sum(axis=0) / samples
    variances = (apart**2).sum(axis=0) / samples
    found = fractions(spread.share()) * fractions(spread.unit)
    for variance, s in zip(variances, found, strict=True):
        assert abs(float(s * s / variance - 1)) <= 2.0**-98 if variance else s == 1
    assert Design(X, intercept=True).spread is None


@pytest.mark.parametrize("centred", [False, True])
def test_proportional_features_are_equal_once_they_are_divided(centred):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((9, 5)), 3) + np.array([0, 1, 10, 0, 1e3])
    whole = rng.integers(-99, 99, (9, 5))
    X = np.column_stack([X, X * [4, -8, 2, -0.5, 32], whole, 12 * whole, np.ones(9)])
    found = Design(X, centred, True).rounded
    np.testing.assert_array_equal(found[:, 5:10], found[:, :5] * [1, -1, 1, -1, 1])
    np.testing.assert_array_equal(found[:, 10:15], found[:, 15:20])
    np.testing.assert_array_equal(found[:, 20], 0.0 if centred else 1.0)
    plain = X - centred * X.mean(axis=0)
    np.testing.assert_allclose(found[:, :20], plain[:, :20] / X[:, :20].std(axis=0), rtol=1e-9, atol=1e-9)
