"""Nonnegative least squares, compared with enumeration of all supports, for any result of SciPy's routine."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from margin_oracles import exact_l2
from properties import examples

from tacit.numerics import nonnegative
from tacit.numerics.nonnegative import nearest_combination, nonnegative_least_squares


def least_residual(A, b):
    """The minimum of ‖A x − b‖ over x ≥ 0, which is the least-squares residual of some independent
    columns."""
    best = np.linalg.norm(b)
    for size in range(1, min(A.shape) + 1):
        for columns in combinations(range(A.shape[1]), size):
            part = A[:, columns]
            x = np.linalg.lstsq(part, b, rcond=None)[0]
            if (x >= 0).all():
                best = min(best, np.linalg.norm(part @ x - b))
    return best


def assert_optimal(A, b, x, residual):
    """Check that slopes are 0 where x > 0 and at most 0 elsewhere (columns of length 1), and the residual."""
    sizes = np.where(A.any(axis=0), np.linalg.norm(A, axis=0), 1.0)
    slopes, scale = A.T @ (b - A @ x) / sizes, np.linalg.norm(b) + x @ sizes
    assert (x >= 0).all() and slopes.max() <= 1e-13 * scale
    assert np.abs(slopes[x > 0]).max(initial=0.0) <= 1e-13 * scale
    assert residual == pytest.approx(np.linalg.norm(A @ x - b), rel=1e-9, abs=1e-13 * scale)


TIES = np.array(
    [
        [-1.0, 1, 1, 1],
        [1, -1, 1, 1],
        [-1, 1, 1, -1],
        [1, -1, 1, -1],
        [1, 1, 1, -1],
        [-1, -1, 1, 1],
        [-1, -1, 1, 1],
    ]
)
AHEAD = (np.vstack([TIES.T / 2, np.ones(7)]), np.array([0.0, 0, 0, 0, 1]))
SIGNS = (np.array([[1.0, 1], [0, 0.5]]), np.array([2.0, 1]))

BROKEN = {
    "as it is": None,
    "a wrong answer": lambda A, b, maxiter: (np.arange(A.shape[1]) % 3.0, 0.0),
    "a wrong support": lambda A, b, maxiter: (np.ones(A.shape[1]), 0.0),
    "nothing": lambda A, b, maxiter: (np.zeros(A.shape[1]), 0.0),
}


def gives_up(A, b, maxiter):
    raise RuntimeError("Maximum number of iterations reached.")


@pytest.mark.parametrize("routine", [*BROKEN.values(), gives_up], ids=[*BROKEN, "too many iterations"])
def test_the_answer_does_not_depend_on_the_routine(monkeypatch, routine):
    """Data with ties, on which SciPy's nnls has been wrong (scipy/scipy#25389), and Gaussian data."""
    if routine is not None:
        monkeypatch.setattr(nonnegative, "nnls", routine)
    rng = np.random.default_rng(0)
    systems = [AHEAD, SIGNS] + [
        (draw(rows, columns), rng.integers(-2, 3, rows).astype(float))
        for rows, columns in [(3, 8), (5, 7), (6, 4), (2, 9), (1, 3)]
        for draw in (
            lambda *shape: rng.choice([-1.0, 1.0], shape),
            lambda *shape: rng.integers(-1, 2, shape).astype(float),
            lambda *shape: rng.standard_normal(shape),
        )
    ]
    for A, b in systems:
        x, residual = nonnegative_least_squares(A, b)
        assert_optimal(A, b, x, residual)
        assert residual == pytest.approx(least_residual(A, b), rel=1e-12, abs=1e-13)


def test_the_residual_is_that_of_the_answer():
    x, residual = nonnegative_least_squares(*AHEAD)
    assert residual == pytest.approx(np.linalg.norm(AHEAD[0] @ x - AHEAD[1]), rel=1e-12)
    assert residual == pytest.approx(np.sqrt(0.2), rel=1e-12)  # e₃/2 is the nearest point of the samples to 0


whole = st.integers(1, 4).flatmap(
    lambda m: st.tuples(
        st.lists(st.lists(st.integers(-2, 2), min_size=m, max_size=m), min_size=1, max_size=7),
        st.lists(st.integers(-2, 2), min_size=m, max_size=m),
    )
)


@examples(200)
@given(whole)
def test_whole_numbers_with_all_their_ties(problem):
    columns, right = problem
    A, b = np.array(columns, float).T, np.array(right, float)
    x, residual = nonnegative_least_squares(A, b)
    assert_optimal(A, b, x, residual)
    assert residual == pytest.approx(least_residual(A, b), rel=1e-12, abs=1e-13)


@examples(60)
@given(st.integers(0, 10**6))
def test_units_of_the_columns_only_rescale(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((4, 9)), rng.standard_normal(4)
    units = 10.0 ** rng.uniform(-150, 150, 9)
    x, residual = nonnegative_least_squares(A, b)
    scaled, same = nonnegative_least_squares(A * units, b)
    scale = np.linalg.norm(b) + x @ np.linalg.norm(A, axis=0)
    assert same == pytest.approx(residual, rel=1e-12, abs=1e-13 * scale)
    np.testing.assert_allclose(A @ (scaled * units), A @ x, rtol=0, atol=1e-12 * scale)


def test_columns_of_zeros_and_no_columns():
    x, residual = nonnegative_least_squares(np.array([[0.0, 2], [0, 0]]), np.array([1.0, 1]))
    np.testing.assert_allclose(x, [0, 0.5])
    assert residual == pytest.approx(1)
    x, residual = nonnegative_least_squares(np.zeros((2, 0)), np.array([3.0, 4]))
    assert x.shape == (0,) and residual == 5


@pytest.mark.parametrize("unit", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-6, 1e-9, 1e-12])
def test_the_nearest_combination_has_the_multipliers_of_the_least_norm(gap, unit):
    """Also for samples that nearly cancel, and in any unit; compared with rational arithmetic."""
    Z = np.array([[1, gap], [-3, gap], [0.5, 1]])
    c, nu = nearest_combination(unit * Z), exact_l2(Z)[1]
    np.testing.assert_allclose(c / c.sum(), nu / nu.sum(), rtol=1e-9, atol=1e-12)


def test_targets_that_are_met_already_need_nothing():
    assert not nearest_combination(np.eye(3), np.array([0.0, -1, -2])).any()
