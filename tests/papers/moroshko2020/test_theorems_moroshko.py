"""Lemmas 3, 11, 13, Condition 5 and Theorems 4, 6, 7 of Moroshko et al. 2020, by independent computations."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from flow_oracles import exact_exp_flow, exponential, power_network, raw_flow, sweeping_flow
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from oracles import h, q
from properties import examples
from scipy.optimize import brentq, linprog, minimize

import tacit
from tacit.papers.moroshko2020 import lemma3_10_11_12_13 as lemmas
from tacit.papers.moroshko2020 import separation
from tacit.papers.moroshko2020 import theorem4_6_7 as regimes
from tacit.theorems import check, theorems

ONE = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
TWO = np.array([[1, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
MANY = np.array([[1, 1, 0.3], [2.5, 0.2, 1], [1.6, 0.8, -0.4]])
LEAVES = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.7], [1.06, -0.49, 1.39]])
DEEP = np.array([[1.21, 0.72, 1.45], [0.37, -0.14, -0.43], [1.04, -0.33, 0.79]])
LOCAL = np.array([[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]])
EQUAL = np.tile([[1.0, 2.0, 0.5]], (4, 1))
LEMMAS = ["lemma3", "lemma11", "lemma13"]
REGIMES = ["theorem4", "theorem6", "theorem7"]


def ask(name, model, Z, **options):
    return check(f"moroshko2020/{name}", model, Z, np.ones(len(Z)), **options)


def network(depth, scale):
    """A network whose predictor has this scale, α^D."""
    return tacit.Diagonal(depth=depth, log_scale=math.log(scale) / depth)


def separable(samples, features, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, np.sign(X @ rng.standard_normal(features))


def shortest(Z):
    """argmin ‖w‖₂ subject to Z w ≥ 1, by a general optimizer."""
    found = minimize(
        lambda w: w @ w / 2,
        np.linalg.pinv(Z) @ np.full(len(Z), 2.0),
        jac=lambda w: w,
        constraints={"type": "ineq", "fun": lambda w: Z @ w - 1, "jac": lambda w: Z},
        options={"ftol": 1e-16, "maxiter": 500},
        method="SLSQP",
    )
    assert (Z @ found.x).min() > 1 - 1e-9
    return found.x


def least_l1(Z):
    d = Z.shape[1]
    found = linprog(np.ones(2 * d), A_ub=np.hstack([-Z, Z]), b_ub=-np.ones(len(Z)))
    return found.x[:d] - found.x[d:], found.fun


def exact_stop(Z, depth, scale, accuracy):
    """ŵ of the flow in 20 digits."""
    w = exact_exp_flow(Z, depth, math.log(scale), [accuracy], digits=20, stages=6, tol=1e-10).predictor[-1]
    return w / (Z @ w).min()


def simulated(Z, depth, alpha, accuracies):
    start = [np.full(Z.shape[1], alpha)] * 2
    return raw_flow(start, power_network(depth), Z, np.ones(len(Z)), exponential, accuracies)


class TestLemma3:
    @pytest.mark.every(2)
    @pytest.mark.parametrize(("depth", "alpha"), [(2, 1.7), (3, 0.8), (4, 1.1)])
    @pytest.mark.parametrize("Z", [LEAVES, LOCAL], ids=["leaves", "local"])
    def test_against_the_raw_weights_in_raw_time(self, Z, depth, alpha):
        accuracies = np.geomspace(1e-3, 5, 15)
        gamma = 1 / np.linalg.norm(shortest(Z))
        t = np.exp(simulated(Z, depth, alpha, accuracies).log_time)
        loss = np.exp(-accuracies)
        printed = 1 / (1 + 2 * depth**2 * alpha ** (2 * depth - 2) * gamma**2 * t)
        assert (loss <= printed).all()
        largest, end = ask("lemma3", tacit.Diagonal(depth, alpha), Z, until=5.0).bounds
        assert end.measured == pytest.approx(-np.log(printed[-1]), rel=1e-7)
        assert end.at_most == pytest.approx(5)
        assert largest.measured == pytest.approx((np.log(printed) / np.log(loss)).max(), rel=5e-3)

    @pytest.mark.every(3)
    @pytest.mark.parametrize("depth", [2, 2.5, 3, 10])
    @pytest.mark.parametrize("Z", [EQUAL, LEAVES, ONE, DEEP], ids=["equal", "leaves", "one", "deep"])
    def test_at_the_start_its_tightness_is_that_of_the_mean(self, Z, depth):
        """γ̃' = 2D²α^{2D−2}‖mean‖² at t = 0: with another factor the share would differ."""
        gamma, mean = 1 / np.linalg.norm(shortest(Z)), np.linalg.norm(Z.mean(axis=0))
        largest = ask("lemma3", network(depth, 0.7), Z, until=1e-6).bounds[0]
        assert largest.measured == pytest.approx((gamma / mean) ** 2, rel=1e-5)

    @pytest.mark.parametrize("depth", [2, 3, 10])
    def test_equal_samples_attain_it_for_ever_at_large_scales(self, depth):
        largest, end = ask("lemma3", network(depth, 1e8), EQUAL, until=100.0).bounds
        assert largest.holds and end.holds
        assert largest.measured == pytest.approx(1, abs=1e-9) and end.looseness == pytest.approx(1, abs=1e-9)

    def test_losses_far_below_every_float(self):
        largest, end = ask("lemma3", network(2, 1e8), LEAVES).bounds
        assert end.at_most == pytest.approx(1e9) and end.measured > 0.999e9
        assert 0.9 < largest.measured <= 1

    def test_times_beyond_floats_are_no_case(self):
        """α^D = 6000^10, where γ̃ is followed up to 10 α^D."""
        Z = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
        verdict = ask("lemma3", tacit.Diagonal(10, 6000.0), Z)
        assert verdict.holds is None and all(np.isfinite(bound.measured) for bound in verdict.bounds)


