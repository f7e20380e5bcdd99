"""Limits of matrix factorizations, compared with flows of their lifted matrix, and errors."""

import numpy as np
import pytest
from matrix_oracles import commuting, raw_end

import tacit
from tacit.potentials import Entropy, Hypentropy, Nuclear, Spectral
from tacit.solvers.matrices.factorization import diagonalize, ending


def identity_start(d1, d2, level):
    """[U; V][U; V]ᵀ = level·I."""
    root = np.sqrt(level)
    return tacit.Factorization(root * np.eye(d1, d1 + d2), root * np.eye(d2, d1 + d2, d1))


@pytest.mark.every(3)
@pytest.mark.parametrize("mu", [1e-6, 1e-3, 1.0, 1e2])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 3)])
def test_theorem_4_against_the_raw_flow(shape, mu):
    d1, d2 = shape
    X, y = commuting(d1, d2, 2, 5)
    found = tacit.limit(identity_start(d1, d2, 2 * mu**2), X, y)
    right = raw_end(2 * mu**2 * np.eye(d1 + d2), X, y)[:d1, d1:]
    assert found.converged and found.error <= 1e-12
    # the error of the integrator of the raw flow, from weights far below its result
    own = 2e-8 if mu < 1e-5 else 1e-9
    assert np.linalg.norm(found.predictor - right) <= own * np.linalg.norm(right)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 1.0, 1e2])
def test_the_reduction_is_the_schatten_potential(mu):
    """One problem of vectors, one of matrices: value, multipliers and matrix agree."""
    X, y = commuting(4, 3, 2, 1)
    found = tacit.limit(identity_start(4, 3, 2 * mu**2), X, y)
    matrix = tacit.limit(Spectral(Hypentropy(2 * np.log(mu))), X, y)
    np.testing.assert_allclose(found.predictor, matrix.predictor, atol=1e-11 * np.abs(matrix.predictor).max())
    np.testing.assert_allclose(found.dual, matrix.dual, rtol=1e-9)
    assert found.value == pytest.approx(matrix.value, rel=1e-9)


def test_the_scale_is_half_of_the_level():
    """μ² = α²k/2, so that M̄(0) = α²k·I = 2μ²I: another factor gives another limit."""
    X, y = commuting(3, 3, 2, 5)
    right = raw_end(0.5 * np.eye(6), X, y)[:3, 3:]
    for factor, near in ((1 / 2, True), (1.0, False), (1 / 4, False)):
        found = tacit.limit(Spectral(Hypentropy(np.log(factor * 0.5))), X, y).predictor
        assert (np.linalg.norm(found - right) < 1e-9) == near


@pytest.mark.parametrize(("width", "scale"), [(1, 1.0), (2, 0.3), (10, 0.1), (30, 1.0)])
def test_any_start_has_a_limit_where_measurements_commute(width, scale):
    X, y = commuting(4, 3, 2, 2)
    model = tacit.Factorization.gaussian((4, 3), width, scale, seed=3)
    W = np.vstack([model.left, model.right])
    right = raw_end(W @ W.T, X, y)
    found = tacit.limit(model, X, y)
    assert found.converged
    np.testing.assert_allclose(found.predictor, right[:4, 4:], atol=1e-9 * np.abs(right).max())
    whole = ending(W @ W.T, diagonalize(X), y, 1e-10).lifted
    np.testing.assert_allclose(whole, right, atol=1e-9 * np.abs(right).max())


@pytest.mark.parametrize("level", [1e-8, 1e-2, 10.0])
def test_symmetric_factorizations(level):
    X, y = commuting(4, 4, 2, 4, symmetric=True)
    right = raw_end(level * np.eye(4), X, y, symmetric=True)
    found = ending(level * np.eye(4), diagonalize(X, symmetric=True), y, 1e-10)
    np.testing.assert_allclose(found.matrix, right, atol=1e-9 * np.abs(right).max())
    matrix = tacit.limit(Spectral(Entropy(np.log(level)), eigenvalues=True), X, y)
    np.testing.assert_allclose(found.matrix, matrix.predictor, atol=1e-10 * np.abs(right).max())


@pytest.mark.parametrize("width", [1, 3, 10])
def test_symmetric_factorizations_from_any_start(width):
    X, y = commuting(4, 4, 2, 4, symmetric=True)
    W = 0.5 * np.random.default_rng(width).standard_normal((4, width))
    found = ending(W @ W.T, diagonalize(X, symmetric=True), y, 1e-10)
    right = raw_end(W @ W.T, X, y, symmetric=True)
    np.testing.assert_allclose(found.matrix, right, atol=1e-9 * np.abs(right).max())


