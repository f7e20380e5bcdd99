"""The member of a polytope that small scales select: feasible, positive where possible, and optimal."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.solvers.interpolation.face_selection import select, support_of


def polytope(seed):
    """A v = y, v ≥ 0 with many members; the first row bounds their sum."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (4, 10)).astype(float)
    A[0] = 1.0
    v = rng.exponential(1.0, 10) * 10 ** rng.uniform(-2, 2)
    return A, A @ v, rng.uniform(0.5, 2, 10)


def objective(v, depth, prior):
    return (v * np.log(v / prior)).sum() if depth == 2 else -(v ** (2 / depth)).sum()


@pytest.mark.parametrize("depth", [2, 2.5, 3, 6])
@pytest.mark.parametrize("seed", range(10))
def test_the_optimality_conditions_hold(seed, depth):
    """The gradient is a combination of rows: no direction inside the polytope changes the objective."""
    A, y, prior = polytope(seed)
    found = select(A, y, depth, prior)
    assert found.settled
    v = found.v
    assert v.min() > 0
    np.testing.assert_allclose(A @ v, y, atol=1e-12 * np.abs(y).max())
    slope = np.log(v / prior) + 1 if depth == 2 else -(v ** (2 / depth - 1))
    rest = slope - A.T @ np.linalg.lstsq(A.T, slope, rcond=None)[0]
    assert np.abs(rest).max() < 1e-9 * np.abs(slope).max()


@pytest.mark.parametrize("depth", [2, 3])
def test_a_general_optimizer_finds_nothing_better(depth):
    A, y, prior = polytope(3)
    found = select(A, y, depth, prior).v
    null = np.linalg.svd(A)[2][4:].T

    def value(z):
        v = found + null @ z
        return objective(v, depth, prior) if v.min() > 0 else 1e9

    assert minimize(value, np.zeros(null.shape[1]), method="Nelder-Mead").fun >= value(0 * null[0]) - 1e-9


def test_coordinates_that_no_member_has_are_zero():
    """v₀ + v₁ = 1 and v₀ + v₁ + v₂ = 1 force v₂ = 0."""
    A, y = np.array([[1.0, 1, 0], [1, 1, 1]]), np.array([1.0, 1])
    support, inside = support_of(A, y)
    assert support.tolist() == [0, 1]
    np.testing.assert_allclose(inside.sum(), 1)
    found = select(A, y, 2, np.array([1.0, 3, 1]))
    np.testing.assert_allclose(found.v, [0.25, 0.75, 0], rtol=1e-14)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_drop_out(unit):
    A, y, prior = polytope(5)
    for depth in (2, 3):
        plain, scaled = select(A, y, depth, prior).v, select(A, unit * y, depth, prior).v
        np.testing.assert_allclose(scaled / unit, plain, rtol=1e-10)
