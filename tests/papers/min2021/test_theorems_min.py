"""Min et al. 2021: imbalance and rates, the minimum norm, wide networks, and the printed forms.

References: dense h×h matrices, and SciPy's solvers on the raw weights.
"""

import json
import math
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from properties import examples, some
from scipy.integrate import solve_ivp
from scipy.linalg import null_space, orth
from scipy.special import erfc

import tacit
from tacit.papers.min2021 import network, theorem2
from tacit.solvers.networks.bounds import distance_bound
from tacit.theorems import check


def dense(model, X):
    """U₁, U₂, the basis of the row space, its complement, and the full matrix Λ."""
    seen, unseen = orth(X.T), null_space(X)
    U1, U2 = seen.T @ model.inner, unseen.T @ model.inner
    return SimpleNamespace(
        U1=U1, U2=U2, seen=seen, unseen=unseen, imbalance=U1.T @ U1 - model.outer.T @ model.outer
    )


def dense_level(model, X):
    """c, from all h eigenvalues of Λ; missing eigenvalues count as 0."""
    down = np.sort(np.linalg.eigvalsh(dense(model, X).imbalance))[::-1]
    rank, outputs, width = np.linalg.matrix_rank(X), len(model.outer), len(down)
    first = max(down[rank - 1], 0.0) if width >= rank else 0.0
    return first + (max(-down[width - outputs], 0.0) if width >= outputs else 0.0)


def raw_flow(model, X, Y, fall, rtol=1e-11):
    """U and V under −∇½‖Y − XUVᵀ‖² until L − L* has decreased by the factor e^fall."""
    (D, h), range_of = model.inner.shape, orth(X)
    targets, inputs = range_of.T @ Y.reshape(len(X), -1), range_of.T @ X

    def layers(state):
        return state[: D * h].reshape(D, h), state[D * h :].reshape(-1, h)

    def velocity(_, state):
        U, V = layers(state)
        residual = Y.reshape(len(X), -1) - X @ U @ V.T
        return np.concatenate([(X.T @ residual @ V).ravel(), (residual.T @ X @ U).ravel()])

    def error(state):
        U, V = layers(state)
        return targets - inputs @ U @ V.T

    start = np.concatenate([model.inner.ravel(), model.outer.ravel()])
    first = np.sum(error(start) ** 2)

    def reached(_, state):
        return np.log(np.sum(error(state) ** 2) / first) + fall

    reached.terminal = True
    options = {"rtol": rtol, "atol": 1e-3 * rtol, "events": reached, "dense_output": True}
    run = solve_ivp(velocity, (0, 1e9), start, "LSODA", **options)
    assert run.status == 1
    times = np.concatenate([np.linspace(a, b, 8)[1:] for a, b in zip(run.t[:-1], run.t[1:], strict=True)])
    falls = -np.log([np.sum(error(run.sol(t)) ** 2) / first for t in times])
    U, V = layers(run.y[:, -1])
    return SimpleNamespace(time=times, fall=falls, U=U, V=V, predictor=U @ V.T)


def problem(seed, *, widest=6):
    """A network and data of random shapes: often n > r, and often too narrow for r + m directions."""
    rng = np.random.default_rng(seed)
    features, samples, outputs = rng.integers([2, 1, 1], [8, 12, 4])
    rank = int(rng.integers(1, min(features, samples) + 1))
    X = rng.standard_normal((samples, rank)) @ rng.standard_normal((rank, features)) / math.sqrt(rank)
    Y = np.exp(rng.normal(0, 1)) * rng.standard_normal((samples, outputs))
    width = int(rng.integers(1, outputs + rank + widest))
    inner, outer = np.exp(rng.normal(-0.3, 1, 2))
    model = tacit.LinearNetwork.gaussian(
        features, width, outputs, std_inner=inner, std_outer=outer, seed=seed
    )
    return model, X, Y