class TestSizes:
    @pytest.mark.parametrize("depth", [2, 2.01, 2.5, 3, 10, 50])
    def test_log_mirror_is_the_logarithm_of_h(self, depth):
        points = [1e-200, 1e-9, 1e-3, 0.3, 0.9, 1 - 1e-10] + ([5.0, 300.0] if depth == 2 else [])
        for z in points:
            with mp.workdps(450):
                exact = float(mp.log(h(mpf(z), depth)))
            assert float(separation.log_mirror(z, depth)) == pytest.approx(exact, rel=1e-13, abs=1e-13)
        if depth > 2:
            assert separation.log_mirror([1.0, 1.5], depth).tolist() == [math.inf] * 2

    @pytest.mark.every(2)
    @pytest.mark.parametrize(("depth", "alpha"), [(2, 0.7), (3, 0.9), (4, 1.5)])
    @pytest.mark.parametrize("Z", [TWO, LEAVES], ids=["two", "leaves"])
    def test_against_the_raw_weights_and_the_printed_bound(self, Z, depth, alpha):
        gamma, spread = 1 / np.linalg.norm(shortest(Z)), np.abs(Z).sum(axis=0).max()
        rate = spread / (2 * gamma**2 * alpha**depth) * ((depth - 2) / depth if depth > 2 else 1)
        last = 0.99 / rate if depth > 2 else 5.0
        accuracies = np.geomspace(1e-3, last, 15)
        sizes = np.abs(simulated(Z, depth, alpha, accuracies).predictor).max(axis=1)
        printed = [alpha**depth * float(h(mpf(rate * g), depth)) for g in accuracies]
        name = "lemma11" if depth == 2 else "lemma13"
        largest, end = ask(name, tacit.Diagonal(depth, alpha), Z, until=last).bounds
        assert end.measured == pytest.approx(math.log(sizes[-1]), abs=1e-7)
        assert end.at_most == pytest.approx(math.log(printed[-1]), abs=1e-7)
        assert largest.measured == pytest.approx((sizes / printed).max(), rel=5e-3)
        assert largest.measured < 1

    @pytest.mark.parametrize(("name", "depth"), [("lemma11", 2), ("lemma13", 3), ("lemma13", 10)])
    def test_one_number_attains_it_at_the_start(self, name, depth):
        """d = N = 1: w = γ̃/x against α^D h_D(γ̃/(h_D′(0)xα^D)) ≥ γ̃/x."""
        largest = ask(name, network(depth, 3.0), np.array([[1.7]]), until=1e-6).bounds[0]
        assert largest.holds and largest.measured == pytest.approx(1, abs=1e-9)

    @pytest.mark.parametrize("depth", [3, 10])
    def test_when_lemma_13_is_vacuous(self, depth):
        gamma, spread = 1 / np.linalg.norm(shortest(LEAVES)), np.abs(LEAVES).sum(axis=0).max()
        edge = 2 * depth * gamma**2 * 50 / ((depth - 2) * spread)
        for factor, finite in ((0.999, True), (1.001, False)):
            verdict = ask("lemma13", network(depth, 50.0), LEAVES, until=factor * edge)
            largest, end = verdict.bounds
            assert verdict.holds and math.isfinite(end.at_most) == finite
            said = re.search(r"\+∞ from γ̃ = (\S+) on", largest.text)
            assert float(said[1]) == pytest.approx(edge, rel=1e-3)
            assert (json.loads(json.dumps(verdict.to_dict(), allow_nan=False)))["holds"] is True

    @pytest.mark.parametrize("unit", [1e-8, 1e-2, 1.0, 1e4])
    def test_lemma_13_is_looked_at_before_it_becomes_empty(self, unit):
        """One sample: w = α^D·h_D(z) at first, so that the lemma is nearly tight in any unit."""
        first = ask("lemma13", network(10, 1.0), unit * np.array([[1.0, 1.0]])).bounds[0]
        assert first.measured == pytest.approx(1, abs=1e-5)

    @pytest.mark.parametrize(("name", "depth"), [("lemma11", 2), ("lemma13", 3)])
    def test_the_largest_entry_may_stand_in_for_the_sum(self, name, depth, monkeypatch):
        """|Σ rₙxₙᵢ| ≤ maxₙ|xₙᵢ|·‖r‖₁, so that the lemmas hold with bounds N times smaller, which can be
        tight."""
        plain = separation.separation

        def sharper(X, y):
            data = plain(X, y)
            return separation.Separation(**(vars(data) | {"spread": float(np.abs(X).max())}))

        monkeypatch.setattr(lemmas, "separation", sharper)
        for Z in (ONE, LEAVES):
            assert ask(name, network(depth, 5.0), Z).holds
        equal = np.full((4, 1), 1.3)
        assert ask(name, network(depth, 5.0), equal, until=1e-5).bounds[0].measured == pytest.approx(
            1, abs=1e-6
        )


