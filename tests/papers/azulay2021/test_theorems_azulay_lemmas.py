"""Azulay et al. 2021: lemmas, Definition 1 and the joint limit, by independent computations.

References: explicit equations of the weights, mpmath, and quadratic programs solved as linear systems.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import tacit
from tacit.papers.azulay2021 import lemmas as limits
from tacit.papers.azulay2021 import lemmas as neurons
from tacit.theorems import check

NEURONS = ["lemma1", "lemma2", "lemma3"]
DATA = ["lemma3.1", "definition1", "section7.1", "lemma4"]


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(1).standard_normal((3, 6))
    return X, X[:, 0] - X[:, 1] + 0.3 * X[:, 2]


def ask(name, model, problem=()):
    return check(f"azulay2021/{name}", model, *problem)


def biased():
    return tacit.UntiedDiagonal.from_weights(*np.random.default_rng(3).standard_normal((4, 6)))


class TestNeurons:
    @pytest.mark.every(2)
    @pytest.mark.parametrize("name", NEURONS)
    @pytest.mark.parametrize("shape", [0.0, 0.3, 0.999999])
    def test_hold(self, name, shape):
        assert ask(name, tacit.Neuron.from_scale(0.7, shape, [1.0, -2.0], sign=-1)).holds

    @pytest.mark.parametrize("name", NEURONS[:2])
    def test_hold_of_larger_inner_weights(self, name):
        assert ask(name, tacit.Neuron.from_scale(1e-3, -0.9, [1.0, -2.0])).holds
        assert ask("lemma3", tacit.Neuron.from_scale(1e-3, -0.9, [1.0, -2.0])).holds is None

    @pytest.mark.parametrize("name", NEURONS)
    def test_other_models_are_no_case(self, name):
        assert ask(name, tacit.Diagonal()).holds is None

    def test_by_hand(self):
        """a = 2, ‖w‖ = 1: α = 2, s = 1/3, δ = 3, √(α²+δ²/4) = 5/2."""
        assert neurons._sizes(tacit.Neuron(-2.0, [0.6, 0.8])) == pytest.approx((2, 1 / 3, 3))
        assert neurons.warp(2.0, 3.0) == pytest.approx(2)

    @pytest.mark.parametrize("delta", [0.5, 3.0])
    def test_the_warp_is_the_printed_formula_and_tends_to_root_delta(self, delta):
        with mp.workdps(40):
            for x in (1e-8, 0.1, 7.0):
                root = mp.sqrt(mp.mpf(x) ** 2 + mp.mpf(delta) ** 2 / 4)
                printed = mp.sqrt(root - delta / 2) / x * (delta / 2 + root)
                assert neurons.warp(x, delta) == pytest.approx(float(printed), rel=1e-12)
        assert neurons.warp(1e-12, delta) == pytest.approx(math.sqrt(delta), rel=1e-9)

    def test_the_printed_limit_is_far_off(self):
        bounds = ask("lemma3", tacit.Neuron(2.0, [0.6, 0.8])).bounds
        assert bounds[1].measured > 0.7 and bounds[0].measured < 1e-6

    def test_another_shape_is_noticed(self, monkeypatch):
        neuron = tacit.Neuron(2.0, [0.6, 0.8])
        monkeypatch.setattr(tacit.Neuron, "shape", property(lambda self: 0.34))
        assert not any(bound.holds for bound in ask("lemma1", neuron).bounds)
        monkeypatch.setattr(neurons, "_sizes", lambda model: (2.0, 0.34, 3.0))
        assert ask("lemma2", neuron).holds is False

    def test_the_flow_that_weights_are_moved_by_ends_where_raw_weights_do(self):
        """The explicit equations for one sample: w' = a·(y − a·w·x)·x and a' = (y − a·w·x)·w·x where w·x >
        0."""
        model = tacit.Neuron.from_scale(0.5, 0.3, np.array([0.4, -0.3, 0.2]))
        moved, kept = neurons._moved(model, size := 0.7)
        start = np.append(model.weights, model.output) / math.sqrt(size)
        aside = np.cos(np.arange(3)) / 2
        x = start[:-1] + math.copysign(1.0, aside @ start[:-1]) * aside
        x /= np.linalg.norm(x)

        def velocity(_, flat):
            w, a = flat[:-1], flat[-1]
            left = math.copysign(3.0, model.output) - a * (w @ x)
            return np.append(a * left * x, left * (w @ x))

        end = solve_ivp(velocity, (0, 1), start, rtol=1e-11, atol=1e-13, method="LSODA").y[:, -1]
        assert moved == pytest.approx(abs(end @ end - start @ start), rel=1e-6)
        assert kept == pytest.approx(start[-1] ** 2 - start[:-1] @ start[:-1], abs=1e-8)

    @pytest.mark.parametrize("slope", [1.0, 0.3])
    def test_a_flow_that_does_not_keep_the_balance_is_noticed(self, slope, monkeypatch):
        """The conserved quantity for an output weight with another learning rate."""
        neuron = tacit.Neuron(-2.0, [0.6, 0.8, 1.0], slope=slope)
        assert ask("lemma1", neuron).holds
        kind = type(neuron.parametrization)
        pull = kind.pull

        def other(self, weights, X, r):
            pulled = pull(self, weights, X, r)
            return {"a": pulled["a"] * (1 + 1e-5), "w": pulled["w"]}

        monkeypatch.setattr(kind, "pull", other)
        first, second = ask("lemma1", neuron).bounds
        assert first.holds and not second.holds


class TestMultipliers:
    @pytest.mark.every(2)
    @pytest.mark.parametrize("method", ["auto", "parameters"])
    @pytest.mark.parametrize("model", [tacit.Diagonal(scale=0.5), tacit.Diagonal(3), biased()], ids=repr)
    def test_holds_of_mirror_flows(self, model, method, problem):
        assert check("azulay2021/lemma3.1", model, *problem, method=method).holds

    def test_samples_that_depend_on_each_other_have_multipliers_too(self, problem):
        X, y = problem
        doubled = (np.vstack([X, X[0] + X[1]]), np.append(y, y[0] + y[1]))
        assert ask("lemma3.1", tacit.Diagonal(scale=0.5), doubled).holds

    def test_a_potential_without_its_start_is_noticed(self, problem, monkeypatch):
        """The erratum of Theorem 1: minimizing Q_k itself is wrong for a biased start."""
        model = biased()
        plain = tacit.UntiedDiagonal(scale=0.5).potential(6)
        monkeypatch.setattr(type(model), "potential", lambda self, d=None: plain)
        assert ask("lemma3.1", model, problem).holds is False

    def test_not_of_neurons_nor_of_stuck_coordinates(self, problem):
        assert ask("lemma3.1", tacit.Neuron(1.0, np.ones(6)), problem).holds is None
        one = np.ones(6)
        stuck = ask("lemma3.1", tacit.UntiedDiagonal.from_weights(one, one, one, -one), problem)
        assert stuck.holds is None and "potential" in stuck.assumptions[-1].text

    def test_entries_below_all_floats_are_left_out(self, problem):
        """At α = e^−1000, entries of the limit are below e^−745, and their slopes are not known."""
        told, far = (ask("lemma3.1", tacit.Diagonal(log_scale=each), problem) for each in (-30, -1000))
        assert told.holds and far.holds
        assert "below" not in told.bounds[-1].text and "entries that underflow" in far.bounds[-1].text


class TestKKT:
    @pytest.mark.parametrize(
        "model", [tacit.Diagonal(3), biased(), tacit.Neuron(1.5, np.ones(6), slope=0.3)], ids=repr
    )
    def test_limits_are_kkt_points(self, model, problem):
        assert ask("definition1", model, problem).holds

    def test_a_feasible_point_that_is_none(self, problem, monkeypatch):
        X, y = problem
        least = np.linalg.lstsq(X, y, rcond=None)[0]
        certify = tacit.certify
        monkeypatch.setattr(limits.tacit, "certify", lambda model, X, y, _: certify(model, X, y, least))
        stationary, feasible = ask("definition1", tacit.Diagonal(scale=1e-2), problem).bounds
        assert feasible.holds and not stationary.holds

    def test_no_limit_no_point(self, problem):
        assert ask("definition1", tacit.LinearNetwork.gaussian(6, 4), problem).holds is None
        inconsistent = ([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0])
        assert ask("definition1", tacit.Diagonal(), inconsistent).holds is None


class TestJointLimit:
    @pytest.mark.every(2)
    @pytest.mark.parametrize(("scale", "shape"), [(0.3, 0.4), (1e-3, -0.9), (50.0, 0.0)])
    def test_holds(self, scale, shape, problem):
        assert ask("section7.1", tacit.UntiedDiagonal(scale, shape), problem).holds

    def test_the_goal_minimizes_the_potential_of_section_7(self, problem):
        """√k = 8k̂: the minimum of Σ ∫½arcsinh(2w/√k) over the solutions, by a general optimizer."""
        X, y = problem
        k = 0.3 / (1 - 0.4**2)
        kernel = np.linalg.svd(X)[2][3:]
        first = np.linalg.lstsq(X, y, rcond=None)[0]

        def worth(t):
            z = 2 * (first + kernel.T @ t) / (8 * k)
            return np.sum(z * np.arcsinh(z) - np.sqrt(1 + z**2)), kernel @ (np.arcsinh(z) * 2 / (8 * k))

        best = minimize(worth, np.zeros(3), jac=True, tol=1e-12).x
        goal = tacit.limit(tacit.Diagonal(scale=math.sqrt(2 * k)), X, y).predictor
        np.testing.assert_allclose(goal, first + kernel.T @ best, atol=1e-6)

    def test_a_shape_that_goes_faster_ends_elsewhere(self, problem, monkeypatch):
        """(1−s²) ~ α² instead of α: the kernel regime."""
        untied = tacit.UntiedDiagonal
        monkeypatch.setattr(limits.math, "sqrt", lambda x: (1 - (1 - x) ** 2) ** 0.5 if x < 1 else x**0.5)
        assert ask("section7.1", untied(0.3, 0.4), problem).holds is False

    def test_not_of_biased_starts_nor_of_several_shapes(self, problem):
        for model in (biased(), tacit.UntiedDiagonal(0.3, np.linspace(0, 0.5, 6)), tacit.Diagonal()):
            assert ask("section7.1", model, problem).holds is None
        assert ask("section7.1", tacit.UntiedDiagonal(), (problem[0], np.zeros(3))).holds is None


class TestKernelNorm:
    @pytest.mark.parametrize(
        "model",
        [tacit.Diagonal(3), tacit.UntiedDiagonal(0.2, 0.6), tacit.Neuron(1.5, np.arange(1.0, 7.0))],
        ids=repr,
    )
    def test_holds(self, model, problem):
        verdict = ask("lemma4", model, problem)
        assert verdict.holds and len(verdict.bounds) == 2

    def test_the_norm_is_the_largest_ratio_to_the_kernel(self):
        """‖f‖_K ≥ Σcₙf(xₙ)/√(cᵀKc), with equality on enough points: A = diag(4, 1), w = (2, 3)."""
        A, w = np.diag([4.0, 1.0]), np.array([2.0, 3.0])
        points = np.random.default_rng(0).standard_normal((200, 2))
        ratios = (points @ w) ** 2 / np.sum(points @ A * points, axis=1)
        assert ratios.max() == pytest.approx(w @ np.linalg.solve(A, w), rel=1e-2)
        assert ratios.max() <= w @ np.linalg.solve(A, w)

    def test_another_kernel_is_noticed(self, problem, monkeypatch):
        found = limits._kernels(tacit.Diagonal(3), problem[0])
        monkeypatch.setattr(limits, "_kernels", lambda model, X: (found[0] * 1.001, found[1]))
        assert ask("lemma4", tacit.Diagonal(3), problem).holds is None

    def test_a_limit_that_does_not_fit_is_noticed(self, problem, monkeypatch):
        limit = tacit.limit
        monkeypatch.setattr(limits.tacit, "limit", lambda model, X, y: limit(model, X, 0.5 * y))
        assert ask("lemma4", tacit.Diagonal(scale=1e3), problem).holds is False

    def test_not_of_leaky_neurons_nor_of_dependent_samples(self, problem):
        X, y = problem
        assert ask("lemma4", tacit.Neuron(1.0, np.ones(6), slope=0.3), problem).holds is None
        assert ask("lemma4", tacit.Diagonal(), (np.vstack([X, X[:1]]), np.append(y, y[0]))).holds is None
        assert ask("lemma4", tacit.Diagonal(), (X, 0 * y)).holds is None
        singular = tacit.Diagonal(profile=np.append(np.ones(X.shape[1] - 1), 1e-7))  # of condition 1e14
        assert ask("lemma4", singular, problem).because == "A is positive definite"

    def test_samples_that_are_nearly_equal_have_the_room_of_their_rounding(self):
        """Singular values of X from 1 to 1e-4: K has their squares as eigenvalues, so that a solve loses
        eight digits."""
        rng = np.random.default_rng(0)
        for _ in range(5):
            left = np.linalg.qr(rng.standard_normal((4, 4)))[0]
            right = np.linalg.qr(rng.standard_normal((6, 4)))[0]
            X = left * np.geomspace(1, 2e-5, 4) @ right.T
            assert ask("lemma4", tacit.Diagonal(), (X, rng.standard_normal(4))).bounds[0].holds