class TestImbalance:
    @examples(80)
    @given(st.integers(0, 10**6))
    def test_spectrum_and_level_are_those_of_the_whole_matrix(self, seed):
        model, X, _ = problem(seed)
        rank, (outputs, width) = np.linalg.matrix_rank(X), model.outer.shape
        found = network.imbalance(model, X)
        assert len(found) == min(width, rank + outputs)
        whole = np.sort(np.linalg.eigvalsh(dense(model, X).imbalance))[::-1]
        padded = np.sort(np.append(found, np.zeros(width - len(found))))[::-1]
        size = np.linalg.norm(model.inner) ** 2 + np.linalg.norm(model.outer) ** 2
        np.testing.assert_allclose(padded, whole, atol=1e-13 * size)
        level = network.imbalance_level(model, X)
        assert level == pytest.approx(dense_level(model, X), abs=1e-12 * size)
        smallest = np.linalg.svd(X, compute_uv=False)[rank - 1]
        assert network.guaranteed_rate(model, X) == pytest.approx(2 * smallest**2 * level, rel=1e-9)
        if width >= rank + outputs:  # "Moreover" of Theorem 1
            assert level == pytest.approx(whole[rank - 1] - whole[width - outputs], abs=1e-12 * size)

    def test_ten_thousand_hidden_units_need_no_large_matrix(self):
        model = tacit.LinearNetwork.gaussian(30, 10_000, 2, seed=0)
        X = np.random.default_rng(0).standard_normal((10, 30))
        tracemalloc.start()
        try:
            found = network.imbalance(model, X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(found) == 12 and (found[:10] > 0.8).all() and (found[10:] < -0.8).all()
        assert peak < 3e7  # Λ alone would be 8e8 bytes

    def test_special_starts(self):
        X = np.random.default_rng(1).standard_normal((4, 7))
        balanced = tacit.LinearNetwork.balanced(np.arange(1.0, 8.0), X, 9)
        assert network.imbalance_level(balanced, X) == network.guaranteed_rate(balanced, X) == 0
        orthogonal = tacit.LinearNetwork.orthogonal(X, 20, outputs=2)
        assert network.imbalance_level(orthogonal, X) == pytest.approx(2, rel=1e-12)

    def test_no_number_of_samples_divides_the_rate(self):
        """Three copies of every sample triple Σ_x, and the flow is three times as fast."""
        model, X, Y = problem(3)
        thrice, again = np.vstack([X] * 3), np.vstack([Y] * 3)
        rate = network.guaranteed_rate(model, X)
        assert network.guaranteed_rate(model, thrice) == pytest.approx(3 * rate, rel=1e-9)
        one, three = raw_flow(model, X, Y, 8.0), raw_flow(model, thrice, again, 8.0)
        assert one.time[-1] == pytest.approx(3 * three.time[-1], rel=1e-7)

    def test_steps_on_the_mean_loss_count_two_over_n(self):
        """Footnote 2 states n/2, but L̃ = ‖·‖²/n is 2/n times ½‖·‖²."""
        rng = np.random.default_rng(2)
        X, y, model = rng.standard_normal((5, 8)), rng.standard_normal(5), tacit.LinearNetwork.gaussian(8, 6)
        U, V, step, steps = model.inner.copy(), model.outer.copy(), 1e-3, 2000
        for _ in range(steps):
            residual = (2 / 5) * (y[:, None] - X @ U @ V.T)
            U, V = U + step * X.T @ residual @ V, V + step * residual.T @ X @ U
        fall = -2 * math.log(
            np.linalg.norm(y - X @ U @ V[0]) / np.linalg.norm(y - X @ model.predictor()[:, 0])
        )
        assert raw_flow(model, X, y, fall).time[-1] == pytest.approx(2 / 5 * step * steps, rel=1e-2)

    @pytest.mark.parametrize("ask", [network.imbalance, network.imbalance_level, network.guaranteed_rate])
    def test_other_models_and_empty_data_are_refused(self, ask):
        with pytest.raises(tacit.InputError, match="LinearNetwork"):
            ask(tacit.Neuron(1.0, np.ones(3)), np.ones((2, 3)))
        with pytest.raises(tacit.InputError, match="X must not be zero"):
            ask(tacit.LinearNetwork.gaussian(3, 2), np.zeros((2, 3)))


class TestTheorem1:
    SEEDS = range(20)

    def test_the_seeds_cover_the_cases_of_the_theorem(self):
        cases = [problem(seed) for seed in self.SEEDS]
        ranks = [np.linalg.matrix_rank(X) for _, X, _ in cases]
        widths, outputs = ([model.outer.shape[axis] for model, _, _ in cases] for axis in (1, 0))
        assert sum(len(X) > r for (_, X, _), r in zip(cases, ranks, strict=True)) >= 12
        assert sum(h < m + r for h, m, r in zip(widths, outputs, ranks, strict=True)) >= 5
        assert any(h < r for h, r in zip(widths, ranks, strict=True))
        assert sum(network.imbalance_level(model, X) > 0 for model, X, _ in cases) >= 16

    @pytest.mark.every(10)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_loss_falls_at_least_as_promised(self, seed):
        model, X, Y = problem(seed)
        verdict = check("min2021/theorem1", model, X, Y)
        assert verdict.holds is True
        share, *rate = verdict.bounds
        assert 0 <= share.measured <= 1 + 1e-9
        promised = pytest.approx(network.guaranteed_rate(model, X), rel=1e-5)
        assert all(bound.at_least == promised for bound in rate)
        assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["holds"] is True

    @pytest.mark.every(4)
    @pytest.mark.parametrize("seed", [0, 1, 4, 8, 11, 13])
    def test_measured_shares_are_those_of_the_raw_weights(self, seed):
        model, X, Y = problem(seed)
        raw = raw_flow(model, X, Y, -math.log(1e-8))
        rank = np.linalg.matrix_rank(X)
        rate = 2 * np.linalg.svd(X, compute_uv=False)[rank - 1] ** 2 * dense_level(model, X)
        assert rate > 0
        assert (rate * raw.time <= raw.fall + 1e-9).all()
        shares, last = (
            bound.measured for bound in check("min2021/theorem1", model, X, Y, down_to=1e-8).bounds
        )
        late = raw.fall > 1e-3
        grid = np.interp(np.geomspace(1e-3, raw.fall[-1], 2000), raw.fall[late], raw.time[late])
        assert shares == pytest.approx(rate * max(grid / np.geomspace(1e-3, raw.fall[-1], 2000)), rel=2e-3)
        times = np.interp(np.geomspace(1e-3, -math.log(1e-8), 121)[-2:], raw.fall, raw.time)
        step = np.diff(np.geomspace(1e-3, -math.log(1e-8), 121)[-2:])[0]
        assert last == pytest.approx(step / np.diff(times)[0], rel=1e-2)

    @pytest.mark.parametrize("outputs", [1, 3])
    def test_the_factor_two_is_tight(self, outputs):
        """For targets 0 and equal singular values the final rate of the loss equals the guaranteed rate."""
        X = 1.7 * orth(np.random.default_rng(5).standard_normal((6, 3))).T
        model = tacit.LinearNetwork.gaussian(6, 8, outputs, std_inner=0.6, std_outer=0.9, seed=6)
        share, last = check("min2021/theorem1", model, X, np.zeros((3, outputs)), down_to=1e-18).bounds
        assert last.looseness == pytest.approx(1, abs=1e-3) and last.holds
        assert 0.5 < share.measured < 1

    def test_the_bound_is_attained_as_the_targets_become_small(self):
        """From U₁Vᵀ = 0 the rate is c throughout, up to the square of the targets."""
        X, Y = 0.8 * np.eye(2, 5), np.array([[1.0, -0.5], [0.3, 2.0]])
        model = tacit.LinearNetwork.orthogonal(X, 7, outputs=2)
        for size in (1e-2, 1e-4):
            share, last = check("min2021/theorem1", model, X, size * Y).bounds
            assert 1 - 5 * size**2 - 1e-9 < share.measured <= 1 + 1e-9
            assert last.holds and last.measured == pytest.approx(4 * 0.8**2, rel=5 * size**2 + 1e-8)

    def test_where_the_theorem_is_silent(self):
        X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.ones(2)
        saddle = tacit.LinearNetwork([[1.0], [-1.0], [0.0]], [[0.0]])
        assert check("min2021/theorem1", saddle, X, y).holds  # c = 0, and the loss is constant
        solved = tacit.LinearNetwork([[1.0], [1.0], [3.0]], [[1.0]])
        assert check("min2021/theorem1", solved, X, y).holds is None
        assert check("min2021/theorem1", tacit.Diagonal(), X, y).holds is None
        for down_to in (0, 1, "little"):
            with pytest.raises(tacit.InputError, match="down_to"):
                check("min2021/theorem1", saddle, X, y, down_to=down_to)
        with pytest.raises(tacit.InputError, match="y must have one number for each of the 2 samples"):
            check("min2021/theorem1", saddle, X, np.ones((2, 2)))


class TestProposition1:
    @pytest.mark.every(4)
    @pytest.mark.parametrize(("samples", "outputs"), [(3, 1), (3, 2), (8, 2)])
    def test_orthogonal_starts_end_at_the_minimum_norm(self, samples, outputs):
        rng = np.random.default_rng(samples)
        X, Y = (
            rng.standard_normal((samples, 3)) @ rng.standard_normal((3, 7)),
            rng.standard_normal((samples, outputs)),
        )
        model = tacit.LinearNetwork.orthogonal(X, 15, outputs)
        verdict = check("min2021/proposition1", model, X, Y)
        assert verdict.holds and verdict.bounds[0].measured < 1e-8
        end = raw_flow(model, X, Y, 40.0).predictor
        np.testing.assert_allclose(end, np.linalg.pinv(X) @ Y, atol=1e-7)

    def test_the_columns_of_the_start_may_lie_in_the_row_space_in_vain(self):
        """V U₂ᵀ = 0 alone, the condition of plain regression, is not enough (after Proposition 1)."""
        X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([1.0, -2.0])
        model = tacit.LinearNetwork([[0.0, 1.0], [0.0, -0.5], [0.0, 0.8]], [[1.0, 0.0]])
        assert (dense(model, X).U2 @ model.outer.T == 0).all()
        verdict = check("min2021/proposition1", model, X, y)
        assert verdict.applies is False
        expected = np.abs(raw_flow(model, X, y, 40.0).predictor[2, 0])
        assert verdict.bounds[0].measured == pytest.approx(expected, rel=1e-7)
        assert not verdict.bounds[0].holds and expected > 0.1

    def test_networks_that_see_everything_are_orthogonal(self):
        model, X = (
            tacit.LinearNetwork.gaussian(3, 9, seed=1),
            np.random.default_rng(0).standard_normal((5, 3)),
        )
        assert check("min2021/proposition1", model, X, np.arange(5.0)).holds

    def test_equation_11_needs_the_frobenius_norm(self):
        """Another solution has the same spectral norm; only the Frobenius norm tells them apart."""
        X, Y = np.eye(2, 3), np.diag([1.0, 0.0])
        least = np.linalg.pinv(X) @ Y
        other = least + np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.5]])
        np.testing.assert_array_equal(X @ other, Y)
        assert np.linalg.norm(other, 2) == np.linalg.norm(least, 2) == 1
        assert np.linalg.norm(other) > 1.1 * np.linalg.norm(least)
        found = network.split(tacit.LinearNetwork.gaussian(3, 4, 2), X, Y).solution
        np.testing.assert_allclose(found, least, atol=1e-15)