@pytest.mark.parametrize(("name", "depth"), [("lemma3", 2), ("lemma3", 3), ("lemma11", 2), ("lemma13", 4)])
def test_a_margin_too_large_by_a_thousandth_is_noticed(name, depth, monkeypatch):
    """If a lemma is tight, a smaller constant violates it."""
    plain, Z = separation.separation, np.array([[1.7]])
    assert ask(name, network(depth, 1e6), Z, until=1.0).holds

    def wrong(X, y):
        data = plain(X, y)
        return separation.Separation(**(vars(data) | {"margin": 1.001 * data.margin}))

    monkeypatch.setattr(lemmas, "separation", wrong)
    assert ask(name, network(depth, 1e6), Z, until=1.0).holds is False


@examples(8)
@given(
    st.integers(0, 10**6),
    st.integers(1, 7),
    st.integers(1, 6),
    st.sampled_from([2, 2.5, 3, 10]),
    st.floats(-5, 7),
    st.floats(-2, 2),
)
def test_lemmas_hold_on_random_problems(seed, samples, features, depth, log10_scale, log10_unit):
    X, y = separable(samples, features, seed)
    X *= 10**log10_unit
    model = network(depth, 10**log10_scale)
    verdicts = [check(f"moroshko2020/{name}", model, X, y) for name in LEMMAS]
    assert [v.holds for v in verdicts] == [True, True if depth == 2 else None, True if depth > 2 else None]
    assert all(v.bounds[0].measured > 0 for v in verdicts if v.applies)


