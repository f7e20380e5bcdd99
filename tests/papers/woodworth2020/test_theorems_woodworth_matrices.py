"""Theorems 4 and 9, Corollary 10, Lemmas 11 to 13 of Woodworth et al. 2020, compared with raw flows."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit
from tacit.cli import main
from tacit.papers.arguments import ParameterError
from tacit.papers.statements import sharing
from tacit.papers.woodworth2020.lifted import ended, wide
from tacit.papers.woodworth2020.theorem9_corollary10 import (
    Constants,
    enough_width,
    movement_bound,
    sharp_bounds,
    tangent_bound,
)
from tacit.theorems import check, theorems

REAL = tacit.flow
KEYS = ("theorem9", "theorem9-sharp", "lemma11", "lemma12")


def ask(name, model, X, y, **options):
    return check(f"woodworth2020/{name}", model, X, y, **options)


def completion(size=3, observed=5, seed=0):
    rng = np.random.default_rng(seed)
    X = np.zeros((observed, size**2))
    X[np.arange(observed), rng.permutation(size**2)[:observed]] = 1
    return X.reshape(-1, size, size), rng.standard_normal(observed)


def sensing(seed=0):
    """Rectangular measurements that are neither of norm 1 nor orthogonal."""
    rng = np.random.default_rng(seed)
    return 0.5 * rng.standard_normal((3, 2, 4)), rng.standard_normal(3)


def lifted(X):
    """½[[0, X], [Xᵀ, 0]], written out."""
    N, rows, columns = X.shape
    larger = np.zeros((N, rows + columns, rows + columns))
    larger[:, :rows, rows:], larger[:, rows:, :rows] = X / 2, X.transpose(0, 2, 1) / 2
    return larger


def raw(model, X, y, times):
    """W and W_TK at these times under L = ½‖⟨WWᵀ, X̄⟩ − y‖², with all weights, by a general integrator."""
    L, start = lifted(X), np.vstack([model.left, model.right])
    first = np.einsum("nij,ik,jk->n", L, start, start)

    def velocity(_, state):
        W, T = state.reshape(2, *start.shape)
        pull = y - np.einsum("nij,ik,jk->n", L, W, W)
        tangent = y - first - 2 * np.einsum("nij,ik,jk->n", L, T - start, start)
        return np.stack([2 * np.tensordot(pull, L, 1) @ W, 2 * np.tensordot(tangent, L, 1) @ start]).ravel()

    state = np.stack([start, start]).ravel()
    found = solve_ivp(velocity, (0, times[-1]), state, "DOP853", times, rtol=1e-11, atol=1e-12)
    return found.y.T.reshape(-1, 2, *start.shape) - start


@pytest.mark.parametrize(("problem", "width", "level"), [(completion, 400, 60.0), (sensing, 30, 200.0)])
def test_measured_distances_equal_those_of_all_weights(problem, width, level):
    X, y = problem()
    model = tacit.Factorization.gaussian(X.shape[1:], width, math.sqrt(level / width), seed=1)
    gram = np.einsum("nij,mij->nm", lifted(X), lifted(X))
    low, high = np.linalg.eigvalsh(gram)[[0, -1]]
    ways = raw(model, X, y, np.linspace(0, 30 / (4 * level * low), 400))
    moved = np.linalg.norm(ways[:, 0], axis=(1, 2)).max()
    apart = np.linalg.norm(ways[:, 0] - ways[:, 1], axis=(1, 2)).max()

    W = np.vstack([model.left, model.right])
    own = np.linalg.eigvalsh(W @ W.T)
    mu = (own[0] + own[-1]) / 2
    r = np.linalg.norm(np.einsum("nij,ik,jk->n", X, model.left, model.right) - y)
    verdict = ask("theorem9", model, X, y)
    first, second = verdict.bounds
    assert first.measured == pytest.approx(moved, rel=1e-5)
    assert second.measured == pytest.approx(apart, rel=1e-3)
    assert first.at_most == pytest.approx(math.sqrt(high + low / 4) * r / (low * math.sqrt(mu)), rel=1e-9)
    spread = math.sqrt(1 + (own[-1] - mu) / mu)
    stated = high * math.sqrt(1 + low / 4 / high) * r**2 / low**2 / mu**1.5
    assert second.at_most == pytest.approx(
        stated + 2 * math.sqrt(high) * spread * r / low / math.sqrt(mu), rel=1e-9
    )


def test_a_factorization_is_symmetric_with_lifted_measurements():
    X, y = completion(2, 3)
    model = wide((2, 2), 500, 50.0)
    symmetric = tacit.SymmetricFactorization(np.vstack([model.left, model.right]))
    for name in ("theorem9", "lemma11"):
        verdicts = ask(name, model, X, y, instants=31), ask(name, symmetric, lifted(X), y, instants=31)
        for one, other in zip(*(verdict.bounds for verdict in verdicts), strict=True):
            assert one.measured == pytest.approx(other.measured, rel=1e-7)
            assert one.at_most == pytest.approx(other.at_most)


@pytest.mark.parametrize("seed", range(2))
def test_all_hold_in_the_kernel_regime(seed):
    X, y = completion(seed=seed)
    model = wide((3, 3), 1e7, 1e3, seed)
    with sharing():
        verdicts = {name: ask(name, model, X, y) for name in KEYS}
    for verdict in verdicts.values():
        assert verdict.applies and verdict.holds, verdict.summary()
    assert verdicts["theorem9"].bounds[1].looseness > 100  # the second bound is loose
    assert verdicts["theorem9-sharp"].bounds[1].looseness < 100


def test_the_sharp_form_applies_at_condition_numbers_that_the_stated_one_excludes():
    X, y = sensing()
    model = wide((2, 4), 500, 1e3)
    with sharing():
        assert not ask("theorem9", model, X, y).applies
        verdict = ask("theorem9-sharp", model, X, y)
    assert verdict.applies and verdict.holds


def test_the_sharp_form_implies_the_stated_one():
    """If the stated assumptions hold, so do the sharp ones, and both bounds are smaller."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        low = 10 ** rng.uniform(-3, 3)
        high, mu = low * 10 ** rng.choice([0, rng.uniform(0, 3)]), 10 ** rng.uniform(-3, 3)
        gamma = rng.choice([0.0, rng.uniform(0, 1)]) * mu * low / (4 * high)
        most = mu * low / math.sqrt(high) * (1 - math.sqrt((1 + gamma / mu) / (1 + low / (4 * high))))
        spectrum = np.array([mu - gamma, mu + gamma])
        case = SimpleNamespace(
            low=low, high=high, spectrum=spectrum, residual=rng.choice([1, rng.uniform()]) * most
        )
        case.gamma = lambda mu, gamma=gamma: gamma
        if case.residual > 0:
            first, second = sharp_bounds(case)
            assert first < movement_bound(case, mu) and second < tangent_bound(case, mu)


