"""Normalized gradient descent in the figure, against `tacit.flow`."""

import numpy as np

import tacit
from tacit.papers.practice.figure_normalized import _normalized


def test_steps_are_those_of_normalized_descent():
    """Both programs take the same steps to the same accuracy."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 9)), rng.choice([-1.0, 1.0], 5)
    step = 1e-3  # so small that the accuracy increases in every step
    run = tacit.flow(tacit.Diagonal(scale=3.0), X, y, loss="exp", method="normalized", step=step, until=30)
    level = run.accuracy[-1] * (1 - 1e-12)
    (found,) = _normalized(X, y, 3.0, step, np.array([level]))
    np.testing.assert_allclose(found, run.predictor[-1] / run.accuracy[-1], rtol=1e-9)
    diverged = _normalized(X, y, 3.0, 50.0, np.array([level, 1e300]))
    assert np.isnan(diverged[-1]).all()
