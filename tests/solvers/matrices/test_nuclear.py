"""The minimum nuclear norm, compared with closed forms and a first-order method, and certified."""

import mpmath
import numpy as np
import pytest
from matrix_oracles import first_order_nuclear

import tacit
from tacit.data.equations import Samples
from tacit.papers.woodworth2020.lifted import completion
from tacit.potentials import Nuclear
from tacit.solvers.matrices.measurements import Measurements
from tacit.solvers.matrices.nuclear import _Barrier, _PositiveBarrier, least_nuclear


def proved(found, X, y, most=1e-8):
    """Duality, computed independently: any ν with ‖Σν_nX_n‖ ≤ 1 bounds the norm of every solution from
    below."""
    size = np.linalg.norm(np.tensordot(found.dual, X, 1), 2)
    norm = np.linalg.norm(found.predictor, "nuc")
    gap = norm - found.dual @ y / max(size, 1.0)
    left = np.einsum("nij,ij->n", X, found.predictor) - y
    assert size <= 1 + 1e-12 and gap <= most * norm
    assert np.linalg.norm(left) <= 1e-12 * np.linalg.norm(y)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("tau", [1e-12, 1.0, 1e5])
def test_barriers_are_conjugate_to_their_logarithms(positive, tau):
    """q = sup sw + τ log(1 − s²), or τ log(1 − s) on w > 0: the slope by its equation in forty digits."""
    Q = _PositiveBarrier(np.log(tau)) if positive else _Barrier(np.log(tau))
    sizes = tau * np.array([1e-6, 0.5, 1.0, 3.0, 1e6])
    for w in sizes if positive else [*-sizes, *sizes]:
        with mpmath.workdps(40):
            t, x = mpmath.exp(mpmath.mpf(float(np.log(tau)))), mpmath.mpf(float(w))
            s = 1 - t / x if positive else (mpmath.sqrt(t**2 + x**2) - t) / x
            barrier = mpmath.log(1 - s) if positive else mpmath.log(1 - s**2)
            exact = [s, s * x + t * barrier, t / x**2 if positive else (1 - s**2) ** 2 / (2 * t * (1 + s**2))]
            slope, value, bend = map(float, exact)
        at = np.array([w])
        np.testing.assert_allclose(Q.gradient(at), slope, rtol=1e-13, atol=1e-15 * (1 + tau / abs(w)))
        np.testing.assert_allclose(Q.value(at), value, rtol=1e-12, atol=1e-15 * (tau + abs(w)) * 8)
        np.testing.assert_allclose(Q.hessian(at), bend, rtol=1e-12)
        if abs(slope) < 0.9:
            np.testing.assert_allclose(Q.mirror(np.array([slope])), w, rtol=1e-13 * (1 + tau / abs(w)))
    ends = Q.mirror(np.array([1.0, 1.5]) if positive else np.array([1.0, -1.0, 1.5]))
    assert np.isnan(ends).all()


@pytest.mark.parametrize("seed", range(10))
def test_ten_random_problems(seed):
    rng = np.random.default_rng(seed)
    d1, d2 = int(rng.integers(2, 8)), int(rng.integers(2, 8))
    samples = int(rng.integers(1, d1 * d2))
    X, y = rng.standard_normal((samples, d1, d2)), rng.standard_normal(samples)
    found = tacit.limit(Nuclear(), X, y)
    assert found.converged and found.error <= 1e-10
    proved(found, X, y, 1e-13)


@pytest.mark.parametrize(("samples", "rank"), [(6, 3), (12, 1), (9, 2)])
def test_a_first_order_method(samples, rank):
    rng = np.random.default_rng(samples)
    X = rng.standard_normal((samples, 4, 5))
    y = np.einsum("nij,ij->n", X, rng.standard_normal((4, rank)) @ rng.standard_normal((rank, 5)))
    right = first_order_nuclear(X, y)
    found = tacit.limit(Nuclear(), X, y)
    assert found.value <= np.linalg.norm(right, "nuc") * (1 + 1e-12)
    np.testing.assert_allclose(found.predictor, right, atol=1e-6)


def test_one_measurement():
    """‖M‖_* ≥ y/‖X‖, with equality at the top singular vectors."""
    X = np.random.default_rng(0).standard_normal((1, 4, 3))
    left, sigma, right = np.linalg.svd(X[0])
    found = tacit.limit(Nuclear(), X, [2.0])
    assert found.value == pytest.approx(2 / sigma[0], rel=1e-13)
    np.testing.assert_allclose(found.predictor, 2 / sigma[0] * np.outer(left[:, 0], right[0]), atol=1e-13)


