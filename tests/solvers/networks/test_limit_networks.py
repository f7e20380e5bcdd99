"""Limits of linear networks with balanced, orthogonal and infinitesimal initialization, and errors.

Azulay et al. 2021, Proposition 1 and Theorem 3; Min et al. 2021, Proposition 1.
"""

import json
import re

import numpy as np
import pytest
from connected_oracles import gap, network_flow, neuron_end
from scipy.integrate import solve_ivp
from scipy.linalg import null_space, orth
from scipy.optimize import minimize

import tacit
from tacit.solvers.networks.bounds import distance_bound

IMBALANCE = r"(?is)imbalance"


def data(samples=4, features=7, outputs=1, seed=0):
    rng = np.random.default_rng([seed, samples, features, outputs])
    X, y = rng.standard_normal((samples, features)), rng.standard_normal((samples, outputs))
    return X, y[:, 0] if outputs == 1 else y


def balanced(direction, scale, width, sign=1, seed=0):
    """UᵀU = VᵀV with predictor scale·direction/‖direction‖: of rank one, along a random hidden unit."""
    hidden = np.random.default_rng(seed).standard_normal(width)
    hidden /= np.linalg.norm(hidden)
    w = np.sqrt(scale) * direction / np.linalg.norm(direction)
    return sign * np.outer(w, hidden), sign * np.sqrt(scale) * hidden[None]


def infinitesimal(size, outputs=1, width=6, features=7, seed=0):
    rng = np.random.default_rng(seed)
    return size * rng.standard_normal((features, width)), size * rng.standard_normal((outputs, width))


def off(X, U):
    """P⊥U."""
    rows = orth(X.T)
    return U - rows @ (rows.T @ U)


def proposition_1(start, X, y):
    """argmin ‖w‖^{3/2} − (3/2)‖w̃(0)‖^{−1/2} w̃(0)·w over X w = y, by BFGS in a basis of the null space."""
    smallest, free, size = np.linalg.pinv(X) @ y, null_space(X), np.linalg.norm(start)

    def objective(c):
        w = smallest + free @ c
        length = np.linalg.norm(w)
        slope = 1.5 * (w / np.sqrt(length) - start / np.sqrt(size))
        return length**1.5 - 1.5 * start @ w / np.sqrt(size), free.T @ slope

    found = minimize(objective, free.T @ start, jac=True, method="BFGS", options={"gtol": 1e-11})
    return smallest + free @ found.x


