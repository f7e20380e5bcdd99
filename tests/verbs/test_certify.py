"""Certificates hold for optimal predictors from any source, and fail for others."""

import numpy as np
import pytest
from connected_oracles import draw, end_of, neuron_end
from oracles import gaussian_problem
from scipy.optimize import minimize

import tacit
from tacit.potentials import L1, Hypentropy, Quadratic


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(6, 20, nonzero=2, seed=0)


def test_the_limit_of_one_model_is_certified_for_it_and_for_no_other(problem):
    X, y = problem
    models = [tacit.Diagonal(2, 0.1), tacit.Diagonal(3, 0.3), tacit.UntiedDiagonal(0.5, 0.3)]
    for model in models:
        w = tacit.limit(model, X, y).predictor
        verdicts = [tacit.certify(other, X, y, w).holds for other in models]
        assert verdicts == [other is model for other in models]


def test_a_perturbed_predictor_is_refused(problem):
    X, y = problem
    model = tacit.Diagonal(2, 0.1)
    w = tacit.limit(model, X, y).predictor
    null = np.linalg.svd(X)[2][-1]
    moved = tacit.certify(model, X, y, w + 1e-3 * null)
    assert moved.feasibility < 1e-12
    assert not moved.holds
    assert not tacit.certify(model, X, y, 1.001 * w).holds


def test_residuals_are_those_of_their_definitions():
    """One coordinate of many is wrong: the largest residual counts, not their mean."""
    X, y, w = np.eye(3, 12), np.array([3.0, 0.0, 4.0]), np.zeros(12)
    w[:3], w[7] = (3.0, 0.5, 4.0), 0.2  # ∇Q = w is in the row space except for w₇
    found = tacit.certify(Quadratic(), X, y, w)
    assert found.stationarity == pytest.approx(0.2 / 4, rel=1e-12)
    assert found.feasibility == pytest.approx(0.5 / 5, rel=1e-12)


