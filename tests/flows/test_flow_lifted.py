"""Flows of matrix factorizations, compared with raw weights, closed forms and limits."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit
from tacit.flows.forms import reduced
from tacit.flows.steps.lifted import graded_svd


def raw_factors(U, V, X, y, times):
    """U' = G V, V' = Gᵀ U with G = Σ (yₙ − ⟨U Vᵀ, Xₙ⟩) Xₙ / N, as written in the paper: U Vᵀ at the times."""
    (d1, k), d2 = U.shape, len(V)

    def rate(_, z):
        U, V = z[: d1 * k].reshape(d1, k), z[d1 * k :].reshape(d2, k)
        G = np.einsum("n,nij->ij", y - np.einsum("nij,ik,jk->n", X, U, V), X) / len(y)
        return np.concatenate([(G @ V).ravel(), (G.T @ U).ravel()])

    start = np.concatenate([U.ravel(), V.ravel()])
    run = solve_ivp(rate, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-14)
    return [z[: d1 * k].reshape(d1, k) @ z[d1 * k :].reshape(d2, k).T for z in run.y.T]


def raw_square(W, X, y, times):
    """W' = 2 Σ (yₙ − ⟨W Wᵀ, Xₙ⟩) Xₙ W / N: W Wᵀ at the times."""

    def rate(_, z):
        W_ = z.reshape(W.shape)
        G = np.einsum("n,nij->ij", y - np.einsum("nij,ik,jk->n", X, W_, W_), X) / len(y)
        return (2 * G @ W_).ravel()

    run = solve_ivp(rate, (0, times[-1]), W.ravel(), "DOP853", times, rtol=1e-12, atol=1e-14)
    return [z.reshape(W.shape) @ z.reshape(W.shape).T for z in run.y.T]


def apart(found, expected):
    """The largest relative distance at any instant."""
    pairs = zip(found, expected, strict=True)
    return max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs)


TIMES = np.array([0.1, 1.0, 5.0, 12.0, 30.0, 100.0])


