"""Effects of round-off on limits and certificates, where it dominates and where it grows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from connected_oracles import draw, end_of, gap, neuron_end
from mpmath import mp
from properties import some
from scipy.integrate import solve_ivp
from scipy.linalg import orth

import tacit
from tacit.data.equations import Samples
from tacit.potentials import Quadratic
from tacit.solvers.interpolation.newton import residual
from tacit.solvers.networks.bounds import drift_bound


def network_end(U, V, X, y):
    """The limit of the weights by LSODA, without the part of U orthogonal to the samples."""
    basis = orth(X.T)
    inputs, seen = X @ basis, basis.T @ U
    shape, size = seen.shape, seen.size

    def velocity(_, flat):
        u, v = flat[:size].reshape(shape), flat[size:]
        pull = inputs.T @ (y - inputs @ (u @ v))
        return np.concatenate([np.outer(pull, v).ravel(), pull @ u])

    flat, time = np.concatenate([seen.ravel(), V[0]]), 1.0
    for _ in range(20):
        flat = solve_ivp(velocity, (0, time), flat, method="LSODA", rtol=1e-12, atol=1e-18).y[:, -1]
        u, v = flat[:size].reshape(shape), flat[size:]
        if np.linalg.norm(inputs @ (u @ v) - y) < 1e-11 * np.linalg.norm(y):
            break
        time *= 4
    return basis @ (u @ v) + (U - basis @ seen) @ v


def rank_one(seed, inner, outer):
    """Data, and weights U = u qᵀ and V = v qᵀ of the sizes given, q in general position."""
    rng = np.random.default_rng([seed, 7])
    X, y = rng.standard_normal((3, 5)), rng.standard_normal(3)
    u, q = rng.standard_normal(5), rng.standard_normal(4)
    u, q = inner * u / np.linalg.norm(u), q / np.linalg.norm(q)
    return X, y, u, q, np.outer(u, q), outer * q[None]


class TestRankOne:
    def test_what_rounding_has_left_grows_where_the_inner_layer_is_the_larger(self):
        """The neuron's limit if the flow of these floats ends there; otherwise an error."""
        ends = []
        for seed, inner in product(some(range(6), 2), (1.0, 12.0)):
            X, y, u, _, U, V = rank_one(seed, inner, 0.05)
            try:
                exact = tacit.limit(tacit.Neuron(0.05, u), X, y).predictor
            except tacit.NoPotentialError:
                continue  # the output weight changes its sign
            ends.append(gap(network_end(U, V, X, y), exact))
            model = tacit.LinearNetwork(U, V)
            if ends[-1] > 1e-6:
                with pytest.raises(tacit.NoPotentialError, match="only up to round-off"):
                    tacit.limit(model, X, y)
            elif ends[-1] < 1e-11:
                assert gap(tacit.limit(model, X, y).predictor[:, 0], exact) < 1e-10
        assert min(ends) < 1e-11 and max(ends) > 0.01

    def test_a_single_unit_has_no_rounding_to_grow(self):
        """Both have the same limit, or both raise an error."""
        answered = 0
        for seed in some(range(6), 2):
            X, y, u, _, _, _ = rank_one(seed, 12.0, 0.05)
            inner, outer = np.outer(u, [0.0, 1.0, 0.0]), np.array([[0.0, 0.05, 0.0]])
            ends = []
            for model in (tacit.LinearNetwork(inner, outer), tacit.Neuron(0.05, u)):
                try:
                    ends.append(tacit.limit(model, X, y).predictor.ravel())
                except tacit.NoPotentialError:
                    ends.append(np.zeros(5))
            np.testing.assert_array_equal(*ends)
            answered += ends[0].any()
        assert answered

    @pytest.mark.parametrize("size", [1e-2, 1e-5])
    @pytest.mark.parametrize(("inner", "outer"), [(0.3, 1.0), (2.0, 2.5), (1e-2, 0.1), (5.0, 7.0)])
    def test_the_bound_on_what_grows_holds(self, inner, outer, size):
        """Deviations from rank one far above round-off: the limit of the flow is within the bound."""
        for seed in range(4):
            X, y, u, q, U, V = rank_one(seed, inner, outer)
            E = size * inner * np.random.default_rng(seed).standard_normal(U.shape)
            U = U + E - np.outer(E @ q, q)
            neuron, limit = tacit.Neuron(outer, u), neuron_end(outer, u, X, y)
            bound = drift_bound(tacit.LinearNetwork(U, V), neuron, X, y, limit)
            apart = np.linalg.norm(network_end(U, V, X, y) - limit)
            assert apart <= bound + 1e-9
            assert bound < 10 * np.linalg.norm(limit)

    def test_wide_balanced_networks_are_answered_as_before(self):
        for width in (2, 30, 1000):
            X, y, u, _, _, _ = rank_one(width, 1.0, 1.0)
            q = np.random.default_rng(width).standard_normal(width)
            model = tacit.LinearNetwork(np.outer(u, q), np.linalg.norm(u) * q[None])
            size = np.linalg.norm(q)
            found = tacit.limit(model, X, y)
            assert found.converged and found.distance == 0
            assert gap(found.predictor[:, 0], neuron_end(size * np.linalg.norm(u), size * u, X, y)) < 1e-10


