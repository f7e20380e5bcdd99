"""Slow weight decay as a clock, compared with simulations of the raw weights, without potentials."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import tacit


def problem(seed, samples=20, features=50, nonzero=2):
    """Sparse signals that few Gaussian samples determine, and test data."""
    rng = np.random.default_rng(seed)
    signal = np.zeros(features)
    signal[:nonzero] = rng.choice([-1.0, 1.0], nonzero) * rng.uniform(0.7, 1.5, nonzero)
    X, X_test = rng.standard_normal((samples, features)), rng.standard_normal((200, features))
    return X, X @ signal, X_test, X_test @ signal


def trained(X, y, depth, scale, decay, until):
    """Raw weights under θ' = −∇L − λθ, in their logarithms: predictors as a function of time."""
    d = X.shape[1]

    def predictor(z):
        return np.exp(depth * z[:d]) - np.exp(depth * z[d:])

    def velocity(_, z):
        g = X.T @ (X @ predictor(z) - y) / len(y)
        return -depth * np.concatenate([g, -g]) * np.exp((depth - 2) * z) - decay

    start = np.tile(np.log(np.broadcast_to(scale, d)), 2)
    run = solve_ivp(velocity, (0, until), start, "LSODA", rtol=1e-7, atol=1e-9, dense_output=True)
    assert run.success
    return lambda t: predictor(run.sol(t))


def grokking(found, X_test, y_test, level, since, until):
    """The time at which the simulated test error falls below a level."""

    def excess(t):
        return float(np.mean((X_test @ found(t) - y_test) ** 2)) - level

    grid = np.linspace(since, until, 200)
    below = next(k for k, t in enumerate(grid) if excess(t) < 0)
    return brentq(excess, grid[below - 1], grid[below])


CASES = [(2, 5.0, 1e-3), (3, 2.0, 1e-3), (2, 3.0, 1e-4), (3, 1.5, 1e-4)]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("depth", "scale", "decay"), CASES)
def test_grokking_times_are_those_of_training(depth, scale, decay, seed):
    """The required accuracy is 1%; the distance decreases with the decay."""
    X, y, X_test, y_test = problem(seed)
    path = tacit.decay_path(tacit.Diagonal(depth, scale), X, y, decay, X_test=X_test, y_test=y_test)
    level = 0.1 * path.test_error[0]
    predicted = path.grokking_time(level)
    found = trained(X, y, depth, scale, decay, 1.2 * predicted)
    measured = grokking(found, X_test, y_test, level, 10.0, 1.2 * predicted)
    np.testing.assert_allclose(predicted, measured, rtol=0.01)
    assert np.linalg.norm(X @ found(10.0) - y) < 0.01 * np.linalg.norm(y)  # fitted long before


@pytest.mark.parametrize(("depth", "profile"), [(2, None), (3, None), (3, [1.0, 0.5, 2, 1, 1.5, 0.8])])
def test_predictors_are_those_of_training_up_to_terms_of_the_order_of_the_decay(depth, profile):
    X, y, *_ = problem(4, samples=3, features=6, nonzero=1)
    errors = []
    for decay in (1e-2, 1e-3):
        model = tacit.Diagonal(depth, 2.0, profile)
        times = np.array([1.5, 2.5, 3.5]) / decay
        path = tacit.decay_path(model, X, y, decay, times=times)
        weights = np.full(6, 2.0) * (1.0 if profile is None else np.array(profile))
        found = trained(X, y, depth, weights, decay, times[-1])
        errors.append(max(np.abs(w - found(t)).max() for w, t in zip(path.predictors, times, strict=True)))
    assert errors[1] < errors[0] / 5
    assert errors[1] < 0.02


def test_two_layers_and_both_parametrizations_share_a_clock():
    """u₊v₊ with u₊ = v₊ = a has the potential and the decay of w₊² with w₊ = a."""
    X, y, X_test, y_test = problem(1, 8, 20)
    options = {"X_test": X_test, "y_test": y_test, "times": [0, 1000, 3000]}
    tied = tacit.decay_path(tacit.Diagonal(2, 3.0), X, y, 1e-3, **options)
    untied = tacit.decay_path(tacit.UntiedDiagonal(9.0), X, y, 1e-3, **options)
    np.testing.assert_allclose(tied.predictors, untied.predictors, atol=1e-9)
    errors = [np.mean((X_test @ w - y_test) ** 2) for w in tied.predictors]
    np.testing.assert_allclose(tied.test_error, errors, rtol=1e-12)
    expected = tacit.limit(tacit.Diagonal(2, 3.0 * math.exp(-3)), X, y).predictor
    np.testing.assert_allclose(tied.predictors[-1], expected, atol=1e-9)


