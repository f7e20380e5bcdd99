"""Vertices of the linear program of ℓ1 margins, solved to round-off, verified by duality."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import Vertex, polished, solutions


def vertex(seed):
    """Separable data, and the vertex of the maximum ℓ1 margin with its multipliers."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((5, 9))
    Z *= np.sign(Z @ rng.standard_normal(9))[:, None]
    found = tacit.max_margin(Z, np.ones(5), "l1")
    return Z, Vertex(found.predictor, found.dual)


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_are_solved_to_rounding(seed):
    """Σν = ‖w‖₁ at the optimum, and Zᵀν is the sign of w where w is not 0."""
    Z, exact = vertex(seed)
    rough = replace(exact, dual=exact.dual * (1 + 1e-7 * np.cos(np.arange(5.0))))
    found = polished(Z, np.ones(9), rough)
    assert found.dual.sum() == pytest.approx(np.abs(exact.predictor).sum(), rel=1e-13)
    used = exact.predictor != 0
    np.testing.assert_allclose((Z.T @ found.dual)[used], np.sign(exact.predictor[used]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_that_would_leave_their_bounds_stay_as_they_were(seed):
    """If a multiplier is set to 0, the slopes of the others cannot equal the signs."""
    Z, exact = vertex(seed)
    dual = np.where(np.arange(5) == np.argmax(exact.dual), 0.0, exact.dual)
    found = polished(Z, np.ones(9), replace(exact, dual=dual))
    np.testing.assert_array_equal(found.dual, dual)


def test_a_line_of_solutions_is_given_by_its_ends():
    """w₀ + w₁ = 1 is all that the sample asks for, whichever solution is known first."""
    margins = Margins(np.array([[1.0, 1.0, 0.5]]))
    for first in ([0.3, 0.7, 0.0], [1.0, 0.0, 0.0]):
        unique, vertices = solutions(margins, np.ones(3), Vertex(np.array(first), np.ones(1)))
        assert not unique
        np.testing.assert_allclose(vertices[vertices[:, 0].argsort()], [[0, 1, 0], [1, 0, 0]], atol=1e-12)
