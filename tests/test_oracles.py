"""The references agree with each other before anything is compared with them."""

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import (
    bregman,
    distance_quartic,
    exact_limit,
    gaussian_problem,
    h,
    h_inverse,
    parameter_flow,
    powers,
    products,
    q,
    q_azulay,
    q_hessian,
    r,
    relative_error,
    scaled,
)

DEPTHS = [2, 2.1, 3, 4, 10, 50]


@pytest.fixture(autouse=True)
def thirty_digits():
    with mp.workdps(30):
        yield


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("x", ["-20", "-0.3", "0.001", "1", "1000"])
def test_formulas_agree_with_quadrature_and_differentiation(depth, x):
    x = mpf(x)
    assert abs(h(h_inverse(x, depth), depth) / x - 1) < 1e-25
    assert abs(q(x, depth) / mp.quad(lambda t: h_inverse(t, depth), [0, x / 10, x]) - 1) < 1e-20
    assert abs(q_hessian(x, depth) / mp.diff(lambda t: h_inverse(t, depth), x) - 1) < 1e-15


@pytest.mark.parametrize("x", ["1e-300", "1e-5", "0.7", "30", "1e9", "1e200"])
def test_smallest_root_of_the_quartic_is_the_depth_four_potential(x):
    """The distance problem has the stationarity conditions of depth 4: r = q₄."""
    exact = scaled(q, mpf(x), 0, 4)
    assert abs(scaled(r, mpf(x), 0) / exact - 1) < 1e-25


@pytest.mark.parametrize("x", ["0.4", "3", "50"])
def test_smallest_root_is_found_among_all_roots(x):
    roots = np.roots(distance_quartic(float(x)))
    smallest = min(root.real for root in roots if abs(root.imag) < 1e-9)
    assert abs(r(mpf(x)) / mpf(smallest) - 1) < 1e-9


def test_scale_and_digits_do_not_lose_each_other():
    """The kernel end w²/4m and the rich end w(log(w/m) − 1), beyond the float range of m."""
    assert abs(scaled(q, 1e-300, 700) * 4 * mp.exp(700) / mpf(1e-300) ** 2 - 1) < 1e-28
    w = mpf(1e300)
    assert abs(scaled(q, w, -1400) / (w * (mp.log(w) + 1400 - 1)) - 1) < 1e-28


def test_bregman_divergence_is_quadratic_near_its_origin():
    w, origin = 1.0 + 2**-40, 1.0
    quadratic = scaled(q_hessian, origin, -3, 3) * (mpf(w) - 1) ** 2 / 2
    assert abs(bregman(w, origin, -3, 3) / quadratic - 1) < 1e-10
    assert abs(bregman(5, 0, -3, 3) / scaled(q, 5, -3, 3) - 1) < 1e-25


def test_potential_of_azulay_is_the_integral_in_theorem_1():
    integral = mp.quad(lambda z: mp.asinh(2 * z / mp.sqrt(3)) / 2, [0, 4])
    assert abs(q_azulay(mpf(4), mpf(3)) / integral - 1) < 1e-25


@pytest.mark.parametrize("depth", [2, 2.5, 3, 10])
@pytest.mark.parametrize("log10_scale", [4, 0, -12, -30])
def test_exact_limit_does_not_depend_on_its_start(depth, log10_scale):
    X, y = gaussian_problem(5, 12, seed=1)
    problem = {"depth": depth, "log_scale": mp.log(10) * log10_scale}
    cold = exact_limit(X, y, **problem)
    starts = [cold.astype(float), np.zeros(12), np.linalg.pinv(X) @ y, np.ones(12)]
    assert max(relative_error(exact_limit(X, y, **problem, start=start), cold) for start in starts) < 1e-35


@pytest.mark.parametrize("depth", [2, 3, 10])
def test_exact_limit_satisfies_the_optimality_conditions(depth):
    """Checked with mpmath alone: Xβ = y, and the gradient is orthogonal to the null space of X."""
    X, y = gaussian_problem(4, 9, seed=2)
    beta = exact_limit(X, y, depth=depth, log_scale=-20, weight=np.linspace(1, 2, 9), offset=0.1)
    with mp.workdps(60):
        rows = mp.matrix(X.tolist())
        assert mp.norm(rows * mp.matrix(beta) - mp.matrix(y)) < 1e-35
        pairs = zip(np.linspace(1, 2, 9), beta, strict=True)
        slopes = [mpf(w) * scaled(h_inverse, b, -20, depth) - mpf(0.1) for w, b in pairs]
        nu = mp.lu_solve(rows * rows.T, rows * mp.matrix(slopes))
        assert mp.norm(rows.T * nu - mp.matrix(slopes)) < 1e-35


@pytest.mark.parametrize("depth", [2, 2.5, 3, 4])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_flow_of_the_raw_weights_ends_at_the_exact_limit(depth, scale):
    """With a profile p the predictor scale is (scale·p)^D and the weight p^(2−D)."""
    X, y = gaussian_problem(5, 12, nonzero=2, seed=3)
    profile = np.exp(np.random.default_rng(0).uniform(-0.7, 0.7, 12))
    simulated = parameter_flow([scale * profile] * 2, powers(depth), X, y)
    exact = exact_limit(
        X, y, depth=depth, log_scale=depth * np.log(scale * profile), weight=profile ** (2.0 - depth)
    )
    assert relative_error(simulated, exact) < 1e-9


@pytest.mark.parametrize("size", [1.0, 0.1])
def test_flow_of_biased_untied_weights_ends_at_the_bregman_projection(size):
    """Mixed signs included: the gradient of Q_k starts at w(0), not at 0."""
    X, y = gaussian_problem(5, 12, nonzero=2, seed=4)
    u_plus, v_plus, u_minus, v_minus = weights = size * np.random.default_rng(1).standard_normal((4, 12))
    k = (v_plus**2 - u_plus**2 - v_minus**2 + u_minus**2) ** 2 + 4 * (
        u_plus * u_minus + v_plus * v_minus
    ) ** 2
    start = u_plus * v_plus - u_minus * v_minus
    offset = np.arcsinh(2 * start / np.sqrt(k)) / 2
    exact = exact_limit(X, y, depth=2, log_scale=np.log(np.sqrt(k) / 4), weight=0.5, offset=offset)
    assert relative_error(parameter_flow(weights, products(), X, y), exact) < 1e-9
