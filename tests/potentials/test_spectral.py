"""Potentials of matrices, compared with high-precision arithmetic."""

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.potentials import (
    L1,
    Bregman,
    DeepHypentropy,
    Entropy,
    Hypentropy,
    Nuclear,
    Power,
    Quadratic,
    Spectral,
    WeightDistance,
)

SCALES = [-28.0, -5.0, 0.0, 9.0]


def orthogonal(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def with_values(values, shape, seed=0):
    k = len(values)
    return (orthogonal(shape[0], seed)[:, :k] * values) @ orthogonal(shape[1], seed + 1)[:, :k].T


def exact(M, m, part):
    """Value, gradient (or mirror) of the hypentropy of singular values, in 50 digits."""
    P, s, R = mp.svd_r(mp.matrix(M.tolist()))
    if part == "value":
        return float(sum(m * (2 - mp.sqrt(4 + (x / m) ** 2)) + x * mp.asinh(x / m / 2) for x in s))
    f = (lambda x: mp.asinh(x / m / 2)) if part == "gradient" else (lambda z: 2 * m * mp.sinh(z))
    return np.array((P * mp.diag([f(x) for x in s]) * R).tolist(), dtype=float)


@pytest.mark.parametrize("log_scale", SCALES)
@pytest.mark.parametrize("values", [[3.0, 1.0], [1.0 + 1e-9, 1.0], [5.0, 1e-3], [2.0, 2.0]])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 4)])
def test_fifty_digits(shape, values, log_scale):
    Q, M = Spectral(Hypentropy(log_scale)), with_values(values, shape)
    with mp.workdps(50):
        m = mp.exp(mp.mpf(log_scale))
        assert Q.value(M) == pytest.approx(exact(M, m, "value"), rel=1e-12)
        for part, argument in (("gradient", M), ("mirror", M / np.linalg.norm(M))):
            right = exact(argument, m, part)
            np.testing.assert_allclose(
                getattr(Q, part)(argument), right, rtol=0, atol=1e-12 * np.abs(right).max()
            )


@pytest.mark.parametrize("values", [[3.0, 1.0], [1.0 + 1e-9, 1.0], [2.0, 2.0], [5.0, 1e-6]])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_the_hessian_is_the_derivative_of_the_gradient(shape, values):
    """By differences in 50 digits, for close singular values, too."""
    Q, M = Spectral(Hypentropy(-3.0)), with_values(values, shape, 4)
    D = np.random.default_rng(3).standard_normal(shape)
    with mp.workdps(60):
        m, h = mp.exp(mp.mpf(-3.0)), mp.mpf(10) ** -20
        ends = []
        for sign in (1, -1):
            P, s, R = mp.svd_r(mp.matrix(M.tolist()) + sign * h * mp.matrix(D.tolist()))
            ends.append(P * mp.diag([mp.asinh(x / m / 2) for x in s]) * R)
        right = np.array(((ends[0] - ends[1]) / (2 * h)).tolist(), dtype=float)
    found = (Q.hessian(M) @ D.ravel()).reshape(shape)
    np.testing.assert_allclose(found, right, atol=1e-11 * np.abs(right).max())


POTENTIALS = [Hypentropy(-4.0), DeepHypentropy(3, -2.0), WeightDistance(0.0), Quadratic(2.0)]


