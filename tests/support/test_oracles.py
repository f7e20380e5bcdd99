"""The reference implementations agree with each other."""

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from near_duplicate_problems import GAPS, problem
from near_duplicates import Geometry, doubt, independent_rows, moved, scattered, tilted, truth
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


@pytest.mark.every(7)
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


@pytest.mark.every(5)
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


def near_duplicate_rows(gap, seed=0):
    """Four samples, the second near the first; targets that are rounded."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 12))
    X[1] = X[0] + gap * rng.standard_normal(12)
    return X, X[:, 0] - 2 * X[:, 5]


@pytest.mark.parametrize("gap", [1e-6, 1e-15])
@pytest.mark.parametrize(("depth", "scale"), [(2, 1e-6), (3, 1e-3), (10, 1e-6), (4, 1.0)])
def test_truth_is_that_of_the_difference_of_nearly_equal_samples(depth, scale, gap):
    """Equivalent well-conditioned equations, with the scaled difference instead of the second sample."""
    X, y = near_duplicate_rows(gap)
    geometry = Geometry(depth, scale)
    with ctx.workdps(60):
        apart, targets = X.astype(object), y.astype(object)
        factor = arb(2.0 ** np.round(-np.log2(gap)))
        apart[1] = [(arb(a) - arb(b)) * factor for a, b in X[[1, 0]].T.tolist()]
        targets[1] = (arb(float(y[1])) - arb(float(y[0]))) * factor
    with mp.workdps(60):
        log_scale = geometry.log_scale()
    exact = exact_limit(apart, targets, depth=depth, log_scale=log_scale, digits=90)
    assert relative_error(truth(X, y, geometry).predictor, exact) < 1e-30


@pytest.mark.parametrize(("scale", "shape"), [(0.3, 0.6), (1.0, -0.4)])
def test_truth_of_untied_layers_is_where_their_flow_ends(scale, shape):
    X, y = near_duplicate_rows(0.3)
    u, v = np.sqrt(scale * (1 - shape) / (1 + shape)), np.sqrt(scale * (1 + shape) / (1 - shape))
    simulated = parameter_flow(np.outer([u, v, u, v], np.ones(12)), products(), X, y)
    assert relative_error(simulated, truth(X, y, Geometry(2, scale, shape)).predictor) < 1e-9


def test_equal_samples_count_once_and_contradictions_are_found():
    X, y = near_duplicate_rows(1e-8)
    geometry = Geometry(3, 1e-2)
    once = truth(X, y, geometry)
    twice = truth(np.vstack([X[:2], 2 * X[:1], X]), np.r_[y[:2], 2 * y[0], y], geometry)
    assert relative_error(twice.predictor, once.predictor) < 1e-30
    assert independent_rows(np.vstack([X, X[1] - X[1], X]), np.r_[y, 0, y]) == [0, 1, 2, 3]
    with pytest.raises(ArithmeticError, match="no solution"):
        truth(np.vstack([X, X[:1]]), np.r_[y, np.nextafter(y[0], 9)], geometry)


@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("geometry", [Geometry(2, 1e-3), Geometry(4, 0.1), Geometry(2, 1e-2, 0.5)], ids=repr)
def test_doubt_bounds_what_rounding_of_the_data_moves(geometry, gap):
    """The measured values are 0.23 to 0.68 of the bound, which assumes the worst signs everywhere."""
    X, y = near_duplicate_rows(gap)
    exact = truth(X, y, geometry)
    bound = doubt(X, y, geometry, exact)
    moves = [moved(X, y, geometry, exact, scattered(X, np.random.default_rng(seed))) for seed in range(3)]
    assert bound / 40 < max(moves) <= 1.001 * bound


def test_features_that_are_equal_are_told_apart_by_a_bit():
    """At depth 10 and a predictor scale of 1e-40 the last bit of a feature decides which of two is used."""
    X, _ = near_duplicate_rows(1)
    X[:, 0] = y = np.sign(X[:, 0])
    X[:, 1] = -y
    geometry = Geometry(10, 1e-4)
    equal = truth(X, y, geometry)
    assert relative_error([equal.predictor[0]], [-equal.predictor[1]]) < 1e-30
    assert doubt(X, y, geometry, equal) > 1
    X[:, 1] *= 1 - 2.0**-52
    nearly = truth(X, y, geometry)
    assert abs(nearly.predictor[1]) < 1e-15
    assert abs(nearly.predictor[0] - 1) < 1e-15


def test_near_ties_are_found_by_the_worst_rounding():
    """To first order, a feature without weight has no effect."""
    X, _ = near_duplicate_rows(1)
    X[:, 0] = y = np.sign(X[:, 0])
    X[:, 1] = y * (1 - 2.0**-53)
    geometry = Geometry(10, 1e-4)
    exact = truth(X, y, geometry)
    assert doubt(X, y, geometry, exact) < 1e-14
    assert moved(X, y, geometry, exact, tilted(X, exact)) > 0.1


def test_problems_repeat_and_are_what_they_say():
    for index in range(2 * len(GAPS)):
        task = problem(index)
        assert task.key() == problem(index).key() != problem(index, seed=1).key()
        rank = len(independent_rows(task.X, task.y))  # it raises if there is no solution
        assert (rank < len(task.X)) == (task.gap == 0 and task.axis == "rows")
        smallest = np.linalg.svd(task.X if task.axis == "rows" else task.X.T)[1][-1]
        assert task.axis == "columns" or smallest < 100 * task.gap + 1e-14