def test_three_decays_are_one_curve():
    X, y, X_test, y_test = problem(2, 8, 20)
    model, options = tacit.Diagonal(2, 3.0), {"X_test": X_test, "y_test": y_test}
    scaled = [
        decay * tacit.decay_path(model, X, y, decay, **options).grokking_time(0.05) for decay in (1e-1, 1e-5)
    ]
    np.testing.assert_allclose(*scaled, rtol=1e-5)


def test_default_times_reach_from_the_start_to_the_rich_end():
    X, y, *_ = problem(3, 8, 20)
    path = tacit.decay_path(tacit.Diagonal(3, 2.0), X, y, 0.01)
    assert path.times[0] == 0 and path.converged.all() and path.test_error is None
    first = tacit.limit(tacit.Diagonal(3, 2.0), X, y).predictor
    np.testing.assert_allclose(path.predictors[0], first, atol=1e-10)
    np.testing.assert_allclose(
        path.predictors[-1], tacit.limit(tacit.Diagonal(3, 0), X, y).predictor, atol=0.01
    )


def test_levels_at_both_sides_of_the_curve():
    X, y, X_test, y_test = problem(1, 8, 20)
    path = tacit.decay_path(tacit.Diagonal(2, 3.0), X, y, 1e-2, X_test=X_test, y_test=y_test)
    assert path.grokking_time(1e9) == 0
    assert path.grokking_time(1e-300) == math.inf
    time = path.grokking_time(0.2)
    assert path.error_at(time) == pytest.approx(0.2, rel=1e-4)


def test_what_is_shown(tmp_path):
    X, y, X_test, y_test = problem(1, 8, 20)
    path = tacit.decay_path(
        tacit.Diagonal(2, 3.0), X, y, 1e-2, X_test=X_test, y_test=y_test, times=[0, 300, 600]
    )
    text = path.summary()
    assert "decay" in text and "half of its initial value at time" in text
    assert path.plot(tmp_path / "path.png").stat().st_size > 5_000
    json.dumps(path.to_dict(), allow_nan=False)
    assert path.to_xarray().test_error.shape == (3,)


def test_errors_say_what_is_wrong():
    X, y, X_test, y_test = problem(1, 4, 6)
    model = tacit.Diagonal(2, 3.0)
    plain = tacit.decay_path(model, X, y, 0.1)
    for call, words in (
        (lambda: tacit.decay_path(model, X, y, 0), "decay must be positive, got 0"),
        (lambda: tacit.decay_path(model, X, y, -1), "decay must be positive, got -1"),
        (lambda: tacit.decay_path(model, X, y, lambda t: t), "decay must be numbers"),
        (lambda: tacit.decay_path(model, X, y, 0.1, X_test=X_test), "both X_test and y_test"),
        (lambda: tacit.decay_path(model, X, y, 0.1, X_test=X_test[:, :2], y_test=y_test), "2 features"),
        (lambda: tacit.decay_path(model, X, y, 0.1, times=[2, 1]), "increasing"),
        (lambda: tacit.decay_path(model, X, y, 0.1, times=[-1, 1]), "0 or later"),
        (lambda: tacit.decay_path(tacit.Diagonal(scale=0), X, y, 0.1), "decay_path is for diagonal networks"),
        (lambda: tacit.decay_path(X, model, y, 0.1), "the model comes first"),
        (lambda: plain.grokking_time(0.1), "no test error without test data"),
        (lambda: plain.error_at(0.1), "no test error without test data"),
        (lambda: plain.at(-1), "time must be 0 or later"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            call()
    with pytest.raises(tacit.InputError, match="level must be positive"):
        tacit.decay_path(model, X, y, 0.1, X_test=X_test, y_test=y_test).grokking_time(0)
    with pytest.raises(tacit.InconsistentDataError):
        tacit.decay_path(model, np.ones((2, 3)), [1.0, 2.0], 0.1)
    biased = tacit.UntiedDiagonal.from_weights(1.0, 2.0, 1.0, 1.0)
    with pytest.raises(tacit.InputError, match="start at the predictor 0"):
        tacit.decay_path(biased, X, y, 0.1)
