"""The forward error of results, compared with high precision, and the meaning of `converged`."""

import json

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import tacit
from tacit.cli import main
from tacit.errors import InconsistentDataError
from tacit.potentials import L1, Quadratic


def many_digits(X, y, W):
    """W Xᵀ(X W Xᵀ)⁻¹ y in 120 digits: the least ½ wᵀW⁻¹w, W a diagonal or a matrix."""
    before = ctx.prec
    ctx.prec = 400
    try:
        A, b = arb_mat(X.tolist()), arb_mat([[float(v)] for v in y])
        M = arb_mat((np.diag(W) if W.ndim == 1 else W).tolist())
        w = M * A.transpose() * (A * M * A.transpose()).solve(b)
        return np.array([float(w[i, 0].mid()) for i in range(X.shape[1])])
    finally:
        ctx.prec = before


def inverse_in_many_digits(matrix):
    before = ctx.prec
    ctx.prec = 400
    try:
        return arb_mat(matrix.tolist()).inv()
    finally:
        ctx.prec = before


def off(w, exact):
    return float(np.linalg.norm(w - exact) / np.linalg.norm(exact))


def twins(seed, gap, samples=4, features=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    X[1] = X[0] + gap * rng.standard_normal(features)
    return X, X @ rng.standard_normal(features)


@given(st.integers(0, 10**6), st.floats(2, 15))
@examples(25)
def test_least_norms_are_as_near_as_they_say(seed, digits):
    X, y = twins(seed, 10.0**-digits)
    weight = np.random.default_rng(seed).uniform(0.1, 10, X.shape[1])
    for metric in (np.ones(X.shape[1]), weight):
        found = tacit.limit(Quadratic(metric), X, y)
        true = off(found.predictor, many_digits(X, y, 1 / metric))
        assert true <= 10 * found.error and true <= 1e-12
        assert found.converged == (found.error <= 1e-7)
        assert found.stationarity <= 1e-12 and found.feasibility <= 1e-12


@given(st.integers(0, 10**6), st.floats(2, 12))
@examples(15)
def test_least_norms_of_a_metric_with_nearly_equal_samples(seed, digits):
    X, y = twins(seed, 10.0**-digits)
    half = np.random.default_rng(seed).standard_normal((X.shape[1], X.shape[1]))
    metric = half @ half.T + np.eye(X.shape[1])
    found = tacit.limit(Quadratic(metric), X, y)
    before = ctx.prec
    ctx.prec = 400
    try:
        A, b, M = arb_mat(X.tolist()), arb_mat([[float(v)] for v in y]), inverse_in_many_digits(metric)
        w = M * A.transpose() * (A * M * A.transpose()).solve(b)
        exact = np.array([float(w[i, 0].mid()) for i in range(X.shape[1])])
    finally:
        ctx.prec = before
    assert off(found.predictor, exact) <= min(10 * found.error, 1e-12)


@given(st.integers(0, 10**6), st.floats(2, 12))
@examples(15)
def test_neurons_with_nearly_equal_samples(seed, digits):
    """w(∞) = p + t·z⊥, with p the minimum-norm solution and z⊥ orthogonal to the samples."""
    X, y = twins(seed, 10.0**-digits)
    start = np.random.default_rng([seed, 1]).standard_normal(X.shape[1])
    found = tacit.limit(tacit.Neuron(2.0, 0.1 * start), X, y)
    p = many_digits(X, y, np.ones(X.shape[1]))
    unseen = start - many_digits(X, X @ start, np.ones(X.shape[1]))
    rest = found.predictor - p
    share = (rest @ unseen) / (unseen @ unseen)
    assert np.linalg.norm(rest - share * unseen) <= 1e-11 * np.linalg.norm(p) + 10 * found.error
    assert found.converged == (found.error <= 1e-7)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_least_l1_norm_says_what_the_data_leave_open(gap):
    X, y = twins(3, gap)
    found = tacit.limit(L1(), X, y)
    used = np.flatnonzero(np.abs(found.predictor) > 1e-9)
    before = ctx.prec
    ctx.prec = 400
    try:
        A = arb_mat(X[:, used].tolist())
        b = arb_mat([[arb(float(v))] for v in y])
        w = (A.transpose() * A).solve(A.transpose() * b)
        exact = np.array([float(w[i, 0].mid()) for i in range(len(used))])
    finally:
        ctx.prec = before
    assert off(found.predictor[used], exact) <= 10 * found.error
    assert gap * 1e-2 < 1e-16 / found.error < gap * 1e2  # it decreases with the distance of the samples


@given(st.integers(0, 10**6))
@examples(8)
def test_errors_of_good_data_are_rounding(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 20)), rng.standard_normal(5)
    for depth, scale in ((2, 1.0), (2, 1e-4), (3, 1e-2), (4, 1e-3), (10, 1e-2)):
        found = tacit.limit(tacit.Diagonal(depth, scale), X, y)
        assert found.converged and 1e-17 < found.error < 1e-12
        certificate = tacit.certify(found.model, X, y, found.predictor)
        assert certificate.holds and certificate.error < 1e-11


