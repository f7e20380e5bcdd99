"""Misprints about neurons and linear networks in Azulay et al. 2021, and the corrected statements.

Each test shows that the printed form fails and the corrected one holds, by mathematics alone or by an ODE on
the raw weights, and that Tacit agrees where it computes the same quantity.
"""

import numpy as np
import pytest
from connected_oracles import (
    final_sign,
    gap,
    inner_size,
    kernel_end,
    leaky_targets,
    length,
    network_flow,
    neuron_end,
    neuron_flow,
    q_hat,
)
from flow_oracles import layer_network, raw_flow, square
from mpmath import mp, mpf
from properties import some

import tacit
from tacit.potentials import NeuronPotential, Power


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def problem(seed, samples=4, features=7):
    rng = np.random.default_rng([seed, samples, features])
    return (
        rng.standard_normal((samples, features)),
        rng.standard_normal(samples),
        rng.standard_normal(features),
    )


def neuron(scale, shape, direction, sign=1, slope=1.0):
    model = tacit.Neuron.from_scale(scale, shape, direction, sign, slope)
    return model, model.output, model.weights


def outside(X, vector):
    """The part of a vector that is not Xᵀν, relative to the vector."""
    rest = vector - X.T @ np.linalg.lstsq(X.T, vector, rcond=None)[0]
    return np.linalg.norm(rest) / np.linalg.norm(vector)


def off(X, W):
    """P⊥W."""
    return W - np.linalg.pinv(X) @ (X @ W)


def metric(w, delta):
    """H of Appendix B.1: the inverse of a²I + wwᵀ, as a function of the predictor."""
    square_of_a = delta / 2 + mp.sqrt(delta**2 / 4 + length(w) ** 2)
    bend = 2 * square_of_a * mp.sqrt(delta**2 / 4 + length(w) ** 2)
    return [[((i == j) - u * v / bend) / square_of_a for j, v in enumerate(w)] for i, u in enumerate(w)]


def asymmetry(matrix_of, w):
    """max |∂H_ij/∂w_k − ∂H_ik/∂w_j|: zero for Hessians, equation 6 (central differences in 40 digits)."""
    step, d = mpf(10) ** -12, len(w)

    def moved(k, h):
        return np.array(matrix_of([v + h * (i == k) for i, v in enumerate(w)]), object)

    slopes = [(moved(k, step) - moved(k, -step)) / (2 * step) for k in range(d)]
    return max(abs(slopes[k][i, j] - slopes[j][i, k]) for i in range(d) for j in range(d) for k in range(d))