def test_the_minimum_of_a_general_solver_is_certified(problem):
    X, y = problem
    Q = Hypentropy(np.log(0.3))
    found = minimize(
        Q.value,
        np.linalg.pinv(X) @ y,
        jac=Q.gradient,
        constraints={"type": "eq", "fun": lambda w: X @ w - y, "jac": lambda w: X},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    certificate = tacit.certify(Q, X, y, found.x, tol=1e-5)
    assert certificate.holds
    np.testing.assert_allclose(tacit.limit(Q, X, y).predictor, found.x, atol=1e-6)


def test_multipliers_of_the_certificate_are_those_of_the_limit(problem):
    X, y = problem
    result = tacit.limit(tacit.Diagonal(2, 0.1), X, y)
    found = tacit.certify(result.model, X, y, result.predictor)
    np.testing.assert_allclose(found.dual, result.dual, rtol=1e-9)


def test_norms_are_certified_through_their_subdifferential(problem):
    X, y = problem
    rich, kernel = tacit.limit(L1(), X, y).predictor, tacit.limit(Quadratic(), X, y).predictor
    assert np.count_nonzero(rich) == 6
    assert tacit.certify(L1(), X, y, rich).holds
    assert tacit.certify(Quadratic(), X, y, kernel).holds
    assert not tacit.certify(L1(), X, y, kernel).holds
    assert not tacit.certify(Quadratic(), X, y, rich).holds
    np.testing.assert_allclose(kernel, np.linalg.pinv(X) @ y, atol=1e-12)


def test_the_multipliers_of_a_sparse_minimizer_are_searched_for():
    """Two nonzeros and six samples: those of least norm have a slope of 1.16, and others prove optimality."""
    X, w = np.random.default_rng(3).standard_normal((6, 14)), np.zeros(14)
    w[:2] = 1, -2
    least = np.linalg.pinv(X[:, :2].T) @ np.sign(w[:2])
    assert np.abs(X.T @ least).max() > 1.1
    found = tacit.certify(L1(), X, X @ w, w)
    assert found.holds and found.stationarity < 1e-9
    slopes = X.T @ found.dual
    np.testing.assert_allclose(slopes[:2], [1, -1], rtol=1e-9)
    assert np.abs(slopes).max() <= 1 + 1e-9


def test_a_matrix_metric_gives_the_weighted_least_norm(problem):
    X, y = problem
    A = np.random.default_rng(1).standard_normal((20, 20))
    B = A @ A.T + np.eye(20)
    w = tacit.limit(Quadratic(B), X, y).predictor
    inverse = np.linalg.inv(B)
    np.testing.assert_allclose(w, inverse @ X.T @ np.linalg.solve(X @ inverse @ X.T, y), atol=1e-10)
    assert tacit.certify(Quadratic(B), X, y, w).holds


def test_coordinates_below_the_smallest_float_are_certified_by_what_is_known_of_them(problem):
    X, y = problem
    model = tacit.Diagonal(depth=2, log_scale=-690.0)
    result = tacit.limit(model, X, y)
    assert (result.predictor == 0).any()
    assert tacit.certify(model, X, y, result.predictor).holds


@pytest.mark.parametrize("slope", [1.0, 0.3])
@pytest.mark.parametrize("sign", [1, -1])
def test_neurons_are_certified_by_the_targets_that_they_fit(sign, slope):
    """Limits satisfy Xw̃ = σ⁻¹(y) for a > 0 and Xw̃ = −σ⁻¹(−y) for a < 0, not Xw̃ = y."""
    model, X, y = draw(0.8, 0.4, sign, slope, seed=2)
    end = end_of(model, X, y)
    found = tacit.certify(model, X, y, end)
    assert found.holds and found.feasibility < 1e-12
    assert tacit.certify(model, X, y, tacit.limit(model, X, y).predictor).holds
    assert not tacit.certify(model, X, y, end + 1e-3 * np.linalg.svd(X)[2][-1]).holds
    other = tacit.limit(tacit.Neuron(model.output, model.weights), X, y).predictor
    assert tacit.certify(model, X, y, other).holds == (slope == 1)


def test_the_column_of_a_linear_network_is_its_predictor():
    """A balanced network is a neuron with δ = 0: ∇‖w‖^{3/2} at the limit minus that at the start is Xᵀν."""
    _, X, y = draw(1.0, 0.0, 1, 1.0, seed=3)
    w, hidden = np.random.default_rng(4).standard_normal(7), np.array([0.6, 0.0, -0.8])
    model = tacit.LinearNetwork(np.outer(w, hidden), np.linalg.norm(w) * hidden[None])
    end = neuron_end(np.linalg.norm(w), w, X, y)
    assert tacit.limit(model, X, y).predictor.shape == (7, 1)
    for predictor in (end, end[:, None], tacit.limit(model, X, y).predictor):
        assert tacit.certify(model, X, y, predictor).holds
    assert not tacit.certify(model, X, y, np.linalg.pinv(X) @ y[:, None]).holds
    for bad in (end[:6, None], end[None], np.ones((7, 2))):
        with pytest.raises(tacit.InputError, match="predictor"):
            tacit.certify(model, X, y, bad)
    with pytest.raises(tacit.InputError, match="predictor"):
        tacit.certify(tacit.Neuron(1.0, w), X, y, end[:, None])


class TestMargin:
    """min ½‖w‖² with margins at least 1, whose solution is known in closed form."""

    X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    y = np.ones(3)

    def test_the_known_solution_holds_with_its_multipliers(self):
        certificate = tacit.certify(Quadratic(), self.X, self.y, [0.5, 0.5], problem="margin")
        assert certificate.holds
        np.testing.assert_allclose(certificate.dual, [0.25, 0.25, 0.0], atol=1e-12)

    @pytest.mark.parametrize("w", [[0.6, 0.6], [0.4, 0.6], [0.5, 0.7], [0.5, 0.4]])
    def test_other_predictors_do_not(self, w):
        assert not tacit.certify(Quadratic(), self.X, self.y, w, problem="margin").holds

    def test_labels_enter_with_their_sign(self):
        flipped = self.X * [[1.0], [-1.0], [1.0]]
        labels = [1.0, -1.0, 1.0]
        assert tacit.certify(Quadratic(), flipped, labels, [0.5, 0.5], problem="margin").holds

    def test_a_nonsmooth_potential_takes_any_subgradient(self):
        X, y = np.array([[2.0, 1.0]]), np.ones(1)
        assert tacit.certify(L1(), X, y, [0.5, 0.0], problem="margin").holds
        assert not tacit.certify(L1(), X, y, [0.0, 1.0], problem="margin").holds


@pytest.mark.parametrize("metric", ["matrix", "diagonal", "one"])
@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_the_error_of_a_quadratic_certificate_is_the_distance_from_the_minimum(problem, metric, size):
    """For a quadratic potential the first-order error estimate is exact, in and out of the solution space."""
    X, y = problem
    rng = np.random.default_rng(1)
    B = {"matrix": (A := rng.standard_normal((20, 20))) @ A.T + np.eye(20)}
    Q = Quadratic(B.get(metric, 1.0 if metric == "one" else rng.uniform(0.5, 2, 20)))
    inverse = np.linalg.inv(
        Q.hessian(np.zeros(20)) if metric == "matrix" else np.diag(Q.hessian(np.zeros(20)))
    )
    least = inverse @ X.T @ np.linalg.solve(X @ inverse @ X.T, y)  # in closed form
    for way in (np.linalg.svd(X)[2][-1], X.T @ rng.standard_normal(len(y))):
        w = least + size * np.linalg.norm(least) * way / np.linalg.norm(way)
        true = np.linalg.norm(w - least) / np.linalg.norm(w)
        assert tacit.certify(Q, X, y, w).error == pytest.approx(true, rel=1e-3)