class TestStartsThatFit:
    """w = w(0) plus changes of any size, including 0, for which ∇Q(w) − ∇Q(w(0)) is round-off."""

    @pytest.mark.parametrize("change", [0.0, 1e-14, 1e-10, 1e-6, 1e-3])
    @pytest.mark.parametrize("kind", ["linear", "leaky", "untied"])
    def test_they_are_vouched_for(self, kind, change):
        for seed in range(8):
            rng = np.random.default_rng([seed, 8])
            X, scale = rng.standard_normal((3, 6)), 10.0 ** rng.uniform(-3, 3)
            slope = 0.3 if kind == "leaky" else 1.0
            if kind == "untied":
                model = tacit.UntiedDiagonal.from_weights(*(scale * rng.standard_normal((4, 6))))
            else:
                direction, shape = rng.standard_normal(6), rng.uniform(-0.9, 0.9)
                model = tacit.Neuron.from_scale(scale, shape, direction, slope=slope)
            start = model.predictor()
            outputs = X @ start * (1 + change * rng.standard_normal(3))
            found = tacit.limit(model, X, np.maximum(outputs, slope * outputs))
            assert found.converged and found.stationarity < 1e-10
            assert gap(found.predictor, start) < 100 * change + 1e-12
            moved = found.predictor + 1e-7 * np.linalg.norm(start) * np.linalg.svd(X)[2][-1]
            assert not tacit.certify(model, X, np.maximum(outputs, slope * outputs), moved).holds

    def test_no_data_at_all(self):
        for model in (tacit.Neuron(0.3, np.ones(4)), tacit.Neuron(-3.0, np.ones(4), 0.5)):
            found = tacit.limit(model, np.zeros((2, 4)), np.zeros(2))
            assert found.converged and gap(found.predictor, model.predictor()) < 2e-14


class TestTargetsOfZero:
    @pytest.mark.parametrize("slope", [1.0, 0.4])
    def test_slopes_at_zero_fill_a_ball(self, slope):
        """If a² < ‖ω∥‖² the predictor ends at 0, where Q has a kink; otherwise it does not."""
        ended = []
        for seed in range(30):
            shape = np.random.default_rng(seed).uniform(-0.9, -0.1)
            model, X, y = draw(2.0, shape, 1, slope, seed)
            found, exact = tacit.limit(model, X, 0 * y), end_of(model, X, 0 * y)
            assert found.converged and np.linalg.norm(found.predictor - exact) < 1e-12
            ended.append(not exact.any())
            assert tacit.certify(model, X, 0 * y, np.zeros(7)).holds == ended[-1]
        assert any(ended) and not all(ended)

    def test_a_balanced_network_in_the_row_space(self):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((3, 6))
            model = tacit.LinearNetwork.balanced(X.T @ rng.standard_normal(3), X, 5)
            found = tacit.limit(model, X, np.zeros(3))
            assert found.converged and np.linalg.norm(found.predictor) < 1e-20


class TestMetrics:
    @pytest.mark.parametrize("condition", [1e2, 1e6, 1e10, 1e14])
    @pytest.mark.parametrize("graded", [False, True])
    def test_ill_conditioned_metrics_against_many_digits(self, condition, graded):
        rng = np.random.default_rng(int(np.log10(condition)))
        turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        sizes = np.geomspace(1, condition, 8)
        B = (turn * sizes) @ turn.T if not graded else (turn @ turn.T + 0.1) * np.sqrt(np.outer(sizes, sizes))
        B, X, y = (B + B.T) / 2, rng.standard_normal((3, 8)), rng.standard_normal(3)
        with mp.workdps(60):
            inverse, rows = mp.matrix(B.tolist()) ** -1, mp.matrix(X.tolist())
            push = inverse * rows.T
            exact = np.array([float(v) for v in push * mp.lu_solve(rows * push, mp.matrix(y.tolist()))])
        found = tacit.limit(Quadratic(B), X, y)
        assert found.converged
        # Residuals have twice the digits of floats: 240 problems were correctly rounded, on three kernels.
        assert gap(found.predictor, exact) < 1e-15

    def test_a_metric_that_floats_cannot_invert(self):
        B = np.diag([1.0, 1e14, 1e16]) + 1e-3
        found = tacit.limit(Quadratic(B), [[1.0, 1.0, 1.0]], [1.0])
        assert found.converged and gap(found.predictor, [1.0, 1e-14, 1e-16]) < 1e-9


@pytest.mark.parametrize("sign", [1, -1])
def test_contradictions_are_found_before_the_sign_is_asked_for(sign):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
    model = tacit.Neuron(0.3, w)
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(model, np.vstack([X, X[:1]]), sign * np.append(y, y[0] + 1))
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(model, 0 * X, sign * y)


def test_squares_beyond_the_largest_float_are_not_taken():
    X, y = np.random.default_rng(1).standard_normal((3, 5)), np.array([1.0, -2.0, 0.5])
    found = tacit.limit(tacit.LinearNetwork.orthogonal(X, 8), X, 1e200 * y)
    assert found.converged and gap(found.predictor[:, 0] / 1e200, np.linalg.pinv(X) @ y) < 1e-12


@pytest.mark.parametrize("features", [3, 40])  # whose large coordinates are most of them, and few
@pytest.mark.parametrize("sign", [1, -1])
def test_a_residual_is_nothing_only_where_it_may_be_its_own_rounding(features, sign):
    rng = np.random.default_rng(8)
    X, w = rng.standard_normal((3, features)), sign * rng.uniform(0.5, 1.0, features)
    w[3:] *= 1e-9
    equations = Samples(X).equations(X @ w, 1e-6)
    size = np.abs(equations.X) @ np.abs(w) + np.abs(equations.y)
    for off, seen in ((1e-16, False), (1e-13, True)):
        for side in (1, -1):
            found = residual(replace(equations, y=equations.X @ w + side * off * size), w)
            assert (np.sign(found) == (side if seen else 0)).all()
