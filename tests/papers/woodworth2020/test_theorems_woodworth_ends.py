"""Woodworth et al. 2020: Lemma 8, the limits of Theorem 3, escape time and sample size, by independent
computations.

References: the raw weights integrated by SciPy, linear programs, and explicit cases.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, linprog, minimize

import tacit
from tacit.papers.woodworth2020 import lemma8
from tacit.papers.woodworth2020 import section4 as saddle
from tacit.papers.woodworth2020 import section4 as sample_size
from tacit.papers.woodworth2020 import theorem1_3 as ends
from tacit.theorems import check


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(1).standard_normal((4, 9))
    return X, X[:, 0] - X[:, 1] + 0.3 * X[:, 2]


def ask(name, model, problem, **options):
    return check(f"woodworth2020/{name}", model, *problem, **options)


def raw(X, y, depth, alpha, until, **options):
    """Raw weights under ½‖Xβ − y‖², integrated together with ∫r."""
    d = X.shape[1]

    def velocity(_, state):
        plus, minus = state[:d], state[d : 2 * d]
        r = X @ (plus**depth - minus**depth) - y
        push = depth * X.T @ r
        return np.concatenate([-(plus ** (depth - 1)) * push, minus ** (depth - 1) * push, r])

    start = np.append(np.full(2 * d, alpha), np.zeros(len(y)))
    return solve_ivp(velocity, (0, until), start, rtol=1e-10, atol=1e-12, **options)


@pytest.mark.parametrize("name", ["lemma8", "theorem3-ends", "escape-time"])
def test_theorems_do_not_apply_to_other_models(name, problem):
    for model in (tacit.UntiedDiagonal(), tacit.Diagonal(3, profile=np.arange(1.0, 10.0))):
        verdict = ask(name, model, problem)
        assert (verdict.holds, verdict.bounds) == (None, ())


class TestLemma8:
    @pytest.mark.every(3)
    @pytest.mark.parametrize(("depth", "alpha"), [(3, 0.05), (5, 0.7)])
    def test_holds(self, depth, alpha, problem):
        verdict = ask("lemma8", tacit.Diagonal(depth, scale=alpha), problem)
        assert verdict.holds and 0.1 < verdict.bounds[0].measured < 1

    def test_the_largest_multiplier_equals_that_of_raw_weights(self, problem):
        X, y = problem
        run = raw(X, y, 3, 0.3, 200.0, t_eval=np.append(0.0, np.geomspace(1e-3, 200, 4000)))
        z = 3 * 0.3 * X.T @ run.y[18:]
        measured = ask("lemma8", tacit.Diagonal(3, scale=0.3), problem).bounds[0].measured
        assert measured == pytest.approx(np.abs(z).max(), rel=1e-4)
        np.testing.assert_allclose(0.3 / run.y[:9, -1], 1 + z[:, -1], rtol=1e-6)  # (51)

    def test_it_does_not_apply_at_depth_two_at_rest_or_to_jumps(self, problem):
        assert ask("lemma8", tacit.Diagonal(2), problem).holds is None
        assert ask("lemma8", tacit.Diagonal(3), (problem[0], np.zeros(4))).holds is None
        assert ask("lemma8", tacit.Diagonal(6, log_scale=-5), problem).holds is None

    def test_collinear_samples_with_jumps_of_the_residuals(self):
        """The recorded times of the flow are too far apart here: without refinement (58) has an error of
        3e-3.
        """
        rng = np.random.default_rng(2)
        t = np.linspace(0, 1, 40)
        peaks = np.exp(-(((t - rng.random((14, 6, 1))) / 0.1) ** 2))
        X = (rng.standard_normal((14, 6, 1)) * peaks).sum(axis=1) + 0.02 * rng.standard_normal((14, 40))
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), rng.standard_normal(14)
        model = tacit.Diagonal(2.5, scale=1e-5)
        first = lemma8.Multipliers.of(model, X, y)
        assert first.difference() > 1e-4
        found, fine = first.settled()
        assert fine.holds and found.difference() <= 1e-5
        assert len(found.panels.ends) < 20 * len(first.panels.ends)

    def test_a_wrong_time_scale_is_detected(self, problem, monkeypatch):
        monkeypatch.setattr(lemma8, "_LOSS", tacit.losses.Square("sum"))
        assert ask("lemma8", tacit.Diagonal(3, scale=0.3), problem).holds is False


class TestEnds:
    @pytest.mark.parametrize("depth", [2, 3, 6])
    def test_holds(self, depth, problem):
        verdict = ask("theorem3-ends", tacit.Diagonal(depth), problem)
        assert verdict.holds and len(verdict.bounds) == 4
        assert verdict.bounds[3].measured == pytest.approx(-2, abs=0.1)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_the_selected_one_of_many_minimizers(self, depth):
        """The face is a line, on which a general optimizer finds the maximizer."""
        X, y = np.array([[1.0, 1.0, 1.0, 0.2], [0.0, 1.0, 2.0, 0.1]]), np.array([1.0, 0.8])
        verdict = ask("theorem3-ends", tacit.Diagonal(depth), (X, y))
        assert verdict.holds
        limit = tacit.limit(tacit.Diagonal(depth, log_scale=-460 / depth), X, y).predictor
        assert np.abs(limit).sum() == pytest.approx(linprog(np.ones(4), A_eq=X, b_eq=y).fun, rel=1e-9)

        def objective(t):  # along the face (1 − 0.8 + t, 0.8 − 2t, t, 0)
            beta = np.array([0.2 + t[0], 0.8 - 2 * t[0], t[0]])
            return np.sum(beta * np.log(beta)) if depth == 2 else -np.sum(beta ** (2 / depth))

        best = minimize(objective, [0.1], bounds=[(1e-9, 0.4 - 1e-9)], tol=1e-14).x[0]
        np.testing.assert_allclose(limit[:3], [0.2 + best, 0.8 - 2 * best, best], atol=1e-5)

    def test_another_minimizer_of_the_face_is_detected(self):
        X = np.ones((1, 3))
        for depth in (2, 3):
            assert ends.along_face(X, np.full(3, 1 / 3), depth) < 1e-12
            assert ends.along_face(X, np.array([0.5, 0.3, 0.2]), depth) > 0.1
        assert ends.along_face(np.eye(3), np.array([0.5, 0.3, 0.2]), 3) == 0

    @pytest.mark.parametrize("depth", [2, 3])
    def test_units_do_not_matter(self, depth, problem):
        X, y = problem
        for unit in (1e-100, 1e-7, 1e150):
            assert ask("theorem3-ends", tacit.Diagonal(depth), (unit * X, y)).holds
        beta = np.array([0.5, 0.3, 0.2])
        assert ends.along_face(1e-150 * np.ones((1, 3)), 1e150 * beta, depth) > 0.1

    def test_limits_that_do_not_depend_on_the_scale_are_detected(self, problem, monkeypatch):
        limit = ends._limit
        monkeypatch.setattr(ends, "_limit", lambda depth, log_scale, X, y: limit(depth, 0.0, X, y))
        assert ask("theorem3-ends", tacit.Diagonal(3), problem).holds is False

    def test_inconsistent_data(self):
        verdict = ask("theorem3-ends", tacit.Diagonal(3), ([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0]))
        assert verdict.holds is None
        assert ask("theorem3-ends", tacit.Diagonal(3), (np.eye(2), np.zeros(2))).holds is None


class TestSaddle:
    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_holds(self, depth, problem):
        assert ask("escape-time", tacit.Diagonal(depth), problem).holds

    @pytest.mark.parametrize("depth", [2.05, 2.2, 2.5])
    def test_depths_just_above_two(self, depth, problem):
        """x = y = 1 has c_D·t = ∫ds/(1 − α^D·h_D(s)), here over v = 1 − s; the growth is the same for other
        data.
        """
        one = np.ones((1, 1)), np.ones(1)
        needed, scales = 1 - math.sqrt(0.5), np.exp(saddle.Escape(*one, depth).scales())
        power = depth / (depth - 2)

        def time(scale):
            def value(v):
                return scale * (v**-power - (2 - v) ** -power)

            start = brentq(lambda log_v: value(math.exp(log_v)) - needed, math.log(scale) / power - 1, -1e-9)
            return scale ** (2 / depth - 1) * quad(lambda v: 1 / (1 - value(v)), math.exp(start), 1)[0]

        expected = math.log(time(scales[2]) / time(scales[1])) / math.log(scales[1] / scales[2]) * depth
        verdict = ask("escape-time", tacit.Diagonal(depth), one)
        assert verdict.holds and verdict.bounds[2].measured == pytest.approx(expected, rel=1e-5)
        assert ask("escape-time", tacit.Diagonal(depth), problem).holds

    def test_depths_whose_growth_double_precision_does_not_resolve(self, problem):
        assert ask("escape-time", tacit.Diagonal(2.001), problem).holds is None

    @pytest.mark.parametrize("depth", [2, 3])
    def test_times_equal_those_of_raw_weights(self, depth, problem):
        X, y = problem
        alpha = 1e-2 ** (1 / depth)

        def halved(_, state):
            return np.sum((X @ (state[:9] ** depth - state[9:18] ** depth) - y) ** 2) - np.sum(y**2) / 2

        halved.terminal = True
        found = raw(X, y, depth, alpha, 1e4, events=halved).t_events[0][0]
        escape, log_scale = saddle.Escape(X, y, depth), math.log(1e-2)
        assert escape.halved(log_scale) == (pytest.approx(found, rel=1e-6), True)
        assert escape.lower_bound(log_scale) < found < escape.upper_bound(log_scale)[0]

    def test_data_whose_small_scales_are_far_below_the_unit(self):
        """Many columns of similar length: at 1e-2 to 1e-6 of the unit, increments of the time differ by a
        third.

        At the end they are equal; before, times are those of single coordinates until each has grown.
        """
        rng = np.random.default_rng(3)
        X = rng.standard_normal((6, 1)) + 0.05 * rng.standard_normal((6, 3000))
        y = X[:, :2].sum(axis=1)
        escape = saddle.Escape(X, y, 2)
        early = [escape.halved(math.log(scale) + escape.log_unit)[0] for scale in (1e-2, 1e-4, 1e-6)]
        assert (early[2] - early[1]) / (early[1] - early[0]) > 1.25
        verdict = ask("escape-time", tacit.Diagonal(2), (X, y))
        assert verdict.holds and verdict.bounds[2].measured == pytest.approx(1, abs=0.03)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("depth", [2, 2.4, 3, 7])
    def test_both_bounds_at_any_scale(self, depth, seed):
        """This includes large scales, at which the growth is unknown."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((5, 12)) * np.exp(rng.standard_normal(12))
        escape = saddle.Escape(X, rng.standard_normal(5), depth)
        for log_scale in (-20.0, -3.0, 0.0, 5.0):
            time, done = escape.halved(log_scale)
            assert done and escape.lower_bound(log_scale) < time < escape.upper_bound(log_scale)[0]

    @pytest.mark.parametrize("depth", [2, 3])
    def test_one_sample_and_feature(self, depth):
        """x = y = 1: the bound is h_D(c_D·t)·α^D = 1 − 1/√2."""
        alpha, needed = 0.1, 1 - math.sqrt(0.5)
        if depth == 2:
            expected = math.asinh(needed / (2 * alpha**2)) / 4
        else:
            ratio = needed / alpha**3
            z = brentq(lambda z: (1 - z) ** -3 - (1 + z) ** -3 - ratio, 0, 1 - 1e-9)
            expected = z / (3 * alpha)
        found = saddle.waiting_time(np.ones((1, 1)), np.ones(1), depth, math.log(alpha))
        assert found == pytest.approx(expected, rel=1e-9)

    def test_the_growth_is_as_printed(self):
        X, y = np.ones((1, 1)), np.ones(1)
        deep = [saddle.waiting_time(X, y, 4, each) for each in (-10.0, -20.0)]
        assert math.log(deep[1] / deep[0]) == pytest.approx(20, rel=1e-3)  # α^{−2}
        flat = [saddle.waiting_time(X, y, 2, each) for each in (-10.0, -20.0, -30.0)]
        assert flat[2] - flat[1] == pytest.approx(flat[1] - flat[0], rel=1e-6)
        assert flat[1] - flat[0] == pytest.approx(20 / 4, rel=1e-6)  # log(1/α²)/4

    def test_a_flow_that_is_too_fast_is_detected(self, problem, monkeypatch):
        halved = saddle.Escape.halved
        monkeypatch.setattr(saddle.Escape, "halved", lambda *given: (halved(*given)[0] / 10, True))
        assert ask("escape-time", tacit.Diagonal(2), problem).holds is False

    @pytest.mark.parametrize("depth", [2, 3])
    def test_flows_that_are_too_slow_or_have_a_wrong_growth_are_detected(self, depth, problem, monkeypatch):
        halved = saddle.Escape.halved
        monkeypatch.setattr(saddle.Escape, "halved", lambda *given: (halved(*given)[0] * 100, True))
        assert not ask("escape-time", tacit.Diagonal(depth), problem).bounds[1].holds
        monkeypatch.setattr(saddle.Escape, "halved", lambda *given: (halved(*given)[0] ** 1.2, True))
        assert not ask("escape-time", tacit.Diagonal(depth), problem).bounds[2].holds

    def test_zero_targets(self):
        assert ask("escape-time", tacit.Diagonal(2), (np.eye(2), np.zeros(2))).holds is None