class TestTheorem2:
    @pytest.mark.parametrize("delta", [-1.5, 0.0, 0.3, 4.0])
    def test_slope_of_the_potential_has_three_halves(self, delta):
        """q̂' = (3/2)√P for the q̂ of the theorem; Appendices B.1, D and F print √P."""
        for x in (mpf("0.1"), mpf(1), mpf(20)):
            slope = mp.diff(lambda t: q_hat(t, delta), x)
            assert abs(slope / (mpf(1.5) * inner_size(x, delta)) - 1) < 1e-15
            found = np.linalg.norm(NeuronPotential(delta).gradient(float(x) * np.array([0.6, 0.8])))
            np.testing.assert_allclose(found, float(slope), rtol=1e-12)

    @pytest.mark.parametrize("delta", [-1.5, 0.3, 4.0])
    def test_stable_form_of_the_potential(self, delta):
        """q̂ = √(P+δ)·(P − δ/2), which is −δ^{3/2}/2 at 0 where the printed form is 0/0."""
        for x in (mpf("1e-3"), mpf(1), mpf(20)):
            P = inner_size(x, delta) ** 2
            assert abs(mp.sqrt(P + delta) * (P - mpf(delta) / 2) - q_hat(x, delta)) < 1e-30
        if delta > 0:
            np.testing.assert_allclose(
                NeuronPotential(delta).value(np.zeros(2)), -(delta**1.5) / 2, rtol=1e-13
            )

    @pytest.mark.parametrize(("shape", "sign"), [(0.0, 1), (0.5, -1), (0.9, 1), (-0.4, -1)])
    def test_mixing_the_two_constants_breaks_stationarity(self, shape, sign):
        """Simulations satisfy ∇q̂(w̃∞) + z = Xᵀν with 3/2 in both terms (or in neither), but not with q̂' =
        √P and the printed z.

        It holds for δ < 0 and for a < 0 too, which the theorem does not claim.
        """
        for seed in range(1, 20):
            X, y, direction = problem(seed)
            model, a, w = neuron(0.7, shape, direction, sign)
            if final_sign(a, w, 1.0, X, y) == sign:
                break
        run = neuron_flow(a, w, 1.0, X, y)
        end, delta = run.predictor, a * a - w @ w
        unit = end / np.linalg.norm(end)
        root, z = float(inner_size(np.linalg.norm(end), delta)), -1.5 * sign * w
        assert outside(X, 1.5 * root * unit + z) < 1e-8
        assert outside(X, root * unit + z) > 0.02
        assert gap(tacit.limit(model, X, y).predictor, end) < 1e-8

    def test_a_change_of_sign_breaks_the_theorem_for_negative_balance(self):
        """If δ < 0 and a changes its sign, the end is that of the other sign of a∞, and q is not minimal
        there."""
        X, y, direction = problem(1)
        model, a, w = neuron(1.0, -0.9, direction)
        run = neuron_flow(a, w, 1.0, X, y)
        assert run.output < 0 < a
        assert gap(neuron_end(a, w, X, y, -1), run.predictor) < 1e-8
        assert gap(neuron_end(a, w, X, y, 1), run.predictor) > 0.1
        # a changes its sign only if the loss is above that of 0
        assert square(a * (X @ w), y)[0] < square(0 * y, y)[0]
        assert outside(X, model.potential().gradient(run.predictor)) > 0.02  # of the divergence from w̃(0)
        assert outside(X, tacit.Neuron(-a, w).potential().gradient(run.predictor)) < 1e-8  # from −w̃(0)
        assert gap(tacit.limit(model, X, y).predictor, run.predictor) < 1e-8

    @pytest.mark.parametrize("delta", ["1e-6", "0.5", "9"])
    def test_lemma_3_has_the_limit_root_delta(self, delta):
        """ĝ(0+) = √δ, as in the proof, and not 0 as stated."""
        delta, x = mpf(delta), mpf("1e-15")
        warp = inner_size(x, delta) / x * (delta / 2 + mp.sqrt(delta**2 / 4 + x**2))
        assert abs(warp / mp.sqrt(delta) - 1) < 1e-9
        hessian = NeuronPotential(float(delta)).hessian(np.zeros(2))  # (3/2)·ĝ(0)·H(0), H(0) = I/δ
        np.testing.assert_allclose(hessian, float(mpf(1.5) * warp / delta) * np.eye(2), rtol=1e-9)

    @pytest.mark.parametrize("delta", [-1.5, 0.0, 2.0])
    def test_the_warp_is_the_size_of_the_output_weight(self, delta):
        """H is not a Hessian, |a|·H is, and (3/2)|a|·H is that of q̂: with |a| = √(P + δ) = ĝ."""
        w, delta = [mpf("0.7"), mpf("-1.1"), mpf("0.4")], mpf(delta)

        def warped(v):
            a = mp.sqrt(inner_size(length(v), delta) ** 2 + delta)
            return (a * np.array(metric(v, delta), object)).tolist()

        assert asymmetry(lambda v: metric(v, delta), w) > 1e-2
        assert asymmetry(warped, w) < 1e-12
        root, size = inner_size(length(w), delta), length(w)
        printed = root / size * (delta / 2 + mp.sqrt(delta**2 / 4 + size**2))
        assert abs(printed / mp.sqrt(root**2 + delta) - 1) < 1e-15
        found = NeuronPotential(float(delta)).hessian(np.array(w, float))
        np.testing.assert_allclose(found, 1.5 * np.array(warped(w), float), rtol=1e-12)