class TestDistance:
    @examples(150)
    @given(st.integers(0, 10**6))
    def test_at_every_instant_what_is_seen_bounds_what_is_not(self, seed):
        """‖U₂Vᵀ‖ against the bound with Θ̂ = Φ₁U₁Vᵀ: no flow is needed, because any weights can be final
        weights."""
        model, X, _ = problem(seed)
        assume(np.linalg.matrix_rank(X) < X.shape[1])
        d = dense(model, X)
        bound = distance_bound(model.inner, model.outer, X, X @ model.predictor())
        apart = np.linalg.norm(d.U2 @ model.outer.T, 2)
        assert apart <= bound * (1 + 1e-9)
        # at most ‖U₂‖ times the largest V that the smallest eigenvalue of the full matrix Λ allows
        least, seen = np.linalg.eigvalsh(d.imbalance)[0], np.linalg.norm(d.U1 @ model.outer.T, 2)
        largest = (-least + math.hypot(least, 2 * seen)) / 2
        assert np.linalg.norm(model.outer, 2) ** 2 <= largest * (1 + 1e-7) + 1e-13 * abs(least)
        assert bound <= np.linalg.norm(d.U2, 2) * math.sqrt(largest + 1e-13 * abs(least)) * (1 + 1e-7)

    @pytest.mark.every(2)
    @pytest.mark.parametrize("seed", [0, 2, 6, 12, 16])
    def test_the_ends_of_raw_flows_obey_the_identity_and_the_bound(self, seed):
        model, X, Y = problem(seed)
        d, raw, least = dense(model, X), raw_flow(model, X, Y, 40.0), np.linalg.pinv(X) @ Y
        square = raw.V @ raw.V.T
        np.testing.assert_allclose(
            square @ square + raw.V @ d.imbalance @ raw.V.T, least.T @ least, atol=1e-7 * np.sum(square**2)
        )
        expected = np.linalg.norm(d.U2 @ raw.V.T, 2)
        assert (
            np.linalg.norm(raw.predictor - least, 2) == pytest.approx(expected, rel=1e-6) and expected > 0.01
        )
        verdict = check("min2021/distance", model, X, Y)
        assert verdict.holds is True
        assert verdict.bounds[0].measured == pytest.approx(expected, rel=1e-6)
        assert verdict.bounds[0].at_most == pytest.approx(distance_bound(model.inner, model.outer, X, Y))

    @pytest.mark.parametrize(("inner", "outer"), [(0.3, 1.5), (1.5, 0.3), (1.0, 1.0)])
    def test_a_single_unit_attains_the_bound(self, inner, outer):
        model = tacit.LinearNetwork([[inner], [0.7], [-0.4]], [[outer]])
        verdict = check("min2021/distance", model, [[2.0, 0.0, 0.0]], [3.0])
        assert verdict.bounds[0].looseness == pytest.approx(1, abs=2e-9) and verdict.holds
        balance = inner**2 - outer**2  # v⁴ + (u² − v²)v² = (3/2)²
        v = math.sqrt((-balance + math.hypot(balance, 3.0)) / 2)
        assert verdict.bounds[0].measured == pytest.approx(v * math.hypot(0.7, 0.4), rel=1e-9)

    def test_the_bound_falls_with_the_root_of_the_width_and_stays_close(self):
        X = np.random.default_rng(8).standard_normal((5, 20)) / math.sqrt(20)
        y, widths = X @ np.random.default_rng(9).standard_normal(20), [200, 3200]
        ratios = []
        for seed in range(8):  # a single draw deviates by a quarter
            networks = [tacit.LinearNetwork.gaussian(20, width, seed=seed) for width in widths]
            bounds = [distance_bound(network.inner, network.outer, X, y) for network in networks]
            ratios.append(bounds[0] / bounds[1])
            if seed in some(range(8), 8):
                for network, bound in zip(networks, bounds, strict=True):
                    found = check("min2021/distance", network, X, y).bounds[0]
                    assert found.at_most == pytest.approx(bound) and 1 < found.looseness < 2
        assert np.exp(np.mean(np.log(ratios))) == pytest.approx(4, rel=0.15)

    def test_where_nothing_is_unseen_or_orthogonal_the_bound_is_zero(self):
        rng = np.random.default_rng(10)
        X, Y = rng.standard_normal((3, 7)), rng.standard_normal((3, 2))
        orthogonal = tacit.LinearNetwork.orthogonal(X, 12, outputs=2)
        assert distance_bound(orthogonal.inner, orthogonal.outer, X, Y) < 1e-13
        assert check("min2021/distance", orthogonal, X, Y).holds
        full = rng.standard_normal((9, 3))
        assert (
            distance_bound(rng.standard_normal((3, 4)), rng.standard_normal((2, 4)), full, np.ones((9, 2)))
            == 0
        )
        hidden = np.array([[0.0, 0.0], [1.0, 2.0]])  # U₁ = 0 and V = 0: the predictor stays 0
        assert distance_bound(hidden, np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.ones(1)) == 0
        zero = tacit.LinearNetwork(rng.standard_normal((7, 2)), 0.1 * np.ones((1, 2)))  # V(∞) is nearly 0
        assert distance_bound(zero.inner, zero.outer, X, 1e-6 * Y[:, 0]) < 2e-5

    def test_an_outer_layer_of_zeros_does_not_hide_the_imbalance(self):
        """Λ is singular for h > r, but nonsingular on the rows of U₁: V(∞) has size ‖Θ̂‖/σ(U₁)."""
        X = np.random.default_rng(11).standard_normal((2, 6))
        model = tacit.LinearNetwork(10 * np.random.default_rng(12).standard_normal((6, 9)), np.zeros((1, 9)))
        y = np.array([1.0, -1.0])
        bound = check("min2021/distance", model, X, y).bounds[0]
        assert bound.holds and bound.looseness < 3
        assert bound.at_most < 0.5 * np.linalg.norm(dense(model, X).U2, 2) * math.sqrt(
            np.linalg.norm(np.linalg.pinv(X) @ y)
        )

    def test_a_network_that_is_too_narrow_does_not_reach_the_least_loss(self):
        model, X = tacit.LinearNetwork.gaussian(4, 1, 2, seed=2), np.eye(2, 4)
        verdict = check("min2021/distance", model, X, np.eye(2))
        assert verdict.holds is None


