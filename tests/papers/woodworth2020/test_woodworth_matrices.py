"""Figures of matrix factorizations: comparison with raw flows, and claims that fail for wrong software."""

import math

import numpy as np
import pytest
from figure_claims import failing, judged
from scipy.integrate import solve_ivp

import tacit
from tacit.papers import figures
from tacit.papers.woodworth2020 import figure5 as figure5_completion
from tacit.papers.woodworth2020 import figure_theorem4 as commuting
from tacit.papers.woodworth2020 import lifted as schatten
from tacit.papers.woodworth2020.lifted import completion
from tacit.papers.woodworth2020.theorem4 import commutator

SMALL = {
    "fig5": {"size": 4, "observed": 12, "scales": 6, "widths": 3, "narrowest": 8, "levels": 11, "starts": 2},
    "theorem4": {"size": 3, "samples": 2, "levels": [0.1], "widths": [300, 3000], "draws": 2, "path": 2},
    "theorem9": {"size": 2, "observed": 3, "levels": 6, "widths": [10_000], "instants": 21},
    "commuting": {
        "size": 3,
        "samples": 2,
        "mixtures": [0.0, 1e-3, 0.01, 0.1, 1.0],
        "levels": 5,
        "lowest": -2.0,
        "draws": 1,
    },
}
FLOW, LIMIT = tacit.flow, tacit.limit


def judge(name, seed=0):
    (entry,) = figures(f"woodworth2020/{name}")
    return judged(entry, seed, SMALL[name])


def raw_end(model, X, y, time):
    """UVᵀ after a long time on Σ(f − y)², with all weights, by a general integrator."""
    start = np.stack([model.left, model.right])

    def velocity(_, state):
        U, V = state.reshape(start.shape)
        pull = 2 * np.tensordot(y - np.einsum("nij,ik,jk->n", X, U, V), X, 1)
        return np.stack([pull @ V, pull.T @ U]).ravel()

    last = solve_ivp(velocity, (0, time), start.ravel(), "DOP853", rtol=1e-8, atol=1e-10).y[:, -1]
    U, V = last.reshape(start.shape)
    return U @ V.T


@pytest.mark.parametrize(("width", "level"), [(4, 0.1), (20, 0.05), (60, 30.0)])
def test_figure_5_equals_the_limits_of_raw_flows(width, level):
    problem = completion(4, 12, 1)
    model = tacit.Factorization.gaussian((4, 4), width, math.sqrt(level / width), seed=2)
    excess, moved, start = figure5_completion._outcome(problem, model)
    first, end = model.left @ model.right.T, raw_end(model, problem.X, problem.y, 30 / level)
    hidden = ~problem.seen
    assert excess == pytest.approx(np.linalg.svd(end)[1].sum() - problem.norm, abs=2e-3 * problem.norm)
    assert moved == pytest.approx(np.sqrt(np.mean((end - first)[hidden] ** 2)), rel=2e-3)
    assert start == pytest.approx(np.sqrt(np.mean(first[hidden] ** 2)))


def test_a_completion_has_rank_1_and_observes_every_row_and_column():
    for seed in range(20):
        problem = completion(5, 9, seed)
        assert problem.norm == pytest.approx(np.linalg.svd(problem.truth)[1].sum())
        assert problem.seen.any(axis=0).all() and problem.seen.any(axis=1).all() and problem.seen.sum() == 9
        np.testing.assert_array_equal(np.einsum("nij,ij->n", problem.X, problem.truth), problem.y)
        assert problem.excess(problem.truth) == pytest.approx(0, abs=1e-12)


def test_mixtures_range_from_commuting_to_generic():
    X, _ = commuting.mixed(4, 3, 0.0, seed=3, draw=0)
    assert commutator(X) < 1e-14
    spreads = [commutator(commuting.mixed(4, 3, s, seed=3, draw=0)[0]) for s in (0.01, 0.1, 1.0)]
    assert 0 < spreads[0] < spreads[1] < spreads[2]
    np.testing.assert_allclose(np.linalg.norm(commuting.mixed(4, 3, 1.0, 3, 0)[0], axis=(1, 2)), 1)


def test_the_minimizer_equals_that_of_the_vector_problem():
    """By Theorem 4 the eigenvalues are the limit of a diagonal network with scale μ², 2μ² = α²k."""
    X, y = schatten.commuting(4, 2, seed=5)
    frame = np.linalg.eigh(np.tensordot([0.7, 0.4], X, 1))[1]
    values = np.einsum("ia,nij,ja->na", frame, X, frame)
    for level in (1e-4, 1.0, 50.0):
        vector = LIMIT(tacit.Diagonal(2, math.sqrt(level / 2)), values, y).predictor
        matrix = (frame * vector) @ frame.T
        np.testing.assert_allclose(schatten.predicted(X, y, level), matrix, atol=1e-9 * np.abs(matrix).max())


def kernel_flow(model, X, y, **options):
    """A wrong flow: the linearized one."""
    return FLOW(model, X, y, **{**options, "linearized": True})


def other_scale(model, X, y, **options):
    """A wrong flow: from weights half as large."""
    return FLOW(tacit.Factorization(model.left / 2, model.right / 2), X, y, **options)


def least_squares(potential, X, y, **options):
    """A wrong limit: the minimum Frobenius norm."""
    flat = LIMIT(tacit.potentials.Quadratic(), np.reshape(X, (len(X), -1)), y)
    object.__setattr__(flat, "predictor", flat.predictor.reshape(np.shape(X)[1:]))
    return flat


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "verb", "wrong"),
    [
        ("fig5", "flow", kernel_flow),
        ("fig5", "limit", least_squares),
        ("theorem4", "flow", kernel_flow),
        ("theorem4", "flow", other_scale),
        ("theorem4", "limit", least_squares),
        ("theorem9", "flow", kernel_flow),
        ("commuting", "flow", kernel_flow),
        ("commuting", "flow", other_scale),
        ("commuting", "limit", least_squares),
    ],
)
def test_claims_fail_for_wrong_software(monkeypatch, name, verb, wrong):
    right = failing(judge(name))
    monkeypatch.setattr(tacit, verb, wrong)
    assert set(failing(judge(name))) - set(right)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["theorem9", "theorem4"])
def test_claims_hold_for_other_draws(name):
    (entry,) = figures(f"woodworth2020/{name}")
    assert failing(judged(entry, 11)) == []


def test_the_gap_of_a_flow_is_its_distance_from_a_matrix_and_nan_without_a_fit():
    X, y = np.array([np.eye(2), np.diag([1.0, -1.0])]), np.array([1.0, 0.5])
    start = tacit.Factorization.gaussian((2, 2), 20, 0.1)
    end = tacit.flow(start, X, y, method="parameters").predictor[-1]
    assert schatten.gap(start, X, y, end) < 1e-5
    assert schatten.gap(start, X, y, 2 * end) == pytest.approx(0.5, rel=1e-5)
    assert math.isnan(schatten.gap(start, X[[0, 0]], y, end))