class TestNetworks:
    def test_proposition_1_has_one_factor(self):
        """(Σa²I + Σwwᵀ)⁻¹ = (1/‖w̃‖)(I − w̃w̃ᵀ/2‖w̃‖²), equation 25; the display before it has 1/‖w̃‖²."""
        X, y, direction = problem(2)
        hidden = np.random.default_rng(3).standard_normal(5)
        hidden /= np.linalg.norm(hidden)
        w = 1.5 * direction / np.linalg.norm(direction)
        start = [np.outer(w, hidden), 1.5 * hidden[None]]
        begin = square(X @ (2.25 * direction / np.linalg.norm(direction)), y)[0]
        run = raw_flow(start, layer_network(), X, y, square, begin + np.array([0.5, 3.0]))
        for W, a in run.weights:
            predictor = (W @ a.T)[:, 0]
            size, exact = np.linalg.norm(predictor), np.linalg.inv(np.sum(a * a) * np.eye(7) + W @ W.T)
            once = (np.eye(7) - np.outer(predictor, predictor) / (2 * size**2)) / size
            assert gap(once, exact) < 1e-9
            assert gap(once / size, exact) > 0.1
            np.testing.assert_allclose(Power(1.5).hessian(predictor), 1.5 * np.sqrt(size) * once, rtol=1e-12)
        model = tacit.LinearNetwork(*start)
        exact = neuron_end(1.5, w, X, y)
        assert gap(network_flow(*start, X, y).predictor[:, 0], exact) < 1e-8
        assert gap(tacit.limit(model, X, y).predictor[:, 0], exact) < 1e-9

    def test_theorem_3_needs_small_inner_weights(self):
        """‖w̃ᵢ(0)‖ → 0 by the output weights alone does not lead to the minimum-norm solution."""
        X, y, _ = problem(4)
        W = np.random.default_rng(5).standard_normal((7, 3))
        smallest, distances = (np.linalg.pinv(X) @ y)[:, None], []
        for size in (1e-3, 1e-6, 1e-9):
            outer = size * np.array([[1.0, -0.5, 0.8]])
            assert np.linalg.norm(W * outer, axis=0).max() < 10 * size
            distances.append(np.linalg.norm(network_flow(W, outer, X, y).predictor - smallest))
            with pytest.raises(tacit.NoPotentialError):
                tacit.limit(tacit.LinearNetwork(W, outer), X, y, tol=1e-3)
        assert min(distances) > 0.3
        assert abs(distances[2] / distances[1] - 1) < 1e-4  # it converges to another point

    def test_theorem_3_for_one_neuron_in_closed_form(self):
        """For a → 0 with fixed w: w̃ → w* + a∞·P⊥w, far from w*; if w → 0 as well, the limit is w*."""
        X, y, w = problem(6)
        smallest = np.linalg.pinv(X) @ y
        sign = np.sign(y @ (X @ w))
        far = [gap(neuron_end(sign * a, w, X, y), smallest) for a in (1e-3, 1e-6, 1e-9)]
        assert min(far) > 0.1 and abs(far[2] / far[1] - 1) < 1e-5
        near = [gap(neuron_end(sign * a, a * w, X, y), smallest) for a in (1e-3, 1e-6, 1e-9)]
        assert max(near[1:]) < 1e-5
        run = neuron_flow(sign * 1e-6, w, 1.0, X, y)
        assert gap(run.predictor, neuron_end(sign * 1e-6, w, X, y)) < 1e-8
        found = tacit.limit(tacit.Neuron(sign * 1e-6, w), X, y)
        assert gap(found.predictor, run.predictor) < 1e-8

    def test_theorem_3_has_slope_one_and_an_exact_distance(self):
        """w̃∞ − w* = P⊥W(0)·a(∞): first order in the size of the weights, half in that of the predictor."""
        X, y, _ = problem(7)
        rng = np.random.default_rng(8)
        W, a = rng.standard_normal((7, 3)), rng.standard_normal((1, 3))
        smallest, distances = (np.linalg.pinv(X) @ y)[:, None], []
        sizes = np.array([1e-2, 1e-3, 1e-4, 1e-5])
        for size in sizes:
            run = network_flow(size * W, size * a, X, y)
            moved = run.predictor - smallest
            assert np.linalg.norm(moved - size * off(X, W) @ run.outer.T) < 1e-8
            distances.append(np.linalg.norm(moved))
        slopes = np.diff(np.log(distances)) / np.diff(np.log(sizes))
        np.testing.assert_allclose(slopes[-2:], 1, atol=0.01)