def isotropic(samples, features, seed=0):
    return orth(np.random.default_rng(seed).standard_normal((features, samples))).T


class TestWideNetworks:
    def test_lemma_1_on_draws(self):
        """D + m = 6 and δ = 0.3 require h > 400; the event and the three bounds hold in all of 100 draws."""
        X, spread = (
            np.random.default_rng(0).standard_normal((3, 5)),
            math.sqrt(6) + math.sqrt(2 * math.log(20 / 3)),
        )
        assert theorem2.lemma1_width(5, 1, 0.3) == pytest.approx(16 * spread**2)
        width = math.ceil(16 * spread**2)
        for alpha in (0.3, 0.5):
            unit = 2 * spread / width ** (2 * alpha - 0.5)
            for seed in range(50):
                model = tacit.LinearNetwork.gaussian(5, width, std=width**-alpha, seed=seed)
                verdict = check("min2021/lemma1", model, X, alpha=alpha, delta=0.3)
                level, apart, product = verdict.bounds
                d = dense(model, X)
                assert verdict.holds is True
                assert f"above h₀ = {16 * spread**2:.6g}" in verdict.assumptions[1].text
                assert level.measured == pytest.approx(dense_level(model, X), rel=1e-9)
                assert level.at_least == pytest.approx(width ** (1 - 2 * alpha))
                stacked = np.vstack([model.outer, d.U1]) @ d.U2.T
                assert apart.measured == pytest.approx(np.linalg.norm(stacked), rel=1e-9)
                assert apart.at_most == pytest.approx(math.sqrt(4) * unit)
                assert product.measured == pytest.approx(np.linalg.norm(d.U1 @ model.outer.T), rel=1e-9)
                assert product.at_most == pytest.approx(unit)

    def test_lemma_1_needs_its_width_and_its_weights(self):
        X = np.random.default_rng(0).standard_normal((3, 5))
        for width, std, met in [
            (600, 600**-0.5, (True, True)),
            (300, 300**-0.5, (False, True)),
            (600, 600**-0.4, (True, False)),
            (4, 0.5, (False, True)),
        ]:
            model = tacit.LinearNetwork.gaussian(5, width, std=std, seed=0)
            assumptions = check("min2021/lemma1", model, X, delta=0.3).assumptions
            assert tuple(a.holds for a in assumptions[1:]) == met

    def test_the_tail_of_lemma_1_is_not_the_printed_one(self):
        """Lemma E.1 is false with 2exp(−t²), at n = m = 1 and t = 8; ½log(2/δ) follows from neither form."""
        beyond = erfc((2 + 8) / math.sqrt(2))  # P(|g| > √1 + √1 + t)
        assert 2 * math.exp(-(8**2)) < beyond < 2 * math.exp(-(8**2) / 2)
        for delta in np.geomspace(1e-30, 0.99, 200):
            tau = theorem2.tail(delta)
            assert 2 * math.exp(-(tau**2) / 2) == pytest.approx(delta, rel=1e-9)
            assert (tau > math.log(2 / delta) / 2) == (delta > 2 * math.exp(-8))
        assert (
            math.exp(-(math.log(2 / 0.1) ** 2) / 4) > 0.1 / 2
        )  # the probability from 2exp(−t²) at ½log(2/δ), δ = 0.1

    def test_equations_28_and_29_have_one_minus_too_many(self):
        """Central differences of L = ½‖Y − XUVᵀ‖²."""
        rng = np.random.default_rng(0)
        X, Y, U, V = (rng.standard_normal(shape) for shape in ((5, 4), (5, 2), (4, 3), (2, 3)))
        E = Y - X @ U @ V.T
        for at, right in ((U, X.T @ E @ V), (V, E.T @ X @ U)):
            downhill = np.empty_like(at)
            for place in np.ndindex(at.shape):
                here, losses = at[place], []
                for at[place] in (here + 1e-6, here - 1e-6):
                    losses.append(np.sum((Y - X @ U @ V.T) ** 2) / 2)
                at[place], downhill[place] = here, -(losses[0] - losses[1]) / 2e-6
            np.testing.assert_allclose(downhill, right, atol=1e-7)

    def test_theorem_2_on_a_raw_flow(self):
        X, y = isotropic(2, 4), np.array([0.8, -0.6])
        spread, width = math.sqrt(5) + math.sqrt(2 * math.log(4)), 260
        model = tacit.LinearNetwork.gaussian(4, width, seed=3)
        needed = theorem2.theorem2_log_width(model, X, delta=0.5)
        assert needed == pytest.approx(math.log(16 * spread**2))
        verdict = check("min2021/theorem2", model, X, y, delta=0.5)
        stated, proved = verdict.bounds
        raw, d = raw_flow(model, X, y, 30.0), dense(model, X)
        assert verdict.holds is True
        assert stated.measured == proved.measured == pytest.approx(np.linalg.norm(d.U2 @ raw.V.T), rel=1e-5)
        assert stated.at_most == pytest.approx(2 * math.e**2 * math.sqrt(3) * spread / math.sqrt(width))
        error = np.linalg.norm(y - X @ model.predictor()[:, 0])
        start = np.linalg.norm(np.vstack([model.outer, d.U1]) @ d.U2.T)
        assert proved.at_most == pytest.approx(math.exp(error / dense_level(model, X)) * start)
        ours = check("min2021/distance", model, X, y).bounds[0]
        assert 1 < ours.looseness < proved.looseness < stated.looseness / 5

    def test_theorem_2_is_a_thousand_times_loose_on_the_data_of_figure_1(self):
        """A.2 with D = 80, n = 20: singular values from 0.5 to 1.5."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20, 80)) / math.sqrt(80)
        y = X @ rng.standard_normal(80) / math.sqrt(80) + 0.01 * rng.standard_normal(20)
        model = tacit.LinearNetwork.gaussian(80, 3000, seed=1)
        stated, proved = check("min2021/theorem2", model, X, y).bounds
        ours = check("min2021/distance", model, X, y).bounds[0]
        assert stated.holds and proved.holds and stated.looseness > 200
        assert 1 < ours.looseness < 1.4

    def test_the_width_of_theorem_2_does_not_depend_on_the_unit_of_the_data(self):
        """The printed λ₁/λ_r³ does; the initial error contains the λ₁ of Σ^{1/2}U₁Vᵀ."""
        X = np.random.default_rng(4).standard_normal((3, 6))
        model = tacit.LinearNetwork.gaussian(6, 5, 2)
        widths = [theorem2.theorem2_log_width(model, unit * X, alpha=0.4) for unit in (1e-3, 1.0, 1e3)]
        s = np.linalg.svd(X, compute_uv=False)
        spread = math.sqrt(8) + math.sqrt(2 * math.log(20))
        expected = math.log(8 * (s[0] / s[-1]) ** 4 * spread**2) / 0.6
        assert widths == pytest.approx([expected] * 3) and expected > math.log(16 * spread**2) / 0.6

    def test_the_error_at_the_start_grows_with_the_data(self):
        """Appendix E states ‖E(0)‖ ≤ ‖Y‖ + λ_r^{−1/2}‖U₁Vᵀ‖; the correct factor is λ₁^{1/2}."""
        X, Y, model = 10 * np.eye(2, 3), np.zeros((2, 1)), tacit.LinearNetwork.gaussian(3, 4, seed=0)
        error = np.linalg.norm(network.split(model, X, Y).error)
        product = np.linalg.norm(dense(model, X).U1 @ model.outer.T)
        assert error == pytest.approx(np.linalg.norm(X @ model.predictor()))
        assert error > 50 * product / 10 and error <= 10 * product * (1 + 1e-12)

    def test_bounds_beyond_all_floats(self):
        X, y = np.diag([1.0, 1e-3]) @ np.eye(2, 4), np.array([1.0, 1e-3])
        verdict = check("min2021/theorem2", tacit.LinearNetwork.gaussian(4, 30, seed=1), X, y)
        assert verdict.bounds[0].at_most == math.inf and verdict.bounds[0].holds
        assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["bounds"][0]["at_most"] is None

    @pytest.mark.parametrize("key", ["min2021/lemma1", "min2021/theorem2"])
    def test_options_are_checked(self, key):
        data = (np.eye(2, 4), np.ones(2)) if key.endswith("2") else (np.eye(2, 4),)
        model = tacit.LinearNetwork.gaussian(4, 30)
        for options, name in (({"alpha": 0.25}, "alpha"), ({"alpha": 0.6}, "alpha"), ({"delta": 1}, "delta")):
            with pytest.raises(tacit.InputError, match=name):
                check(key, model, *data, **options)
        assert check(key, tacit.Neuron(1.0, np.ones(4)), *data).holds is None


@pytest.mark.every(4)
@pytest.mark.parametrize("start", ["gaussian", "narrow", "balanced", "orthogonal"])
def test_targets_of_zero_break_no_theorem(start):
    """The loss of a balanced start underflows before its predictor does; the bounds refer to that time."""
    rng = np.random.default_rng(0)
    X, theta = rng.standard_normal((3, 6)), rng.standard_normal(6)
    model = {
        "gaussian": tacit.LinearNetwork.gaussian(6, 30),
        "narrow": tacit.LinearNetwork.gaussian(6, 1),
        "balanced": tacit.LinearNetwork.balanced(theta, X, 4),
        "orthogonal": tacit.LinearNetwork.orthogonal(X, 10),
    }[start]
    for key in ("min2021/proposition1", "min2021/distance", "azulay2021/theorem3"):
        assert check(key, model, X, np.zeros(3)).holds is not False


def test_growth_is_a_float_as_far_as_floats_reach():
    """e^709 is below the largest float, e^709.8 is not."""
    assert theorem2._grown(1.0, 708.9) == pytest.approx(math.exp(708.9), rel=1e-12)
    assert theorem2._grown(math.exp(-300.0), 1000.0) == pytest.approx(math.exp(700.0), rel=1e-12)
    assert theorem2._grown(2.0, 709.5) == math.inf and theorem2._grown(0.0, 1e6) == 0.0