@pytest.mark.parametrize("share", [1e-6, 0.5, 0.9, 1 - 1e-9])
def test_the_sharp_form_applies_if_its_radius_is_real(share):
    """ρ solves 2ρ(s − ρ) = r/√λ, whose largest left-hand side is s²/2: the condition 2r ≤ √λ·s²."""
    low, s = 3.0, 1.7
    case = SimpleNamespace(low=low, high=5.0, spectrum=np.array([s**2, 4.0]), residual=0.0)
    case.residual = share * math.sqrt(low) * s**2 / 2
    rho, second = sharp_bounds(case)
    assert 0 < rho <= s / 2 and 0 < second < math.inf
    assert 2 * rho * (s - rho) == pytest.approx(case.residual / math.sqrt(low), rel=1e-12)
    case.residual /= share * (1 - 1e-9)
    assert sharp_bounds(case) == (math.inf, math.inf)


@pytest.mark.every(2)
@pytest.mark.parametrize("level", [8.0, 1e3])
def test_the_number_of_instants_does_not_change_the_verdict(level):
    (X, y), model = completion(), wide((3, 3), 1e6, level)
    found = [ask("theorem9", model, X, y, instants=count) for count in (31, 61, 241)]
    suprema = np.array([[bound.measured for bound in verdict.bounds] for verdict in found])
    np.testing.assert_allclose(suprema[:, 0], suprema[-1, 0], rtol=1e-7)
    np.testing.assert_allclose(suprema[:, 1], suprema[-1, 1], rtol=2e-2)
    assert {(verdict.applies, verdict.holds) for verdict in found} == {
        (level > 10, True if level > 10 else None)
    }