class Squared(tacit.Model):
    """W Wᵀ, as a model defined outside Tacit: a limit needs only shapes and the lifted matrix."""

    input_ndim = 3

    def __init__(self, W):
        self.W = W

    def as_inputs(self, X):
        return X

    def lifted(self):
        return self.W @ self.W.T


def test_limits_and_regimes_of_a_guest():
    X, y = commuting(4, 4, 2, 4, symmetric=True)
    small, large = (tacit.limit(Squared(scale * np.eye(4)), X, y) for scale in (1e-8, 1e2))
    assert small.regime == "rich" and large.regime == "kernel"
    assert small.converged and np.linalg.eigvalsh(small.predictor).min() > -1e-12
    assert tacit.certify(Squared(np.eye(4)), X, y, tacit.limit(Squared(np.eye(4)), X, y).predictor).holds
    A, start = X.reshape(2, -1), 1e4 * np.eye(4).ravel()
    nearest = start + np.linalg.pinv(A) @ (y - A @ start)  # in the Frobenius norm
    size = max(np.linalg.norm(large.predictor), np.linalg.norm(nearest))
    distance = np.linalg.norm(large.predictor.ravel() - nearest) / size
    assert large.regime.distance_to_kernel == pytest.approx(distance, rel=1e-6)
    with pytest.raises(tacit.InputError, match="measurement 0 is not symmetric"):
        tacit.limit(Squared(np.eye(3)), np.triu(np.ones((3, 3)))[None], [1.0])


def test_targets_that_no_positive_matrix_meets():
    X = np.array([np.eye(3)])
    with pytest.raises(tacit.InconsistentDataError, match="no positive semidefinite matrix"):
        ending(np.eye(3), diagonalize(X, symmetric=True), np.array([-1.0]), 1e-10)


@pytest.fixture(scope="module")
def generic():
    rng = np.random.default_rng(4)
    return rng.standard_normal((5, 3, 3)), rng.standard_normal(5)


def test_measurements_that_do_not_commute(generic):
    """The error contains the nearest potential and the distance of the flow's limit from its minimizer."""
    model = identity_start(3, 3, 0.02)
    with pytest.raises(tacit.NoPotentialError, match=r"do not commute.*Theorem 4.*the flow ends") as caught:
        tacit.limit(model, *generic)
    nearest = tacit.limit(caught.value.nearest, *generic)
    run = tacit.flow(model, *generic, rtol=1e-10)
    distance = np.linalg.norm(run.predictor[-1] - nearest.predictor) / np.linalg.norm(run.predictor[-1])
    assert caught.value.distance == pytest.approx(distance, rel=1e-2)
    assert 1e-4 < distance < 0.2 and 0.1 < caught.value.commutator < 1.5
    with pytest.raises(tacit.NoPotentialError, match="do not commute"):
        tacit.certify(model, *generic, np.zeros((3, 3)))


def test_certificates_need_a_potential():
    X, y = commuting(4, 3, 2, 1)
    model = identity_start(4, 3, 0.1)
    M = tacit.limit(model, X, y).predictor
    assert tacit.certify(model, X, y, M).holds and not tacit.certify(model, X, y, 1.1 * M).holds
    with pytest.raises(tacit.NoPotentialError, match="from the nearest multiple"):
        tacit.certify(tacit.Factorization.gaussian((4, 3), 5, 0.1), X, y, M)


def test_a_start_without_weight():
    """U = V in a direction: m₋ = 0, and its coordinate cannot become negative."""
    X = np.array([np.diag([1.0, 0.0])])
    model = tacit.Factorization(np.eye(2), np.eye(2))
    with pytest.raises(tacit.NoPotentialError, match="are 0 in 1 of the 1 directions"):
        tacit.limit(model, X, [-1.0])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("samples", "level", "name"), [(8, 1e-9, "rich"), (5, 1e-9, "intermediate"), (5, 1e3, "kernel")]
)
def test_regimes_by_the_flow(samples, level, name):
    """Without a potential: the limit of the flow, between minimum Frobenius distance and nuclear norm.

    A small start leads to the matrix of rank 1 that eight measurements determine; with five measurements that
    do not commute it does not lead to the minimum nuclear norm.
    """
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 3, 3))[:samples]
    y = np.einsum("nij,i,j->n", X, [1.0, 2.0, -1.0], [1.0, 0.5, 1.0]) + (0 if samples == 8 else X[:, 0, 0])
    found = tacit.regime(identity_start(3, 3, level), X, y)
    end = raw_end(level * np.eye(6), X, y)[:3, 3:]
    least = (np.linalg.pinv(X.reshape(samples, -1)) @ y).reshape(3, 3)
    rich = tacit.limit(Nuclear(), X, y).predictor
    for right, told in ((least, found.distance_to_kernel), (rich, found.distance_to_rich)):
        size = max(np.linalg.norm(end), np.linalg.norm(right))
        assert told == pytest.approx(np.linalg.norm(end - right) / size, abs=1e-5)
    assert found == name and found.rich_end == "nuclear norm"