class TestCondition5:
    @pytest.mark.parametrize(
        ("Z", "depth", "stable"),
        [
            (ONE, 2, True),
            (TWO, 3, True),
            (MANY, 2, True),
            (DEEP, 2, True),
            (DEEP, 3, False),
            (LEAVES, 2, False),
        ],
    )
    def test_uniformly(self, Z, depth, stable):
        verdict = ask("condition5", tacit.Diagonal(depth), Z)
        assert verdict.applies is stable and verdict.holds is (True if stable else None)
        assert (verdict.bounds[0].measured == 0) is stable

    @pytest.mark.every(2)
    @pytest.mark.parametrize("mu", [0.25, 0.15, 0.05])
    def test_at_one_mu_against_a_process_that_tries_every_support(self, mu):
        """The sample with margin 1 at large μ leaves the support at μ = 0.189, not only at 0.0404."""
        first, now = sweeping_flow(LEAVES, 2, [1.0, 1 / mu])
        was = np.abs(LEAVES @ first - 1) < 1e-9
        off = (LEAVES @ now) * mu > 1 + 1e-4
        verdict = ask("condition5", tacit.Diagonal(), LEAVES, mu=mu)
        assert verdict.applies == (not (was & off).any()) == (mu > 0.189)
        assert verdict.bounds[0].measured == pytest.approx(0.1891, abs=1e-4)
        assert ("; 0 leaves at μ = 0.1891" in verdict.assumptions[1].text) is bool(mu < 0.189)

    def test_a_multiplier_that_falls_is_enough(self):
        """Q_μ's multiplier of that sample is largest at μ = 0.189 and vanishes at the kink, 0.0404."""
        path = tacit.margin_path(LEAVES, np.ones(3), [0.25, 0.1892, 0.189, 0.1, 0.05, 0.03])
        theta = path.duals[:, 0]
        assert theta[0] < theta[1] and (np.diff(theta[2:]) < 0).all() and theta[-1] == 0

    def test_the_gap_that_is_left_where_a_sample_has_gone(self):
        """The distance of the flow at infinite scale from the Q_μ margin, relative to its length; flows at
        large scales approach it."""
        mu = np.array([0.15, 0.1, 0.05])
        path = tacit.margin_path(LEAVES, np.ones(3), mu).predictors
        left = np.linalg.norm(tacit.sweeping_path(LEAVES, np.ones(3), mu).predictors - path, axis=1)
        left /= np.linalg.norm(path, axis=1)
        np.testing.assert_allclose(left, [2.142e-3, 1.446e-2, 5.120e-2], rtol=5e-4)
        w = tacit.flow(tacit.Diagonal(2, 1e3), LEAVES, np.ones(3), loss="exp", at=[1e6 / 0.15]).predictor[0]
        w /= (LEAVES @ w).min()
        assert np.linalg.norm(w - path[0]) / np.linalg.norm(path[0]) == pytest.approx(left[0], rel=5e-3)


