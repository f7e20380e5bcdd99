"""Theorem 2 and Lemmas 5 to 7 of Woodworth et al. 2020: thresholds and bounds, as printed and corrected."""

import json
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import gaussian_problem, q, scaled
from properties import some
from scipy.optimize import linprog

import tacit
from tacit.papers import statements as registry
from tacit.papers.woodworth2020.theorem2 import lemma5_log_scale
from tacit.theorems import Assumption, Bound, check, theorem, theorems, woodworth2020

FORMS = {"stated": "", "proved": "-proved", "sharp": "-sharp"}
EPSILONS = [0.05, 0.3, 1.0, 4.0]


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def rich_alpha(form, B, d, eps):
    """The largest α of each form of the ℓ1 part, as a number of mpmath."""
    power, B, eps = (2 + mpf(eps)) / (2 * mpf(eps)), mpf(B), mpf(eps)
    return {
        "stated": min((2 * (1 + eps) * B) ** -power, mp.exp(-d / (eps * B))),
        "proved": min(1, mp.sqrt(B), (2 * (1 + 2 * eps) * B) ** -power, mp.exp(-d * power / B)),
        "sharp": mp.sqrt(B * (mp.e * d / (1 + eps)) ** (-(1 + eps) / eps) / 2 ** (1 / eps)),
    }[form]


def kernel_alpha(form, B, eps):
    """The smallest α of each form of the ℓ2 part."""
    B, eps, least = mpf(B), mpf(eps), min(mpf(eps), 1)
    return {
        "stated": mp.sqrt(2 * (1 + eps) * (1 + 2 / eps) * B),
        "proved": mp.sqrt((1 + 2 * eps) * B) * (1 + mp.root(1 + 2 / eps, 4)),
        "sharp": mp.root(B**2 * (1 + least) ** 2 / (48 * least), 4),
    }[form]


def least_norms(X, y):
    """‖β_ℓ1‖₁ and ‖β_ℓ2‖₂, by a linear program and by least squares."""
    program = linprog(np.ones(2 * X.shape[1]), A_eq=np.hstack([X, -X]), b_eq=y)
    return program.fun, np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0])


def tempting(features, c, size=1.0):
    """One equation that is solved best by one feature, and almost as well by d − 1 others."""
    return np.array([[1.0] + [c] * (features - 1)]), np.array([size])


def tempted(features, c, size, log_alpha):
    """The norms ‖β‖₁, ‖β‖₂² of the limit on `tempting`: β = 2α² sinh(νx), ν bisected."""
    m, c, size = mp.exp(2 * mpf(log_alpha)), mpf(c), mpf(size)
    low, high = mpf(0), mp.asinh(size / (2 * m))
    for _ in range(160):
        nu = (low + high) / 2
        first, other = 2 * m * mp.sinh(nu), 2 * m * mp.sinh(c * nu)
        low, high = (nu, high) if first + (features - 1) * c * other < size else (low, nu)
    return first + (features - 1) * other, first**2 + (features - 1) * other**2


PROBLEMS = [
    *(gaussian_problem(4, 12, nonzero=2, seed=seed) for seed in range(3)),
    *((X, 40 * y) for X, y in [gaussian_problem(6, 30, seed=3)]),
    *((X, 1e-3 * y) for X, y in [gaussian_problem(6, 30, seed=4)]),
    tempting(50, 0.9),
    tempting(400, 0.96, size=400.0),
    tempting(2, 0.999, size=2.0),
]


class TestThresholds:
    @pytest.mark.every(3)
    @pytest.mark.parametrize("eps", EPSILONS)
    @pytest.mark.parametrize("form", FORMS)
    def test_thresholds_are_the_printed_formulas(self, form, eps):
        for X, y in PROBLEMS:
            l1, l2 = least_norms(X, y)
            rich = mp.log(rich_alpha(form, l1, X.shape[1], min(eps, X.shape[1]) if form == "sharp" else eps))
            assert woodworth2020.rich_log_scale(X, y, eps, form) == pytest.approx(float(rich), rel=1e-8)
            kernel = mp.log(kernel_alpha(form, l2, eps))
            assert woodworth2020.kernel_log_scale(X, y, eps, form) == pytest.approx(float(kernel), abs=1e-9)

    def test_thresholds_are_finite_when_the_scale_underflows(self):
        """exp(−d/(εB)) with d = 400, ε = 0.01 and B = 1 is e^(−40000)."""
        X, y = tempting(400, 0.5)
        assert woodworth2020.rich_log_scale(X, y, 0.01) == pytest.approx(-40000)
        model = tacit.Diagonal(log_scale=-40000.0)
        assert check("woodworth2020/theorem2-l1", model, X, y, epsilon=0.01).holds

    def test_zero_targets(self):
        X, y = np.ones((1, 3)), np.zeros(1)
        assert woodworth2020.rich_log_scale(X, y) == woodworth2020.kernel_log_scale(X, y) == -math.inf
        assert check("woodworth2020/theorem2-l1", tacit.Diagonal(), X, y).holds is None
        assert check("woodworth2020/theorem2-l2", tacit.Diagonal(), X, y).holds is True


