"""Limits of the square loss by forward error: at tiny scales an ℓ1 vertex has small residuals, too."""

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import (
    bits_decide_nothing,
    exact_limit,
    gaussian_problem,
    parameter_flow,
    powers,
    products,
    relative_error,
)
from scipy.optimize import linprog

import tacit

pytestmark = pytest.mark.filterwarnings("error")
DEPTHS = [2, 3, 4, 10]
SCALES = [1e4, 1.0, 1e-5, 1e-12, 1e-20]


def diagonal(depth, predictor_scale, profile=None):
    return tacit.Diagonal(depth=depth, scale=predictor_scale ** (1 / depth), profile=profile)


def exact_diagonal(X, y, depth, predictor_scale, profile=None):
    """The reference for `diagonal`: predictor scales (scale·p)^D, weights p^(2−D), from the same floats."""
    profile = [1.0] * X.shape[1] if profile is None else profile.tolist()
    with mp.workdps(60):
        log_scale = [depth * mp.log(mpf(predictor_scale ** (1 / depth)) * mpf(p)) for p in profile]
        weight = [mpf(p) ** (2 - depth) for p in profile]
    return exact_limit(X, y, depth=depth, log_scale=log_scale, weight=weight)


def assert_exact(model, X, y, exact, tied=False):
    found = tacit.limit(model, X, y)
    assert relative_error(found.predictor, exact) <= 1e-11
    assert found.converged or (tied and found.status == "rounding")
    assert max(found.feasibility, found.stationarity) < 1e-10


def l1_solution(X, y):
    """A vertex of argmin ‖β‖₁ subject to Xβ = y, by linear programming, solved again on its support."""
    found = linprog(np.ones(2 * X.shape[1]), A_eq=np.hstack([X, -X]), b_eq=y, method="highs-ds").x
    beta = np.subtract(*np.split(found, 2))
    support = np.abs(beta) > 1e-9 * np.abs(beta).max()
    beta[~support], beta[support] = 0, np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return beta


@pytest.mark.every(14)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", SCALES)
def test_limit_agrees_with_sixty_digit_arithmetic(depth, scale):
    for seed in range(3):
        X, y = gaussian_problem(20, 100, seed=seed)
        assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("depth", "scale"), [(2, 1e4), (2, 1e-12), (3, 1e-5), (3, 1e-20), (10, 1e-12)])
def test_limit_of_a_hundred_samples_and_a_thousand_features(depth, scale):
    X, y = gaussian_problem(100, 1000, seed=0)
    found = tacit.limit(diagonal(depth, scale), X, y).predictor
    log_scale = depth * mp.log(mpf(scale ** (1 / depth)))
    assert relative_error(found, exact_limit(X, y, depth=depth, log_scale=log_scale, start=found)) <= 1e-11


@pytest.mark.every(14)
@pytest.mark.parametrize("depth", [2, 2.5, 3, 4, 10])
@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-12])
def test_limit_from_a_profile_and_at_real_depth(depth, scale):
    X, y = gaussian_problem(20, 100, seed=3)
    profile = np.exp(np.random.default_rng(0).uniform(-1, 1, 100))
    exact = exact_diagonal(X, y, depth, scale, profile)
    assert_exact(diagonal(depth, scale, profile), X, y, exact)
    assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale))


@pytest.mark.parametrize("depth", [2, 2.5, 3, 4])
def test_limit_is_where_the_raw_weights_end(depth):
    X, y = gaussian_problem(5, 12, nonzero=2, seed=4)
    profile = np.exp(np.random.default_rng(1).uniform(-0.5, 0.5, 12))
    simulated = parameter_flow([0.3 * profile] * 2, powers(depth), X, y)
    model = tacit.Diagonal(depth=depth, scale=0.3, profile=profile)
    assert relative_error(tacit.limit(model, X, y).predictor, simulated) < 1e-9


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1e3, 1.0, 1e-4, 1e-15])
@pytest.mark.parametrize("shape", [0.0, 0.7, -0.99, "mixed"])
def test_limit_of_untied_weights_of_every_shape(scale, shape):
    """Azulay et al. 2021, Theorem 1: √k = 4α(1 + s²)/(1 − s²)."""
    X, y = gaussian_problem(20, 100, seed=5)
    shape = np.random.default_rng(2).uniform(-0.95, 0.95, 100) if shape == "mixed" else shape
    with mp.workdps(40):
        log_scale = [mp.log(scale * (1 + mpf(s) ** 2) / (1 - mpf(s) ** 2)) for s in np.ravel(shape).tolist()]
    exact = exact_limit(
        X, y, depth=2, log_scale=log_scale if len(log_scale) > 1 else log_scale[0], weight=0.5
    )
    assert_exact(tacit.UntiedDiagonal(scale=scale, shape=shape), X, y, exact)