def test_unmet_assumptions_are_named():
    X, y = completion()
    cases = {
        "is above 4Λγ/λ": wide((3, 3), 60, 1e3),
        "‖y(0) − y*‖": wide((3, 3), 1e6, 1.0),
        "width 3 is at least 6": wide((3, 3), 3, 1e3),
    }
    for words, model in cases.items():
        verdict = ask("theorem9", model, X, y, instants=11)
        assert not verdict.applies and verdict.holds is None
        assert any(words in each.text and not each.holds for each in verdict.assumptions)
    twice = np.concatenate([X, X[:1]]), np.append(y, y[0])
    for name in ("theorem9", "theorem9-sharp", "lemma12", "corollary10"):
        verdict = ask(name, wide((3, 3), 1e6, 1e3), *twice)
        assert any("independent" in each.text and not each.holds for each in verdict.assumptions)


@pytest.mark.parametrize("name", [*KEYS, "theorem4", "corollary10", "lemma13"])
def test_other_models_and_bad_input(name):
    verdict = ask(name, tacit.Diagonal(), np.ones((1, 3)), np.ones(1))
    assert not verdict.applies and verdict.bounds == ()
    X, y = completion()
    with pytest.raises(tacit.InputError, match="5 measurements and y has 4 targets"):
        ask(name, wide((3, 3), 100, 1.0), X, y[:-1])


def test_the_command_line_refuses_theorems_about_matrices(capsys, tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((2, 3)), y=np.ones(2))
    assert main(["check", str(tmp_path / "data.npz"), "--only", "woodworth2020/theorem9"]) == 2
    assert "woodworth2020/theorem9 is about matrices; use tacit.theorems.check" in capsys.readouterr().err
    about = {each.key.partition("/")[2] for each in theorems() if each.matrices}
    assert about == {*KEYS, "theorem4", "corollary10", "lemma13"}


def test_options_are_checked():
    (X, y), model = completion(), wide((3, 3), 100, 1.0)
    for name, instants in [("theorem9", 1), ("theorem9-sharp", 2.5), ("corollary10", "many")]:
        with pytest.raises(ParameterError, match="instants must be an integer of at least 2, got"):
            ask(name, model, X, y, instants=instants)
    with pytest.raises(ParameterError, match="mu must be a positive number"):
        ask("lemma11", model, X, y, mu=0)


def farther(model, X, y, **options):
    """A wrong flow: weights move three times as far."""
    run = REAL(model, X, y, **options)
    if options.get("linearized"):
        return run
    start = model.start()
    weights = {name: start[name] + 3 * (each - start[name]) for name, each in run.weights.items()}
    run.__dict__["weights"] = weights
    return run


def standing(model, X, y, **options):
    """A wrong linearized flow: it does not move."""
    run = REAL(model, X, y, **options)
    if options.get("linearized"):
        run.__dict__["weights"] = {
            name: np.broadcast_to(model.start()[name], each.shape) for name, each in run.weights.items()
        }
    return run


def slower(model, X, y, **options):
    """A flow that is ten times too slow."""
    run = REAL(model, X, y, **options)
    run.__dict__["_clock"] = (10 * run.time, run.log_time + math.log(10))
    return run


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (farther, ["theorem9", "theorem9-sharp", "lemma12"]),
        (standing, ["theorem9-sharp"]),
        (slower, ["lemma11"]),
    ],
)
def test_a_wrong_flow_violates_the_bounds(monkeypatch, wrong, names):
    (X, y), model = completion(), wide((3, 3), 1e6, 1e3)
    monkeypatch.setattr(tacit, "flow", wrong)
    for name in names:
        verdict = ask(name, model, X, y, instants=21)
        assert verdict.applies and verdict.holds is False, verdict.summary()


class TestCorollary10:
    def test_it_holds_with_the_constants_of_its_proof(self):
        X, y = np.ones((1, 1, 1)), np.array([0.7])
        verdict = ask("corollary10", wide((1, 1), 1e6, 1e3), X, y, width=1e6)
        assert verdict.applies and verdict.holds, verdict.summary()
        assert len(verdict.bounds) == 3
        narrow = ask("corollary10", wide((1, 1), 1e4, 1e3), X, y, width=1e4)
        assert not narrow.applies and all(bound.holds for bound in narrow.bounds)

    def test_from_enough_width_on_both_conditions_hold(self):
        rng = np.random.default_rng(0)
        for _ in range(2000):
            low, size, alpha = 10 ** rng.uniform(-3, 3, 3)
            high, rows = low * 10 ** rng.choice([0, rng.uniform(0, 2)]), int(rng.integers(2, 100))
            for more in (1.0, 7.0):
                width = more * enough_width(low, high, rows, size, alpha)
                proof = Constants(alpha, width, rows, low, high, size)
                assert proof.mu > 4 * high * proof.gamma / low
                assert proof.residual <= proof.max_residual * (1 + 1e-12)

    def test_its_powers_of_scale_and_width_match_the_corollary(self):
        """At Y = 0 and at α → 0 with the rest fixed: powers of α and k."""

        def powers(name, size, alpha):
            cases = ((alpha, 1e12), (2 * alpha, 1e12), (alpha, 4e12))
            at = [getattr(Constants(a, k, 6, 1.0, 1.0, size), name) for a, k in cases]
            return math.log2(at[1] / at[0]), math.log2(at[2] / at[0]) / 2

        assert powers("movement", 0.0, 1.0) == pytest.approx((1, 0), abs=1e-3)
        assert powers("movement", 1.0, 1e-9) == pytest.approx((-1, -0.5), abs=1e-3)
        assert powers("tangent", 1.0, 1e-12) == pytest.approx((-3, -1.5), abs=1e-3)