class TestSampleSize:
    @pytest.mark.parametrize(("samples", "noise"), [(5, 0.0), (20, 0.1), (30, 2.0)])
    def test_holds(self, samples, noise):
        verdict = check(
            "woodworth2020/sample-size", tacit.Diagonal(), samples=samples, features=50, noise=noise
        )
        assert verdict.holds

    def test_the_noise_term_is_the_trace_of_an_inverse_wishart_matrix(self):
        """E tr (XXᵀ)⁻¹ = N/(d − N − 1), by simulation."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4000, 6, 20))
        traces = np.trace(np.linalg.inv(X @ X.transpose(0, 2, 1)), axis1=1, axis2=2)
        assert sample_size.expected_error(6, 20, 1.0) - 0.7 == pytest.approx(traces.mean(), rel=0.03)

    def test_a_wrong_formula_is_detected(self, monkeypatch):
        monkeypatch.setattr(sample_size, "expected_error", lambda n, d, noise: (1 - n / d) ** 2)
        assert check("woodworth2020/sample-size", tacit.Diagonal(), samples=20, features=50).holds is False

    def test_a_limit_that_needs_fewer_samples_is_detected(self, monkeypatch):
        """The minimum ℓ1 norm solution finds a single entry from fewer than d/2 samples."""
        monkeypatch.setattr(tacit.potentials, "Quadratic", tacit.potentials.L1)
        assert not any(
            bound.holds
            for bound in check("woodworth2020/sample-size", tacit.Diagonal(), samples=20, features=50).bounds
        )

    def test_it_does_not_apply_to_many_samples_or_other_models(self):
        ask = {"samples": 49, "features": 50}
        assert check("woodworth2020/sample-size", tacit.Diagonal(), **ask).holds is None
        assert check("woodworth2020/sample-size", tacit.UntiedDiagonal(), samples=4, features=9).holds is None
        with pytest.raises(tacit.InputError, match="noise"):
            check("woodworth2020/sample-size", tacit.Diagonal(), samples=4, features=9, noise=-1)
