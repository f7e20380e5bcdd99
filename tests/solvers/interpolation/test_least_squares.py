"""`limit` on data that cannot be fitted: the least-squares solution of minimum Q."""

import json

import numpy as np
import pytest

import tacit
from tacit.cli import main

MODELS = {
    "diagonal": tacit.Diagonal(2, 0.3),
    "deep": tacit.Diagonal(4, 0.5),
    "untied": tacit.UntiedDiagonal(0.2, 0.4),
    "neuron": tacit.Neuron(0.7, np.array([0.3, -0.2, 0.5])),
    "network": tacit.LinearNetwork.gaussian(3, 8, seed=1),
}


def tall(seed, samples=9):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((samples, 3)), rng.standard_normal(samples)


@pytest.mark.parametrize("name", MODELS)
def test_more_samples_than_features(name):
    X, y = tall(0)
    expected, residual, *_ = np.linalg.lstsq(X, y, rcond=None)
    found = tacit.limit(MODELS[name], X, y, least_squares=True)
    assert found.converged
    np.testing.assert_allclose(found.predictor.ravel(), expected, rtol=1e-9)
    assert found.unfitted == pytest.approx(np.sqrt(residual[0]) / np.linalg.norm(y), rel=1e-9)
    assert "no predictor fits the data" in found.summary() and found.to_dict()["unfitted"] == found.unfitted


@pytest.mark.parametrize("name", ["diagonal", "deep", "untied"])
def test_of_several_solutions_the_flow_ends_at_the_same(name):
    """Samples repeated with different targets, and more features than samples."""
    rng = np.random.default_rng(5)
    X = np.repeat(rng.standard_normal((3, 7)), 2, axis=0)
    y = rng.standard_normal(6)
    found = tacit.limit(MODELS[name], X, y, least_squares=True)
    means = tacit.limit(MODELS[name], X[::2], (y[::2] + y[1::2]) / 2)
    assert found.converged and found.rank == 3
    np.testing.assert_allclose(found.predictor, means.predictor, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        tacit.flow(MODELS[name], X, y).predictor[-1], found.predictor, rtol=1e-6, atol=1e-8
    )
    assert found.regime.distance_to_rich == pytest.approx(means.regime.distance_to_rich, rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-12])
@pytest.mark.parametrize("seed", range(5))
def test_features_centred_up_to_rounding(noise, seed):
    """The features cannot fit the mean of y, which remains as the residual."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 12)), rng.standard_normal(6)
    X = X - X.mean(axis=0) + noise * rng.standard_normal(X.shape)
    found = tacit.limit(tacit.Diagonal(2, 0.3), X, y, least_squares=True)
    assert found.converged and found.rank == 5
    assert found.unfitted == pytest.approx(np.sqrt(6) * abs(y.mean()) / np.linalg.norm(y), rel=1e-9)
    np.testing.assert_allclose(X @ found.predictor, y - y.mean(), atol=1e-9)


def test_samples_of_zeros_and_of_many_sizes():
    """Least squares weights the original samples equally, independently of the solver's scaling."""
    rng = np.random.default_rng(3)
    X = np.vstack([np.zeros((2, 3)), rng.standard_normal((6, 3)) * [[1e5], [1], [1e-5], [1], [1e3], [1]]])
    y = rng.standard_normal(8)
    found = tacit.limit(tacit.Diagonal(2, 0.3), X, y, least_squares=True)
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(found.predictor, expected, rtol=1e-8)
    assert found.unfitted == pytest.approx(np.linalg.norm(X @ expected - y) / np.linalg.norm(y), rel=1e-9)


def test_what_can_be_fitted_is_not_changed():
    X, y = tall(1, samples=2)
    plain, asked = (tacit.limit(tacit.Diagonal(), X, y, least_squares=flag) for flag in (False, True))
    np.testing.assert_array_equal(plain.predictor, asked.predictor)
    assert asked.unfitted == 0 and "least squares" not in asked.summary()


def test_without_it_the_refusal_says_how_to_get_it():
    with pytest.raises(tacit.InconsistentDataError, match=r"least_squares=True \(--least-squares\)"):
        tacit.limit(tacit.Diagonal(), *tall(2))
    leaky = tacit.Neuron(0.7, np.array([0.3, -0.2, 0.5]), slope=0.5)
    with pytest.raises(tacit.InputError, match=r"a leaky neuron is not linear.*tacit\.flow"):
        tacit.limit(leaky, *tall(2), least_squares=True)


def test_on_the_command_line(tmp_path, capsys):
    X, y = tall(3)
    np.savez(tmp_path / "tall.npz", X=X, y=y)
    line = ["limit", str(tmp_path / "tall.npz"), "--json", "-"]
    assert main(line) == 2 and "--least-squares" in capsys.readouterr().err
    assert main([*line, "--least-squares"]) == 0
    content = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(content["predictor"], np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2)])
def test_features_that_are_all_zero_fit_nothing(shape):
    limit = tacit.limit(tacit.Diagonal(scale=0.3), np.zeros(shape), np.ones(shape[0]), least_squares=True)
    assert limit.converged and not limit.predictor.any() and not limit.y.any() and limit.unfitted == 1


@pytest.mark.parametrize("y", [[5.0, 6, 7], [0.1, 0.7, -0.3], [1e30, 2e30, -7e30]])
def test_features_that_say_nothing_fit_nothing(y):
    """The remainder of y is round-off and must not become an equation."""
    for model in (tacit.Diagonal(3, 1e-3), tacit.UntiedDiagonal.from_layers(np.full((3, 3), 0.1))):
        found = tacit.limit(model, [[1, 2, 0.3]] * 3, y, intercept=True, least_squares=True)
        assert found.converged and not found.predictor.any()
        assert found.intercept == pytest.approx(np.mean(y), rel=1e-15)
