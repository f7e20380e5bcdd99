"""Statements of Moroshko et al. 2020, Section 5, that depend on the data; flows written from scratch."""

import numpy as np
import pytest
from flow_oracles import exponential, power_network, raw_flow
from scipy.optimize import linprog

TWO = np.array([[1.0, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
ONE = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])


def directions(Z, scale, accuracies):
    weights = [np.full(3, np.sqrt(scale)), np.full(3, np.sqrt(scale))]
    run = raw_flow(weights, power_network(2), Z, np.ones(len(Z)), exponential, accuracies, rtol=1e-8)
    return run.predictor / np.linalg.norm(run.predictor, axis=1, keepdims=True)


def test_trajectories_may_leave_the_separating_cone_on_their_way():
    """α = 0.001 on two support vectors: the flow turns to one coordinate first."""
    margins = directions(TWO, 1e-6, np.geomspace(1e-8, 20, 40)) @ TWO.T
    assert margins[0].min() > 0 and margins[-1].min() > 0  # inside at the start and at the end
    assert margins.min() == pytest.approx(-0.095, abs=1e-3)


def accuracy_needed(Z, scale):
    """The accuracy at which the excess ℓ1 norm at margin 1 falls below 5%, with log-log interpolation."""
    least = linprog(np.ones(6), -np.hstack([Z, -Z]), -np.ones(len(Z))).fun
    at = np.geomspace(0.1 * scale, 300 * max(scale, 0.1), 20)
    w = directions(Z, scale, at)
    with np.errstate(invalid="ignore", divide="ignore"):  # before all samples are classified correctly
        excess = np.log(np.abs(w).sum(axis=1) / (w @ Z.T).min(axis=1) / least - 1)
    i = int(np.flatnonzero(~(excess <= np.log(0.05)))[-1])
    return np.exp(np.interp(-np.log(0.05), -excess[i : i + 2], np.log(at[i : i + 2])))


@pytest.mark.parametrize(("Z", "slope"), [(ONE, 1.0), (TWO, 0.15)])
def test_the_accuracy_that_small_scales_need_shrinks_with_them_on_some_data_only(Z, slope):
    """Figure 5(b) has slope 1 for all α, as for one support vector here, but for two it differs below α² =
    1."""
    scales = np.array([1e-4, 1.0])
    needed = [accuracy_needed(Z, scale) for scale in scales]
    assert np.polyfit(np.log(scales), np.log(needed), 1)[0] == pytest.approx(slope, abs=0.05)