class TestBalanced:
    @pytest.mark.parametrize("width", [1, 3, 40])
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_strictly_balanced_networks_end_as_proposition_1_says(self, width, scale, sign):
        """At any width they are equivalent to a neuron with δ = 0, whose output weight keeps its sign."""
        X, y = data(seed=1)
        direction = np.random.default_rng(2).standard_normal(7)
        U, V = balanced(direction, scale, width, sign, seed=width)
        np.testing.assert_allclose(U.T @ U, V.T @ V, atol=1e-12 * scale)
        found = tacit.limit(tacit.LinearNetwork(U, V), X, y)
        w = np.sqrt(scale) * direction / np.linalg.norm(direction)
        exact = neuron_end(np.linalg.norm(w), w, X, y)
        assert found.converged and found.predictor.shape == (7, 1)
        assert gap(found.predictor[:, 0], exact) < 1e-9
        if scale == 1:
            assert gap(proposition_1(np.sqrt(scale) * w, X, y), exact) < 1e-6

    @pytest.mark.parametrize(("scale", "width"), [(1e-3, 3), (1.0, 5), (30.0, 4)])
    def test_they_agree_with_simulated_flows(self, scale, width):
        X, y = data(seed=3)
        U, V = balanced(np.random.default_rng(4).standard_normal(7), scale, width)
        run = network_flow(U, V, X, y)
        assert gap(tacit.limit(tacit.LinearNetwork(U, V), X, y).predictor, run.predictor) < 1e-8

    def test_the_certificate(self):
        """The difference of ∇‖w‖^{3/2} between limit and start is Xᵀν: (3/2)(w/√‖w‖ − w̃(0)/√‖w̃(0)‖)."""
        X, y = data(seed=5)
        model = tacit.LinearNetwork(*balanced(np.random.default_rng(6).standard_normal(7), 0.4, 5))
        found = tacit.limit(model, X, y)
        w, start = found.predictor[:, 0], model.predictor()[:, 0]
        slope = 1.5 * (w / np.sqrt(np.linalg.norm(w)) - start / np.sqrt(np.linalg.norm(start)))
        assert gap(X.T @ np.ravel(found.dual), slope) < 1e-9
        assert max(found.feasibility, found.stationarity) < 1e-10
        assert found.feasibility == pytest.approx(np.linalg.norm(X @ w - y) / np.linalg.norm(y), abs=1e-14)
        plain = json.loads(json.dumps(found.to_dict()))
        np.testing.assert_array_equal(plain["predictor"], found.predictor)
        assert found.summary() and found.regime.name

    def test_a_balanced_start_in_the_row_space_ends_at_the_smallest_solution(self):
        X, y = data(seed=7)
        model = tacit.LinearNetwork.balanced(X.T @ np.array([1.0, -0.5, 0.3, 0.2]), X, 5)
        assert gap(tacit.limit(model, X, y).predictor[:, 0], np.linalg.pinv(X) @ y) < 1e-9

    def test_a_column_of_targets_is_the_same_as_a_vector(self):
        X, y = data(seed=8)
        model = tacit.LinearNetwork(*balanced(np.random.default_rng(9).standard_normal(7), 0.4, 5))
        one, other = (tacit.limit(model, X, t).predictor for t in (y, y[:, None]))
        np.testing.assert_allclose(one, other, rtol=1e-12)

    def test_nearly_balanced_is_not_balanced(self):
        """An imbalance of 1e-3 moves the limit by more than 1e-6: an error, or determined by the flow."""
        X, y = data(seed=3)
        U, V = balanced(np.random.default_rng(4).standard_normal(7), 1.0, 5)
        U = U + 1e-3 * np.random.default_rng(5).standard_normal(U.shape)
        run = network_flow(U, V, X, y)
        exact = tacit.limit(tacit.LinearNetwork(*balanced(U.sum(axis=1), 1.0, 5)), X, y).predictor
        assert gap(exact, run.predictor) > 1e-6
        assert_refused_or_equal(tacit.LinearNetwork(U, V), X, y, run.predictor)

    @pytest.mark.every(2)
    @pytest.mark.parametrize("seed", range(3))
    def test_balanced_starts_of_min_are_refused_or_followed(self, seed):
        """Balanced on the row space of X only: UᵀU − VᵀV = U₂ᵀU₂ ≠ 0 (one output, then two)."""
        for outputs in (1, 2):
            X, y = data(3, 5, outputs, seed)
            theta = np.random.default_rng(seed).standard_normal((5, outputs))
            model = tacit.LinearNetwork.balanced(theta, X, 4)
            run = network_flow(model.inner, model.outer, X, y)
            assert_refused_or_equal(model, X, y, run.predictor)

    def test_balanced_networks_of_two_outputs_are_refused_or_followed(self):
        X, y = data(3, 5, 2, seed=1)
        rows, frame = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 2)))[0], np.eye(4)[:2]
        U, V = rows @ frame, np.eye(2) @ frame
        np.testing.assert_allclose(U.T @ U, V.T @ V, atol=1e-15)
        run = network_flow(U, V, X, y)
        assert gap(run.predictor, np.linalg.pinv(X) @ y) > 1e-2
        assert_refused_or_equal(tacit.LinearNetwork(U, V), X, y, run.predictor)


def assert_refused_or_equal(model, X, y, end):
    """No theorem applies: an error that names the conserved quantities, or the correct limit."""
    try:
        found = tacit.limit(model, X, y).predictor
    except tacit.NoPotentialError as refusal:
        message = str(refusal)
    else:
        message = "imbalance"
        assert gap(found, end) < 1e-8
    assert "imbalance" in message