@given(st.integers(0, 10**6), st.floats(3, 9), st.sampled_from([2, 3, 4, 10]))
@examples(25)
def test_certificates_tell_how_far_a_predictor_is(seed, digits, depth):
    """A limit changed slightly, in the row space of X or orthogonal to it."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 12)), rng.standard_normal(5)
    model = tacit.Diagonal(depth, 0.5)
    w = tacit.limit(model, X, y).predictor
    moved = w + 10.0**-digits * rng.standard_normal(12)
    found = tacit.certify(model, X, y, moved)
    true = np.linalg.norm(moved - w) / np.linalg.norm(w)
    assert 0.5 * true <= found.error <= 2 * true


@pytest.mark.parametrize("norm", ["l1", "l2", 1.5, tacit.potentials.Hypentropy(-5.0)])
def test_margins_of_nearly_equal_samples_that_both_hold(norm):
    """Two features and two support vectors: w solves two equations."""
    for gap in (1e-2, 1e-5, 1e-8):
        X = np.array([[1.0, 0.3], [1.0 + gap, 0.3 + 2 * gap]])
        Z = np.array([[1.0, 0.3], [1.0, 0.3 - gap]]) if norm in ("l1", 1.5) else X
        found = tacit.max_margin(Z, [1, 1], norm)
        assert found.kkt <= 1e-9 and found.error < 1e-6
        if len(found.support) == 2:
            assert found.error > 1e-17 / gap


def test_paths_carry_errors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 15))
    labels = np.where(X[:, 0] > 0, 1, -1)
    path = tacit.margin_path(X, labels, [1.0, 1e-2, 1e-4])
    assert path.converged.all() and (path.error < 1e-12).all() and (path.error > 0).all()
    assert path.to_dict()["error"] == path.error.tolist()


class TestTolerance:
    """The residuals of converged results are within the tolerance."""

    def problem(self):
        rng = np.random.default_rng(1)
        return rng.standard_normal((4, 9)), rng.standard_normal(4)

    def test_no_residual_is_below_a_tolerance_that_floats_cannot_meet(self):
        found = tacit.limit(tacit.Diagonal(2, 1.0), *self.problem(), tol=1e-30)
        assert not found.converged and "above the tolerance 1e-30" in found.summary()

    def test_on_the_command_line(self, tmp_path, capsys):
        X, y = self.problem()
        np.savez(tmp_path / "data.npz", X=X, y=y)
        assert main(["limit", str(tmp_path / "data.npz"), "--tol", "1e-30"]) == 1
        capsys.readouterr()
        assert main(["limit", str(tmp_path / "data.npz"), "--json", "-"]) == 0
        content = json.loads(capsys.readouterr().out)
        assert 0 < content["error"] < 1e-12 and content["reason"] == ""

    def test_residuals_are_within_it(self):
        X = [[1, 2, 0.5], [1, 2 + 1e-10, 0.5 + 1e-10]]
        found = tacit.limit(tacit.Diagonal(2, 1.0), X, [1, 1 + 1e-10])
        assert found.stationarity <= 1e-15 and found.feasibility <= 1e-15
        assert 1e-7 < found.error < 1e-4 and not found.converged
        assert "samples 0 and 1 nearly depend on each other" in found.reason

    def test_what_cancels_may_leave_its_rounding(self):
        X, y = self.problem()
        start = tacit.Neuron(1e5, 1e3 * np.ones(9))
        assert tacit.limit(start, X, y).converged
        assert not tacit.limit(start, X, y, tol=1e-13).converged


def test_samples_that_nearly_contradict_have_a_solution_and_doubts():
    X = [[1, 2, 0.5], [1, 2 + 1e-12, 0.5 + 1e-12]]
    found = tacit.limit(tacit.Diagonal(2, 1.0), X, [1, 2])
    assert not found.converged and np.abs(found.predictor).max() > 1e11 and found.rank == 2
    with pytest.raises(InconsistentDataError):
        tacit.limit(tacit.Diagonal(2, 1.0), [[1, 2, 0.5], [1, 2, 0.5]], [1, 2])
