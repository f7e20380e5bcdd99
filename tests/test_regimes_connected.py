"""Regimes of neurons: both ends are where Section 7.2 and Appendix F of Azulay et al. 2021 put them."""

from itertools import pairwise

import numpy as np
import pytest
from connected_oracles import draw, end_of, final_sign, gap, kernel_end, leaky_targets, weights_of

import tacit


def test_distances_are_those_to_both_ends():
    """Azulay et al. 2021, Section 7.2 and Appendix F: argmin (w̃−w̃(0))ᵀB(w̃−w̃(0)), and the smallest."""
    for slope, sign in ((1.0, 1), (1.0, -1), (0.4, 1), (0.4, -1)):
        model, X, y = draw(0.7, 0.2, sign, slope, seed=16)
        t, u, s = leaky_targets(y, slope, sign), model.weights, model.shape
        u = u / np.linalg.norm(u)
        B = np.eye(7) - (1 - s) ** 2 / (2 * (1 + s * s)) * np.outer(u, u)
        start, inverse = model.predictor(), np.linalg.inv(B)
        kernel = start + inverse @ X.T @ np.linalg.solve(X @ inverse @ X.T, t - X @ start)
        assert gap(kernel, kernel_end(*weights_of(model), X, t)) < 1e-12
        end, found = end_of(model, X, y), tacit.regime(model, X, y)
        pairs = ((kernel, found.distance_to_kernel), (np.linalg.pinv(X) @ t, found.distance_to_rich))
        for other, distance in pairs:
            expected = np.linalg.norm(end - other) / max(map(np.linalg.norm, (end, other)))
            assert distance == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("slope", [1.0, 0.4])
@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.5])
def test_small_scales_are_anti_kernel(shape, slope):
    distances = []
    for scale in (1e-2, 1e-4, 1e-6, 1e-8):
        for seed in range(60, 70):
            model, X, y = draw(scale, shape, 1, slope, seed)
            if final_sign(*weights_of(model), slope, X, y) == 1:
                break
        distances.append(tacit.regime(model, X, y).distance_to_rich)
    assert all(later < 0.3 * former for former, later in pairwise(distances))
    found = tacit.regime(model, X, y)
    assert found == "anti-kernel" and distances[-1] < 1e-3
    assert "anti-kernel" in found.summary() and "ℓ1" not in found.summary()


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.5])
def test_large_scales_are_kernel_where_the_change_asked_for_stays(shape):
    distances = []
    for scale in (1.0, 1e2, 1e4, 1e6):
        model, X, y = draw(scale, shape, 1, 1.0, seed=17)
        distances.append(tacit.regime(model, X, X @ model.predictor() + y).distance_to_kernel)
    assert all(later < 0.01 * former for former, later in pairwise(distances))
    assert tacit.regime(model, X, X @ model.predictor() + y) == "kernel"


@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_shapes_near_one_are_kernel(slope):
    distances = []
    for shape in (0.5, 0.9, 0.99, 0.999, 0.9999):
        model, X, y = draw(1.0, shape, -1, slope, seed=18)
        found = tacit.regime(model, X, y)
        distances.append(found.distance_to_kernel)
    assert all(later < 0.1 * former for former, later in pairwise(distances))
    assert found == "kernel" and found.distance_to_rich > 0.1
    if slope == 1:  # a kink passed turns the kernel of a leaky neuron all the same
        assert found.kernel_distance < 1e-6


def test_in_between_is_intermediate():
    """At a large scale with fixed targets the flow is neither: its path is as long as its start."""
    model, X, y = draw(1e3, 0.0, 1, 1.0, seed=24)
    end, kernel = end_of(model, X, y), kernel_end(*weights_of(model), X, y)
    assert min(gap(end, kernel), gap(end, np.linalg.pinv(X) @ y)) > 0.1
    assert tacit.regime(model, X, y) == "intermediate"