class TestOrthogonal:
    @pytest.mark.parametrize("outputs", [1, 2, 3])
    @pytest.mark.parametrize("width", [7, 30])
    def test_orthogonal_starts_end_at_the_smallest_solution(self, outputs, width):
        X, y = data(outputs=outputs, seed=1)
        model = tacit.LinearNetwork.orthogonal(X, width, outputs, seed=2)
        found = tacit.limit(model, X, y)
        exact = np.linalg.pinv(X) @ y.reshape(4, outputs)
        assert found.converged and found.predictor.shape == (7, outputs) == model.predictor().shape
        assert gap(found.predictor, exact) < 1e-12
        assert found.feasibility < 1e-12
        if width == 7:
            run = network_flow(model.inner, model.outer, X, y)
            assert gap(found.predictor, run.predictor) < 1e-8

    def test_any_start_that_meets_the_conditions(self):
        """V U₂ᵀ = 0 and U₁U₂ᵀ = 0, with U₂ = 0 or with U₂ in separate hidden units."""
        X, y = data(outputs=2, seed=3)
        rng, rows, hidden = np.random.default_rng(4), orth(X.T), null_space(X)
        U1, V = rng.standard_normal((4, 6)), rng.standard_normal((2, 6))
        for size in (0.0, 1.0, 50.0):
            inner = np.hstack([rows @ U1, size * hidden @ rng.standard_normal((3, 5))])
            outer = np.hstack([V, np.zeros((2, 5))])
            found = tacit.limit(tacit.LinearNetwork(inner, outer), X, y)
            assert gap(found.predictor, np.linalg.pinv(X) @ y) < 1e-10
        run = network_flow(rows @ U1, V, X, y)
        assert gap(run.predictor, np.linalg.pinv(X) @ y) < 1e-8

    def test_the_rounding_of_a_large_unseen_part_is_seen(self):
        """The conditions hold exactly; in floats a part of 1e-12 is in the row space of X."""
        X, y = data(outputs=2, seed=3)
        rng, rows, hidden = np.random.default_rng(4), orth(X.T), null_space(X)
        inner = np.hstack([rows @ rng.standard_normal((4, 6)), 1e4 * hidden @ rng.standard_normal((3, 5))])
        outer = np.hstack([rng.standard_normal((2, 6)), np.zeros((2, 5))])
        basis, model, smallest = orth(X.T), tacit.LinearNetwork(inner, outer), np.linalg.pinv(X) @ y
        seen, outer = _seen_flow(basis.T @ inner, outer, X @ basis, y)
        apart = np.linalg.norm(off(X, inner) @ outer.T, 2)
        assert gap(basis @ seen @ outer.T, smallest) < 1e-9 and 1e-8 < apart < 1e-5
        with pytest.raises(tacit.NoPotentialError):
            tacit.limit(model, X, y)
        found = tacit.limit(model, X, y, tol=1e-4)
        assert apart <= found.distance < 100 * apart and gap(found.predictor, smallest) < 1e-10

    def test_half_of_the_conditions_is_not_enough(self):
        """Min et al. 2021: V U₂ᵀ = 0 alone does not keep U₂V(∞)ᵀ at 0."""
        X, y = data(outputs=2, seed=5)
        rng, rows, hidden = np.random.default_rng(6), orth(X.T), null_space(X)
        U1, V = rng.standard_normal((4, 9)), rng.standard_normal((2, 9))
        U2 = rng.standard_normal((3, 9))
        U2 -= (U2 @ np.linalg.pinv(V)) @ V
        inner = rows @ U1 + hidden @ U2
        run = network_flow(inner, V, X, y)
        assert gap(run.predictor, np.linalg.pinv(X) @ y) > 1e-2
        assert_refused_or_equal(tacit.LinearNetwork(inner, V), X, y, run.predictor)

    def test_dependent_samples(self):
        X, y = data(outputs=2, seed=7)
        X, y = np.vstack([X, X[0] - X[2]]), np.vstack([y, y[0] - y[2]])
        found = tacit.limit(tacit.LinearNetwork.orthogonal(X, 12, 2), X, y)
        assert found.converged and gap(found.predictor, np.linalg.pinv(X) @ y) < 1e-10
        with pytest.raises(tacit.InconsistentDataError):
            tacit.limit(tacit.LinearNetwork.orthogonal(X, 12, 2), X, y + np.eye(5, 2))

    def test_a_network_too_narrow_to_fit_is_refused(self):
        """One hidden unit gives predictors of rank one, and these targets need rank two."""
        X, y = data(outputs=2, seed=8)
        inner = X.T @ np.random.default_rng(9).standard_normal((4, 1))
        outer = np.array([[1.0], [0.5]])
        assert "cannot fit these data" in tacit.flow(tacit.LinearNetwork(inner, outer), X, y).reason
        for size in (1.0, 1e-14):
            with pytest.raises(tacit.TacitError):
                tacit.limit(tacit.LinearNetwork(size * inner, size * outer), X, y)

    def test_a_saddle_is_refused(self):
        """Zero outer weights, inner weights orthogonal to Xᵀy: the conditions hold, and the weights are
        constant."""
        X, y = np.eye(3)[:2], np.ones(2)
        with pytest.raises(tacit.TacitError):
            tacit.limit(tacit.LinearNetwork([[1.0], [-1.0], [0.0]], [[0.0]]), X, y)


