"""Models of matrices: initialization at any width, and invalid arguments."""

import math

import numpy as np
import pytest

import tacit
from tacit.models.reduction import alignment, identity_scale

RNG = np.random.default_rng(3)
SYMMETRIC = (lambda X: X + X.transpose(0, 2, 1))(RNG.standard_normal((4, 3, 3)))


def test_infinite_width_starts_at_a_multiple_of_the_identity():
    model = tacit.Factorization.gaussian((2, 3), math.inf, 0.5)
    np.testing.assert_array_equal(model.lifted(), 0.25 * np.eye(5))
    np.testing.assert_array_equal(model.predictor(), np.zeros((2, 3)))
    assert repr(model) == "Factorization(left=<2×5>, right=<3×5>, width ∞: M̄(0) = 0.5²·I)"
    symmetric = tacit.SymmetricFactorization.gaussian(3, math.inf, 0.5)
    np.testing.assert_array_equal(symmetric.lifted(), 0.25 * np.eye(3))
    np.testing.assert_array_equal(symmetric.predictor(), 0.25 * np.eye(3))
    assert repr(symmetric) == "SymmetricFactorization(weights=<3×3>, width ∞: W Wᵀ = 0.5²·I)"
    assert "rank at most 3" in symmetric.describe() and "width ∞" in model.describe()


def test_infinite_width_is_the_limit_of_wide_starts():
    """Weights ~ N(0, s²/k): entries of M̄ − s²·I have deviations s²/√k, √2 s²/√k on the diagonal."""
    k, s = 40_000, 0.5
    lifted = tacit.Factorization.gaussian((3, 4), k, s / math.sqrt(k), seed=7).lifted()
    assert np.abs(lifted - s**2 * np.eye(7)).max() < 6 * math.sqrt(2) * s**2 / math.sqrt(k)
    W = tacit.SymmetricFactorization.gaussian(3, k, s / math.sqrt(k), seed=7)
    assert np.abs(W.lifted() - s**2 * np.eye(3)).max() < 6 * math.sqrt(2) * s**2 / math.sqrt(k)


def test_kernel_and_lift_of_symmetric_factorizations():
    """⟨∂f/∂W, ∂f'/∂W⟩ with ∂⟨W Wᵀ, X⟩/∂W = 2XW, by differences."""
    W = RNG.standard_normal((3, 2))
    model, step = tacit.SymmetricFactorization(W), 1e-6
    slopes = np.zeros((4, 6))
    for i in range(6):
        e = step * np.eye(6)[i].reshape(3, 2)
        up, down = (np.einsum("nij,ik,jk->n", SYMMETRIC, w, w) for w in (W + e, W - e))
        slopes[:, i] = (up - down) / (2 * step)
    np.testing.assert_allclose(model.tangent_kernel(SYMMETRIC), slopes @ slopes.T, rtol=1e-7, atol=1e-7)
    assert model.conserved() == {}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tacit.SymmetricFactorization(np.ones(3)), "weights must be a matrix"),
        (lambda: tacit.SymmetricFactorization(np.zeros((2, 2))), "weights are all 0"),
        (lambda: tacit.SymmetricFactorization.gaussian(3, 0, 1.0), "width must be at least 1"),
        (lambda: tacit.SymmetricFactorization.gaussian(3, -math.inf, 1.0), "width must be a whole number"),
        (lambda: tacit.SymmetricFactorization.gaussian(3, math.inf, 0.0), "scale must be positive"),
        (lambda: tacit.Factorization.gaussian((2, 2), math.nan, 1.0), "width must be a whole number"),
        (lambda: tacit.Factorization.gaussian((2, 2), 2.5, 1.0), "width must be a whole number"),
    ],
)
def test_starts_that_make_no_sense_are_refused(make, message):
    with pytest.raises(tacit.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (RNG.standard_normal((2, 3, 3)), "measurement 0 is not symmetric"),
        (np.vstack([SYMMETRIC, np.triu(np.ones((1, 3, 3)))]), "measurement 4 is not symmetric"),
        (
            RNG.standard_normal((2, 3, 4)),
            r"shape \(samples, 3, 3\) for this model, got \(2, 3, 4\)",
        ),
        (np.ones((2, 3)), "3 dimension"),
    ],
)
def test_symmetric_models_take_symmetric_measurements(X, message):
    with pytest.raises(tacit.InputError, match=message):
        tacit.flow(tacit.SymmetricFactorization.gaussian(3, 2, 0.1), X, np.ones(len(X)))


def test_the_diagonal_of_a_matrix_is_measured_symmetrically():
    X, y = tacit.observed(np.where(np.eye(3) > 0, [1.0, 2.0, 3.0], np.nan))
    end = tacit.flow(tacit.SymmetricFactorization.gaussian(3, math.inf, 0.1), X, y).predictor[-1]
    np.testing.assert_allclose(end, np.diag([1.0, 2.0, 3.0]), atol=1e-8)


def test_measurements_that_commute_are_found_and_others_are_not():
    rng = np.random.default_rng(0)
    P, Q = (np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (3, 4))
    values = rng.standard_normal((2, 3))
    X = np.einsum("ik,nk,jk->nij", P, values, Q[:, :3])
    found = alignment(X)
    assert found is not None
    np.testing.assert_allclose(found.P @ found.X @ found.Q.T, X, atol=1e-14)
    assert np.count_nonzero(found.X) == 6
    turned = X + 1e-9 * rng.standard_normal(X.shape)
    assert alignment(turned) is None and alignment(SYMMETRIC, symmetric=True) is None
    assert identity_scale(np.hstack([0.3 * P, np.zeros((3, 2))])) == pytest.approx(0.3, rel=1e-15)
    assert identity_scale(rng.standard_normal((3, 5))) is None and identity_scale(P[:, :2]) is None