class TestTheorem4:
    @pytest.mark.parametrize("depth", [2, 2.5, 3, 10])
    def test_kernel_gap_is_the_inequality_of_the_proof(self, depth):
        """(49) and (74) as printed, in 60 digits, where the z of the lemmas goes down to 1e-12."""
        w, N = shortest(LEAVES), 3
        gamma, spread = 1 / np.linalg.norm(w), np.abs(LEAVES).sum(axis=0).max()
        longest = np.linalg.norm(LEAVES, axis=1).max()
        data = separation.separation(LEAVES, np.ones(3))
        for scale, accuracy in [(30.0, 9.0), (1e4, 100.0), (1e5, 400.0), (1e15, 1e4), (1e9, 1e8)]:
            with mp.workdps(60):
                M, g, c = mpf(scale), mpf(accuracy), mpf(gamma)
                if depth == 2:
                    printed = (
                        longest / c**2 * (2 * M * c**2 / spread * mp.sinh(spread * g / (2 * M * c**2)) - g)
                    )
                else:
                    z = (mpf(depth) - 2) * spread * g / (2 * mpf(depth) * c**2 * M)
                    printed = longest / (2 * c**2) * (2 * c**2 * M / spread * h(z, depth) - 2 * g)
                ratio = c * (printed + g / c) / (g - mp.log(N))  # (46), (71): the second term is at most γ̃/γ₂
                exact = float(mp.sqrt(ratio**2 - 1))
            found = regimes.kernel_gap(data, depth, math.log(scale), accuracy)
            assert found == pytest.approx(exact, rel=1e-6)
        assert regimes.kernel_gap(data, depth, 0.0, math.log(3)) == math.inf
        assert math.isinf(regimes.kernel_gap(data, 3, 0.0, 1e3))

    @pytest.mark.parametrize("depth", [2, 3])
    def test_gaps_are_those_of_a_flow_in_twenty_digits(self, depth):
        w = shortest(LOCAL)
        size = np.linalg.norm(w)
        gap, share, exponent = ask("theorem4", tacit.Diagonal(depth), LOCAL, scales=(1e3, 1e4)).bounds
        exact = [np.linalg.norm(exact_stop(LOCAL, depth, s * size, s**0.5) - w) / size for s in (1e3, 1e4)]
        assert gap.measured == pytest.approx(exact[1], rel=1e-5)
        assert exponent.measured == pytest.approx(math.log10(exact[1] / exact[0]), abs=1e-5)
        assert share.measured >= gap.measured / gap.at_most

    @pytest.mark.parametrize(("power", "rate"), [(0.3, 0.3), (0.5, 0.5), (0.85, 0.3)])
    @pytest.mark.parametrize("depth", [2, 3])
    def test_the_rate_is_that_of_the_margins_or_of_the_bend(self, depth, power, rate):
        verdict = ask("theorem4", tacit.Diagonal(depth), ONE, power=power, scales=(1e8, 1e10))
        assert verdict.holds
        assert verdict.bounds[2].measured == pytest.approx(-rate, abs=0.03)
        assert verdict.bounds[2].at_most == pytest.approx(-rate / 2)

    @pytest.mark.every(2)
    @pytest.mark.parametrize("Z", [TWO, MANY, LEAVES, DEEP], ids=["two", "many", "leaves", "deep"])
    def test_holds(self, Z):
        verdict = ask("theorem4", tacit.Diagonal(3), Z)
        assert verdict.holds and verdict.bounds[0].measured < 1e-3

    def test_beyond_its_growth_it_does_not_apply_and_the_flow_is_elsewhere(self):
        for power, far in ((1.0, 1e-3), (1.5, 0.1)):
            verdict = ask("theorem4", tacit.Diagonal(), TWO, power=power, scales=(1e3, 1e4))
            assert verdict.holds is None and verdict.bounds[0].measured > far

    def test_one_feature_leaves_nothing_to_choose(self):
        verdict = ask("theorem4", tacit.Diagonal(3), np.array([[2.0]]))
        assert verdict.holds and len(verdict.bounds) == 2 and verdict.bounds[0].measured < 1e-12


class TestTheorem6:
    @pytest.mark.parametrize("depth", [2, 3])
    def test_gap_against_one_support_vector_by_hand(self, depth):
        """On ONE the first sample is the only support vector: w = μh(θz₁) with z₁·w = 1."""
        mu, z = 0.3, ONE[0]
        size = np.linalg.norm(shortest(ONE))

        def predictor(theta):
            return np.array([mu * float(h(mpf(theta * x), depth)) for x in z])

        most = 9.0 if depth == 2 else 0.999 / z.max()
        w = predictor(brentq(lambda theta: z @ predictor(theta) - 1, 0, most, xtol=1e-15))
        assert (ONE @ w).min() == pytest.approx(1)
        exact = [
            np.linalg.norm(exact_stop(ONE, depth, s * size, s * size / mu) - w) / np.linalg.norm(w)
            for s in (1e2, 1e3)
        ]
        gap, exponent = ask("theorem6", tacit.Diagonal(depth), ONE, mu=mu, scales=(1e2, 1e3)).bounds
        assert gap.measured == pytest.approx(exact[1], rel=1e-5)
        assert gap.at_most == pytest.approx(exact[0] / math.sqrt(10), rel=1e-5)
        assert exponent.measured == pytest.approx(math.log10(exact[1] / exact[0]), abs=1e-5)

    @pytest.mark.every(2)
    @pytest.mark.parametrize(("Z", "depth"), [(TWO, 2), (MANY, 3), (LOCAL, 10), (DEEP, 2)])
    def test_error_falls_like_the_scale_where_condition_5_holds(self, Z, depth):
        verdict = ask("theorem6", tacit.Diagonal(depth), Z)
        assert verdict.holds
        assert verdict.bounds[1].measured == pytest.approx(-1, abs=0.03)

    @pytest.mark.parametrize(("mu", "applies"), [(0.3, True), (0.15, False), (0.05, False), (0.01, False)])
    def test_with_condition_5_the_theorem_goes(self, mu, applies):
        """At μ = 0.15 and 0.05 the Q_μ path has not reached its kink, but the flow has already left it."""
        verdict = ask("theorem6", tacit.Diagonal(), LEAVES, mu=mu, scales=(1e3, 1e4, 1e5))
        assert verdict.applies is applies
        exponent = verdict.bounds[1].measured
        assert exponent == pytest.approx(-1, abs=0.05) if applies else exponent > -0.15
        assert verdict.bounds[1].holds is applies

    def test_random_data_obey_condition_5_or_leave_the_path(self):
        seen = set()
        for seed in range(3):
            X, y = separable(6, 8, seed)
            verdict = check("moroshko2020/theorem6", tacit.Diagonal(3), X, y, scales=(1e5, 1e6))
            assert verdict.bounds[1].holds is verdict.applies
            seen.add(verdict.applies)
        assert seen == {True, False}