class TestLemma13:
    def test_it_holds_for_gaussian_weights_and_not_for_others(self):
        X, y = completion()
        shares = [
            ask("lemma13", tacit.Factorization.gaussian((3, 3), 50, 0.3, seed), X, y).bounds[0].measured
            for seed in range(60)
        ]
        assert max(shares) < 8 and 1 < np.mean(shares) < 4
        alike = np.ones((3, 50))
        assert not ask("lemma13", tacit.Factorization(alike, alike), X, y).holds


def test_narrow_factors_have_the_distribution_of_wide_weights():
    """Mean and variances of WWᵀ/k, which is Wishart's: I, 2/k on the diagonal and 1/k elsewhere."""
    for width in (4, 40):
        draws = []
        for seed in range(1500):
            model = wide((2, 3), width, 1.0, np.random.default_rng([width, seed]))
            W = np.vstack([model.left, model.right])
            assert W.shape[1] == min(width, 5)
            draws.append(W @ W.T)
        np.testing.assert_allclose(np.mean(draws, axis=0), np.eye(5), atol=8 * math.sqrt(2 / width / 1500))
        wanted = (1 + np.eye(5)) / width
        np.testing.assert_allclose(np.var(draws, axis=0), wanted, rtol=0.5)
    exact = wide((2, 3), math.inf, 4.0)
    W = np.vstack([exact.left, exact.right])
    np.testing.assert_array_equal(W @ W.T, 4 * np.eye(5))


class TestTheorem4:
    def commuting(self, size=3, samples=2, seed=0):
        rng = np.random.default_rng(seed)
        frame = np.linalg.qr(rng.standard_normal((size, size)))[0]
        X = np.einsum("ia,na,ja->nij", frame, rng.standard_normal((samples, size)), frame)
        return X, rng.standard_normal(samples)

    def test_it_holds_and_the_distance_decreases_like_the_root_of_the_width(self):
        X, y = self.commuting()
        model = tacit.Factorization.gaussian((3, 3), 200, math.sqrt(0.5 / 200))
        verdict = ask("theorem4", model, X, y, widths=(300, 30_000), draws=2)
        assert verdict.applies and verdict.holds, verdict.summary()
        exact, own, power = verdict.bounds
        assert exact.measured < 1e-7 < own.measured
        assert power.measured == pytest.approx(-0.5, abs=0.05)

    def test_a_limit_at_a_wrong_scale_is_detected(self, monkeypatch):
        """The scale is 2μ² = α²k; with μ² = α²k the matrix differs."""
        X, y = self.commuting()
        real = tacit.limit

        def twice(potential, X, y):
            inner = replace(potential.potential, log_scale=potential.potential.log_scale + math.log(2))
            return real(replace(potential, potential=inner), X, y)

        monkeypatch.setattr(tacit, "limit", twice)
        verdict = ask("theorem4", wide((3, 3), 500, 0.5), X, y, widths=(300, 900), draws=1)
        assert verdict.holds is False and verdict.bounds[0].measured > 1e-3

    def test_measurements_that_do_not_commute_are_reported_and_measured(self):
        X, y = completion()
        verdict = ask("theorem4", wide((3, 3), 500, 0.1), X, y, widths=(300, 900), draws=1)
        assert not verdict.applies and verdict.bounds[0].measured > 1e-2


def test_a_flow_that_does_not_converge_is_reported():
    X, y = np.ones((2, 1, 1)), np.array([1.0, 2.0])
    _, fits, reason = ended(wide((1, 1), math.inf, 1.0), X, y)
    assert not fits and reason
