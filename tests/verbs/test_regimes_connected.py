"""Regimes of neurons: both ends against Section 7.2 and Appendix F of Azulay et al. 2021."""

from itertools import pairwise

import numpy as np
import pytest
from connected_oracles import draw, end_of, final_sign, gap, kernel_end, leaky_targets, weights_of

import tacit
from tacit.verbs.regime import both_ends, other_scales


def test_distances_are_those_to_both_ends():
    """Azulay et al. 2021, Section 7.2, Appendix F: argmin (w̃−w̃(0))ᵀB(w̃−w̃(0)), and minimum norm."""
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


@pytest.mark.parametrize("sign", [1, -1])
def test_the_kernel_end_is_that_of_the_linearized_model_unless_a_kink_is_passed(sign):
    """A linearized leaky neuron fits cₙxₙ·w̃ = yₙ, with c the slopes of σ at initialization."""
    for slope in (1.0, 0.4):
        model, X, y = draw(0.7, 0.5, sign, slope, seed=16)
        sides = np.sign(X @ model.weights)
        stays, passes = np.abs(y) * sides * sign, y
        assert (sides * sign != np.sign(passes)).any()
        for targets, kept in ((stays, True), (passes, slope == 1)):
            kernel = both_ends(tacit.limit(model, X, targets))[0]
            run = tacit.flow(model, X, targets, linearized=True)
            assert (gap(run.predictor[-1], kernel) < 1e-8) == kept
            gates = np.where(sides > 0, 1.0, slope)
            linearized = kernel_end(*weights_of(model), gates[:, None] * X, targets)
            assert gap(run.predictor[-1], linearized) < 1e-8


def test_a_leaky_neuron_of_shape_near_one_ends_at_its_kernel_end_and_not_linearized():
    model, X, y = draw(1.0, 1 - 1e-6, 1, 0.4, seed=16)
    assert (np.sign(X @ model.weights) != np.sign(y)).any()
    found = tacit.limit(model, X, y)
    assert gap(found.predictor, end_of(model, X, y)) < 1e-10
    assert gap(both_ends(found)[0], found.predictor) < 1e-5
    assert gap(tacit.flow(model, X, y, linearized=True).predictor[-1], found.predictor) > 0.1


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
    if slope == 1:  # passing a kink changes the kernel of a leaky neuron in any case
        assert found.kernel_distance < 1e-6


def test_in_between_is_intermediate():
    """At a large scale with fixed targets, the predictor moves as far as its own size: neither end."""
    model, X, y = draw(1e3, 0.0, 1, 1.0, seed=24)
    end, kernel = end_of(model, X, y), kernel_end(*weights_of(model), X, y)
    assert min(gap(end, kernel), gap(end, np.linalg.pinv(X) @ y)) > 0.1
    assert tacit.regime(model, X, y) == "intermediate"


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_the_kernel_of_an_orthogonal_network_turns_as_its_group_says(outputs, size):
    """From orthonormal U₁ and V the flow keeps (U₁ V)ᵀ in O(r, m), so that V Vᵀ ends at √(I + ΘᵀΘ).

    Likewise Φ₁ᵀUUᵀΦ₁ at √(I + Φ₁ᵀΘΘᵀΦ₁), Θ the solution of least norm; X depends on no other part of U Uᵀ.
    """
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((4, 7)), size * rng.standard_normal((4, outputs))
    model = tacit.LinearNetwork.orthogonal(X, 12, outputs)
    found = tacit.regime(model, X, Y if outputs > 1 else Y[:, 0])
    basis = np.linalg.svd(X, full_matrices=False)[2].T
    seen = basis.T @ np.linalg.pinv(X) @ Y
    hidden, outer = (_root(np.eye(len(A)) + A @ A.T) for A in (seen, seen.T))
    inputs = X @ basis
    first = np.kron(X @ X.T, np.eye(outputs)) + np.kron(inputs @ inputs.T, np.eye(outputs))
    last = np.kron(X @ X.T, outer) + np.kron(inputs @ hidden @ inputs.T, np.eye(outputs))
    cosine = np.sum(first * last) / np.linalg.norm(first) / np.linalg.norm(last)
    assert found.kernel_distance == pytest.approx(1 - cosine, rel=1e-4, abs=1e-10)
    assert max(found.distance_to_kernel, found.distance_to_rich) < 1e-12
    assert found == ("kernel" if 1 - cosine < 0.1 else "anti-kernel")


def _root(A):
    levels, turn = np.linalg.eigh(A)
    return (turn * np.sqrt(levels)) @ turn.T


def test_the_picture_measures_every_scale_against_its_own_ends():
    """The kernel end of a neuron depends on its initialization."""
    model, X, y = draw(1.0, 0.9, 1, 1.0, seed=17)
    found = tacit.limit(model, X, y)
    shown = other_scales(found)
    for i in range(0, len(shown.factors), 4):
        factor = np.sqrt(shown.factors[i])
        other = tacit.regime(tacit.Neuron(factor * model.output, factor * model.weights), X, y)
        assert shown.to_kernel[i] == pytest.approx(other.distance_to_kernel, abs=1e-12)
        assert shown.to_rich[i] == pytest.approx(other.distance_to_rich, abs=1e-12)
