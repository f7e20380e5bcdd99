"""Errata of Woodworth et al. 2020 about matrices: printed forms fail, corrected ones hold."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit


def slope_of(function, at, step=1e-6):
    """The gradient, by central differences."""
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    )


def raw_end(U, V, X, y, time, rtol=1e-9):
    """UVᵀ after this time on ‖f − y‖², by a general integrator."""
    start = np.stack([U, V])

    def velocity(_, state):
        U, V = state.reshape(start.shape)
        pull = 2 * np.tensordot(y - np.einsum("nij,ik,jk->n", X, U, V), X, 1)
        return np.stack([pull @ V, pull.T @ U]).ravel()

    last = solve_ivp(velocity, (0, time), start.ravel(), "DOP853", rtol=rtol, atol=1e-12).y[:, -1]
    U, V = last.reshape(start.shape)
    assert np.abs(np.einsum("nij,ik,jk->n", X, U, V) - y).max() < 1e-5
    return U @ V.T


def exact_start(size, level):
    """U and V with [U; V][U; V]ᵀ = level·I."""
    return np.split(math.sqrt(level) * np.eye(2 * size), 2)


def lifted(X):
    """½[[0, X], [Xᵀ, 0]]."""
    zero = np.zeros_like(X)
    return np.block([[zero, X], [X.transpose(0, 2, 1), zero]]) / 2


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def schatten(X, y, level):
    """argmin of Q_μ on spectra, 2μ² = level."""
    return tacit.limit(
        tacit.potentials.Spectral(tacit.potentials.Hypentropy(math.log(level / 2))), X, y
    ).predictor


def test_the_lifted_flow_has_a_minus_and_a_two():
    """M = WWᵀ moves by −2(∇L M + M ∇L) under W' = −∇L(WWᵀ), not by ∇L M + M ∇L."""
    rng = np.random.default_rng(0)
    W, A, b = rng.standard_normal((3, 4)), rng.standard_normal((2, 3, 3)), rng.standard_normal(2)
    A = A + A.transpose(0, 2, 1)

    def loss(w):
        M = w.reshape(3, -1) @ w.reshape(3, -1).T
        return np.sum((np.einsum("nij,ij->n", A, M) - b) ** 2)

    move, M = -slope_of(loss, W.ravel()).reshape(W.shape), W @ W.T
    change = move @ W.T + W @ move.T
    gradient = np.tensordot(2 * (np.einsum("nij,ij->n", A, M) - b), A, 1)
    printed = gradient @ M + M @ gradient
    assert relative(-2 * printed, change) < 1e-6 and relative(printed, change) > 1


@pytest.mark.parametrize("level", [0.3, 1.0])
def test_the_scale_of_theorem_4_is_half_of_the_lifted_matrix(level):
    """[U; V][U; V]ᵀ = α²k·I ends at the minimizer of Q_μ with 2μ² = α²k; with μ² = α²k the minimizer
    differs."""
    rng = np.random.default_rng(1)
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    X = np.einsum("ia,na,ja->nij", frame, rng.standard_normal((2, 3)), frame)
    y = rng.standard_normal(2)
    end = raw_end(*exact_start(3, level), X, y, 60 / level)
    assert relative(end, schatten(X, y, level)) < 1e-5
    assert relative(end, schatten(X, y, 2 * level)) > 1e-2


def test_measurements_of_theorem_4_must_commute_when_lifted():
    """I and a cyclic shift P commute, but I·Pᵀ is not symmetric, and the flow ends 6% from the minimizer."""
    shift = np.roll(np.eye(3), 1, axis=1)
    X, y, level = np.array([np.eye(3), shift]), np.array([1.0, -0.5]), 0.05
    L = lifted(X)
    assert np.abs(L[0] @ L[1] - L[1] @ L[0]).max() == 0.25
    assert 0.05 < relative(raw_end(*exact_start(3, level), X, y, 150), schatten(X, y, level)) < 0.07
    symmetric = np.array([np.eye(3), shift + shift.T])  # these commute when lifted, too
    end = raw_end(*exact_start(3, level), symmetric, y, 150)
    assert relative(end, schatten(symmetric, y, level)) < 1e-5


def test_the_lifted_gram_matrix_is_half_of_that_of_the_measurements():
    """Corollary 10 names λ and Λ of the X_n; Theorem 9 is applied to X̄_n, which have half of them."""
    X = np.random.default_rng(0).standard_normal((3, 2, 4))
    L = np.array([np.block([[np.zeros((2, 2)), x], [x.T, np.zeros((4, 4))]]) for x in X]) / 2
    flat, larger = X.reshape(3, -1), L.reshape(3, -1)
    np.testing.assert_allclose(larger @ larger.T, flat @ flat.T / 2)