class TestTheorem2:
    @pytest.mark.every(3)
    @pytest.mark.parametrize("eps", EPSILONS)
    @pytest.mark.parametrize("form", FORMS)
    def test_both_parts_hold_at_their_thresholds(self, form, eps):
        for X, y in PROBLEMS:
            if eps >= X.shape[1]:
                continue
            ends = [woodworth2020.rich_log_scale, woodworth2020.kernel_log_scale]
            for part, log_scale, least in zip(("l1", "l2"), ends, least_norms(X, y), strict=True):
                model = tacit.Diagonal(log_scale=log_scale(X, y, eps, form))
                verdict = check(f"woodworth2020/theorem2-{part}{FORMS[form]}", model, X, y, epsilon=eps)
                norm, share = verdict.bounds
                least = least ** int(part[1])
                assert verdict.applies
                assert verdict.holds is True
                assert norm.at_most == pytest.approx((1 + eps) * least, rel=1e-9)
                assert least * (1 - 1e-9) <= norm.measured <= norm.at_most
                assert share.measured == pytest.approx((norm.measured / least - 1) / eps, abs=1e-8)

    @pytest.mark.parametrize(("c", "log_alpha"), [(0.9, -2.0), (0.9, -9.0), (0.97, -15.0), (0.5, 1.0)])
    def test_measured_norms_match_forty_digit_arithmetic(self, c, log_alpha):
        X, y = tempting(60, c, size=3.0)
        model, exact = tacit.Diagonal(log_scale=log_alpha), tempted(60, c, 3.0, log_alpha)
        for part, norm in zip(("l1", "l2"), exact, strict=True):
            measured = check(f"woodworth2020/theorem2-{part}", model, X, y).bounds[0].measured
            assert measured == pytest.approx(float(norm), rel=1e-12)

    @pytest.mark.parametrize("form", FORMS)
    def test_outside_its_threshold_the_theorem_does_not_apply_but_is_measured(self, form):
        X, y = tempting(60, 0.8)
        cases = {
            "l1": woodworth2020.rich_log_scale(X, y, 0.1, form) + 1e-6,
            "l2": woodworth2020.kernel_log_scale(X, y, 0.1, form) - 1e-6,
        }
        for part, log_scale in cases.items():
            model = tacit.Diagonal(log_scale=log_scale)
            verdict = check(f"woodworth2020/theorem2-{part}{FORMS[form]}", model, X, y)
            assert (verdict.applies, verdict.holds, len(verdict.bounds)) == (False, None, 2)
            assert verdict.summary().startswith(f"{verdict.key}: does not apply")
            assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["holds"] is None

    def test_far_outside_the_threshold_the_bounds_are_violated(self):
        X, y = tempting(60, 0.8)
        for part, log_scale in (("l1", 1.0), ("l2", -9.0)):
            verdict = check(f"woodworth2020/theorem2-{part}", tacit.Diagonal(log_scale=log_scale), X, y)
            assert verdict.holds is None
            assert not any(bound.holds or bound.looseness >= 1 for bound in verdict.bounds)

    @pytest.mark.parametrize(
        "model", [tacit.Diagonal(depth=3), tacit.Diagonal(profile=[1, 2, 1]), tacit.UntiedDiagonal()]
    )
    def test_it_does_not_apply_to_other_models(self, model):
        verdict = check("woodworth2020/theorem2-l1", model, np.ones((1, 3)), np.ones(1))
        assert (verdict.applies, verdict.holds, verdict.bounds) == (False, None, ())

    def test_a_profile_of_ones_is_like_none(self):
        model = tacit.Diagonal(log_scale=-80, profile=np.ones(3))
        assert check("woodworth2020/theorem2-l1", model, np.ones((1, 3)), np.ones(1)).holds

    def test_epsilon_must_be_below_d(self):
        X, y = np.ones((1, 3)), np.ones(1)
        assert not check("woodworth2020/theorem2-l2", tacit.Diagonal(scale=9.0), X, y, epsilon=3).applies