class TestTheorem7:
    @pytest.mark.parametrize("depth", [3, 4, 10])
    def test_the_inequalities_behind_the_bound(self, depth):
        for z in np.geomspace(1e-6, 1e9, 40):
            value = float(q(mpf(z), depth))
            assert z - depth / 2 * z ** (2 / depth) <= value * (1 + 1e-12) and value <= z
            shallow = float(q(mpf(z)))
            assert z * math.log(z) - z <= shallow * (1 + 1e-12) and shallow <= z * math.log1p(z) * (1 + 1e-12)

    @pytest.mark.parametrize("depth", [2, 3, 10])
    def test_rich_excess_solves_its_equation(self, depth):
        B, d, left = 1.7, 25, 0.3
        for mu in (10.0, 1e-2, 1e-12, 1e-200):
            S, M, D = B * (1 + mpf(regimes.rich_excess(B, d, depth, mu, left))), mpf(mu), mpf(depth)
            if depth == 2:
                sides = S * mp.log(S / (mp.e * d * M)), B * mp.log(1 + B / M) + left
            else:
                sides = S - D / 2 * (d * M) ** (1 - 2 / D) * S ** (2 / D), B + left
            assert float(sides[0]) == pytest.approx(float(sides[1]), rel=1e-10)
        bare = regimes.rich_excess(B, d, depth, 1e-200)
        expected = math.log(math.e * d) / math.log(B / 1e-200) if depth == 2 else 0.0
        assert bare == pytest.approx(expected, rel=0.02, abs=1e-12)

    @examples(15)
    @given(st.integers(0, 10**6), st.sampled_from([2, 3, 10]), st.floats(-8, 1))
    def test_margins_of_Q_obey_the_bound(self, seed, depth, log10_mu):
        X, y = separable(6, 9, seed)
        least = least_l1(y[:, None] * X)[1]
        mu = 10**log10_mu * least
        excess = np.abs(tacit.margin_path(X, y, [mu], depth=depth).predictors).sum() / least - 1
        assert -1e-9 <= excess <= regimes.rich_excess(least, 9, depth, mu)

    @pytest.mark.every(2)
    @pytest.mark.parametrize("depth", [2, 3])
    def test_excess_is_that_of_a_flow_in_twenty_digits(self, depth):
        size, least = np.linalg.norm(shortest(TWO)), least_l1(TWO)[1]
        excess = [np.abs(exact_stop(TWO, depth, s * size, s**1.5)).sum() / least - 1 for s in (1e2, 1e3)]
        bound, share = ask("theorem7", tacit.Diagonal(depth), TWO, power=1.5, scales=(1e2, 1e3)).bounds[:2]
        assert bound.measured == pytest.approx(excess[1], rel=1e-5)
        assert bound.measured / bound.at_most <= share.measured < 1

    def test_a_flow_that_does_not_classify_says_how_far_it_is(self):
        flow = SimpleNamespace(margin=np.array([0.0, -0.1]), accuracy=np.array([0.2, 0.75]))
        with pytest.raises(tacit.InputError, match=r"at γ̃ = 0\.75; take larger scales"):
            regimes._stop(flow)

    def test_signs_of_features_do_not_matter(self):
        """A norm, not a sum: TWO has an ŵ of positive entries."""
        one, other = (
            [bound.measured for bound in ask("theorem7", tacit.Diagonal(), Z, scales=(1e2, 1e3)).bounds]
            for Z in (TWO, TWO * [1, -1, 1])
        )
        np.testing.assert_allclose(one, other, rtol=1e-5)

    @pytest.mark.parametrize(("Z", "depth"), [(ONE, 2), (ONE, 3), (TWO, 10), (MANY, 2), (MANY, 3), (DEEP, 2)])
    def test_holds(self, Z, depth):
        verdict = ask("theorem7", tacit.Diagonal(depth), Z)
        assert verdict.holds and verdict.bounds[0].measured < 0.02
        unique = Z is not MANY
        assert len(verdict.bounds) == (3 if depth > 2 and unique else 2)

    def test_at_depth_2_a_support_vector_may_leave(self):
        """Condition 9 is sufficient: the excess decreases, although slowly, and Condition 5 fails."""
        near, far = (
            ask("theorem7", tacit.Diagonal(), LEAVES, power=power, scales=(1e3, 1e4)) for power in (2, 3)
        )
        assert near.holds and far.holds and "of samples left behind: " in near.summary()
        assert 0.01 < far.bounds[0].measured < near.bounds[0].measured / 1.5
        assert ask("condition5", tacit.Diagonal(), LEAVES).applies is False

    def test_what_is_left_behind_is_that_of_a_flow(self):
        """(∗) at a large scale: θ from ∇Q(w) = Zᵀθ, which three samples of three features determine."""
        scale, mu = 1e7, np.array([1e-2, 1e-3])
        flow = tacit.flow(network(2, scale), LEAVES, np.ones(3), loss="exp", at=scale / mu)
        theta = np.arcsinh(flow.predictor / (2 * scale)) @ np.linalg.inv(LEAVES)
        margins = flow.predictor @ LEAVES.T
        right = np.sum(theta * (margins / margins.min(axis=1, keepdims=True) - 1), axis=1)
        np.testing.assert_allclose(regimes._left_behind(LEAVES, np.ones(3), mu), right, rtol=1e-3)

    def test_condition_9_fails_where_what_is_left_behind_grows_with_the_logarithm(self, monkeypatch):
        monkeypatch.setattr(regimes, "_left_behind", lambda X, y, mu: 0.1 * np.log1p(1 / mu) ** 1.5)
        verdict = ask("theorem7", tacit.Diagonal(), LEAVES, scales=(1e3, 1e4))
        assert verdict.applies is False and "Condition 9" in verdict.because and "rises" in verdict.because

    @pytest.mark.parametrize("Z", [DEEP, LOCAL], ids=["deep", "local"])
    def test_deeper_without_condition_5_the_flow_ends_elsewhere(self, Z):
        verdict = ask("theorem7", tacit.Diagonal(10), Z, scales=(1e3, 1e4))
        assert verdict.holds is None
        assert [bound.holds for bound in verdict.bounds] == [False, False, False]
        assert verdict.bounds[0].measured > 0.03

    def test_condition_5_is_not_necessary(self):
        """On LEAVES at depth 3 two support vectors leave, but the flow still ends at the ℓ1 margin."""
        verdict = ask("theorem7", tacit.Diagonal(3), LEAVES, power=3, scales=(1e2, 1e3, 1e4))
        assert verdict.applies is False and all(bound.holds for bound in verdict.bounds)
        assert verdict.bounds[0].measured < 1e-6

    def test_among_many_l1_margins_the_scale_decides(self):
        """MANY: (a, 1−a, 0), 8/23 ≤ a ≤ 1. As α → ∞, a = ½, where Σ|wᵢ|^{2/D} is largest; not at α = 1."""
        large, small = (
            tacit.flow(network(3, scale), MANY, np.ones(3), loss="exp", at=[scale * 1e6])
            for scale in (1e6, 1)
        )
        stops = [(flow.predictor / flow.margin[:, None])[0] for flow in (large, small)]
        assert all(np.abs(w).sum() == pytest.approx(1, abs=1e-4) for w in stops)
        np.testing.assert_allclose(stops[0], [0.5, 0.5, 0], atol=1e-3)
        assert stops[1][0] > 0.7

    @pytest.mark.parametrize("Z", [ONE, TWO, LEAVES, DEEP, LOCAL])
    @pytest.mark.parametrize("depth", [3, 10])
    def test_stationarity_is_that_of_the_list_of_stationary_points(self, Z, depth):
        margin = tacit.max_margin(Z, np.ones(3), "l1")
        np.testing.assert_allclose(margin.predictor, least_l1(Z)[0], atol=1e-9)
        points = tacit.max_margin(Z, np.ones(3), 2 / depth).stationary
        listed = np.abs(points - margin.predictor).max(axis=1).min() < 1e-7
        assert (regimes.quasi_stationarity(margin, depth) < 1e-6) == listed