def exact_untied(X, y, weights):
    """Azulay et al. 2021, Appendix A, with the gradient of Q_k measured from its value at w(0)."""
    log_scale, offset = [], []
    with mp.workdps(60):
        for a, b, c, d in np.transpose(weights).tolist():
            a, b, c, d = mpf(a), mpf(b), mpf(c), mpf(d)
            root = mp.sqrt((b**2 - a**2 - d**2 + c**2) ** 2 + 4 * (a * c + b * d) ** 2)
            log_scale.append(mp.log(root / 4))
            offset.append(mp.asinh(2 * (a * b - c * d) / root) / 2)
    return exact_limit(X, y, depth=2, log_scale=log_scale, weight=0.5, offset=offset)


@pytest.mark.every(2)
@pytest.mark.parametrize("size", [3.0, 0.3, 1e-3, 1e-8])
def test_limit_from_biased_weights_of_mixed_signs(size):
    for seed in range(3):
        X, y = gaussian_problem(20, 100, seed=seed)
        weights = size * np.random.default_rng(seed).standard_normal((4, 100))
        model = tacit.UntiedDiagonal.from_weights(*weights)
        np.testing.assert_allclose(model.predictor(), weights[0] * weights[1] - weights[2] * weights[3])
        assert_exact(model, X, y, exact_untied(X, y, weights))


def test_limit_from_biased_weights_is_where_they_end():
    X, y = gaussian_problem(5, 12, nonzero=2, seed=6)
    for seed, size in enumerate([1.0, 0.3, 0.1]):
        weights = size * np.random.default_rng(seed).standard_normal((4, 12))
        found = tacit.limit(tacit.UntiedDiagonal.from_weights(*weights), X, y).predictor
        assert relative_error(found, parameter_flow(weights, products(), X, y)) < 1e-9


def test_unmoving_coordinate_is_an_error_by_name():
    """k = 0 at u₊ = v₊, u₋ = −v₋: the potential of that coordinate does not exist."""
    X, y = gaussian_problem(5, 12)
    u_plus, v_plus, u_minus, v_minus = np.ones((4, 12))
    v_minus[3] = -1
    with pytest.raises(tacit.TacitError):
        tacit.limit(tacit.UntiedDiagonal.from_weights(u_plus, v_plus, u_minus, v_minus), X, y)


def test_depth_two_works_where_the_predictor_scale_is_not_a_float():
    """log(scale²) = −1380: a predictor scale of 1e-599."""
    X, y = gaussian_problem(20, 100, seed=7)
    found = tacit.limit(tacit.Diagonal(depth=2, log_scale=-690.0), X, y)
    assert found.converged
    assert found.feasibility <= 1e-12
    assert found.stationarity <= 1e-10
    assert np.linalg.norm(X @ found.predictor - y) <= 1e-12 * np.linalg.norm(y)
    for w, slope in zip(found.predictor.tolist(), (X.T @ found.dual).tolist(), strict=True):
        exact = mp.asinh(mpf(w) / 2 * mp.exp(1380))
        assert abs(slope - exact) <= 1e-10 * 1380 if abs(w) > 1e-290 else abs(slope) < 1380 - 667
    assert relative_error(found.predictor, exact_limit(X, y, depth=2, log_scale=-1380)) <= 1e-11