class TestWhyTheorem2IsTrue:
    """The printed proof does not give the stated thresholds, but the sharp forms imply them."""

    def test_two_sided_inequalities_of_q(self):
        for exponent in np.linspace(-30, 60, 181):
            z = mpf(10) ** mpf(exponent)
            value = scaled(q, z, 0, digits=200)
            with mp.workdps(200):
                assert z * mp.log(z) - z <= value <= z * mp.log(1 + z)
                assert z**2 / 4 * (1 - z**2 / 48) <= value <= z**2 / 4

    def test_stated_and_proved_scales_are_within_the_sharp_ones(self):
        """For the stated ℓ1 threshold, ε·log(B/α²) exceeds the required value by at least 0.1186 + 0.2384ε;
        for the proved one by more.
        """
        rng = np.random.default_rng(0)
        d = np.floor(np.exp(rng.uniform(0, 14, 400_000)))
        eps = np.maximum(d * np.exp(-rng.exponential(3, d.size)) * (1 - 1e-9), 1e-5)
        near = (1 + 1.5 * eps) * np.exp(rng.normal(0, 0.5, d.size))
        B = d / np.where(rng.random(d.size) < 0.5, near, np.exp(rng.uniform(-12, 12, d.size)))
        power = (2 + eps) / (2 * eps)
        stated = np.minimum(-power * np.log(2 * (1 + eps) * B), -d / (eps * B))
        proved = np.minimum(-power * np.log(2 * (1 + 2 * eps) * B), np.minimum(-power * d / B, np.log(B) / 2))
        assert (proved <= stated).all()
        level = np.log(B) - 2 * stated
        needed = (1 + eps) * (1 + np.log(d) - np.log1p(eps)) + np.log1p(np.exp(-level))
        assert (eps * level - needed >= 0.1186 + 0.2384 * eps - 1e-9 * np.abs(needed)).all()
        for e in np.exp(np.linspace(-12, 12, 300)):
            least = float(kernel_alpha("sharp", 1, e))
            assert all(float(kernel_alpha(form, 1, e)) > least for form in ("stated", "proved"))

    def test_a_thousand_features_need_25_and_not_10000(self):
        """ε = 0.1 on one sample (1, c, …, c), c = 0.893: the bound breaks at log α = −25.1; sharp: −46.4."""
        X, y = tempting(1000, 0.893)
        assert tempted(1000, 0.893, 1, -25.2)[0] < 1.1 < tempted(1000, 0.893, 1, -25.0)[0]
        scales = [woodworth2020.rich_log_scale(X, y, 0.1, form) for form in FORMS]
        assert scales == pytest.approx([-10000, -10500, -46.434184], rel=1e-7)

    def test_no_larger_power_of_d_suffices(self):
        """On `tempting` with c = 1/(1+1.02ε) and d = e^600, α = d^(−p(1+ε)/2ε) is too large at p = 0.9."""
        eps, log_d = mpf("0.1"), 600
        c = 1 / (1 + mpf("1.02") * eps)

        def excess(p):
            with mp.workdps(400):
                log_alpha = -p * (1 + eps) / (2 * eps) * log_d
                return tempted_in_logs(log_d, c, 2 * log_alpha) - 1

        assert excess(mpf("0.9")) > eps
        assert excess(mpf("1.1")) < eps

    def test_equation_44_fails_for_small_norms(self):
        """(44) is stated for every ‖β‖₁ ≤ (1+2ε)B; for β below α², Q/log(1/α²) is far below its norm."""
        eps, B, d = mpf("0.5"), mpf(1), 2
        alpha = lemma5_alpha(eps / (2 + eps), (1 + 2 * eps) * B, d)
        beta = alpha**2 / 100
        assert scaled(q, beta, 2 * mp.log(alpha)) / mp.log(1 / alpha**2) < (1 - eps / (2 + eps)) * beta / 100


def tempted_in_logs(log_d, c, log_m):
    """‖β‖₁ on `tempting` for an astronomical d, where sinh is half an exponential."""
    low, high = mpf(0), -mpf(log_m)
    for _ in range(400):
        nu = (low + high) / 2
        first, others = mp.exp(log_m + nu), mp.exp(log_m + log_d + c * nu)
        low, high = (nu, high) if first + c * others < 1 else (low, nu)
    return first + others


