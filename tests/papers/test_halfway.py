"""Crossings of a level, and training of raw weights."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit
from tacit.papers.measures import farthest, level_at, trained
from tacit.potentials import L1


def test_the_measure_has_the_value_at_the_level():
    assert level_at(math.tanh, 0.5, -20.0, 20.0) == pytest.approx(math.atanh(0.5), abs=1e-8)
    assert level_at(lambda x: -math.tanh(x), 0.5, -20.0, 20.0) == pytest.approx(-math.atanh(0.5), abs=1e-8)


@pytest.mark.parametrize("measure", [lambda x: 2.0, lambda x: 0.5, lambda x: math.nan, lambda x: x - 30])
def test_nan_without_a_crossing(measure):
    assert math.isnan(level_at(measure, 0.5, -20.0, 20.0))


def test_the_farthest_value_may_be_on_either_side():
    assert farthest(np.array([0.9, 1.05])) == 0.9
    assert farthest(np.array([0.97, 1.05])) == 1.05
    assert farthest(np.array([2.5, 1.0]), 2.0) == 1.0
    assert math.isnan(farthest(np.array([0.5, math.nan]))) and math.isnan(farthest(np.array([])))


@pytest.mark.parametrize("depth", [2, 3])
def test_training_follows_the_weights_without_the_potential(monkeypatch, depth):
    """w = u^D − v^D, integrated by SciPy."""
    X, y, scale = np.array([[1.0, 0.3, -0.5], [0.2, -1.0, 0.8]]), np.array([0.7, -0.4]), 0.4

    def velocity(_, weights):
        u, v = np.split(weights, 2)
        slope = X.T @ (X @ (u**depth - v**depth) - y)
        return depth * np.concatenate([-slope * u ** (depth - 1), slope * v ** (depth - 1)])

    end = solve_ivp(velocity, (0, 2e3), np.full(6, scale), rtol=1e-11, atol=1e-13, method="LSODA").y[:, -1]
    u, v = np.split(end, 2)
    monkeypatch.setattr(tacit.Diagonal, "potential", lambda *_: L1())
    np.testing.assert_allclose(trained(tacit.Diagonal(depth, scale), X, y), u**depth - v**depth, rtol=1e-7)


def test_training_without_convergence_returns_nan(monkeypatch):
    stopped = SimpleNamespace(converged=False, predictor=np.ones((1, 2)))
    monkeypatch.setattr(tacit, "flow", lambda *_, **__: stopped)
    assert np.isnan(trained(tacit.Diagonal(2, 0.5), np.eye(2), np.ones(2))).all()
