"""Regimes of diagonal networks: both ends against theory."""

import numpy as np
import pytest
from oracles import gaussian_problem
from scipy.optimize import linprog

import tacit


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(10, 40, nonzero=2, noise=0.05, seed=1)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (tacit.Diagonal(2, log_scale=-200.0), tacit.Diagonal(2, 100.0)),
        (tacit.Diagonal(4, 1e-5), tacit.Diagonal(4, 10.0)),
        (tacit.UntiedDiagonal(1e-100, 0.5), tacit.UntiedDiagonal(1e4, 0.5)),
        (tacit.UntiedDiagonal(1e-100, 0.5), tacit.UntiedDiagonal(1e-2, 1 - 1e-9)),
    ],
)
def test_small_scales_are_rich_and_large_ones_kernel(problem, small, large):
    rich, kernel = tacit.regime(small, *problem), tacit.regime(large, *problem)
    assert rich == "rich"
    assert kernel == "kernel"
    assert rich.distance_to_rich < 0.02 < 0.3 < rich.distance_to_kernel
    assert kernel.distance_to_kernel < 1e-5 < 0.3 < kernel.distance_to_rich
    assert kernel.kernel_distance < 1e-6 < 0.05 < rich.kernel_distance


def test_distances_are_those_to_the_two_solutions(problem):
    X, y = problem
    w = tacit.limit(tacit.Diagonal(2, 0.1), X, y).predictor
    kernel = np.linalg.pinv(X) @ y
    program = linprog(np.ones(80), A_eq=np.hstack([X, -X]), b_eq=y)
    rich = program.x[:40] - program.x[40:]
    found = tacit.regime(tacit.Diagonal(2, 0.1), X, y)
    for end, distance in ((kernel, found.distance_to_kernel), (rich, found.distance_to_rich)):
        expected = np.linalg.norm(w - end) / max(np.linalg.norm(w), np.linalg.norm(end))
        assert distance == pytest.approx(expected, rel=1e-6)
    assert found == "intermediate"


def test_the_kernel_end_of_a_profile_is_the_weighted_norm(problem):
    """Woodworth et al. 2020, equation 6: Σ β²/w₀² at depth 2; at larger depths, the metric w₀^(2D−2)."""
    X, y = problem
    profile = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    for depth in (2, 3):
        metric = profile ** (2 * depth - 2.0)
        expected = metric * (X.T @ np.linalg.solve((X * metric) @ X.T, y))
        found = tacit.limit(tacit.Diagonal(depth, 1e3, profile=profile), X, y)
        np.testing.assert_allclose(found.predictor, expected, atol=1e-9)
        assert found.regime.distance_to_kernel < 1e-8


def test_kernel_distance_is_the_angle_between_tangent_kernels(problem):
    """At depth 2 the tangent metric is 4√(β² + 4m²), from the raw weights w±² = (√(β²+4m²) ± β)/2."""
    X, y = problem
    alpha = 0.3
    result = tacit.limit(tacit.Diagonal(2, alpha), X, y)
    root = np.hypot(result.predictor, 2 * alpha**2)
    plus, minus = (root + result.predictor) / 2, (root - result.predictor) / 2
    first, last = 8 * alpha**2 * X @ X.T, (X * (4 * plus + 4 * minus)) @ X.T
    cosine = np.sum(first * last) / np.linalg.norm(first) / np.linalg.norm(last)
    assert result.regime.kernel_distance == pytest.approx(1 - cosine, rel=1e-8)


def test_a_biased_start_moves_to_the_nearest_solution_in_the_tangent_metric(problem):
    X, y = problem
    weights = [1e3 * w for w in np.random.default_rng(2).standard_normal((4, 40))]
    model = tacit.UntiedDiagonal.from_weights(*weights)
    start, metric = model.predictor(), sum(w**2 for w in weights)
    move = metric * (X.T @ np.linalg.solve((X * metric) @ X.T, 1e-3 * y))
    found = tacit.limit(model, X, X @ start + 1e-3 * y).predictor
    np.testing.assert_allclose(found - start, move, rtol=1e-5, atol=1e-8)


def test_one_solution_means_both_ends_coincide():
    X, y = gaussian_problem(6, 6, nonzero=2, seed=0)
    found = tacit.regime(tacit.Diagonal(2, 10.0), X, y)
    assert max(found.distance_to_kernel, found.distance_to_rich) < 1e-9
    assert found == "kernel"
    assert tacit.regime(tacit.Diagonal(2, 1e-4), X, y) == "rich"
    assert "both ends are this solution; the tangent kernel turns little" in found.summary()