def lemma5_alpha(eps, norm, d):
    eps, norm = mpf(eps), mpf(norm)
    return min(1, mp.sqrt(norm), (2 * norm) ** (-1 / (2 * eps)), mp.exp(-d / (2 * eps * norm)))


def predictors(rng, count):
    """Spread, sparse, equal and nearly critical vectors of 1 to 12 entries."""
    for _ in range(count):
        d, size = int(rng.integers(1, 13)), np.exp(rng.uniform(-9, 9))
        yield size * np.exp(rng.normal(0, 3, d)) * rng.choice([-1, 1], d)
        yield size * np.eye(d)[0]
        yield size * np.ones(d)
        yield (1 + rng.uniform(-1e-3, 1e-3)) * np.ones(d)  # |β| = 1: the lower bound of Lemma 5 is tight
        yield (0.5 / d) * np.ones(d)  # ‖β‖₁ = ½: its upper scale crosses 1


class TestLemmas:
    def test_lemma_5_as_printed(self):
        rng = np.random.default_rng(5)
        for beta in some(predictors(rng, 60), 4):
            eps, norm = np.exp(rng.uniform(-4, 7)), np.abs(beta).sum()
            alpha = lemma5_alpha(eps, norm, len(beta))
            threshold = lemma5_log_scale(norm, len(beta), eps)
            assert threshold == pytest.approx(float(mp.log(alpha)), rel=1e-10)
            if threshold < -600:
                continue
            verdict = check(
                "woodworth2020/lemma5", tacit.Diagonal(log_scale=threshold), predictor=beta, epsilon=eps
            )
            Q = sum(scaled(q, abs(b), 2 * mpf(threshold)) for b in beta)
            (bound,) = verdict.bounds
            assert verdict.holds is True
            assert bound.measured == pytest.approx(float(Q / (-2 * mpf(threshold))), rel=1e-11)
            assert abs(Q / (-2 * mpf(threshold)) - norm) <= mpf(eps) * norm

    def test_lower_bound_of_lemma_5_is_attained(self):
        """At d = 1, β = 1 and α = α₁ it is an equality up to e^(−1/ε)."""
        verdict = check("woodworth2020/lemma5", tacit.Diagonal(log_scale=-25), predictor=[1.0], epsilon=0.02)
        assert verdict.holds is True
        assert verdict.bounds[0].measured == pytest.approx(0.98, rel=1e-14)

    def test_lemma_5_excludes_scales_next_to_one(self):
        """α → 1 is allowed only with ε → ∞, and log(1/α²) never vanishes: α₁ < 1."""
        for eps in (1e3, 1e6, 1e9):
            threshold = lemma5_log_scale(1.0, 1, eps)
            assert -1 / eps < threshold < 0
            model = tacit.Diagonal(log_scale=threshold)
            assert check("woodworth2020/lemma5", model, predictor=[1.0], epsilon=eps).holds
        outside = check("woodworth2020/lemma5", tacit.Diagonal(scale=1.0), predictor=[0.7])
        assert (outside.holds, outside.bounds) == (None, ())

    def test_lemma_6_as_printed(self):
        rng, tightest = np.random.default_rng(6), math.inf
        for _ in range(200):
            eps = np.exp(rng.uniform(-5, 1))
            d = math.ceil(max(math.e, 12 ** (4 * eps)) * np.exp(rng.choice([0, rng.exponential(3)])))
            least = -(1 / 4 + 1 / (8 * eps)) * math.log(d)
            for log_alpha in (least, least + rng.exponential(3), least + rng.exponential(100)):
                model = tacit.Diagonal(log_scale=log_alpha)
                verdict = check("woodworth2020/lemma6", model, features=d, epsilon=eps)
                z, root = mp.exp(-2 * mpf(log_alpha)), mp.sqrt(d)
                ratio = scaled(q, z, 0) / (root * scaled(q, z / root, 0))
                assert verdict.holds is True
                assert verdict.bounds[0].measured == pytest.approx(float(ratio), rel=1e-11)
                tightest = min(tightest, float((ratio - 1) / mpf(eps)))
        assert 2 < tightest < 2.1  # the printed ε could be replaced by 2ε, but not more

    def test_lemma_6_applies_above_its_scale_and_dimension(self):
        """ε = ½ requires d ≥ 144 and α ≥ 1/√d."""
        for features, log_alpha, met in [
            (145, 1e-6 - math.log(145) / 2, [True, True, True]),
            (143, 1e-6 - math.log(143) / 2, [True, False, True]),
            (145, -1e-6 - math.log(145) / 2, [True, True, False]),
        ]:
            model = tacit.Diagonal(log_scale=log_alpha)
            verdict = check("woodworth2020/lemma6", model, features=features, epsilon=0.5)
            assert [assumption.holds for assumption in verdict.assumptions] == met
            assert verdict.holds is (True if all(met) else None)
        tiny = check("woodworth2020/lemma6", tacit.Diagonal(log_scale=-200), features=100)
        assert (tiny.holds, tiny.bounds[0].holds) == (None, False)

    def test_equation_31_has_a_quarter_under_the_root(self):
        """ln(½ + √(c²α⁴ + ¼)); with the printed ½, (32) would be wrong."""
        for t in (mpf("1e-6"), mpf("0.1"), mpf(1)):
            exact = t * scaled(q, 1 / t, 0)
            common = 2 * t - mp.sqrt(4 * t**2 + 1) - mp.log(t)
            assert abs(common + mp.log(mpf(1) / 2 + mp.sqrt(t**2 + mpf(1) / 4)) - exact) < 1e-30
            assert common + mp.log(mpf(1) / 2 + mp.sqrt(t**2 + mpf(1) / 2)) > exact + mpf("0.06")
            assert -1 - mp.log(t) <= exact <= 3 * t - 1 - mp.log(t)

    def test_equation_37_is_a_decreasing_elasticity(self):
        """z(q/z)'/(q/z) = 1/(u·coth(u/2) − 1) at z = 2 sinh u falls from 1 to 0."""
        previous = mpf(1)
        for u in (mpf(k) / 4 for k in range(1, 120)):
            z = 2 * mp.sinh(u)
            elasticity = z * mp.asinh(z / 2) / scaled(q, z, 0) - 1
            assert abs(elasticity * (u * mp.coth(u / 2) - 1) - 1) < 1e-25
            assert elasticity < previous
            previous = elasticity

    def test_lemma_7_as_printed_with_a_factor_of_48_to_spare(self):
        rng, tightest = np.random.default_rng(7), math.inf
        for beta in some(predictors(rng, 40), 4):
            eps = np.exp(rng.uniform(-25, 4))
            norm = mp.sqrt(sum(mpf(b) ** 2 for b in beta))
            least = float(mp.log(mp.sqrt(norm) * (1 + mp.root(1 / mpf(eps), 4)))) + 1e-12
            for log_alpha in (least, least + rng.exponential(3), least + 400):
                model = tacit.Diagonal(log_scale=log_alpha)
                verdict = check("woodworth2020/lemma7", model, predictor=beta, epsilon=eps)
                (bound,) = verdict.bounds
                assert verdict.holds is True
                m = mp.exp(2 * mpf(log_alpha))
                exact = 4 * m * sum(scaled(q, b, 2 * mpf(log_alpha)) for b in beta if b)
                assert bound.measured == pytest.approx(float(exact), rel=1e-11)
                assert exact <= norm**2 * (1 + mpf(10) ** -35)
                if log_alpha == least:
                    tightest = min(tightest, float(mpf(eps) / (1 - exact / norm**2)))
        assert 48 < tightest < 49

    def test_lemma_7_does_not_apply_below_its_scale(self):
        verdict = check("woodworth2020/lemma7", tacit.Diagonal(scale=0.1), predictor=[1.0, -2.0])
        assert verdict.holds is None
        assert verdict.bounds[0].looseness < 1


