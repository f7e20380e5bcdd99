"""Many ℓ1 minimizers: the limit is one of them, which residuals in double precision cannot identify."""

import numpy as np
import pytest
from oracles import bits_decide_nothing, exact_limit, relative_error
from scipy.optimize import linprog, minimize

import tacit


def sign_problem(seed, samples=6, features=24):
    """Entries ±1 and integer targets, with many ties."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (samples, features))
    return X, X[:, :2].sum(axis=1) + rng.integers(-1, 2, samples)


def diagonal(depth, scale):
    return tacit.Diagonal(depth=depth, log_scale=np.log(scale) / depth)


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", [2, 3, 4, 10])
@pytest.mark.parametrize("scale", [1e-6, 1e-12, 1e-16, 1e-20, 1e-25])
def test_the_choice_agrees_with_sixty_digit_arithmetic(depth, scale):
    for seed in range(3):
        X, y = sign_problem(seed)
        found = tacit.limit(diagonal(depth, scale), X, y)
        exact = exact_limit(X, y, depth=depth, log_scale=depth * found.model.log_scale, start=found.predictor)
        assert found.converged or (found.status == "rounding" and not bits_decide_nothing(depth, scale))
        assert relative_error(found.predictor, exact) <= 1e-11


def test_the_problem_really_has_many_minimizers():
    X, y = sign_problem(0)
    ends = []
    for seed in range(4):
        tilt = 1 + 1e-7 * np.random.default_rng(seed).standard_normal(48)
        w = linprog(tilt, A_eq=np.hstack([X, -X]), b_eq=y).x
        ends.append(w[:24] - w[24:])
    norms = [np.abs(w).sum() for w in ends]
    assert max(norms) - min(norms) < 1e-5
    assert max(np.abs(ends[0] - w).max() for w in ends) > 0.1


@pytest.mark.parametrize("depth", [3, 4, 10])
def test_the_choice_maximizes_a_power_sum(depth):
    """As the scale vanishes: the maximum of Σ|w|^(2/D) among all minimizers of the ℓ1 norm."""
    X, y = sign_problem(1)
    w = tacit.limit(diagonal(depth, 1e-200), X, y).predictor
    face = np.abs(w) > 1e-9
    sign, start = np.sign(w[face]), np.abs(w[face])
    A, null = X[:, face] * sign, np.linalg.svd(X[:, face] * sign)[2]
    free = null[np.linalg.matrix_rank(A) :]
    assert len(free) > 0

    def power_sum(t):
        return -np.sum(np.maximum(start + free.T @ t, 1e-300) ** (2 / depth))

    best = minimize(
        power_sum, np.zeros(len(free)), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    assert np.abs(free.T @ best.x).max() < 1e-4
    assert power_sum(np.zeros(len(free))) <= best.fun + 1e-12


@pytest.mark.parametrize("depth", [2, 3, 10])
def test_equal_columns_share_equally_at_every_scale(depth):
    X, y = sign_problem(2, samples=5, features=12)
    doubled = np.hstack([X, X])
    for scale in (1e-3, 1e-12, 1e-25, 1e-100):
        w = tacit.limit(diagonal(depth, scale), doubled, y).predictor
        np.testing.assert_allclose(w[:12], w[12:], atol=1e-11)


def tied_problem(kind, seed):
    """Ties, and targets without noise, with fewer large coefficients than samples."""
    rng = np.random.default_rng(seed)
    X = {
        "signs": lambda: rng.choice([-1.0, 1.0], (6, 20)),
        "integers": lambda: rng.integers(-1, 2, (5, 16)).astype(float),
        "equal columns": lambda: np.repeat(rng.standard_normal((6, 10)), 2, axis=1),
    }[kind]()
    return X, X[:, :2].sum(axis=1)


@pytest.mark.every(8)
@pytest.mark.parametrize("kind", ["signs", "integers", "equal columns"])
@pytest.mark.parametrize("depth", [3, 4, 10])
@pytest.mark.parametrize("scale", [1e-12, 1e-20, 1e-25])
def test_the_choice_is_right_without_noise_too(kind, depth, scale):
    for seed in (0, 2, 5, 6):
        X, y = tied_problem(kind, seed)
        if not y.any() or np.linalg.matrix_rank(X) < len(y):
            continue
        found = tacit.limit(diagonal(depth, scale), X, y)
        exact = exact_limit(X, y, depth=depth, log_scale=depth * found.model.log_scale)
        assert found.converged or (found.status == "rounding" and not bits_decide_nothing(depth, scale))
        assert relative_error(found.predictor, exact) <= 1e-11