@pytest.mark.every(2)
@pytest.mark.parametrize("name", REGIMES)
@pytest.mark.parametrize("unit", [0.1, 250.0])
def test_units_do_not_matter(name, unit):
    small = {"scales": (1e3, 1e4)}
    here, there = (ask(name, tacit.Diagonal(3), unit * Z, **small) for unit, Z in ((1, TWO), (unit, TWO)))
    for one, other in zip(here.bounds, there.bounds, strict=True):
        assert one.measured == pytest.approx(other.measured, rel=1e-4, abs=1e-9)
        assert one.at_most == pytest.approx(other.at_most, rel=1e-4)


def test_the_scale_of_the_model_is_not_asked_for():
    for name in REGIMES:
        here, there = (ask(name, tacit.Diagonal(2, scale), TWO, scales=(1e2, 1e3)) for scale in (1e-3, 40.0))
        assert here.to_dict() == there.to_dict()


class TestAsking:
    def test_every_statement_is_listed(self):
        keys = [t.key for t in theorems() if t.key.startswith("moroshko2020/")]
        main = ["theorem1", "theorem2", "lemma3", "theorem4", "condition5", "theorem6", "theorem7", "depth"]
        others = ["inequalities", "lemma10", "lemma11", "lemma12", "lemma13", "appendixE"]
        assert keys == [f"moroshko2020/{name}" for name in [*main, *others]]

    @pytest.mark.parametrize("name", [*LEMMAS, "condition5", *REGIMES])
    def test_other_models_are_no_case(self, name):
        for model in (tacit.UntiedDiagonal(), tacit.Diagonal(profile=[1.0, 2.0, 1.0])):
            verdict = ask(name, model, TWO)
            assert (verdict.applies, verdict.holds, verdict.bounds) == (False, None, ())
            assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["applies"] is False

    def test_each_size_lemma_has_its_depth(self):
        assert ask("lemma11", tacit.Diagonal(3), TWO).holds is None
        assert ask("lemma13", tacit.Diagonal(2), TWO).holds is None
        assert ask("lemma11", tacit.Diagonal(2, profile=np.ones(3)), TWO).holds

    def test_labels_only_turn_samples_around(self):
        flip = np.array([1.0, -1.0, -1.0])
        turned = check("moroshko2020/lemma3", tacit.Diagonal(), flip[:, None] * TWO, flip)
        plain = ask("lemma3", tacit.Diagonal(), TWO)
        assert turned.bounds[0].measured == pytest.approx(plain.bounds[0].measured, rel=1e-9)

    @pytest.mark.parametrize(
        ("name", "options", "words"),
        [
            ("lemma3", {"until": 0}, "until must be a positive number"),
            ("condition5", {"mu": -1.0}, "mu must be a positive number"),
            ("condition5", {"down_to": math.inf}, "down_to must be a positive number"),
            ("theorem4", {"power": "half"}, "power must be a positive number"),
            ("theorem4", {"scales": (1e3,)}, "at least two increasing positive numbers"),
            ("theorem6", {"scales": (1e3, 1e2)}, "at least two increasing positive numbers"),
            ("theorem7", {"scales": "many"}, "at least two increasing positive numbers"),
        ],
    )
    def test_mistakes_are_named(self, name, options, words):
        with pytest.raises(tacit.InputError, match=words):
            ask(name, tacit.Diagonal(), TWO, **options)

    def test_a_stop_before_all_samples_are_classified(self):
        """The flow starts along the mean, which misclassifies the third of these samples."""
        Z = np.array([[3.0, 0.0], [3.0, 0.0], [-1.0, 1.0]])
        with pytest.raises(tacit.InputError, match="take larger scales"):
            ask("theorem4", tacit.Diagonal(), Z, scales=(1e-4, 1e-3))

    def test_data_that_cannot_be_separated(self):
        for name in ["lemma3", "condition5", *REGIMES]:
            with pytest.raises(tacit.NotSeparableError):
                ask(name, tacit.Diagonal(), np.array([[1.0, 0.0], [-1.0, 0.0]]))