class TestRegistry:
    @pytest.mark.parametrize(
        ("bound", "holds", "looseness"),
        [
            (Bound("", 2.0, at_most=3.0), True, 1.5),
            (Bound("", 3.0, at_most=2.0), False, 2 / 3),
            (Bound("", 3.0, at_least=2.0), True, 1.5),
            (Bound("", 2.0, at_most=5.0, at_least=1.6), True, 1.7 / 1.3),  # of the distance to the middle
            (Bound("", 2.0, at_most=100.0, at_least=1.6), True, 1.25),  # of the value
            (Bound("", 1 + 1e-7, at_most=1 + 1e-6, at_least=1 - 1e-6), True, 10.0),
            (Bound("", 1.1, at_most=1.01, at_least=0.99), False, 0.1),
            (Bound("", 1.0, at_most=1.0, at_least=1.0), True, 1.0),
            (Bound("", 2.0, at_most=math.inf, at_least=1.0), True, 2.0),
            (Bound("", 0.0, at_most=1.0), True, math.inf),
            (Bound("", 0.0, at_most=0.0), True, 1.0),
            (Bound("", 1.0, at_most=0.0), False, 0.0),
            (Bound("", 1.0, at_least=0.0), True, math.inf),
            (Bound("", 0.0, at_least=1.0), False, 0.0),
            (Bound("", 1.0, at_most=math.inf), True, math.inf),
            (Bound("", math.inf, at_most=1.0), False, 0.0),
            (Bound("", math.inf, at_most=math.inf), True, 1.0),
            (Bound("", -2.0, at_most=-1.0), True, 2.0),
            (Bound("", -1.0, at_most=-2.0), False, 0.5),
            (Bound("", -1.0, at_most=1.0), True, math.inf),
            (Bound("", 1 + 1e-12, at_most=1.0), True, 1.0),
            (Bound("", 7.0), True, math.inf),
        ],
    )
    def test_bounds_and_their_looseness(self, bound, holds, looseness):
        assert bound.holds is holds
        assert bound.looseness == pytest.approx(looseness, rel=2e-9)

    def test_nan_does_not_hold(self):
        bound = Bound("", math.nan, at_most=1.0)
        assert not bound.holds
        assert math.isnan(bound.looseness)

    def test_a_user_defined_theorem(self, monkeypatch):
        monkeypatch.setattr("tacit.papers.catalogue.papers", dict)
        monkeypatch.setattr(registry._THEOREMS, "registered", {})

        @theorem("here/one", "One plus one is at most limit.")
        def one(model, limit, spare=0.0):
            yield Assumption("there is a limit", np.bool_(limit is not None))
            yield Bound("1 + 1", np.float64(2), at_most=limit + spare)

        assert [(t.key, t.needs, t.options) for t in theorems()] == [
            ("here/one", ("model", "limit"), ("spare",))
        ]
        assert check("here/one", None, limit=3).holds is True
        verdict = check("here/one", None, limit=1)
        assert verdict.holds is False
        assert verdict.summary().startswith("here/one: violated\n  One plus one is at most limit.")
        assert check("here/one", None, limit=1, spare=1).bounds[0].looseness == 1
        infinite = check("here/one", None, limit=math.inf).to_dict()
        assert json.loads(json.dumps(infinite, allow_nan=False))["bounds"][0]["at_most"] is None
        with pytest.raises(tacit.InputError, match="already"):
            theorem("here/one", "")(one)

    def test_every_statement_of_the_paper_is_listed(self):
        keys = [t.key for t in theorems() if t.key.startswith("woodworth2020/")]
        parts = [f"theorem2-{part}{suffix}" for part in ("l1", "l2") for suffix in FORMS.values()]
        limits = ["explicit", "sample-size", "sample-size-rich", "escape-time", "theorem3", "theorem3-ends"]
        lemmas = ["theorem4", "lemma5", "lemma6", "lemma7", "lemma8"]
        kernel = ["theorem9", "theorem9-sharp", "corollary10", "lemma11", "lemma12", "lemma13"]
        assert keys == [f"woodworth2020/{name}" for name in ["theorem1", *parts, *limits, *lemmas, *kernel]]

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (
                lambda X, y: check("woodworth2020/theorem8", None, X, y),
                "did you mean woodworth2020/theorem",
            ),
            (lambda X, y: check("woodworth2020/theorem2-l1", tacit.Diagonal(), X), "missing: y"),
            (lambda X, y: check("woodworth2020/lemma5", tacit.Diagonal()), "missing: predictor"),
            (lambda X, y: check("woodworth2020/lemma6", tacit.Diagonal(), X, features=3), "does not take X"),
            (lambda X, y: check("woodworth2020/theorem2-l2", tacit.Diagonal(), X, y, epsilon=0), "epsilon"),
            (lambda X, y: check("woodworth2020/lemma7", tacit.Diagonal(), predictor=[math.nan]), "predictor"),
            (lambda X, y: check("woodworth2020/lemma5", tacit.Diagonal(), predictor=["a"]), "predictor"),
            (lambda X, y: woodworth2020.rich_log_scale(X, y, form="printed"), "stated, proved, sharp"),
            (lambda X, y: woodworth2020.kernel_log_scale(X, y, epsilon=math.inf), "epsilon"),
        ],
    )
    def test_invalid_arguments_raise(self, call, words):
        with pytest.raises(tacit.InputError, match=words):
            call(np.ones((1, 3)), np.ones(1))
