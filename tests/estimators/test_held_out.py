"""Outputs by cubics between flows, against the flows themselves."""

import numpy as np
import pytest

from tacit.estimators import held_out
from tacit.estimators.grid import Grid
from tacit.estimators.predictors import predictors
from tacit.estimators.start import Start
from tacit.estimators.training import Training

STOPS = (0.5, 0.1, 0.03, 1e-3, 1e-5)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 100))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(40)
    training = Training.of(X[:30], y[:30], None, True, False)
    return training, held_out.HeldOut(X[30:], y[30:], None, training.units)


def test_outputs_between_flows_are_those_of_flows(problem):
    training, aside = problem
    grid, start = Grid((2.0,), (np.geomspace(1.0, 1e-3, 30),), STOPS), Start(2.0, 1.0)
    assert held_out._spread(2 * np.log(grid.scales[0])) == [*range(0, 29, 4), 29]
    found = list(held_out.held_out_outputs(training, grid, start, 0.01, aside))
    wanted = [aside.outputs(w) for w in predictors(training, grid, start, 1e-5)]
    assert len(found) == 30
    for one, other in zip(found, wanted, strict=True):
        scores = aside.scores(other)
        near = (
            scores > 2 * scores.max()
        )  # of what may be chosen; later stops may be those of a flow that gave up
        assert np.abs(aside.scores(one) / scores - 1)[near].max() < 0.2  # 0.08 is the worst of 30 draws


def test_flows_between_others_that_are_better_later_are_run(problem):
    """One that gave up at its second stop says nothing about those whose best is their last."""
    aside = problem[1]
    sizes, run = np.arange(5.0)[::-1], [0, 1, 3, 4]
    far = np.outer([1.0, 0.6, 0.3, 0.2, 0.1], np.ones(10))  # from y, at each stop
    patient = (aside.y + far, 5)
    hasty = (aside.y + np.minimum(far[[0, 1, 1, 1, 1]], 1.0), 2)
    equal = dict.fromkeys(run, patient)
    assert held_out._between(2, sizes, run, equal, aside) == pytest.approx(patient[0])
    assert held_out._between(2, sizes, run, {**equal, 0: hasty}, aside) is None


def test_stops_after_the_first_that_gave_up_are_as_it_left_them(problem):
    aside = problem[1]
    sizes, run = np.arange(5.0)[::-1], [0, 1, 3, 4]
    far = np.outer([1.0, 0.6, 0.9, 0.95, 0.97], np.ones(10))  # best at the second stop
    patient, hasty = (aside.y + far, 5), (aside.y + far[[0, 1, 2, 2, 2]], 3)
    between = held_out._between(2, sizes, run, {0: patient, 1: hasty, 3: patient, 4: patient}, aside)
    assert between == pytest.approx(aside.y + far[[0, 1, 2, 2, 2]])
