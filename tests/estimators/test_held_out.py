"""Outputs interpolated between flows, compared with computed flows."""

import numpy as np
import pytest

from tacit.estimators import predictors as held_out
from tacit.estimators.grid import Grid
from tacit.estimators.predictors import predictors
from tacit.estimators.training import Start, Training

STOPS = (0.5, 0.1, 0.03, 1e-3, 1e-5)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 100))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(40)
    training = Training.of(X[:30], y[:30], None, True, False)
    return training, held_out.HeldOut(X[30:], y[30:], None, training.units)


def test_interpolated_outputs_agree_with_computed_flows(problem):
    training, held = problem
    grid, start = Grid((2.0,), (np.geomspace(1.0, 1e-3, 30),), STOPS), Start(2.0, 1.0)
    assert held_out._spaced(2 * np.log(grid.scales[0])) == [*range(0, 29, 4), 29]
    found = list(held_out.held_out_outputs(training, grid, start, 0.01, held))
    wanted = [held.outputs(w) for w in predictors(training, grid, start, 1e-5)]
    assert len(found) == 30
    for one, other in zip(found, wanted, strict=True):
        scores = held.scores(other)
        near = scores > 2 * scores.max()  # points that may be chosen; flows may be abandoned at later stops
        assert np.abs(held.scores(one) / scores - 1)[near].max() < 0.2  # the largest of 30 draws is 0.08


def test_interpolation_fails_next_to_a_flow_that_was_abandoned_early(problem):
    """A flow abandoned at its second stop gives no information on flows that are best at their last stop."""
    held = problem[1]
    sizes, run = np.arange(5.0)[::-1], [0, 1, 3, 4]
    far = np.outer([1.0, 0.6, 0.3, 0.2, 0.1], np.ones(10))  # distance from y at each stop
    patient = (held.y + far, 5)
    hasty = (held.y + np.minimum(far[[0, 1, 1, 1, 1]], 1.0), 2)
    equal = dict.fromkeys(run, patient)
    assert held_out._between(2, sizes, run, equal, held) == pytest.approx(patient[0])
    assert held_out._between(2, sizes, run, {**equal, 0: hasty}, held) is None


def test_outputs_stay_constant_after_the_first_flow_was_abandoned(problem):
    held = problem[1]
    sizes, run = np.arange(5.0)[::-1], [0, 1, 3, 4]
    far = np.outer([1.0, 0.6, 0.9, 0.95, 0.97], np.ones(10))  # best at the second stop
    patient, hasty = (held.y + far, 5), (held.y + far[[0, 1, 2, 2, 2]], 3)
    between = held_out._between(2, sizes, run, {0: patient, 1: hasty, 3: patient, 4: patient}, held)
    assert between == pytest.approx(held.y + far[[0, 1, 2, 2, 2]])
