"""Commuting measurements, and the frame in which they are diagonal."""

import numpy as np
import pytest
from matrix_oracles import commuting

from tacit.solvers.matrices.factorization import COMMUTE, commutator, diagonalize


def rebuilt(found):
    P, R, k = found.frame.left, found.frame.right, len(found.frame.values)
    return np.einsum("ik,nk,jk->nij", P[:, :k], found.spectra, R[:, :k])


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (1, 3), (1, 1)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_signs_and_shapes(shape, symmetric):
    d1, d2 = shape
    if symmetric and d1 != d2:
        pytest.skip("square ones only")
    X, _ = commuting(d1, d2, 5, 0, symmetric)
    found = diagonalize(X, symmetric)
    assert found.commute and commutator(X, symmetric) < 1e-14
    np.testing.assert_allclose(rebuilt(found), X, atol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
def test_equal_values_and_measurements_that_are_0(symmetric):
    """Clusters: directions that no measurement, or only one of many, distinguishes."""
    P, R = (np.linalg.qr(np.random.default_rng(s).standard_normal((6, 6)))[0] for s in (1, 2))
    R = P if symmetric else R
    spectra = np.zeros((4, 6))
    spectra[0, :3], spectra[1, :3], spectra[1, 3:5] = 1.0, 2.0, -2.0
    spectra[3] = [1, 1, 1, 1, 1 + 1e-9, 1]
    X = np.einsum("ik,nk,jk->nij", P, spectra, R)
    X = (X + X.transpose(0, 2, 1)) / 2 if symmetric else X
    found = diagonalize(X, symmetric)
    assert found.commute and not found.spectra[2].any()
    np.testing.assert_allclose(rebuilt(found), X, atol=1e-10)


def test_entries_in_different_rows_and_columns_commute():
    X = np.zeros((3, 4, 5))
    X[0, 0, 2] = X[1, 3, 0] = X[2, 1, 4] = 1.0
    assert diagonalize(X).commute and commutator(X) == 0.0
    X[2] = 0.0
    X[2, 0, 4] = 1.0  # in one chain with the first
    assert not diagonalize(X).commute and commutator(X) == pytest.approx(np.sqrt(0.5))


def test_ordinary_commutation_is_neither_needed_nor_enough():
    """J = [[0, 1], [−1, 0]] commutes with I, but JIᵀ is not symmetric; for diag and diag·J it is the
    converse."""
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert not diagonalize(np.array([np.eye(2), J])).commute
    assert commutator(np.array([np.eye(2), J])) == pytest.approx(1.0)
    A, B = np.diag([1.0, 2.0]) @ J, np.diag([3.0, -1.0]) @ J
    assert np.abs(A @ B - B @ A).max() > 1 and diagonalize(np.array([A, B])).commute


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-4, 0.1])
def test_the_tolerance(size):
    X, _ = commuting(4, 4, 3, 3)
    noise = np.random.default_rng(0).standard_normal(X.shape)
    found = diagonalize(X + size * noise)
    assert found.commute == (found.off <= COMMUTE) == (size < 1e-11)
    assert 0.01 * size < commutator(X + size * noise) < 10 * size


def test_how_far_pairs_are_apart_is_what_the_lifted_matrices_say():
    X = np.random.default_rng(1).standard_normal((4, 3, 2))
    lifted = np.zeros((4, 5, 5))
    lifted[:, :3, 3:], lifted[:, 3:, :3] = X, X.transpose(0, 2, 1)
    units = lifted / np.linalg.norm(lifted, axis=(1, 2))[:, None, None]
    right = max(np.linalg.norm(a @ b - b @ a) for a in units for b in units)
    assert commutator(X) == pytest.approx(right, rel=1e-12)