@pytest.mark.parametrize("depth", [3, 4, 10])
@pytest.mark.parametrize("log10_scale", [-25, -60, -200])
def test_deep_models_of_tiny_scale_end_at_the_l1_solution(depth, log10_scale):
    for seed in range(3):
        X, y = gaussian_problem(20, 100, seed=seed)
        model = tacit.Diagonal(depth=depth, log_scale=log10_scale * np.log(10) / depth)
        assert relative_error(tacit.limit(model, X, y).predictor, l1_solution(X, y)) <= 1e-9


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-20])
def test_limit_follows_the_symmetries_of_the_problem(depth, scale):
    """Permuted samples and features, signs of features, and a common factor of y and predictor scale."""
    X, y = gaussian_problem(20, 100, seed=8)
    rng, model = np.random.default_rng(3), diagonal(depth, scale)
    rows, columns, signs = rng.permutation(20), rng.permutation(100), rng.choice([-1.0, 1.0], 100)
    limit = tacit.limit(model, X, y).predictor
    assert relative_error(tacit.limit(model, X[rows], y[rows]).predictor, limit) <= 1e-11
    assert relative_error(tacit.limit(model, X[:, columns], y).predictor, limit[columns]) <= 1e-11
    assert relative_error(tacit.limit(model, X * signs, y).predictor, limit * signs) <= 1e-11
    assert (
        relative_error(tacit.limit(diagonal(depth, scale * 1e3), X, y * 1e3).predictor, limit * 1e3) <= 1e-11
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-20])
def test_degenerate_data_have_the_limit_of_what_they_repeat(depth, scale):
    """Repeated rows, a zero row, and zero columns change nothing; repeated columns share equally."""
    X, y = gaussian_problem(10, 40, seed=9)
    model, exact = diagonal(depth, scale), exact_diagonal(X, y, depth, scale)
    assert_exact(model, np.vstack([X, X[:3]]), np.append(y, y[:3]), exact)
    assert_exact(model, np.vstack([X, np.zeros(40)]), np.append(y, 0), exact)
    assert_exact(model, np.hstack([X, np.zeros((10, 5))]), y, np.append(exact, np.zeros(5)))
    twice = np.hstack([X, X])
    tied = not bits_decide_nothing(depth, scale)
    assert_exact(model, twice, y, exact_diagonal(twice, y, depth, scale), tied)
    halves = np.split(tacit.limit(model, twice, y).predictor, 2)
    assert relative_error(halves[0], halves[1]) <= 1e-11


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1e-5, 1e-12, 1e-20])
def test_limit_is_the_right_one_where_l1_minimizers_are_many(depth, scale):
    """Signs as data: many coordinates of the ℓ1 dual sit on the boundary, and the depth decides."""
    for seed in range(3):
        X = np.random.default_rng(seed).choice([-1.0, 1.0], (3, 8))
        y = np.array([1.0, -2.0, 3.0])
        tied = not bits_decide_nothing(depth, scale)
        assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale), tied)


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-12])
def test_features_of_very_different_units(depth, scale):
    X, y = gaussian_problem(20, 100, seed=10)
    X = X * 10 ** np.random.default_rng(4).uniform(-6, 6, 100)
    assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1e4, 1.0, 1e-5, 1e-20])
def test_one_sample_and_as_many_samples_as_features(depth, scale):
    X, y = gaussian_problem(1, 30, seed=11)
    assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale))
    X, y = gaussian_problem(10, 10, seed=11)
    with mp.workdps(40):
        solution = np.array(list(mp.lu_solve(mp.matrix(X.tolist()), mp.matrix(y.tolist()))), object)
    assert_exact(diagonal(depth, scale), X, y, solution)


@pytest.mark.every(14)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1e-5, 1e-12, 1e-16, 1e-20])
def test_sparse_data_without_noise(depth, scale):
    """Fewer nonzero coefficients than samples: the ℓ1 vertex is degenerate, its dual not unique."""
    for seed in range(2):
        X, y = gaussian_problem(20, 100, nonzero=3, noise=0, seed=seed)
        assert_exact(diagonal(depth, scale), X, y, exact_diagonal(X, y, depth, scale))


def test_zero_targets_keep_an_unbiased_start_and_move_a_biased_one():
    X, weights = gaussian_problem(5, 12)[0], np.random.default_rng(5).standard_normal((4, 12))
    for depth in DEPTHS:
        found = tacit.limit(diagonal(depth, 1e-5), X, np.zeros(5))
        assert found.converged
        assert not found.predictor.any()
        assert found.value == 0
    found = tacit.limit(tacit.UntiedDiagonal.from_weights(*weights), X, np.zeros(5)).predictor
    assert relative_error(found, exact_untied(X, np.zeros(5), weights)) <= 1e-11


def test_certificate_tells_the_limit_from_another_interpolator():
    X, y = gaussian_problem(20, 100, seed=12)
    model = diagonal(3, 1e-3)
    assert tacit.certify(model, X, y, exact_diagonal(X, y, 3, 1e-3).astype(float)).holds
    assert not tacit.certify(model, X, y, np.linalg.pinv(X) @ y).holds


@pytest.mark.parametrize(("scale", "name"), [(1e6, "kernel"), (1e-20, "rich")])
def test_regime_is_named_by_the_nearer_end(scale, name):
    X, y = gaussian_problem(20, 100, seed=13)
    regime = tacit.regime(diagonal(3, scale), X, y)
    ends = {"kernel": regime.distance_to_kernel, "rich": regime.distance_to_rich}
    assert regime.name == name
    assert ends.pop(name) < 1e-3 < 0.1 < max(ends.values())
