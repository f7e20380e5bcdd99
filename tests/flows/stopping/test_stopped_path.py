"""Predictors at stops of a flow, compared with tacit.flow and the closed form in the kernel regime."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import tacit
from tacit.errors import InputError
from tacit.flows.stopping import stopped_path, stopped_paths

SHARES = np.array([0.7, 0.3, 0.1, 0.03, 0.01])


def problem(samples=12, features=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, X[:, :3] @ [1.0, -2.0, 1.5] + 0.3 * rng.standard_normal(samples)


def with_doubles():
    """A repeated feature, a repeated sample, a constant feature and a zero feature."""
    X, y = problem()
    X[:, 1], X[:, 4], X[:, 5] = X[:, 0], 1.0, 0.0
    X[1], y[1] = X[0], y[0]
    return X, y


def collinear():
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    X = rng.standard_normal((15, 30)) * np.geomspace(1, 1e-4, 30) @ turn
    return X, X @ np.sin(np.arange(30)) + 0.01 * rng.standard_normal(15)


def by_integrator(model, X, y, shares=SHARES):
    """Predictors and times of tacit.flow, which shares only the mirror map with the tested code."""
    start = np.mean(y**2) / 2
    flow = tacit.flow(model, X, y, at=-np.log(shares * start), rtol=1e-9)
    assert flow.converged
    return flow.predictor, flow.time


def distance(paths, others):
    return (np.linalg.norm(paths - others, axis=1) / np.linalg.norm(others, axis=1)).max()


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("depth", "scale"),
    [
        (2, 1e-6),
        (2, 1e-3),
        (2, 0.1),
        (2, 1.0),
        (2, 1e3),
        (3, 1e-2),
        (3, 1.0),
        (3, 100.0),
        (5, 0.1),
        (5, 10.0),
    ],
)
@pytest.mark.parametrize("rtol", [1e-2, 1e-4])
def test_predictors_at_stops_are_those_of_the_flow(depth, scale, rtol):
    """The worst error in 300 flows on such data was below three tolerances."""
    X, y = problem()
    model = tacit.Diagonal(depth=depth, scale=scale)
    path = stopped_path(model, X, y, SHARES, rtol=rtol)
    predictors, times = by_integrator(model, X, y)
    assert path.reached.all() and path.reason == ""
    assert distance(path.predictors, predictors) < 10 * rtol
    assert np.abs(path.times / times - 1).max() < 20 * rtol
    assert (
        np.abs(np.mean((path.predictors @ X.T - y) ** 2, axis=1) / np.mean(y**2) / SHARES - 1).max()
        < 20 * rtol
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("data", [with_doubles, collinear])
@pytest.mark.parametrize(("depth", "scale"), [(2, 1e-3), (2, 1.0), (3, 0.1)])
def test_data_that_are_hard(data, depth, scale):
    X, y = data()
    profile = np.exp(0.5 * np.cos(np.arange(X.shape[1])))
    model = tacit.Diagonal(depth=depth, scale=scale, profile=profile)
    path = stopped_path(model, X, y, SHARES, rtol=1e-3)
    assert path.reached.all()
    assert distance(path.predictors, by_integrator(model, X, y)[0]) < 1e-2


def test_a_start_that_is_not_zero():
    X, y = problem()
    rng = np.random.default_rng(1)
    model = tacit.UntiedDiagonal.from_weights(*rng.uniform(0.2, 1, (4, 40)))
    path = stopped_path(model, X, y, SHARES, rtol=1e-4)
    start = np.mean((X @ model.predictor() - y) ** 2) / 2
    flow = tacit.flow(model, X, y, at=-np.log(SHARES * start), rtol=1e-9)
    assert path.reached.all()
    assert distance(path.predictors, flow.predictor) < 1e-3


@pytest.mark.parametrize(("depth", "scale"), [(2, 1e4), (3, 1e3), (5, 1e3)])
def test_large_scales_are_the_flow_of_the_kernel(depth, scale):
    """w(t) = Xᵀ K⁻¹(1 − e^{−tK})y with K = XXᵀ, whatever the depth: one step to any stop."""
    X, y = problem()
    path = stopped_path(tacit.Diagonal(depth=depth, scale=scale), X, y, SHARES, rtol=1e-6)
    K = X @ X.T
    for share, w in zip(SHARES, path.predictors, strict=True):
        end = brentq(lambda t, s=share: np.sum((expm(-t * K) @ y) ** 2) / (y @ y) - s, 0, 10, xtol=1e-13)
        expected = X.T @ np.linalg.solve(K, y - expm(-end * K) @ y)
        assert np.linalg.norm(w - expected) < 1e-5 * np.linalg.norm(expected)
    assert path.steps == 1


def test_duals_are_those_of_the_predictors():
    """∇Q(w) = Xᵀν: asinh(w/2α²) at depth 2."""
    for X, y in (problem(), problem(30, 12)):
        path = stopped_path(tacit.Diagonal(scale=0.1), X, y, SHARES[:3], rtol=1e-3)
        slopes = np.arcsinh(path.predictors / (2 * 0.1**2))
        assert np.abs(path.duals @ X - slopes).max() < 1e-6 * np.abs(slopes).max()


@pytest.mark.parametrize(("depth", "scale"), [(2, 0.1), (2, 10.0), (3, 0.5)])
def test_what_nothing_fits_is_not_reached(depth, scale):
    """With more samples than features the flow ends at least squares, and later stops are not reached."""
    X, y = problem(30, 12)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    floor = np.mean((X @ best - y) ** 2) / np.mean(y**2)
    shares = np.array([0.5, 2 * floor, 0.99 * floor, 0.1 * floor])
    model = tacit.Diagonal(depth=depth, scale=scale)
    path = stopped_path(model, X, y, shares, rtol=1e-4)
    assert path.reached.tolist() == [True, True, False, False]
    assert "no predictor fits" in path.reason and np.isinf(path.times[2:]).all()
    assert distance(path.predictors[2:], np.array([best, best])) < 1e-3
    assert distance(path.predictors[:2], by_integrator(model, X, y, shares[:2])[0]) < 1e-3


def test_what_is_equivariant_is():
    """Invariance under units of y and X, and the order of features and samples."""
    X, y = problem()
    path = stopped_path(tacit.Diagonal(scale=0.1), X, y, SHARES, rtol=1e-3)
    units = stopped_path(tacit.Diagonal(scale=0.1 * np.sqrt(7 / 3)), 3 * X, 7 * y, SHARES, rtol=1e-3)
    assert distance(units.predictors * 3 / 7, path.predictors) < 1e-8
    features, samples = np.random.default_rng(0).permutation(40), np.random.default_rng(1).permutation(12)
    turned = stopped_path(tacit.Diagonal(scale=0.1), X[samples][:, features], y[samples], SHARES, rtol=1e-3)
    assert distance(turned.predictors, path.predictors[:, features]) < 1e-8


def test_many_features_take_the_same_way():
    """With negligible coordinates left out of steps, which small problems do not do by default."""
    X, y = problem(25, 2500, seed=5)
    for scale in (1e-3, 3e-2):
        model = tacit.Diagonal(scale=scale)
        path = stopped_path(model, X, y, SHARES, rtol=1e-3)
        assert distance(path.predictors, stopped_path(model, X, y, SHARES, rtol=1e-6).predictors) < 1e-2


def test_the_whole_of_a_path_and_parts_of_it():
    X, y = problem()
    models = [tacit.Diagonal(scale=scale) for scale in (0.01, 1.0)]
    for model, path in zip(models, stopped_paths(models, tacit.prepare(X), y, SHARES), strict=True):
        alone = stopped_path(model, X, y, SHARES)
        assert distance(path.predictors, alone.predictors) < 1e-8
    seen = []
    short = stopped_path(models[1], X, y, SHARES, enough=lambda w: len(seen) == 2 or seen.append(w))
    assert (
        short.reached.tolist() == [True, True, True, False, False]
        and short.reason == "stopped by the callback"
    )
    assert distance(short.predictors[:3], path.predictors[:3]) == 0


def test_nothing_to_fit():
    X, _ = problem()
    path = stopped_path(tacit.Diagonal(scale=0.1), X, np.zeros(12), SHARES)
    assert path.reached.all() and not path.predictors.any() and not path.times.any()
    rows = np.vstack([X[:3], X[:3]])
    hopeless = stopped_path(tacit.Diagonal(scale=0.1), rows, np.repeat([1.0, -1.0], 3), [1.0, 0.5])
    assert hopeless.reached.tolist() == [True, False] and np.abs(hopeless.predictors).max() < 1e-12


@pytest.mark.parametrize("shares", [[], [0.1, 0.5], [0.5, 0.5], [2.0], [0.5, 0.0], [np.nan]])
def test_shares_that_are_none(shares):
    with pytest.raises(InputError, match="shares"):
        stopped_path(tacit.Diagonal(), *problem(), shares)


def test_what_it_is_not_made_for():
    X, y = problem()
    with pytest.raises(InputError, match="rtol must be between"):
        stopped_path(tacit.Diagonal(), X, y, SHARES, rtol=1e-12)
    with pytest.raises(InputError, match=r"use tacit.flow"):
        stopped_path(tacit.LinearNetwork.gaussian(40, 3, seed=0), X, y, SHARES)