def test_a_low_rank_matrix_is_recovered():
    rng = np.random.default_rng(1)
    M = np.outer(rng.standard_normal(8), rng.standard_normal(8))
    X = rng.standard_normal((45, 8, 8))
    found = tacit.limit(Nuclear(), X, np.einsum("nij,ij->n", X, M))
    np.testing.assert_allclose(found.predictor, M, atol=1e-12 * np.abs(M).max())


def test_completion():
    """A block of ones with a missing corner, and a matrix with an unobserved row."""
    places = [(0, 0), (0, 1), (1, 0)]
    X = np.zeros((3, 2, 2))
    for n, place in enumerate(places):
        X[(n, *place)] = 1.0
    found = tacit.limit(Nuclear(), X, np.ones(3))
    # there is no slack, so that half of the digits are lost
    np.testing.assert_allclose(found.predictor, np.ones((2, 2)), atol=1e-7)
    proved(found, X, np.ones(3))
    X = np.zeros((4, 3, 2))
    X[0, 0, 0] = X[1, 0, 1] = X[2, 1, 0] = X[3, 1, 1] = 1.0
    found = tacit.limit(Nuclear(), X, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(found.predictor, [[1, 2], [3, 4], [0, 0]], atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_many_solutions(d):
    """⟨I, M⟩ = 1: every positive semidefinite matrix of trace 1 is one."""
    X = np.eye(d)[None]
    found = tacit.limit(Nuclear(), X, [1.0])
    assert found.value == pytest.approx(1.0, rel=1e-8)
    proved(found, X, np.ones(1))
    assert tacit.certify(Nuclear(), X, [1.0], np.diag([1.0] + [0.0] * (d - 1))).holds
    assert not tacit.certify(Nuclear(), X, [1.0], np.diag([2.0, -1.0] + [0.0] * (d - 2))).holds


def test_least_traces_of_positive_matrices():
    """Symmetric measurements of W Wᵀ; indefinite matrices can have a smaller nuclear norm."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 5, 5))
    X = X + X.transpose(0, 2, 1)
    W = rng.standard_normal((5, 2))
    y = np.einsum("nij,ij->n", X, W @ W.T)
    problem = Measurements(Samples(X.reshape(8, -1)).equations(y, 1e-10), (5, 5), symmetric=True)
    found = least_nuclear(problem)
    M, slope = found.predictor.reshape(5, 5), problem.adjoint(found.nu.value)
    assert np.linalg.eigvalsh(M).min() >= -1e-12 and np.linalg.eigvalsh(slope).max() <= 1 + 1e-12
    assert np.trace(M) == pytest.approx(float(problem.equations.y @ found.nu.value), rel=1e-12)
    assert np.trace(M) > tacit.limit(Nuclear(), X, y).value * (1 + 1e-6)


def test_units():
    """y multiplied by 1e8, measurements by 1e-5."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((5, 3, 4)), rng.standard_normal(5)
    M = tacit.limit(Nuclear(), X, y).predictor
    np.testing.assert_allclose(tacit.limit(Nuclear(), 1e-5 * X, 1e8 * y).predictor, 1e13 * M, atol=10.0)


def test_other_matrices_are_refuted():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((5, 3, 4)), rng.standard_normal(5)
    found = tacit.limit(Nuclear(), X, y)
    assert tacit.certify(Nuclear(), X, y, found.predictor).holds
    least = (np.linalg.pinv(X.reshape(5, -1)) @ y).reshape(3, 4)
    other = tacit.certify(Nuclear(), X, y, least)
    excess = 1 - found.value / np.linalg.norm(least, "nuc")
    assert not other.holds and other.stationarity == pytest.approx(excess, rel=1e-8)


@pytest.mark.parametrize(("size", "seen", "seed"), [(8, 45, 41000), (8, 45, 925), (10, 60, 806)])
def test_paths_that_come_close_to_the_edge_of_the_domain_are_not_lost(size, seen, seed):
    """Entries of a rank-1 matrix, for which long steps of the barrier parameter got stuck at the boundary."""
    problem = completion(size, seen, seed)
    found = tacit.limit(Nuclear(), problem.X, problem.y)
    assert found.converged and found.error <= 1e-9
    proved(found, problem.X, problem.y, 1e-12)
