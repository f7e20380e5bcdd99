"""Outputs near a state from the kernel and a few exact coordinates, compared with the predictor."""

import math

import numpy as np
import pytest

from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.stopping.kernel import Nearby


@pytest.mark.parametrize("power", [math.inf, 3.0])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_outputs_are_exact_in_coordinates_that_are_followed(power, weight):
    """K δ is the first-order change of all coordinates; followed coordinates add their nonlinear
    remainder."""
    rng = np.random.default_rng(3)
    X, u = rng.standard_normal((3, 5)), rng.standard_normal(5)
    here = MirrorMap.at(power, np.full(5, -0.7), u)
    S = here.stiffness
    matrix = X * (S / weight) @ X.T
    nu = 0.1 * rng.standard_normal(3)
    there = here.moved(nu @ X / weight).predictor
    for followed in ([0, 1, 2, 3, 4], [1, 3], []):
        part = MirrorMap.at(power, np.full(len(followed), -0.7), u[followed])
        near = Nearby(X @ here.predictor, matrix, X[:, followed], S[followed] / weight, weight, part)
        straight = here.predictor + S / weight * (nu @ X)
        straight[followed] = there[followed]
        np.testing.assert_allclose(near.at(nu), X @ straight, rtol=1e-12, atol=1e-13)
