"""Moroshko et al. 2020: solutions, inequalities, the linearized model, directions and depth, by independent
computations.

References: the raw weights integrated by SciPy, quadrature of their residuals in time, and explicit cases.
"""

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from flow_oracles import exponential, power_network, raw_flow
from scipy.integrate import solve_ivp

import tacit
from tacit.papers.moroshko2020 import lemma3_10_11_12_13 as dynamics
from tacit.papers.moroshko2020 import lemma3_10_11_12_13 as exponential_flow
from tacit.papers.moroshko2020 import theorem1_appendix_e as linearized
from tacit.papers.moroshko2020 import theorem2_depth as directions
from tacit.theorems import check

ONE = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
TWO = np.array([[1, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
STEPS = np.array([[1.0, 0.0], [-0.3, 0.5]])
EQUAL = np.tile([[1.0, 2.0, 0.5]], (4, 1))
NAMES = ["inequalities", "lemma10", "lemma12", "theorem1", "theorem2", "appendixE", "depth"]


def ask(name, depth, scale, Z, **options):
    """A network whose predictor has this scale, α^D."""
    model = tacit.Diagonal(depth=depth, log_scale=math.log(scale) / depth)
    return check(f"moroshko2020/{name}", model, Z, np.ones(len(Z)), **options)


def simulated(Z, depth, alpha, accuracies):
    start = [np.full(Z.shape[1], alpha)] * 2
    return raw_flow(start, power_network(depth), Z, np.ones(len(Z)), exponential, accuracies)


@pytest.mark.parametrize("name", NAMES)
def test_other_models_are_no_case(name):
    for model in (tacit.UntiedDiagonal(), tacit.Diagonal(profile=[1.0, 2.0, 1.0])):
        verdict = check(f"moroshko2020/{name}", model, TWO, np.ones(3))
        assert (verdict.holds, verdict.bounds) == (None, ())


@pytest.mark.parametrize("name", NAMES)
def test_data_that_cannot_be_separated(name):
    depth = 3 if name == "lemma12" else 2
    with pytest.raises(tacit.NotSeparableError):
        ask(name, depth, 1.0, np.array([[1.0, 0.0], [-1.0, 0.0]]))


class TestSolutions:
    @pytest.mark.every(3)
    @pytest.mark.parametrize(("name", "depth", "scale"), [("lemma10", 2, 0.1), ("lemma12", 3, 0.01)])
    def test_holds(self, name, depth, scale):
        verdict = ask(name, depth, scale, TWO)
        assert verdict.holds and 0 < verdict.bounds[0].measured < 1e-7

    def test_each_has_its_depth(self):
        assert ask("lemma10", 3, 1.0, ONE).holds is None
        assert ask("lemma12", 2, 1.0, ONE).holds is None

    @pytest.mark.parametrize("depth", [2, 3])
    def test_integrals_in_the_clock_of_the_loss_are_those_in_time(self, depth):
        """The raw weights integrated together with ∫r: both formulas as printed."""
        alpha = 0.8

        def velocity(_, state):
            plus, minus = state[:3], state[3:6]
            r = np.exp(-TWO @ (plus**depth - minus**depth)) / 3
            pull = depth * TWO.T @ r
            return np.concatenate([plus ** (depth - 1) * pull, -(minus ** (depth - 1)) * pull, r])

        run = solve_ivp(velocity, (0, 5), [alpha] * 6 + [0.0] * 3, rtol=1e-11, atol=1e-13)
        w = run.y[:3, -1] ** depth - run.y[3:6, -1] ** depth
        s = TWO.T @ run.y[6:, -1]
        if depth == 2:
            np.testing.assert_allclose(w, 2 * alpha**2 * np.sinh(4 * s), rtol=1e-8)
            slope = np.arcsinh(w / (2 * alpha**2)) / 4
        else:
            z = 3 * alpha * s
            np.testing.assert_allclose(w, alpha**3 * ((1 - z) ** -3 - (1 + z) ** -3), rtol=1e-8)
            slope = z / (3 * alpha)
        np.testing.assert_allclose(slope, s, rtol=1e-8)

    def test_wrong_pulls_are_noticed(self, monkeypatch):
        pulls = exponential_flow.pulls
        monkeypatch.setattr(exponential_flow, "pulls", lambda Z, w: pulls(Z, w * (1 + 1e-4)))
        assert ask("lemma10", 2, 1.0, TWO).holds is False

    @pytest.mark.parametrize(("name", "depth"), [("lemma10", 2), ("lemma12", 3)])
    def test_another_speed_is_noticed(self, monkeypatch, name, depth):
        def faster(flow):
            def found(*given, **options):
                seen = flow(*given, **options)
                names = ("X", "y", "predictor", "accuracy")
                kept = {name: getattr(seen, name) for name in names}
                return SimpleNamespace(**kept, log_time=seen.log_time - 1e-4)

            return found

        for each in ("overview", "settled_flow"):
            monkeypatch.setattr(exponential_flow, each, faster(getattr(exponential_flow, each)))
        verdict = ask(name, depth, 1.0, TWO)
        assert [bound.holds for bound in verdict.bounds] == [True, False] and verdict.holds is False

    @pytest.mark.parametrize(("depth", "scale"), [(2, 0.3), (3, 0.1)])
    def test_another_potential_is_noticed(self, depth, scale):
        """A potential of another scale changes the speed; one of another depth changes the path."""
        found, settled = exponential_flow.settled_course(tacit.Diagonal(depth, scale), TWO, np.ones(3))
        assert settled.holds and (found.apart() < 1e-6).all()
        wider = replace(found, model=tacit.Diagonal(depth, scale * 1.0001))
        deeper = replace(found, model=tacit.Diagonal(depth + 0.001, scale))
        assert wider.apart()[1] > 1e-5 and deeper.apart()[0] > 1e-5

    @pytest.mark.parametrize(("depth", "scale", "Z"), [(3, 2e-5, STEPS), (4, math.exp(-19.6), TWO)])
    def test_flows_that_pass_saddles_hold(self, depth, scale, Z):
        """A feature grows long after another: r has peaks in γ̃, and the second has a width below 1e-9."""
        verdict = ask("lemma12", depth, scale, Z)
        assert verdict.holds and all(bound.measured < 2.5e-7 for bound in verdict.bounds)

    def test_integrals_that_need_too_many_states_are_no_case(self, monkeypatch):
        monkeypatch.setattr(exponential_flow, "_MOST", 200)
        verdict = ask("lemma12", 4, math.exp(-19.6), TWO)
        assert verdict.holds is None and "close enough" in verdict.because

    def test_polynomials_through_uneven_nodes_are_integrated_exactly(self):
        clock = np.cumsum(np.random.default_rng(0).uniform(0.1, 1, 30))
        powers = np.arange(8)
        found = exponential_flow.between(clock, clock[:, None] ** powers, 8)
        truth = np.diff(clock[:, None] ** (powers + 1) / (powers + 1), axis=0)
        np.testing.assert_allclose(found, truth, rtol=1e-8)

    def test_an_integral_depends_on_the_nodes_around_its_gap(self):
        """Three on either side, six in total, except at the ends."""
        clock = np.cumsum(np.random.default_rng(1).uniform(0.1, 1, 20))
        touched = exponential_flow.between(clock, np.eye(20), 6) != 0
        gaps, nodes = np.nonzero(touched[2:-2])
        assert {*(nodes - gaps - 2)} == {-2, -1, 0, 1, 2, 3}
        assert touched[:3].any(axis=0).nonzero()[0].tolist() == [*range(6)]
        assert touched[-3:].any(axis=0).nonzero()[0].tolist() == [*range(14, 20)]


class TestInequalities:
    def test_equal_samples_attain_both_ends(self):
        low, high, length = ask("inequalities", 2, 1e6, EQUAL).bounds
        assert low.measured == pytest.approx(0, abs=1e-9) and low.holds
        assert high.measured <= 1e-6 and high.holds
        assert length.measured == pytest.approx(1, rel=1e-6) and length.holds  # w points along the sample

    def test_a_sample_far_behind_all_others_attains_log_n(self):
        Z = np.vstack([[1.0, 0.0], np.tile([[9.0, 9.0]], (4, 1))])
        assert ask("inequalities", 2, 1.0, Z).bounds[1].looseness == pytest.approx(1, rel=1e-6)

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_one_sample_attains_them_at_any_scale(self, scale):
        """γ̃ equals the margin, up to the tolerance of the flow."""
        assert ask("inequalities", 2, scale, np.array([[0.6, 0.8]])).holds

    def test_the_raw_weights_obey_them_too(self):
        run = simulated(TWO, 3, 0.9, np.array([0.5, 2.0, 8.0]))
        margins = run.predictor @ TWO.T
        gaps = np.array([0.5, 2.0, 8.0]) - margins.min(axis=1)
        assert (gaps >= -1e-6).all() and (gaps <= math.log(3)).all()

    def test_a_loss_that_is_a_sum_is_noticed(self, monkeypatch):
        """With a sum instead of the mean, γ̃ decreases by log N and is below the margin."""
        followed = dynamics.followed

        class Summed:
            def __init__(self, flow):
                self.y, self.outputs, self.predictor = flow.y, flow.outputs, flow.predictor
                self.accuracy = flow.accuracy - math.log(len(flow.y))

        monkeypatch.setattr(dynamics, "followed", lambda *given: Summed(followed(*given)))
        assert ask("inequalities", 2, 1.0, EQUAL).holds is False


class TestLinearized:
    @pytest.mark.every(2)
    @pytest.mark.parametrize("depth", [2, 4])
    def test_theorem_1_holds_and_its_distance_is_that_of_the_raw_weights(self, depth):
        verdict = ask("theorem1", depth, 1.0, ONE, scales=(1.0, 10.0))
        assert verdict.holds
        norm = 1 / (tacit.max_margin(ONE, np.ones(3), "l2").value ** -1)
        alpha = norm ** (1 / depth)
        horizon = math.expm1(3) / (2 * depth**2 * alpha ** (2 * depth - 2) / norm**2)

        def network(_, u):
            pull = depth * u ** (depth - 1) * np.tile(ONE.T @ np.exp(-ONE @ self.value(u, depth)) / 3, 2)
            return pull * np.repeat([1.0, -1.0], 3)

        def linear(_, w):
            return 2 * depth**2 * alpha ** (2 * depth - 2) * ONE.T @ np.exp(-ONE @ w) / 3

        times = np.geomspace(1e-3, 1, 21) * horizon
        options = {"t_eval": times, "rtol": 1e-10, "atol": 1e-12}
        u = solve_ivp(network, (0, horizon), np.full(6, alpha), **options).y
        w = solve_ivp(linear, (0, horizon), np.zeros(3), **options).y
        largest = np.linalg.norm(self.value(u, depth) - w, axis=0).max()
        assert verdict.bounds[0].at_most == pytest.approx(largest, rel=1e-5)

    @staticmethod
    def value(u, depth):
        return u[:3] ** depth - u[3:] ** depth

    def test_a_network_that_does_not_become_linear_is_noticed(self, monkeypatch):
        flow = tacit.flow
        monkeypatch.setattr(
            linearized.tacit,
            "flow",
            lambda model, X, y, linearized, **rest: flow(model, X, y * (2 * linearized - 1), **rest),
        )
        assert ask("theorem1", 2, 1.0, ONE, scales=(1.0, 10.0)).holds is False

    def test_theorem_1_has_the_cube_of_the_accuracy_taken_out(self):
        """Few features and depth 10, where γ̃(T) grows from 3.7 to 11: the exponent alone is above −1."""
        rng = np.random.default_rng(1)
        Z = np.abs(rng.standard_normal((12, 3)))
        for depth in (2, 10):
            exponent = ask("theorem1", depth, 1.0, Z).bounds[1]
            assert exponent.holds and -2.3 < exponent.measured < -1.6

    @pytest.mark.parametrize("name", ["theorem1", "appendixE"])
    def test_samples_that_no_flow_learns_together_are_no_case(self, name):
        verdict = ask(name, 2, 1.0, np.array([[1.0, 0.0], [-1.0, 1e-5]]))
        assert verdict.holds is None and "x_max/γ₂" in verdict.because

    def test_one_sample_by_hand(self):
        """w̄ = log(1 + ρ‖x‖²t)·x/‖x‖²: both bounds of (37) and (39) are attained, and κ → 0."""
        low, high, kappa = ask("appendixE", 2, 3.0, np.array([[0.6, 0.8]])).bounds
        assert low.measured == pytest.approx(1, rel=1e-8) and high.measured == pytest.approx(1, rel=1e-8)
        assert kappa.measured == pytest.approx(math.log(1 / (1 - math.exp(-math.log(2)))), rel=1e-6)

    @pytest.mark.parametrize(("Z", "depth"), [(ONE, 2), (TWO, 3)])
    def test_appendix_e_holds_whatever_the_scale(self, Z, depth):
        small, large = (ask("appendixE", depth, scale, Z) for scale in (1e-3, 1e3))
        assert small.holds and large.holds and len(small.bounds) == 4
        for one, other in zip(small.bounds, large.bounds, strict=True):
            assert one.measured == pytest.approx(other.measured, rel=1e-6)

    def test_support_is_that_of_appendix_e(self):
        best = tacit.max_margin(TWO, np.ones(3), "l2")
        found = linearized.support(TWO, best.predictor)
        on = ~found.off
        np.testing.assert_allclose(np.exp(-TWO[on] @ found.shift) @ TWO[on], best.predictor, rtol=1e-8)
        assert found.ratio == pytest.approx((TWO @ best.predictor)[found.off].min())

    def test_equal_samples_have_no_multipliers_of_their_own(self):
        assert ask("appendixE", 2, 1.0, EQUAL).holds is None

    def test_a_clock_that_is_wrong_is_noticed(self, monkeypatch):
        monkeypatch.setattr(linearized, "log_alpha", lambda model: 0.1)
        assert ask("appendixE", 2, 1.0, np.array([[0.6, 0.8]])).holds is False


class TestDirections:
    @pytest.mark.parametrize(("depth", "scale"), [(2, 1.0), (3, 0.1)])
    def test_theorem_2_holds(self, depth, scale):
        assert ask("theorem2", depth, scale, TWO).holds

    @pytest.mark.parametrize("depth", [2.0, 3.0])
    def test_tangents_are_angles_of_vectors(self, depth):
        rng = np.random.default_rng(0)
        u, force = rng.uniform(0.1, 2, (4, 6)), rng.standard_normal((4, 6))
        velocity = u ** (depth - 1) * force
        cosine = np.sum(u * velocity, 1) / np.linalg.norm(u, axis=1) / np.linalg.norm(velocity, axis=1)
        np.testing.assert_allclose(directions.tangents(np.log(u), force, depth), cosine**-2 - 1, rtol=1e-9)

    def test_a_flow_in_another_direction_is_noticed(self, monkeypatch):
        tangents = directions.tangents
        monkeypatch.setattr(directions, "tangents", lambda u, force, D: tangents(u, force[:, ::-1], D))
        assert ask("theorem2", 2, 1.0, TWO).holds is False

    def test_depth_mitigates_the_need_for_accuracy(self):
        """log 1/μ of the bound doubles when δ is halved at depth 2, and grows by a constant at larger
        depths."""
        coarse, fine, finer = (
            [-directions.log_enough(1.0, 100, depth, delta) for delta in (0.1, 0.05, 0.025)]
            for depth in (2, 3, 10)
        )
        assert [b / a for a, b in pairwise(coarse)] == pytest.approx([2, 2], rel=0.1)
        for depth, logs in ((3, fine), (10, finer)):
            expected = math.log(2) * depth / (depth - 2)
            assert np.diff(logs) == pytest.approx([expected] * 2, rel=0.1)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_role_of_depth(self, depth):
        verdict = ask("depth", depth, 1.0, TWO, delta=0.1)
        share, needed, _ = verdict.bounds
        assert verdict.holds and 0 < share.measured < 1 and needed.looseness > 1

    def test_a_path_of_the_wrong_norm_is_noticed(self, monkeypatch):
        path = tacit.margin_path

        def kernel(X, y, mu, depth):
            return path(X, y, np.full_like(mu, 1e6), depth=depth)

        monkeypatch.setattr(directions.tacit, "margin_path", kernel)
        assert not ask("depth", 3, 1.0, TWO).bounds[0].holds

    def test_digits_of_section_5(self):
        """The printed values: 10^−8700 at α = 100, μ = 0.5; 10^−4·10⁶ at μ = 0.001; 10^−434 at α = 1."""
        assert directions.digits(math.log(1e4), 0.5) == pytest.approx(8685.9, abs=0.1)
        assert directions.digits(math.log(1e4), 0.001) == pytest.approx(4.343e6, rel=1e-3)
        assert directions.digits(0.0, 0.001) == pytest.approx(434.3, abs=0.1)

    def test_mistakes_are_named(self):
        with pytest.raises(tacit.InputError, match="delta must lie between 0 and 1"):
            ask("depth", 2, 1.0, TWO, delta=2)
        with pytest.raises(tacit.InputError, match="at least two increasing"):
            ask("theorem1", 2, 1.0, TWO, scales=(1.0,))


@pytest.mark.parametrize("name", ["inequalities", "lemma3", "lemma13", "theorem2"])
def test_flows_that_jump_faster_than_floats_tell_are_no_case(name):
    """α^D = 1e-60 at depth 10: slopes of Q differ from 1 by 1e-48 when w has converged."""
    verdict = ask(name, 10, 1e-60, TWO)
    assert verdict.holds is None and "double precision can resolve the flow" in verdict.because
    assert ask(name, 10, 1e-8, TWO).holds
