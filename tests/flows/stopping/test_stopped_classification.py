"""Flows of losses of margins, stopped at accuracies: compared with tacit.flow and the minimum of the loss."""

import numpy as np
import pytest
from scipy.optimize import minimize

import tacit
from tacit.errors import InputError
from tacit.flows.stopping import stopped_path

ACCURACIES = np.array([0.5, 1.0, 2.0, 4.0, 8.0])


def separable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 40))
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(12) > 0, 1.0, -1.0)


def mixed():
    """Labels that no line separates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return X, np.where(X[:, 0] + 1.5 * rng.standard_normal(60) > 0, 1.0, -1.0)


@pytest.mark.every(4)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize(("depth", "scale"), [(2, 1e-2), (2, 1.0), (2, 100.0), (3, 0.1)])
def test_predictors_at_accuracies_are_those_of_the_flow(loss, depth, scale):
    """The worst error of 40 such flows, at tolerances of 1e-2 and 1e-4, was 0.3 tolerances."""
    X, y = separable()
    model, at = tacit.Diagonal(depth=depth, scale=scale), ACCURACIES + 0.4
    path = stopped_path(model, X, y, at, loss=loss, rtol=1e-3)
    expected = tacit.flow(model, X, y, loss=loss, at=at, rtol=1e-8).predictor
    off = np.linalg.norm(path.predictors - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert path.reached.all() and off.max() < 3e-3


@pytest.mark.parametrize("scale", [0.01, 1.0])
def test_what_nothing_separates_ends_at_the_minimum(scale):
    X, y = mixed()
    best = minimize(lambda w: np.logaddexp(0, -y * (X @ w)).mean(), np.zeros(5), tol=1e-12)
    most = -np.log(best.fun)
    path = stopped_path(tacit.Diagonal(scale=scale), X, y, [0.9 * most, 1.1 * most, 3], loss="logistic")
    assert path.reached.tolist() == [True, False, False] and "no predictor" in path.reason
    assert np.linalg.norm(path.predictors[-1] - best.x) < 1e-3 * np.linalg.norm(best.x)


def test_duals_pull_their_labels_way():
    """ν_n = ∫ −∂L/∂f_n, with the sign of the label; and ∇Q(w) = Xᵀν."""
    X, y = separable()
    path = stopped_path(tacit.Diagonal(scale=0.1), X, y, ACCURACIES, loss="exp", rtol=1e-3)
    slopes = np.arcsinh(path.predictors / (2 * 0.1**2))
    assert (path.duals * y > 0).all() and np.abs(path.duals @ X - slopes).max() < 1e-6 * np.abs(slopes).max()


def test_wrong_accuracies_labels_and_losses():
    X, y = separable()
    for stops in ([], [2.0, 1.0]):
        with pytest.raises(InputError, match="accuracies must be increasing"):
            stopped_path(tacit.Diagonal(), X, y, stops, loss="exp")
    with pytest.raises(InputError, match="labels"):
        stopped_path(tacit.Diagonal(), X, 0.5 * y, [1.0], loss="exp")
    with pytest.raises(InputError, match="'hinge'"):
        stopped_path(tacit.Diagonal(), X, y, [1.0], loss="hinge")
