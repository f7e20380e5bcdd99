"""Interpolation in the norm of an ill-conditioned kernel, compared with high-precision arithmetic."""

import mpmath
import numpy as np
import pytest

import tacit
from tacit.potentials import Quadratic


def ill_conditioned(condition, seed):
    """A metric with this condition number and random eigenvectors."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    B = frame * np.geomspace(1, 1 / condition, 6) @ frame.T
    return (B + B.T) / 2, rng.standard_normal((3, 6)), rng.standard_normal(3)


def exact(B, X, y):
    """B⁻¹Xᵀ(XB⁻¹Xᵀ)⁻¹y in 80 digits, for the given floats."""
    with mpmath.workdps(80):
        B, X, y = mpmath.matrix(B.tolist()), mpmath.matrix(X.tolist()), mpmath.matrix(y.tolist())
        loose = mpmath.lu_solve(B, X.T[:, 0]), mpmath.lu_solve(B, X.T[:, 1]), mpmath.lu_solve(B, X.T[:, 2])
        inverse = mpmath.matrix(6, 3)
        for j, column in enumerate(loose):
            inverse[:, j] = column
        return np.array((inverse * mpmath.lu_solve(X * inverse, y)).tolist(), dtype=float).ravel()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("condition", [1e4, 1e12])
def test_refinement_gives_back_what_the_condition_costs(condition, seed):
    """Single solutions in floats lose κ·1e-16; every pass of refinement leaves that share of it."""
    B, X, y = ill_conditioned(condition, seed)
    limit = tacit.limit(Quadratic(B), X, y)
    right = exact(B, X, y)
    assert limit.converged
    assert np.linalg.norm(limit.predictor - right) <= 1e-14 * np.linalg.norm(right)
