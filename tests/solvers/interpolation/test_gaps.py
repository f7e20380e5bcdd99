"""Coordinates below the round-off of X w = y take the slopes of the multipliers."""

import math

import numpy as np
import pytest

from tacit.numerics.double_double import Pair
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import State, close_gaps


def closed_at(potential, u, gap):
    with np.errstate(invalid="ignore"):
        return close_gaps(potential, State(u, Pair.of(np.zeros(1)), gap))


@pytest.mark.parametrize("power", [math.inf, 3.0])
def test_a_gap_is_closed_where_w_does_not_see_it_and_stays_where_it_does(power):
    """Closing a gap changes w by W·gap, which is below round-off for the two small coordinates only."""
    potential = Separable(power, np.zeros(5), np.ones(5))
    u = np.array([5.0, -4.0, 1e-20, -3e-20, 4.5])
    w, W = potential.predictor(u), potential.inverse_hessian(u)
    gap = np.array([1e-4, 1e-4, 1e-17, -2e-17, -1e-4])
    cost = W * np.abs(gap) / np.abs(w).max()
    assert cost[2:4].max() < 1e-16 and cost[[0, 1, 4]].min() > 1e-14
    closed = closed_at(potential, u, gap)
    asked = potential.slope(u) + gap
    np.testing.assert_allclose(potential.slope(closed.u)[2:4], asked[2:4], rtol=1e-13)
    np.testing.assert_array_equal(closed.gap, [1e-4, 1e-4, 0, 0, -1e-4])
    np.testing.assert_array_equal(closed.u[[0, 1, 4]], u[[0, 1, 4]])


@pytest.mark.parametrize("power", [math.inf, 3.0])
def test_a_slope_that_would_move_w_after_all_is_not_taken(power):
    """A tiny coordinate whose gap would make it large: W·gap is tiny, but the actual change is not."""
    potential = Separable(power, np.array([0.0, -60.0]), np.ones(2))
    u = np.array([1.0, 1e-3])
    w, W = potential.predictor(u), potential.inverse_hessian(u)
    gap = np.array([0.0, 70.0 if power == math.inf else 1 - potential.slope(u)[1] - 1e-15])
    assert (W * gap)[1] < 1e-15 * w[0]
    closed = closed_at(potential, u, gap)
    np.testing.assert_array_equal(closed.u, u)
    np.testing.assert_array_equal(closed.gap, gap)
