"""Theorems of Azulay et al. 2021 as statements about data; wrong limits violate them."""

from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.theorems import check


def problem(seed=0, samples=4, features=7):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((samples, features)),
        rng.standard_normal(samples),
        rng.standard_normal(features),
    )


def balanced(direction, width=5):
    hidden = np.random.default_rng(1).standard_normal(width)
    hidden /= np.linalg.norm(hidden)
    size = np.linalg.norm(direction)
    return tacit.LinearNetwork(np.outer(direction, hidden), size * hidden[None])


def cases():
    direction = problem()[2]
    return {
        "theorem1": tacit.UntiedDiagonal(0.3, 0.5),
        "theorem2": tacit.Neuron.from_scale(0.5, 0.4, direction, -1),
        "theorem4": tacit.Neuron.from_scale(0.5, 0.4, direction, slope=0.3),
        "proposition1": balanced(direction),
        "theorem3": tacit.LinearNetwork.gaussian(7, 6, std=1e-2),
    }


@pytest.mark.every(2)
@pytest.mark.parametrize("name", cases())
def test_each_holds_of_its_own_model_and_not_of_others(name):
    X, y, _ = problem()
    for other, model in cases().items():
        verdict = check(f"azulay2021/{name}", model, X, y)
        if other == name:
            assert verdict.applies and verdict.holds, verdict.summary()
        elif not (name == "theorem3" and other == "proposition1"):  # a balanced network is a network too
            assert verdict.holds is None, verdict.summary()


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["theorem1", "theorem2", "theorem4", "proposition1"])
def test_a_wrong_limit_is_noticed(name, monkeypatch):
    X, y, _ = problem()
    real = tacit.limit

    def off(model, X, y, **options):
        found = real(model, X, y, **options)
        return replace(found, predictor=found.predictor * (1 + 1e-4))

    monkeypatch.setattr(tacit, "limit", off)
    assert check(f"azulay2021/{name}", cases()[name], X, y).holds is False


def test_a_neuron_that_changes_sign_is_outside_the_theorem():
    X, y, direction = problem(1)
    model = tacit.Neuron.from_scale(1.0, -0.9, direction)
    for seed in range(40):
        X, y, direction = problem(seed)
        model = tacit.Neuron.from_scale(1.0, -0.9, direction)
        if tacit.limit(model, X, y).sign == -1:
            break
    verdict = check("azulay2021/theorem2", model, X, y)
    assert verdict.holds is None and "changes its sign" in verdict.summary()


def test_the_distance_of_theorem_3_falls_with_the_start():
    X, y, _ = problem(3)
    measured = []
    for size in (1e-2, 1e-3, 1e-4):
        verdict = check("azulay2021/theorem3", tacit.LinearNetwork.gaussian(7, 6, std=size), X, y)
        assert verdict.holds
        measured.append(verdict.bounds[0].measured)
    assert np.diff(np.log10(measured)) == pytest.approx([-1, -1], abs=0.1)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["theorem1", "theorem2", "theorem3"])
def test_what_the_residual_leaves_is_no_violation(name):
    """With smaller singular values of X, a flow with a given residual is farther from its limit."""
    left, _, right = np.linalg.svd(problem()[0], full_matrices=False)
    X = left * np.geomspace(1, 1e-4, 4) @ right
    verdict = check(f"azulay2021/{name}", cases()[name], X, X @ np.linspace(-1, 1, 7))
    assert verdict.holds, verdict.summary()
    if name != "theorem3":  # then the flow is compared with the limit of its own outputs
        assert "that fits its outputs" in verdict.bounds[0].text and verdict.bounds[0].at_most == 1e-6


def test_data_that_nothing_fits_are_outside_the_theorems():
    X, y = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([1.0, 1.0])
    verdict = check("azulay2021/theorem1", tacit.UntiedDiagonal(0.3, 0.5), X, y)
    assert verdict.holds is None and "best relative residual: 0.32" in verdict.summary()


def test_zero_targets_are_fitted_at_the_start():
    X = problem()[0]
    assert check("azulay2021/theorem1", tacit.UntiedDiagonal(0.3, 0.5), X, np.zeros(4)).holds
