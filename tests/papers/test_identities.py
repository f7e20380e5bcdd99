"""Equations that papers use without a theorem, compared with independent computations."""

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit


@pytest.mark.parametrize("depth", [2.1, 3, 4, 10])
def test_the_slope_of_h_is_least_at_zero(depth):
    """Moroshko et al. 2020, equations 7 to 9: h_D' ≥ 2D/(D−2), which is the limit of h_D(z)/z at 0."""
    least = 2 * depth / (depth - 2)
    power = depth / (depth - 2)
    z = np.concatenate([-np.linspace(0.01, 0.98, 25), [-1e-8, 1e-8], np.linspace(0.01, 0.98, 25)])
    slopes = [float(mp.diff(lambda s: (1 - s) ** -power - (1 + s) ** -power, each)) for each in z]
    assert min(slopes) >= least * (1 - 1e-12) and max(slopes) > 1.5 * least
    Q = tacit.potentials.DeepHypentropy(depth, 0.0)
    np.testing.assert_allclose(1 / np.asarray(Q.hessian(Q.mirror(z))), slopes, rtol=1e-9)
    for near in (1e-6, -1e-6, 1e-12):
        np.testing.assert_allclose(np.asarray(Q.mirror([near])) / near, least, rtol=1e-9)


def flow(U, V, X, Y, until):
    """U and V at the end of the flow of ½‖Y − XUVᵀ‖², by integrating the raw weights."""

    def speed(_, weights):
        u, v = weights[: U.size].reshape(U.shape), weights[U.size :].reshape(V.shape)
        missing = X.T @ (Y - X @ u @ v.T)
        return np.concatenate([(missing @ v).ravel(), (missing.T @ u).ravel()])

    start = np.concatenate([U.ravel(), V.ravel()])
    end = solve_ivp(speed, (0, until), start, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[: U.size].reshape(U.shape), end[U.size :].reshape(V.shape)


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_end_is_the_least_norm_and_what_the_start_leaves(outputs):
    """Min et al. 2021, equations 11 to 14, in the coordinates Φ₁ and Φ₂ of the data."""
    rng = np.random.default_rng(outputs)
    X, Y = rng.standard_normal((3, 6)), rng.standard_normal((3, outputs))
    U, V = rng.standard_normal((6, 8)), rng.standard_normal((outputs, 8))
    Phi = np.linalg.svd(X)[2].T
    seen, unseen = Phi[:, :3], Phi[:, 3:]
    least = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(X.T @ np.linalg.pinv(X @ X.T) @ Y, least, atol=1e-10)  # (11)
    parts = seen @ seen.T @ U @ V.T + unseen @ unseen.T @ U @ V.T
    np.testing.assert_allclose(U @ V.T, parts, atol=1e-12)  # (12)
    U_end, V_end = flow(U, V, X, Y, 30.0)
    np.testing.assert_allclose(X @ U_end @ V_end.T, Y, atol=1e-7)
    np.testing.assert_allclose(unseen.T @ U_end, unseen.T @ U, atol=1e-7)
    np.testing.assert_allclose(seen @ seen.T @ U_end @ V_end.T, least, atol=1e-6)  # (13)
    left = unseen @ unseen.T @ U @ V_end.T
    np.testing.assert_allclose(U_end @ V_end.T, least + left, atol=1e-6)  # (14)
    assert np.linalg.norm(left) > 0.1