def test_the_kernel_end_is_that_of_the_linearized_flow():
    X, y = commuting(3, 4, 2, 6)
    model = tacit.Factorization.gaussian((3, 4), 5, 0.7, seed=1)
    found = tacit.limit(model, X, y)
    from tacit.verbs.regime import both_ends

    kernel, rich = both_ends(found)
    run = tacit.flow(model, X, y, linearized=True, rtol=1e-10)
    np.testing.assert_allclose(kernel, run.predictor[-1], atol=1e-8)
    np.testing.assert_allclose(rich, tacit.limit(Nuclear(), X, y).predictor, atol=1e-12)
    flow = tacit.flow(model, X, y, rtol=1e-10)
    assert found.regime.kernel_distance == pytest.approx(flow.final_kernel_distance, rel=1e-6)


class Single:
    """Measurements of single entries, instead of arrays."""

    def __init__(self, rows, columns, shape):
        self.rows, self.columns, self.shape = rows, columns, shape

    def __len__(self):
        return len(self.rows)

    def adjoint(self, nu):
        raise AssertionError

    def dense(self):
        X = np.zeros((len(self), *self.shape))
        X[np.arange(len(self)), self.rows, self.columns] = 1.0
        return X


def test_single_entries():
    entries = Single([0, 1, 2], [1, 0, 3], (3, 4))
    found = tacit.limit(identity_start(3, 4, 0.1), entries, [1.0, 2.0, -3.0])
    right = np.zeros((3, 4))
    right[[0, 1, 2], [1, 0, 3]] = [1.0, 2.0, -3.0]
    np.testing.assert_allclose(found.predictor, right, atol=1e-13)
    with pytest.raises(tacit.InputError, match=r"1,000 measurements of 1,000×1,000 matrices"):
        tacit.limit(Nuclear(), Single([0] * 1000, [0] * 1000, (1000, 1000)), np.ones(1000))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((2, 3)), np.ones(2), "X must have 3 dimensions"),
        (np.ones((2, 3, 3)), np.ones(3), "for each of the 2 samples of X"),
        (np.ones((2, 3, 3)), np.ones((2, 2)), "must have one number"),
        (np.full((2, 3, 3), np.nan), np.ones(2), "X must be finite"),
        (np.ones((2, 3, 3)), [1.0, np.nan], "y must be finite"),
        (np.zeros((0, 3, 3)), np.zeros(0), "at least one of each"),
    ],
)
def test_bad_measurements(X, y, message):
    for model in (Nuclear(), Spectral(Hypentropy(0.0)), identity_start(3, 3, 1.0)):
        with pytest.raises(tacit.InputError, match=message):
            tacit.limit(model, X, y)


def test_bad_shapes_and_options():
    X = np.ones((1, 3, 3))
    for call, message in [
        (
            lambda: tacit.limit(identity_start(3, 2, 1.0), X, [1.0]),
            r"X must have shape \(samples, 3, 2\) for this model, got \(1, 3, 3\)",
        ),
        (lambda: tacit.limit(Nuclear(), X, [1.0], intercept=True), "intercept is for tables"),
        (lambda: tacit.limit(Nuclear(), X, [1.0], standardize=True), "standardize is for tables"),
        (lambda: tacit.certify(Nuclear(), X, [1.0], np.ones((2, 3))), "predictor has shape"),
        (
            lambda: tacit.certify(Nuclear(), X, [1.0], np.ones((3, 3)), problem="margin"),
            'must be "regression"',
        ),
        (
            lambda: tacit.limit(Spectral(Entropy(0.0), True), np.triu(X[0])[None], [1.0]),
            "measurement 0 is not symmetric",
        ),
        (lambda: tacit.limit(Spectral(Entropy(0.0), True), np.ones((1, 2, 3)), [1.0]), "must be square"),
    ]:
        with pytest.raises(tacit.InputError, match=message):
            call()