class TestTheorem4:
    def test_the_sign_of_the_output_weight_is_kept_not_minimized_over(self):
        """The argmin over both signs of a often has the sign that the flow never takes."""
        wrong = 0
        seeds = some(range(16), 3)
        for seed in seeds:
            X, y, direction = problem(seed, 3, 5)
            sign, slope = 1 if seed % 2 else -1, (0.1, 0.5)[seed // 2 % 2]
            model, a, w = neuron(0.5, 0.2, direction, sign, slope)
            delta, z = a * a - w @ w, -1.5 * sign * w
            ends = {
                side: neuron_minimum(delta, sign * w, X, leaky_targets(y, slope, side)) for side in (1, -1)
            }
            values = {s: float(q_hat(np.linalg.norm(v), delta)) + z @ v for s, v in ends.items()}
            assert gap(tacit.limit(model, X, y).predictor, ends[sign]) < 1e-9
            if values[-sign] < values[sign]:
                wrong += 1
                run = neuron_flow(a, w, slope, X, y, accuracy=20.0)
                assert np.sign(run.output) == sign
                assert gap(ends[sign], run.predictor) < 2e-3 < 0.1 < gap(ends[-sign], run.predictor)
        assert wrong >= len(seeds) / 4


def neuron_minimum(delta, v, X, targets):
    """argmin q̂_δ(‖w̃‖) − (3/2)v·w̃ over X w̃ = t, v = sgn(a)·w(0): the closed form of a neuron with a > 0."""
    return neuron_end(np.sqrt(delta + v @ v), v, X, targets, 1)


class TestAppendixF:
    @pytest.mark.parametrize("shape", [-0.4, 0.0, 0.3, 0.9])
    def test_tangent_kernel_carries_the_output_weight(self, shape):
        """K = a(0)²·xᵀB⁻¹x'; Section 7.2 prints xᵀB⁻¹x'."""
        X, _, direction = problem(9)
        model, a, w = neuron(1.7, shape, direction, -1)
        u = w / np.linalg.norm(w)
        B = np.eye(7) - (1 - shape) ** 2 / (2 * (1 + shape**2)) * np.outer(u, u)
        exact = np.outer(X @ w, X @ w) + a * a * X @ X.T  # ∂f/∂a and ∂f/∂w
        printed = X @ np.linalg.inv(B) @ X.T
        assert gap(a * a * printed, exact) < 1e-12
        assert gap(printed, exact) > 0.05
        assert gap(model.tangent_kernel(X), exact) < 1e-12

    @pytest.mark.parametrize("shape", [-0.4, 0.0, 0.3, 0.9])
    def test_hessian_at_the_start_has_three_halves(self, shape):
        """∇²q(w̃(0)) = (3/2)√((1−s)/(α(1+s)))·B, by differences of ∇q; the printed form lacks the 3/2."""
        _, _, direction = problem(10)
        model, a, w = neuron(1.7, shape, direction)
        u, start, delta = w / np.linalg.norm(w), a * w, a * a - w @ w
        printed = np.sqrt((1 - shape) / (1.7 * (1 + shape))) * (
            np.eye(7) - (1 - shape) ** 2 / (2 * (1 + shape**2)) * np.outer(u, u)
        )

        def slope(v):
            size = np.linalg.norm(v)
            return 1.5 * float(inner_size(size, delta)) * v / size

        bends = np.array([(slope(start + h) - slope(start - h)) / 2e-5 for h in 1e-5 * np.eye(7)])
        assert gap(1.5 * printed, bends) < 1e-8
        assert gap(printed, bends) > 0.3
        assert gap(NeuronPotential(delta).hessian(start), 1.5 * printed) < 1e-12
        assert gap(model.potential(7).hessian(start), 1.5 * printed) < 1e-12

    def test_a_large_scale_alone_is_not_the_kernel_regime(self):
        """F.2.1 needs ‖w̃∞ − w̃(0)‖ ≪ α/(1−s)²: with fixed targets that path grows like α itself.

        (26) compares derivatives of q at the start only. With targets at a fixed distance from the start's
        outputs, or as s → 1, the claim holds.
        """
        X, y, direction = problem(11)
        away, moved, shaped = [], [], []
        for scale in (1e2, 1e4, 1e6):
            _, a, w = neuron(scale, 0.0, direction)
            away.append(gap(neuron_end(a, w, X, y), kernel_end(a, w, X, y)))
            near = X @ (a * w) + y
            moved.append(gap(neuron_end(a, w, X, near), kernel_end(a, w, X, near)))
        for shape in (0.9, 0.99, 0.999):
            _, a, w = neuron(1e4, shape, direction)
            shaped.append(gap(neuron_end(a, w, X, y), kernel_end(a, w, X, y)))
        assert min(away) > 0.02 and abs(away[2] / away[1] - 1) < 1e-3
        assert moved[0] > 1e3 * moved[1] > 1e6 * moved[2]
        assert shaped[0] > 50 * shaped[1] > 2500 * shaped[2]
        model, a, w = neuron(1e2, 0.0, direction)
        assert gap(neuron_flow(a, w, 1.0, X, y, accuracy=40.0).predictor, neuron_end(a, w, X, y)) < 1e-8
        found = tacit.regime(model, X, y).distance_to_kernel
        end, kernel = neuron_end(a, w, X, y), kernel_end(a, w, X, y)
        assert found == pytest.approx(
            np.linalg.norm(end - kernel) / max(map(np.linalg.norm, (end, kernel))), rel=1e-7
        )
