"""Theorems 1 and 3 of Woodworth et al. 2020: right and wrong limits and flows, and data they do not cover."""

import math
from dataclasses import replace

import numpy as np
import pytest
from flow_oracles import power_network, raw_flow, square
from oracles import gaussian_problem, h_inverse

import tacit
from tacit.papers import agreement
from tacit.theorems import check

PROFILE = np.linspace(0.5, 2, 12)
MODELS = {
    "kernel": tacit.Diagonal(2, 30.0),
    "between": tacit.Diagonal(2, 0.3),
    "rich": tacit.Diagonal(2, 1e-3),
    "shaped": tacit.Diagonal(2, 0.3, profile=PROFILE),
    "deep": tacit.Diagonal(3, 0.3),
    "deep and shaped": tacit.Diagonal(3, 0.3, profile=PROFILE),
    "real depth": tacit.Diagonal(2.5, 0.2),
    "very deep": tacit.Diagonal(10, 0.9),
}


def key(model):
    return f"woodworth2020/theorem{1 if model.depth == 2 else 3}"


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(5, 12, nonzero=2, seed=3)


@pytest.mark.every(10)
@pytest.mark.parametrize("method", ["auto", "parameters"])
@pytest.mark.parametrize("name", MODELS)
def test_each_theorem_holds_for_its_depths(name, method, problem):
    model = MODELS[name]
    verdict = check(key(model), model, *problem, method=method)
    assert verdict.applies and verdict.holds, verdict.summary()
    assert verdict.bounds[0].measured < 1e-6 == verdict.bounds[0].at_most
    other = "woodworth2020/theorem3" if model.depth == 2 else "woodworth2020/theorem1"
    assert check(other, model, *problem).bounds == ()


@pytest.mark.parametrize("name", ["between", "shaped", "deep", "deep and shaped"])
def test_the_measured_distance_equals_that_of_raw_weights(name, problem):
    """A flow of the raw weights that shares no code with Tacit, stopped at the same residual."""
    (X, y), model = problem, MODELS[name]
    profile = np.ones(12) if model.profile is None else model.profile
    accuracy = math.log(2 * len(y)) - 2 * math.log(1e-8 * np.linalg.norm(y))
    start = [model.scale * profile] * 2
    end = raw_flow(start, power_network(model.depth), X, y, square, [accuracy]).predictor[0]
    limit = tacit.limit(model, X, y).predictor
    measured = check(key(model), model, X, y).bounds[0].measured
    assert measured == pytest.approx(np.linalg.norm(end - limit) / np.linalg.norm(limit), rel=1e-2)


@pytest.mark.parametrize("log_scale", [-50.0, -690.0, -1e5])
def test_theorem_1_at_any_scale(log_scale, problem):
    assert check("woodworth2020/theorem1", tacit.Diagonal(log_scale=log_scale), *problem).holds


@pytest.mark.every(6)
@pytest.mark.parametrize("method", ["auto", "parameters"])
@pytest.mark.parametrize("name", ["between", "deep"])
def test_a_wrong_limit_is_detected(name, method, problem, monkeypatch):
    model, real = MODELS[name], tacit.limit

    def off(model, X, y):
        found = real(model, X, y)
        return replace(found, predictor=found.predictor * (1 + 1e-4))

    def of_another_scale(model, X, y):
        return real(tacit.Diagonal(model.depth, 1.001 * model.scale), X, y)

    for wrong in (off, of_another_scale):
        monkeypatch.setattr(tacit, "limit", wrong)
        assert check(key(model), model, *problem, method=method).holds is False


@pytest.mark.every(3)
@pytest.mark.parametrize("condition", [1e4, 1e6])
@pytest.mark.parametrize("name", ["between", "deep"])
def test_the_distance_due_to_the_residual_is_not_a_violation(name, condition, problem, monkeypatch):
    """With smaller singular values of X, a flow with a given residual is farther from its limit."""
    left, _, right = np.linalg.svd(problem[0], full_matrices=False)
    X = left * np.geomspace(1, 1 / condition, 5) @ right
    y = X @ np.linspace(-1, 1, 12)
    verdict = check(key(MODELS[name]), MODELS[name], X, y)
    bound = verdict.bounds[0]
    assert verdict.holds and bound.at_most == 1e-6
    assert "that fits its outputs (to the one that fits the targets" in bound.text
    real = tacit.limit
    monkeypatch.setattr(tacit, "limit", lambda _, X, y: real(tacit.potentials.Quadratic(), X, y))
    assert check(key(MODELS[name]), MODELS[name], X, y).holds is False


def test_the_theorem_does_not_apply_to_inconsistent_data():
    X, y = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([1.0, 1.0])
    verdict = check("woodworth2020/theorem1", tacit.Diagonal(), X, y)
    assert verdict.holds is None and verdict.bounds == ()
    assert verdict.assumptions[-1].text == "some w has Xw = y (best relative residual: 0.32)"


def test_a_flow_that_stops_early_is_an_unmet_assumption_with_a_reason(problem, monkeypatch):
    real = tacit.flow

    def stalled(*arguments, **options):
        return replace(real(*arguments, **options), converged=False, reason="it met a saddle")

    monkeypatch.setattr(tacit, "flow", stalled)
    verdict = check("woodworth2020/theorem1", tacit.Diagonal(), *problem)
    assert verdict.holds is None and verdict.assumptions[-1].text.endswith("it met a saddle")


@pytest.mark.parametrize(("depth", "log_scale"), [(3, -50.0), (4, -300.0), (10, -7.0), (2.5, -5000.0)])
def test_transitions_that_double_precision_cannot_resolve_are_not_simulated(depth, log_scale, problem):
    verdict = check("woodworth2020/theorem3", tacit.Diagonal(depth, log_scale=log_scale), *problem)
    assert verdict.holds is None and "double precision" in verdict.assumptions[-1].text


@pytest.mark.parametrize("depth", [3, 4, 10])
def test_distance_of_the_slopes_of_the_potential_to_the_ends_of_their_range(depth):
    """1 − h_D⁻¹(β/α^D) in multiprecision arithmetic, for the largest β."""
    model, predictor = tacit.Diagonal(depth, 1e-3), np.array([0.0, -2.0, 0.5])
    exact = 1 - h_inverse(2 / 1e-3**depth, depth)
    assert agreement.suddenness(model, predictor) == pytest.approx(float(exact), rel=1e-2)


def test_zero_targets_are_fitted_at_initialization():
    verdict = check("woodworth2020/theorem1", tacit.Diagonal(scale=0.1), np.ones((2, 3)), np.zeros(2))
    assert verdict.holds and verdict.bounds[0].measured == 0


@pytest.mark.parametrize("method", ["descent", "", None, 3])
def test_other_methods_raise(method, problem):
    with pytest.raises(tacit.InputError, match="method must be 'auto' or 'parameters', got"):
        check("woodworth2020/theorem1", tacit.Diagonal(), *problem, method=method)


def test_limits_that_did_not_converge_are_compared_with_nothing(problem, monkeypatch):
    found = replace(tacit.limit(tacit.Diagonal(), *problem), settled=False)
    monkeypatch.setattr(tacit, "limit", lambda *arguments: found)
    with pytest.raises(tacit.NotConvergedError, match="did not converge"):
        check("woodworth2020/theorem1", tacit.Diagonal(), *problem)
