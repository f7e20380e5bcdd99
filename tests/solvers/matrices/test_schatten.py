"""Minimizers of potentials of the spectrum under general measurements."""

import numpy as np
import pytest
from matrix_oracles import commuting, many_digits_schatten
from scipy.linalg import null_space
from scipy.optimize import minimize

import tacit
from tacit.potentials import DeepHypentropy, Entropy, Hypentropy, Quadratic, Spectral

MU = [1e-6, 1e-3, 1e-1, 1.0, 1e2]


def problem(d1, d2, samples, rank, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d1, d2))
    M = rng.standard_normal((d1, rank)) @ rng.standard_normal((rank, d2))
    return X, np.einsum("nij,ij->n", X, M)


def certified(found, X, y, log_scale):
    """Check ∇Q(M) = Σ ν_n X_n and the measurements, from the gradient at M alone."""
    P, s, R = np.linalg.svd(np.tensordot(found.dual, X, 1), full_matrices=False)
    right = (P * (np.exp(s + log_scale) - np.exp(log_scale - s))) @ R
    size = np.linalg.norm(found.predictor)
    assert np.linalg.norm(right - found.predictor) <= 1e-10 * size
    left = np.einsum("nij,ij->n", X, found.predictor) - y
    assert np.linalg.norm(left) <= 1e-12 * np.linalg.norm(y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mu", MU)
def test_thirty_random_problems(seed, mu):
    d1, d2, samples = [(4, 4, 6), (3, 6, 10), (6, 3, 12), (5, 5, 20), (4, 4, 15), (2, 7, 3)][seed]
    X, y = problem(d1, d2, samples, 1 + seed % 2, seed)
    found = tacit.limit(Spectral(Hypentropy(2 * np.log(mu))), X, y)
    assert found.converged and found.error <= 1e-12, found.reason
    certified(found, X, y, 2 * np.log(mu))


@pytest.mark.parametrize("mu", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2)])
def test_forty_digits(shape, mu):
    X, y = problem(*shape, 3, 1, 7)
    found = tacit.limit(Spectral(Hypentropy(2 * np.log(mu))), X, y)
    right = many_digits_schatten(X, y, np.exp(2 * np.log(mu)), found.dual)
    distance = np.linalg.norm(found.predictor - right) / np.linalg.norm(right)
    assert distance <= 1e-12 and distance <= 10 * found.error + 1e-16


@pytest.mark.parametrize("q", [Hypentropy(-3.0), DeepHypentropy(3, -2.0)], ids=["2", "3"])
def test_plain_minimization_over_the_solutions(q):
    """BFGS in the null space of the measurements, with an independent formula for the value."""
    X, y = problem(3, 4, 8, 2, 1)
    A = X.reshape(8, -1)
    first, free = np.linalg.pinv(A) @ y, null_space(A)

    def value(t):
        return float(q.value(np.linalg.svd((first + free @ t).reshape(3, 4), compute_uv=False)))

    right = minimize(value, np.zeros(free.shape[1]), method="BFGS", options={"gtol": 1e-9})
    found = tacit.limit(Spectral(q), X, y)
    assert found.converged and found.value <= right.fun * (1 + 1e-12)
    np.testing.assert_allclose(found.predictor.ravel(), first + free @ right.x, atol=1e-5)


def test_symmetric_matrices_with_any_measurements():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((5, 4, 4))
    X = X + X.transpose(0, 2, 1)
    W = rng.standard_normal((4, 2))
    y = np.einsum("nij,ij->n", X, W @ W.T)
    for level in (1e-8, 1.0):
        found = tacit.limit(Spectral(Entropy(np.log(level)), eigenvalues=True), X, y)
        values, vectors = np.linalg.eigh(np.tensordot(found.dual, X, 1))
        right = (vectors * (level * np.exp(values))) @ vectors.T
        assert found.converged
        np.testing.assert_allclose(found.predictor, right, atol=1e-11 * np.abs(right).max())


def test_turned_transposed_and_scaled_problems():
    X, y = problem(4, 3, 7, 1, 2)
    rng = np.random.default_rng(9)
    P, R = (np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (4, 3))
    M = tacit.limit(Spectral(Hypentropy(-6.0)), X, y).predictor
    np.testing.assert_allclose(
        tacit.limit(Spectral(Hypentropy(-6.0)), P @ X @ R, y).predictor, P @ M @ R, atol=1e-12
    )
    np.testing.assert_allclose(
        tacit.limit(Spectral(Hypentropy(-6.0)), X.transpose(0, 2, 1), y).predictor, M.T, atol=1e-12
    )
    scaled = tacit.limit(Spectral(Hypentropy(-6.0 + np.log(1e5))), X, 1e5 * y)
    np.testing.assert_allclose(scaled.predictor, 1e5 * M, rtol=0, atol=1e-6)


def test_ends_of_the_scale():
    X, y = problem(4, 4, 12, 1, 3)
    least = (np.linalg.pinv(X.reshape(12, -1)) @ y).reshape(4, 4)
    np.testing.assert_allclose(tacit.limit(Spectral(Quadratic()), X, y).predictor, least, atol=1e-12)
    large, small = (tacit.limit(Spectral(Hypentropy(level)), X, y) for level in (20.0, -60.0))
    np.testing.assert_allclose(large.predictor, least, atol=1e-12)
    nuclear = tacit.limit(tacit.potentials.Nuclear(), X, y)
    assert large.regime == "kernel" and small.regime == "rich" and nuclear.regime == "rich"
    assert large.regime.kernel_distance < 1e-12 < small.regime.kernel_distance
    assert small.regime.distance_to_rich == pytest.approx(
        np.linalg.norm(small.predictor - nuclear.predictor) / np.linalg.norm(small.predictor), rel=0.1
    )


def test_measurements_that_repeat_or_see_nothing():
    X, y = problem(3, 3, 4, 1, 5)
    Q = Spectral(Hypentropy(-4.0))
    M = tacit.limit(Q, X, y).predictor
    more = np.concatenate([X, X[:1] + X[1:2], np.zeros((1, 3, 3))])
    again = tacit.limit(Q, more, [*y, y[0] + y[1], 0.0])
    assert again.rank == 4 and again.converged
    np.testing.assert_allclose(again.predictor, M, atol=1e-12)
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(Q, more, [*y, y[0] + y[1] + 1, 0.0])
    fitted = tacit.limit(Q, more, [*y, y[0] + y[1] + 1, 0.0], least_squares=True)
    assert fitted.converged and 0 < fitted.unfitted < 1
    nothing = tacit.limit(Q, np.zeros((2, 3, 3)), [0.0, 0.0])
    assert nothing.converged and not nothing.predictor.any()


def test_certificates_of_other_matrices():
    X, y = commuting(4, 3, 2, 0)
    Q = Spectral(Hypentropy(-4.0))
    M = tacit.limit(Q, X, y).predictor
    assert tacit.certify(Q, X, y, M).holds
    free = null_space(X.reshape(2, -1))[:, 0].reshape(4, 3)
    off = tacit.certify(Q, X, y, M + 1e-3 * free)
    assert not off.holds and off.feasibility < 1e-12 and off.stationarity > 1e-6
    assert off.error == pytest.approx(1e-3 / np.linalg.norm(M), rel=0.5)
    assert not tacit.certify(Q, X, y, 1.01 * M).holds