@pytest.mark.every(10)
@pytest.mark.parametrize("scale", [0.02, 0.5])
@pytest.mark.parametrize("width", [3, 10, 50])
def test_the_lifted_flow_is_that_of_the_raw_weights(width, scale):
    """The worst error over kernels and seeds was 8e-10, including the error of the raw weights."""
    rng = np.random.default_rng(width)
    X, y = rng.standard_normal((6, 3, 4)), rng.standard_normal(6)
    model = tacit.Factorization.gaussian((3, 4), width, scale, seed=2)
    run = tacit.flow(model, X, y, times=TIMES)
    assert "lifted" in run.method
    assert apart(run.predictor, raw_factors(model.left, model.right, X, y, TIMES)) < 1e-7
    U, V = run.weights["U"], run.weights["V"]
    kept = U.transpose(0, 2, 1) @ U - V.transpose(0, 2, 1) @ V
    change = np.abs(kept - (model.left.T @ model.left - model.right.T @ model.right)).max()
    assert change <= 1e-9 * (np.linalg.norm(U[-1]) ** 2 + np.linalg.norm(V[-1]) ** 2) and run.drift < 1e-9
    np.testing.assert_allclose(U @ V.transpose(0, 2, 1), run.predictor, atol=1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("width", [2, 4, 30, math.inf])
def test_symmetric_flows_are_those_of_the_raw_weights(width):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((5, 4, 4)), rng.standard_normal(5) ** 2
    X = X + X.transpose(0, 2, 1)
    model = tacit.SymmetricFactorization.gaussian(4, width, 0.1, seed=3)
    times = TIMES[:4]
    run = tacit.flow(model, X, y, times=times)
    assert apart(run.predictor, raw_square(model.weights, X, y, times)) < 1e-7
    W = run.weights["W"]
    assert W.shape[1:] == model.weights.shape
    np.testing.assert_allclose(W @ W.transpose(0, 2, 1), run.predictor, atol=1e-12)


def time_of(entry, y, s):
    """The time at which δ' = 2√(δ² + s⁴)(y − δ) from δ = 0 reaches a value, from ∫dδ/((y − δ)√(δ² + s⁴))."""

    def integral(x):
        return np.arcsinh((s**4 + y * x) / (s**2 * np.abs(y - x))) / np.hypot(y, s**2)

    return (integral(entry) - integral(np.zeros_like(entry))) / 2


@pytest.mark.every(2)
@pytest.mark.parametrize(("y", "s"), [(1e-5, 1e-8), (1.0, 1e-6), (-2.0, 0.3), (1.0, 100.0)])
def test_a_single_entry_follows_the_closed_form(y, s):
    """The target y = 1e-5 is fitted after a plateau of 1.2e6 units of time."""
    model = tacit.Factorization.gaussian((1, 1), math.inf, s)
    run = tacit.flow(model, np.ones((1, 1, 1)), [y])
    assert run.converged
    entry = run.predictor[1:, 0, 0]
    moving = (np.abs(entry) > 1e-6 * abs(y)) & (np.abs(entry - y) > 1e-6 * abs(y))
    assert moving.sum() > 20
    np.testing.assert_allclose(run.time[1:][moving], time_of(entry[moving], y, s), rtol=1e-7)
    if y == 1e-5:
        assert run.time[1:][moving][0] > 1e5 and run.time[-1] > 1e6


def test_diagonal_measurements_decouple():
    """Diagonal entries of a rectangular matrix, measured separately: each has a closed form."""
    X, y = np.zeros((3, 3, 5)), np.array([1.0, -0.5, 0.2])
    X[range(3), range(3), range(3)] = 1
    run = tacit.flow(tacit.Factorization.gaussian((3, 5), math.inf, 1e-3), X, y, rtol=1e-9)
    diagonal = run.predictor[1:, range(3), range(3)]
    for entry, value in zip(diagonal.T, y, strict=True):
        moving = (np.abs(entry) > 1e-4 * abs(value)) & (np.abs(entry - value) > 1e-4 * abs(value))
        told = 3 * time_of(entry[moving], value, 1e-3)  # the loss is a mean over three samples
        np.testing.assert_allclose(run.time[1:][moving], told, rtol=1e-7)
    rest = run.predictor.copy()
    rest[:, range(3), range(3)] = 0
    assert np.abs(rest).max() < 1e-15


def commuting(d, N, seed, turned):
    """Q diag(xₙ) Qᵀ, and the limit of their flow from M̄(0) = 2μ²·I by Theorem 4, which solves a vector
    problem."""
    rng = np.random.default_rng(seed)
    rows, y = rng.standard_normal((N, d)), rng.standard_normal(N)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if turned else np.eye(d)
    return rows, y, Q, np.einsum("ij,nj,kj->nik", Q, rows, Q)


@pytest.mark.every(6)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("mu", [1e-6, 1e-2, 1e2])
def test_commuting_measurements_end_where_theorem_4_says(mu, turned):
    """This includes modes that grow, shrink again and grow with the other sign (seed 0 has such modes).

    The worst error was 3e-10, the residual at the end. Weights in double precision have errors of 3e-7 to
    4e-3 here.
    """
    rows, y, Q, X = commuting(5, 4, 0, turned)
    model = tacit.Factorization.gaussian((5, 5), math.inf, math.sqrt(2) * mu)
    end = tacit.flow(model, X, y, times=None).predictor[-1]
    expected = (Q * tacit.limit(tacit.Diagonal(scale=mu), rows, y).predictor) @ Q.T
    assert np.linalg.norm(end - expected) <= 1e-8 * np.linalg.norm(expected)


def test_weights_are_those_of_the_model_in_the_aligned_basis_too():
    _, y, _, X = commuting(4, 2, 3, True)
    model = tacit.Factorization.gaussian((4, 4), math.inf, 0.3)
    run = tacit.flow(model, X, y, times=TIMES)
    U, V = run.weights["U"], run.weights["V"]
    np.testing.assert_allclose(U @ V.transpose(0, 2, 1), run.predictor, atol=1e-12)
    assert apart(run.predictor, raw_factors(model.left, model.right, X, y, TIMES)) < 1e-7


def test_width_costs_nothing():
    """10,000 hidden units are reduced to seven and take as many steps as 50 units, up to their different
    random weights."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 3, 4)), rng.standard_normal(5)
    runs = [
        tacit.flow(tacit.Factorization.gaussian((3, 4), k, 0.3 / math.sqrt(k)), X, y) for k in (50, 10_000)
    ]
    assert runs[1].steps < 1.5 * runs[0].steps
    seen = runs[1]._weights.seen[-1]
    assert seen["U"].shape == (3, 7) and runs[1].weights_at(-1)["U"].shape == (3, 10_000)


def test_plateaus_of_a_million_units_of_time_are_crossed():
    """Completion of a rank-1 matrix from tiny weights: small modes grow only after 1e6 units of time."""
    rng = np.random.default_rng(0)
    target = np.outer(rng.standard_normal(5), rng.standard_normal(5))
    X, y = tacit.observed(np.where(rng.random((5, 5)) < 0.7, target, np.nan))
    run = tacit.flow(tacit.Factorization.gaussian((5, 5), 10, 1e-4), X, y)
    assert run.converged and run.time[-1] > 1e6
    np.testing.assert_allclose(run.predictor[-1], target, atol=1e-3)


def test_a_stall_is_said():
    """Width 1 cannot fit a matrix of rank 2: the flow comes to rest and reports it."""
    run = tacit.flow(
        tacit.Factorization([[1.0], [0.1]], [[1.0], [0.1]]),
        np.eye(4).reshape(4, 2, 2),
        [2.0, 0.0, 0.0, 1.0],
        until=30.0,
    )
    assert not run.converged and run.status in (tacit.Status.STATIONARY, tacit.Status.STALLED)
    assert "rest" in run.reason
    np.testing.assert_allclose(run.predictor[-1], [[2, 0], [0, 0]], atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "exp", "logistic"])
def test_large_and_small_ways_agree(loss, monkeypatch):
    """Explicit steps of the weights, which large problems use, on a small problem."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((4, 3, 2)), np.array([1.0, -1.0, 1.0, -1.0])
    model = tacit.Factorization.gaussian((3, 2), 5, 0.3)
    at = [1.0, 5.0, 12.0]
    one = tacit.flow(model, X, y, loss=loss, at=at)
    monkeypatch.setattr(reduced, "_ROWS", 0)
    monkeypatch.setattr("tacit.flows.forms.weights._IMPLICIT", 0)
    other = tacit.flow(model, X, y, loss=loss, at=at)
    assert apart(one.predictor, other.predictor) < 1e-7


def test_singular_values_of_graded_columns_have_all_their_digits():
    """Singular values of a 2×2 matrix B·diag(1, ε), from the closed form."""
    B, small = np.array([[3.0, 1.0], [1.0, 2.0]]), 1e-20
    Z, sizes, turn = graded_svd(B * [1.0, small])
    large = np.hypot(3, 1)
    np.testing.assert_allclose(sizes, [large, 5 * small / large], rtol=1e-14)
    np.testing.assert_allclose(((Z * sizes) @ turn.T)[:, 1], B[:, 1] * small, rtol=1e-13)