def test_equation_89_has_the_wrong_dimension():
    """‖y(0)‖² ≤ 128kd²α⁴Λ; the printed 128kd³α⁴Λ² has another degree in the X_n and fails for small Λ."""
    rng, size, width = np.random.default_rng(0), 2, 10
    U, V = rng.standard_normal((2, size, width))
    assert np.linalg.norm(np.vstack([U, V]) @ np.vstack([U, V]).T - width * np.eye(4), 2) < 8 * math.sqrt(
        4 * width
    )
    for factor in (1e-4, 1.0, 1e4):
        X = factor * rng.standard_normal((3, size, size))
        outputs = np.einsum("nij,ik,jk->n", X, U, V)
        high = np.linalg.norm(X.reshape(3, -1), 2) ** 2
        assert 2 * np.sum(outputs**2) <= 256 * width * size**2 * high
        if factor < 1:
            assert 2 * np.sum(outputs**2) > 256 * width * size**3 * high**2


def test_equation_94_is_upside_down_in_its_third_term():
    """The condition of (97), α²λk/(√Λ(4+16Λ/λ)) ≥ 2Y, holds if and only if k ≥ 8Y√Λ(λ+4Λ)/(α²λ²)."""
    low, high, size, alpha = 0.3, 0.7, 50.0, 0.01

    def left(k):
        return alpha**2 * low * k / (math.sqrt(high) * (4 + 16 * high / low))

    printed = size / (2 * alpha**2 * math.sqrt(high) * (low + 4 * high))
    needed = 8 * size * math.sqrt(high) * (low + 4 * high) / (alpha * low) ** 2
    assert left(needed) == pytest.approx(2 * size) and left(printed) < 0.01 * size


def test_the_second_bound_of_theorem_9_exceeds_the_first():
    """For all λ, Λ, μ, γ and r, the bound is too large to distinguish W following its tangent flow from W at
    rest."""
    rng = np.random.default_rng(0)
    for low, ratio, mu, spread, r in 10 ** rng.uniform(-3, 3, (2000, 5)):
        high, gamma = low * (1 + ratio), mu * spread
        first = math.sqrt(high + low / 4) * r / (low * math.sqrt(mu))
        second = high * math.sqrt(1 + low / (4 * high)) * r**2 / (low**2 * mu**1.5)
        second += 2 * math.sqrt(high) * math.sqrt(1 + gamma / mu) * r / (low * math.sqrt(mu))
        assert second > 1.7 * first


def test_the_kernel_regime_needs_a_scale_above_the_root_of_one_over_the_width():
    """After Corollary 10: σ = α²√k above 1/√k means α above k^(−1/2); at α = k^(−3/4) it is below."""
    for k in (1e4, 1e8):
        assert k**-0.75 > 1 / k and (k**-0.75) ** 2 * math.sqrt(k) < 1 / math.sqrt(k)
        assert (k**-0.49) ** 2 * math.sqrt(k) > 1 / math.sqrt(k)


class TestFigure5:
    def completion(self, seed, size=6, observed=24):
        """The matrix of rank 1 in the figure, and its observed entries."""
        rng = np.random.default_rng(seed)
        truth = np.outer(*rng.standard_normal((2, size)))
        seen = (rng.permutation(size**2) < observed).reshape(size, size)
        X = np.zeros((observed, size**2))
        X[np.arange(observed), np.flatnonzero(seen)] = 1
        return truth, seen, X.reshape(-1, size, size)

    def test_the_rich_end_is_the_matrix_of_rank_1_and_not_the_least_nuclear_norm(self):
        """Here the minimum nuclear norm is 8% below that of Y*; smaller scales lead to Y* instead."""
        truth, seen, X = self.completion(2)
        y, true = truth[seen], np.linalg.norm(truth)
        least = np.linalg.norm(tacit.limit(tacit.potentials.Nuclear(), X, y).predictor, "nuc")
        assert least < 0.93 * true
        norms, distances = [], []
        for level in (1e-2, 1e-4, 1e-6):
            model = tacit.Factorization(*exact_start(6, level))
            flow = tacit.flow(model, X, y, at=[-2 * math.log(1e-6)], rtol=1e-6)
            norms.append(np.linalg.norm(flow.predictor[-1], "nuc"))
            distances.append(relative(flow.predictor[-1], truth))
        assert norms[0] < 1.02 * least and 1.04 * least < norms[1] < norms[2]
        assert distances[0] > 2 * distances[2] and distances[2] < 0.15

    def test_unobserved_entries_move_by_three_terms(self):
        """At large α²k by c·α²k/k, at moderate ones by c·k^(−1/2): Corollary 10's terms, times ‖W‖."""
        truth, seen, X = self.completion(0)
        y = truth[seen]

        def moved(width, level):
            found = []
            for draw in range(3):
                W = np.random.default_rng([width, draw]).standard_normal((12, width)) * math.sqrt(
                    level / width
                )
                model = tacit.Factorization(W[:6], W[6:])
                flow = tacit.flow(model, X, y, until=14, rtol=1e-7)
                found.append(np.mean((flow.predictor[-1] - W[:6] @ W[6:].T)[~seen] ** 2))
            return math.sqrt(np.mean(found))

        far, farther, wider = moved(400, 1e4), moved(400, 1e5), moved(6400, 1e4)
        assert farther / far == pytest.approx(10, rel=0.05)
        assert wider / far == pytest.approx(1 / 16, rel=0.6)
        floor, wide_floor = moved(400, 10.0), moved(6400, 10.0)
        assert wide_floor / floor == pytest.approx(1 / 4, rel=0.6)
        assert floor < 0.1 * far