def _seen_flow(seen, outer, inputs, y):
    """U₁ and V at the end, without the features that no sample contains: DOP853 on the raw weights."""
    shapes = seen.shape, outer.shape

    def parts(flat):
        return flat[: seen.size].reshape(shapes[0]), flat[seen.size :].reshape(shapes[1])

    def velocity(_, flat):
        U, V = parts(flat)
        pull = inputs.T @ (y.reshape(len(inputs), -1) - inputs @ U @ V.T)
        return np.concatenate([(pull @ V).ravel(), (pull.T @ U).ravel()])

    start = np.concatenate([seen.ravel(), outer.ravel()])
    run = solve_ivp(velocity, (0, 60.0), start, method="DOP853", rtol=1e-12, atol=1e-22)
    return parts(run.y[:, -1])


class TestSmallRows:
    """A row of weights that is much smaller than the others also grows, and affects the limit.

    One sample is 0 and the other 1: V and the row r of U for the second sample obey r' = gV, V' = gr, so that
    V(∞) = (r + V)/‖r + V‖ up to the size of the start.
    """

    X, y = np.eye(3)[:2], np.array([0.0, 1.0])

    def starts(self):
        """Weights, and V(∞)."""
        e = np.eye(4)
        # rank one up to the row that no sample contains
        first = np.array([0 * e[0], 1e-11 * e[1], e[0]]), 1e-12 * e[:1]
        yield *first, np.array([1.0, 10.0, 0.0, 0.0]) / np.sqrt(101)
        second = np.array([1e5 * e[0], 1e-6 * e[1], e[1]]), 1e-6 * e[2:3]  # orthogonal up to the first row
        yield *second, np.array([0.0, 1.0, 1.0, 0.0]) / np.sqrt(2)
        # less than the round-off of the first row
        third = np.array([1e5 * e[0], 1e-13 * e[1], e[1]]), 1e-13 * e[2:3]
        yield *third, np.array([0.0, 1.0, 1.0, 0.0]) / np.sqrt(2)

    def test_the_formula_is_where_the_flow_ends(self):
        for U, V, end in list(self.starts())[:1]:
            seen, outer = _seen_flow(U[:2], V, self.X[:, :2], self.y)
            assert np.linalg.norm(outer[0] - end) < 1e-8
            assert np.linalg.norm(seen @ outer[0] - self.y) < 1e-8

    @pytest.mark.parametrize("turned", [False, True])
    def test_it_is_refused_or_followed(self, turned):
        for number, (U, V, end) in enumerate(self.starts()):
            if turned:
                turn = np.linalg.qr(np.random.default_rng(number).standard_normal((4, 4)))[0]
                U, V, end = U @ turn, V @ turn, end @ turn
            exact = np.append(self.y, U[2] @ end)[:, None]
            assert abs(exact[2, 0]) > 0.09  # not the minimum-norm solution
            assert_refused_or_equal(tacit.LinearNetwork(U, V), self.X, self.y, exact)

    def test_samples_that_mix_the_rows_hide_nothing(self):
        for U, V, _ in self.starts():
            with pytest.raises(tacit.NoPotentialError):
                tacit.limit(tacit.LinearNetwork(U, V), [[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], [1.0, -1.0])

    def test_the_bound_holds_for_them(self):
        for U, V, end in self.starts():
            apart = abs(U[2] @ end)
            assert apart * (1 - 1e-9) <= distance_bound(U, V, self.X, self.y) < 20 * apart

    @pytest.mark.parametrize("width", [2, 40, 3000])
    def test_rounding_is_no_reason_to_refuse(self, width):
        """Products of two vectors, with rows and layers of any size, are equivalent to neurons."""
        rng = np.random.default_rng(width)
        for unit in (1e-200, 1.0, 1e100):
            u, q = unit * 10.0 ** rng.uniform(-3, 3, 6), rng.standard_normal(width)
            neuron = tacit.LinearNetwork(np.outer(u, q), 0.3 * unit * q[None]).as_neuron()
            size = np.linalg.norm(q)
            assert neuron.output == pytest.approx(0.3 * unit * size, rel=1e-12)
            np.testing.assert_allclose(neuron.weights, u * size, rtol=1e-12)


class TestInfinitesimal:
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_the_tolerance_decides_and_is_kept(self, outputs):
        """An error for tolerances below the distance to the minimum-norm solution, a result above the
        bound."""
        X, y = data(3, 5, outputs, seed=1)
        smallest = np.linalg.pinv(X) @ y.reshape(3, outputs)
        for size in (1e-2, 1e-4):
            U, V = infinitesimal(size, outputs, 4, 5, seed=2)
            run, length = network_flow(U, V, X, y), np.linalg.norm(smallest, 2)
            distance = np.linalg.norm(run.predictor - smallest, 2) / length
            assert distance == pytest.approx(np.linalg.norm(off(X, U) @ run.outer.T, 2) / length, rel=1e-4)
            bound = np.linalg.norm(off(X, U), 2) * np.linalg.norm(run.outer, 2) / length
            model = tacit.LinearNetwork(U, V)
            with pytest.raises(tacit.NoPotentialError, match=IMBALANCE):
                tacit.limit(model, X, y, tol=0.9 * distance)
            found = tacit.limit(model, X, y, tol=min(10 * bound, 0.5))
            assert found.predictor.shape == (5, outputs)
            assert gap(found.predictor, smallest) < 1e-10

    def test_tiny_starts_are_answered_at_the_usual_tolerance(self):
        X, y = data(seed=3)
        for size in (1e-14, 1e-30):
            found = tacit.limit(tacit.LinearNetwork(*infinitesimal(size)), X, y)
            assert found.converged and gap(found.predictor[:, 0], np.linalg.pinv(X) @ y) < 1e-10

    def test_small_predictors_are_not_small_weights(self):
        """Outer weights → 0 with fixed inner weights: the limit is far from the minimum-norm solution."""
        X, y = data(seed=3)
        U, V = infinitesimal(1.0, seed=4)
        run = network_flow(U, 1e-6 * V, X, y)
        assert gap(run.predictor, (np.linalg.pinv(X) @ y)[:, None]) > 0.1
        with pytest.raises(tacit.NoPotentialError):
            tacit.limit(tacit.LinearNetwork(U, 1e-6 * V), X, y, tol=1e-3)

    def test_small_inner_weights_are_enough(self):
        """V(0) of any size: only P⊥U(0) matters."""
        X, y = data(seed=3)
        U, V = infinitesimal(1.0, seed=4)
        U = 1e-14 * U
        found = tacit.limit(tacit.LinearNetwork(U, V), X, y, tol=1e-8)
        assert gap(found.predictor[:, 0], np.linalg.pinv(X) @ y) < 1e-10

    def test_wide_networks_cost_nothing_and_are_refused(self):
        X, y = data(5, 20, seed=5)
        with pytest.raises(tacit.NoPotentialError, match=IMBALANCE):
            tacit.limit(tacit.LinearNetwork.gaussian(20, 5000), X, y)


class TestRefusal:
    @pytest.mark.parametrize("outputs", [1, 2])
    @pytest.mark.parametrize(("inner", "outer"), [(0.03, 0.03), (1.0, 1.0), (0.01, 3.0), (3.0, 0.01)])
    def test_the_message_gives_the_reason_and_a_bound_that_holds(self, outputs, inner, outer):
        """The error names the conserved quantities, says that there is no potential, and bounds the distance
        to the limit.

        Distances are in the spectral norm; the bound is at most ten times ‖P⊥U(0)‖·‖V(∞)‖.
        """
        X, y = data(3, 5, outputs, seed=6)
        U, V = infinitesimal(1.0, outputs, 4, 5, seed=7)
        U, V = inner * U, outer * V
        with pytest.raises(tacit.NoPotentialError, match=IMBALANCE) as refusal:
            tacit.limit(tacit.LinearNetwork(U, V), X, y)
        message = str(refusal.value)
        assert "potential" in message and "minimum-norm" in message
        said = float(re.search(r"within (\d[\d.e+-]*)", message)[1])
        run = network_flow(U, V, X, y, accuracy=35.0)
        distance = np.linalg.norm(run.predictor - np.linalg.pinv(X) @ y.reshape(3, outputs), 2)
        assert 0.99 * distance <= said  # three digits are printed
        assert said <= 10 * np.linalg.norm(off(X, U), 2) * np.linalg.norm(run.outer, 2)

    def test_targets_of_zero_are_named_as_such(self):
        X, y = data(3, 5, seed=6)
        with pytest.raises(tacit.NoPotentialError, match=r"of 0, the minimum-norm solution"):
            tacit.limit(tacit.LinearNetwork.gaussian(5, 8), X, 0 * y)
        found = tacit.limit(tacit.LinearNetwork.orthogonal(X, 8), X, 0 * y)
        assert found.converged and not found.predictor.any()

    @pytest.mark.parametrize("unit", [1e-100, 1e100])
    def test_targets_of_any_size(self, unit):
        """Huge initial weights, relative to the targets, raise an error."""
        X, y = data(3, 5, seed=6)
        model = tacit.LinearNetwork.orthogonal(X, 8)
        if unit < 1:
            with pytest.raises(tacit.NoPotentialError):
                tacit.limit(model, X, unit * y)
            return
        assert gap(tacit.limit(model, X, unit * y).predictor[:, 0] / unit, np.linalg.pinv(X) @ y) < 1e-12

    def test_bad_input(self):
        X, y = data(outputs=2, seed=8)
        model = tacit.LinearNetwork.orthogonal(X, 9, 2)
        for bad in [(X[:, :6], y), (X, y[:, 0]), (X, y[:3]), (X, np.ones((4, 3))), (X * np.nan, y)]:
            with pytest.raises(tacit.InputError):
                tacit.limit(model, *bad)

    def test_equations_without_solution(self):
        X, y = data(6, 3, seed=9)
        with pytest.raises(tacit.InconsistentDataError):
            tacit.limit(tacit.LinearNetwork(*balanced(np.ones(3), 1.0, 4)), X, y)
        with pytest.raises(tacit.InconsistentDataError):
            tacit.limit(tacit.LinearNetwork.orthogonal(X, 9), X, y)


def test_a_small_start_comes_with_the_distance_that_is_left():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((5, 9)), rng.standard_normal(5)
    model = tacit.LinearNetwork.gaussian(9, 30, std=1e-5)
    found = tacit.limit(model, X, y, tol=1e-3)
    end = tacit.flow(model, X, y).predictor[-1]
    apart = np.linalg.norm(end - found.predictor)
    assert apart <= found.distance < 10 * apart and "ends within" in found.summary()
    with pytest.raises(tacit.NoPotentialError):
        tacit.limit(model, X, y, tol=1e-6)
    assert tacit.limit(tacit.LinearNetwork.orthogonal(X, 20), X, y).distance == 0


@pytest.mark.parametrize("width", [1, 3])
def test_a_network_that_is_a_neuron_whose_output_weight_changes_sign(width):
    """Limit and certificate are those of the neuron; the flow of the network ends there."""
    rng = np.random.default_rng([2, 5])
    X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
    q = rng.standard_normal(width)
    q /= np.linalg.norm(q)
    model = tacit.LinearNetwork(np.outer(w, q), 0.5 * q[None])
    found = tacit.limit(model, X, y)
    assert found.converged and found.sign == -1 and "changes its sign" in found.summary()
    assert tacit.certify(model, X, y, found.predictor).holds
    end = tacit.flow(model, X, y).predictor[-1]
    assert np.linalg.norm(found.predictor - end) < 1e-8 * np.linalg.norm(end)
