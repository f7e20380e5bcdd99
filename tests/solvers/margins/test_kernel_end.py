"""Margins of a potential that is minimal at a start other than 0."""

import numpy as np
import pytest

import tacit
from tacit.potentials import Bregman


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_a_start_with_margins_of_exactly_1_is_the_solution(scale):
    """Q is 0 there and positive elsewhere."""
    Z = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, -0.5]])
    start = np.array([1.0, 1.0, 0.0, 0.0])
    found = tacit.max_margin(Z, np.ones(2), Bregman(tacit.Diagonal(2, scale).potential(4), start))
    np.testing.assert_allclose(found.predictor, start, atol=1e-12)