@pytest.mark.parametrize("q", POTENTIALS, ids=lambda q: type(q).__name__)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5)])
def test_turned_matrices_have_turned_gradients(shape, q):
    Q, M = Spectral(q), np.random.default_rng(5).standard_normal(shape)
    P, R = orthogonal(shape[0], 6), orthogonal(shape[1], 7)
    assert Q.value(P @ M @ R) == pytest.approx(Q.value(M), rel=1e-13)
    np.testing.assert_allclose(Q.gradient(P @ M @ R), P @ Q.gradient(M) @ R, atol=1e-12)
    np.testing.assert_allclose(Q.gradient(M.T), Q.gradient(M).T, atol=1e-12)
    np.testing.assert_allclose(Q.mirror(Q.gradient(M)), M, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", POTENTIALS, ids=lambda q: type(q).__name__)
def test_a_diagonal_matrix_is_a_vector(q):
    w = np.array([1.5, -0.2, 3.0])
    for Q in (Spectral(q), Spectral(q, eigenvalues=True)):
        assert Q.value(np.diag(w)) == pytest.approx(q.value(w), rel=1e-14)
        np.testing.assert_allclose(Q.gradient(np.diag(w)), np.diag(q.gradient(w)), atol=1e-14)


@pytest.mark.parametrize("log_scale", SCALES)
def test_the_entropy_in_fifty_digits(log_scale):
    Q = Entropy(log_scale)
    with mp.workdps(50):
        m = mp.exp(mp.mpf(log_scale))
        for factor in (1e-6, 0.5, 1 - 1e-3, 1 + 1e-3, 1.2, 1e3):
            w = float(m * factor)
            x = mp.mpf(w)
            right = float(x * (mp.log(x / m) - 1) + m)
            assert Q.value([w]) == pytest.approx(right, rel=1e-11)
            assert Q.gradient([w])[0] == pytest.approx(float(mp.log(x / m)), rel=1e-12, abs=1e-14)
            assert Q.mirror(Q.gradient([w]))[0] == pytest.approx(w, rel=1e-13)
            assert Q.hessian([w])[0] == pytest.approx(1 / w, rel=1e-15)
    assert Q.value([-1.0]) == np.inf and np.isnan(Q.gradient([-1.0]))
    assert Q.value([0.0]) == pytest.approx(np.exp(log_scale)) and Q.gradient([0.0]) == -np.inf


def test_the_entropy_of_eigenvalues_is_that_of_the_matrix_logarithm():
    W = np.random.default_rng(0).standard_normal((3, 5))
    Q, M = Spectral(Entropy(np.log(0.5)), eigenvalues=True), W @ W.T
    values, vectors = np.linalg.eigh(M)
    logarithm = (vectors * np.log(values)) @ vectors.T
    right = np.trace(M @ logarithm) - np.trace(M) * (np.log(0.5) + 1) + 3 * 0.5
    assert Q.value(M) == pytest.approx(right, rel=1e-13)
    np.testing.assert_allclose(Q.gradient(M), logarithm - np.log(0.5) * np.eye(3), atol=1e-13)


def test_the_nuclear_norm_and_its_slopes():
    Q, M = Nuclear(), with_values([3.0, 1.0], (4, 3))
    assert Q.value(M) == pytest.approx(4.0, rel=1e-14)
    left, _, right = np.linalg.svd(M)
    polar = left[:, :2] @ right[:2]
    np.testing.assert_allclose(Q.gradient(M), polar, atol=1e-14)
    beyond = 0.7 * left[:, 2:3] @ right[2:]
    np.testing.assert_allclose(Q.nearest_slope(M, polar + beyond), polar + beyond, atol=1e-14)
    assert Q.stationarity(M, polar + beyond) <= 1e-14
    assert Q.stationarity(M, polar + 2 * beyond) == pytest.approx(0.4)  # ‖·‖ = 1.4
    assert Q.stationarity(M, 0.9 * polar) == pytest.approx(0.1)
    assert np.isnan(Q.mirror(2 * M)).all() and not Q.mirror(M / 4).any()


def test_rounding_of_a_matrix_is_no_reason_to_doubt_its_slope():
    """At a tiny scale the small singular values are below the round-off of the large one."""
    Q = Spectral(Hypentropy(np.log(1e-15)))
    slope = with_values([36.0, 1.0], (3, 2))
    M = Q.mirror(slope)
    assert np.abs(Q.gradient(M) - slope).max() > 1e-3
    assert Q.stationarity(M, slope) <= 1e-14
    assert Q.stationarity(M, with_values([36.0, 20.0], (3, 2))) > 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectral(L1()), r"potentials\.Nuclear"),
        (lambda: Spectral("l1"), "must be a potential of vectors, got str"),
        (lambda: Spectral(Nuclear()), "must be a potential of vectors, got Nuclear"),
        (lambda: Spectral(Hypentropy([1.0, 2.0])), "log_scale of Hypentropy must be a number"),
        (lambda: Spectral(Quadratic(np.eye(2))), "metric of Quadratic must be a number"),
        (lambda: Spectral(Power(1.5)), "must be a sum over coordinates, and Power is not"),
        (lambda: Spectral(Entropy(0.0)), "must be even"),
        (lambda: Spectral(Bregman(Hypentropy(0.0), 1.0)), "must be even"),
        (lambda: Spectral(Hypentropy(0.0)).value(np.ones(3)), "takes matrices, got an array of shape"),
        (lambda: Spectral(Entropy(0.0), True).value(np.ones((2, 3))), "takes square matrices"),
    ],
)
def test_what_is_no_potential_of_a_spectrum(make, message):
    with pytest.raises(tacit.InputError, match=message):
        make()
