"""The ℓ1 limit: a vertex certified by multipliers, equal to the solution of a linear program."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import gaussian_problem
from scipy.optimize import linprog

from tacit.data.equations import prepare
from tacit.solvers.interpolation import ends


def least(X, y, weight):
    """The least Σ weight|w| with X w = y, by a linear program in w = p − n."""
    found = linprog(np.concatenate([weight, weight]), A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    return found.fun


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 20), st.booleans())
def test_vertices_are_those_of_a_linear_program(seed, samples, more, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((samples, samples + more)), rng.standard_normal(samples)
    weight = np.exp(rng.normal(0, 1, X.shape[1])) if weighted else np.ones(X.shape[1])
    found = ends.least_l1(prepare(X, y, 1e-10), weight)
    assert np.count_nonzero(found.predictor) <= samples
    np.testing.assert_allclose(X @ found.predictor, y, atol=1e-10 * np.abs(y).max())
    assert weight @ np.abs(found.predictor) == pytest.approx(least(X, y, weight), rel=1e-8)


def test_multipliers_prove_it():
    X, y = gaussian_problem(10, 300, seed=4)
    equations = prepare(X, y, 1e-10)
    found = ends.unique_vertex(equations, np.ones(300))
    slopes, inside = equations.X.T @ found.nu.value, found.predictor != 0
    np.testing.assert_allclose(slopes[inside], np.sign(found.predictor[inside]), rtol=1e-9)
    assert np.abs(slopes[~inside]).max() < 1
    assert found.error < 1e-10


@pytest.mark.parametrize(
    ("X", "y", "norm"),
    [
        ([[1.0, 1.0, 0.5]], [1.0], 1.0),  # two columns are equally good
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-9]], [3.0, 3.0], 1.5),  # they imply w₂ = 0
        (np.ones((2, 4)) + np.eye(2, 4), [2.0, 2.0], 4 / 3),  # equal columns that are not needed
        (np.ones((2, 4)), [2.0, 2.0], 2.0),  # one equation, four equal columns
    ],
)
def test_ties_and_degenerate_equations(X, y, norm):
    X, y = np.asarray(X), np.asarray(y)
    found = ends.least_l1(prepare(X, y, 1e-10), np.ones(X.shape[1]))
    np.testing.assert_allclose(X @ found.predictor, y, atol=1e-9)
    assert np.abs(found.predictor).sum() == pytest.approx(norm, rel=1e-9)
    assert found.settled and np.count_nonzero(found.predictor) <= len(y)


def test_a_wrong_support_is_not_passed_off_as_the_minimizer(monkeypatch):
    X, y = gaussian_problem(5, 40, seed=1)
    equations, real = prepare(X, y, 1e-10), ends.minimize_separable

    def elsewhere(equations, potential):
        return real(equations.with_columns(np.exp2(np.arange(40) % 3)), potential)

    monkeypatch.setattr(ends, "minimize_separable", elsewhere)
    assert ends.unique_vertex(equations, np.ones(40)) is None
