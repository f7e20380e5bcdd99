"""Misprints about regression in Woodworth et al. 2020 and Azulay et al. 2021, and the corrected statements.

Each test shows the printed form failing and the corrected one holding, from the mathematics alone or from an
ODE on the raw weights, and where the library computes the same thing, that it agrees.
"""

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import (
    distance_quartic,
    exact_limit,
    gaussian_problem,
    h_inverse,
    parameter_flow,
    products,
    q,
    q_azulay,
    r,
    relative_error,
    scaled,
)
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

import tacit


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def descend(X, y, alpha, depth, factor, time):
    """Weights (2, d) and ∫r at the given time, under ẇ = −factor·X̃ᵀr∘w^{D−1} from w = α, r = Xβ − y."""
    d, double = X.shape[1], np.hstack([X, -X])

    def velocity(_, state):
        error = double @ state[: 2 * d] ** depth - y
        return np.append(-factor * (double.T @ error) * state[: 2 * d] ** (depth - 1), error)

    start = np.append(np.full(2 * d, alpha), np.zeros(len(y)))
    end = solve_ivp(velocity, (0, time), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return end[: 2 * d].reshape(2, d), end[2 * d :]


def distance_by_minimization(beta, alpha):
    """min (w₊ − α)² + (w₋ − α)² subject to w₊² − w₋² = β > 0, over w₋ alone."""

    def squared(minus):
        return (mp.sqrt(beta + minus**2) - alpha) ** 2 + (minus - alpha) ** 2

    return squared(mp.findroot(lambda minus: mp.diff(squared, minus), alpha))


def slope_of(loss, w):
    """Central differences, accurate to about 1e-9."""
    steps = 1e-6 * np.eye(w.size)
    return np.array([(loss(w + step) - loss(w - step)) / 2e-6 for step in steps])


class TestWoodworth:
    def test_equation_15_belongs_to_half_the_square_loss(self):
        """−∇‖X̃w² − y‖² = −4X̃ᵀr∘w, and β = 2α² sinh(−8Xᵀ∫r); the printed 2 and 4 belong to ½‖X̃w² − y‖²."""
        X, y = gaussian_problem(3, 5, nonzero=2, seed=1)
        double, w = np.hstack([X, -X]), np.linspace(0.5, 1.5, 10)
        error = double @ w**2 - y
        slope, pull = slope_of(lambda v: np.sum((double @ v**2 - y) ** 2), w), (double.T @ error) * w
        np.testing.assert_allclose(slope, 4 * pull, rtol=1e-7)
        assert not np.allclose(slope, 2 * pull, rtol=0.4)
        for factor, inside in [(4, 8), (2, 4)]:
            (plus, minus), integral = descend(X, y, 0.7, 2, factor, 0.05)
            beta = plus**2 - minus**2
            np.testing.assert_allclose(beta, 2 * 0.49 * np.sinh(-inside * X.T @ integral), rtol=1e-8)
        (plus, minus), integral = descend(X, y, 0.7, 2, 4, 0.05)
        assert relative_error(2 * 0.49 * np.sinh(-4 * X.T @ integral), plus**2 - minus**2) > 0.3

    @pytest.mark.parametrize("z", ["1e3", "1e6", "1e160"])
    def test_large_argument_of_q_has_a_linear_term(self, z):
        """q = |z|log|z| − |z| + 2 − 1/|z| + O(|z|⁻³), not |z|log|z| + O(1/|z|)."""
        z = mpf(z)
        exact = scaled(q, z, 0, digits=900)
        with mp.workdps(900):
            assert abs(exact - z * mp.log(z)) > 0.99 * z
            assert abs(exact - (z * mp.log(z) - z + 2 - 1 / z)) < 1 / z**3
        np.testing.assert_allclose(
            tacit.potentials.Hypentropy(0.0).value([float(z)]), float(exact), rtol=1e-12
        )

    @pytest.mark.parametrize("z", [0.1, 1.0, 8.0, 200.0])
    def test_quartic_has_two_real_roots_and_r_is_the_smallest(self, z):
        """The printed "unique real root" is ambiguous; the distance of the weights is the smaller one."""
        roots = np.roots(distance_quartic(z))
        real = np.sort(roots[np.abs(roots.imag) < 1e-4 * np.abs(roots)].real)
        assert len(real) == 2
        assert real[1] > 1.2 * real[0]
        distance = distance_by_minimization(mpf(z), mpf(1))
        assert abs(distance / r(mpf(z)) - 1) < 1e-12
        assert abs(float(distance) / real[0] - 1) < 1e-6
        np.testing.assert_allclose(
            tacit.potentials.WeightDistance(0.0).value([z]), float(distance), rtol=1e-12
        )

    def test_explicit_regularizer_carries_the_scale(self):
        """R = α² Σ r(β/α²), not Σ r(β/α²)."""
        alpha, beta = mpf("0.5"), mpf(2)
        distance = distance_by_minimization(beta, alpha)
        assert abs(distance / (alpha**2 * r(beta / alpha**2)) - 1) < 1e-20
        assert abs(distance / r(beta / alpha**2) - 1) > 0.7
        found = tacit.potentials.WeightDistance(2 * np.log(0.5)).value([2.0])
        np.testing.assert_allclose(found, float(distance), rtol=1e-12)

    @pytest.mark.every(6)
    @pytest.mark.parametrize("depth", [2.1, 3, 4, 10, 50])
    def test_deep_potential_in_closed_form_and_at_both_ends(self, depth):
        """q_D = zs − (D−2)/2·[(1−s)^{−2/(D−2)} + (1+s)^{−2/(D−2)} − 2] is ∫h_D⁻¹ (the paper does not evaluate
        the integral).

        Small z: (D−2)z²/4D. Large z: |z| − (D/2)|z|^{2/D} + (D−2)(1 − 2^{−D/(D−2)}).
        """
        D = mpf(depth)
        for z in (mpf("0.01"), mpf(3), mpf(500)):
            integral = mp.quad(lambda t: h_inverse(t, depth), [0, z / 10, z])
            assert abs(q(z, depth) / integral - 1) < 1e-20
            value = tacit.potentials.DeepHypentropy(depth, 0.0).value([float(z)])
            np.testing.assert_allclose(value, float(q(mpf(float(z)), depth)), rtol=1e-12)
        small, large = mpf("1e-10"), mpf(10) ** 400
        assert abs(scaled(q, small, 0, depth) / ((D - 2) * small**2 / (4 * D)) - 1) < 1e-15
        with mp.workdps(500):
            constant = scaled(q, large, 0, depth, digits=500) - (large - D / 2 * large ** (2 / D))
            assert abs(constant - (D - 2) * (1 - mpf(2) ** (-D / (D - 2)))) < 1e-12

    def test_equation_55_lacks_its_minus(self):
        """dL/dw = +D X̃ᵀr∘w^{D−1} for L = ½‖X̃w^D − y‖²: descent has the minus, ẇ = +dL/dw climbs."""
        X, y = gaussian_problem(3, 5, nonzero=2, seed=2)
        double, w = np.hstack([X, -X]), np.linspace(0.5, 1.5, 10)

        def loss(v):
            return np.sum((double @ v**3 - y) ** 2) / 2

        printed = -3 * (double.T @ (double @ w**3 - y)) * w**2
        np.testing.assert_allclose(slope_of(loss, w), -printed, rtol=1e-7)
        assert loss(w + 1e-6 * slope_of(loss, w)) > loss(w) > loss(w + 1e-6 * printed)

    def test_equation_57_holds_with_X_instead_of_both_copies(self):
        """β = α^D[(1 + cXᵀ∫r)^{−p} − (1 − cXᵀ∫r)^{−p}], p = D/(D−2); the printed X̃ᵀ∫r has 2d entries."""
        X, y = gaussian_problem(3, 5, nonzero=2, seed=2)
        for depth in (3, 4):
            (plus, minus), integral = descend(X, y, 0.7, depth, depth, 0.05)
            shift = 0.7 ** (depth - 2) * depth * (depth - 2) * X.T @ integral
            power = -depth / (depth - 2)
            np.testing.assert_allclose(
                plus**depth - minus**depth,
                0.7**depth * ((1 + shift) ** power - (1 - shift) ** power),
                rtol=1e-8,
            )
            assert (np.hstack([X, -X]).T @ integral).shape != plus.shape[1:]

    def test_l1_bound_of_theorem_2_is_not_the_one_proved(self):
        """The proof needs (1 − ε')‖β‖₁ ≤ Q/log(1/α²), ε' = ε/(2+ε), which fails at the stated α.

        The proof gives α ≤ min{1, √B, (2(1+2ε)B)^{−(2+ε)/2ε}, exp(−d(2+ε)/2εB)}, B = ‖β_ℓ1‖₁.
        """
        eps, B, d = mpf("0.1"), mpf(1), 1
        stated, proved = stated_bound(eps, B, d), proved_bound(eps, B, d)
        assert stated > 1.5 * proved

        def ratio(alpha, beta):
            return scaled(q, beta, 2 * mp.log(alpha)) / mp.log(1 / alpha**2) / beta

        assert ratio(stated, B) < 1 - eps / (2 + eps)
        for beta in (B, B * (1 + eps), B * (1 + 2 * eps)):
            assert 1 - eps / (2 + eps) <= ratio(proved, beta) <= 1 + eps / (2 + eps)

    @pytest.mark.parametrize("eps", [0.2, 1.0, 3.0])
    def test_conclusion_of_theorem_2_holds_below_the_proved_bound(self, eps):
        for seed in range(5):
            X, y = gaussian_problem(3, 8, nonzero=2, seed=seed)
            y = 8 * y
            best = linprog(np.ones(16), A_eq=np.hstack([X, -X]), b_eq=y).fun
            alpha = float(proved_bound(mpf(eps), mpf(best), 8))
            limit = tacit.limit(tacit.Diagonal(depth=2, scale=alpha), X, y).predictor
            assert best * (1 - 1e-9) <= np.abs(limit).sum() <= (1 + eps) * best


def stated_bound(eps, B, d):
    return min((2 * (1 + eps) * B) ** (-(2 + eps) / (2 * eps)), mp.exp(-d / (eps * B)))


def proved_bound(eps, B, d):
    power = (2 + eps) / (2 * eps)
    return min(mpf(1), mp.sqrt(B), (2 * (1 + 2 * eps) * B) ** -power, mp.exp(-d * power / B))


class TestAppendicesOfWoodworth:
    def test_equations_11_to_14_have_a_wrong_sign_and_a_square(self):
        """d|u|/dt by the chain rule, −∂L/∂u by central differences of L = Σ(f(x_n) − y_n)²."""
        rng = np.random.default_rng(0)
        X, y, v = rng.standard_normal((3, 5)), rng.standard_normal(3), rng.standard_normal(5)
        u = v * rng.choice([-1, 1], 5)
        moves = np.sign(u) * -slope_of(lambda u: np.sum((X @ (u * v) - y) ** 2), u)
        error = X @ (u * v) - y
        np.testing.assert_allclose(moves, -2 * np.sign(u) * v * (X.T @ error), atol=1e-7)
        printed = -2 * np.sign(u) * v * (X.T @ error**2)
        assert min(relative_error(printed, moves), relative_error(-moves, moves)) > 0.5

    def test_the_even_function_of_lemma_5_has_arcsinh(self):
        for z in (0.5, 3, 40):
            even = q(z) - 2 + mp.sqrt(4 + mpf(z) ** 2)
            assert abs(even - z * mp.asinh(mpf(z) / 2)) < 1e-30
            assert abs(even - z * mp.asin(mpf(z) / 2)) > 1e-3
        assert mp.asin(mpf(3) / 2).imag != 0

    def test_equations_71_and_80_belong_to_different_losses(self):
        """W moves by −∇L, L = ½‖y(W) − y*‖² with y_n = ⟨WWᵀ, X_n⟩: differences of L and of y."""
        rng = np.random.default_rng(1)
        X = rng.standard_normal((3, 4, 4))
        X, W, target = X + X.transpose(0, 2, 1), rng.standard_normal((4, 6)), rng.standard_normal(3)

        def outputs(w):
            return np.einsum("nij,ik,jk->n", X, w.reshape(4, 6), w.reshape(4, 6))

        error = outputs(W.ravel()) - target
        move = -slope_of(lambda w: np.sum((outputs(w) - target) ** 2) / 2, W.ravel())
        sigma = 4 * np.einsum("ik,jk,nil,mlj->nm", W, W, X, X)
        change = (outputs(W.ravel() + 1e-6 * move) - outputs(W.ravel() - 1e-6 * move)) / 2e-6
        np.testing.assert_allclose(change, -sigma @ error, rtol=1e-5)
        step = np.linalg.norm(np.einsum("n,nij,jk->ik", error, X, W))
        assert np.linalg.norm(move) == pytest.approx(2 * step, rel=1e-6)  # (80) has 1 for 2
        # ‖WWᵀ − μI‖ ≤ γ gives Σ ⪰ 4μλ − 4Λγ, where (75) has 2μλ; hence 3μλ in (79), with R of (78).
        own = np.linalg.eigvalsh(W @ W.T)
        rows = np.linalg.eigvalsh(X.reshape(3, -1) @ X.reshape(3, -1).T)
        mu, gamma = (own[0] + own[-1]) / 2, (own[-1] - own[0]) / 2
        assert np.linalg.eigvalsh(sigma)[0] >= 4 * mu * rows[0] - 4 * rows[-1] * gamma
        mu, gamma, low, high = 2.0, 0.1, 1.0, 3.0
        R = np.sqrt(mu + mu * low / (4 * high)) - np.sqrt(mu + gamma)
        spent = 4 * high * (gamma + R**2 + 2 * R * np.sqrt(mu + gamma))
        assert 4 * mu * low - spent == pytest.approx(3 * mu * low)

    def test_unobserved_entries_move_at_fixed_width(self):
        """The flow of Figure 5, with the width reduced by a QR decomposition of [U; V]ᵀ."""
        rng = np.random.default_rng(0)
        truth, seen = np.outer(*rng.standard_normal((2, 10))), rng.permutation(100).reshape(10, 10) < 60

        def moved(level, width):
            start = np.sqrt(level / width) * rng.standard_normal((width, 20))
            narrow = np.linalg.qr(start, mode="r").T

            def velocity(_, state):
                U, V = state.reshape(2, 10, 20)
                error = np.where(seen, truth - U @ V.T, 0.0)
                return np.stack([error @ V, error.T @ U]).ravel()

            end = solve_ivp(velocity, (0, 40 / level), narrow.ravel(), "DOP853", rtol=1e-8, atol=1e-9).y[
                :, -1
            ]
            first, last = (U @ V.T for U, V in (narrow.reshape(2, 10, 20), end.reshape(2, 10, 20)))
            assert np.abs((last - truth)[seen]).max() < 1e-4
            return np.sqrt(np.mean((last - first)[~seen] ** 2))

        narrow, more, wide = moved(10, 1000), moved(1000, 1000), moved(1000, 16000)
        assert narrow < 0.2 and 0.8 < more < 3.0 and 0.03 < wide / more < 0.13  # 1/16 of it


class TestAzulay:
    @pytest.mark.parametrize("seed", range(3))
    def test_biased_start_ends_at_the_bregman_projection(self, seed):
        """Theorem 1, Appendix A: argmin of D_Q(w, w(0)), not of Q_k, if w(0) ≠ 0."""
        X, y = gaussian_problem(5, 12, nonzero=2, seed=seed)
        a, b, c, d = weights = np.random.default_rng(seed).standard_normal((4, 12))
        k = (b**2 - a**2 - d**2 + c**2) ** 2 + 4 * (a * c + b * d) ** 2
        simulated = parameter_flow(weights, products(), X, y)
        potential = {"depth": 2, "log_scale": np.log(np.sqrt(k) / 4), "weight": 0.5}
        printed = exact_limit(X, y, **potential)
        offset = np.arcsinh(2 * (a * b - c * d) / np.sqrt(k)) / 2
        assert relative_error(simulated, printed) > 0.3
        assert relative_error(simulated, exact_limit(X, y, **potential, offset=offset)) < 1e-9
        found = tacit.limit(tacit.UntiedDiagonal.from_weights(*weights), X, y).predictor
        assert relative_error(found, simulated) < 1e-9

    def test_kernel_end_is_half_of_what_is_printed(self):
        """k → ∞: q_k → w²/2√k, printed w²/√k."""
        w, k = mpf(3), mpf(10) ** 30
        with mp.workdps(80):
            assert abs(q_azulay(w, k) / (w**2 / (2 * mp.sqrt(k))) - 1) < 1e-20
            assert abs(q_azulay(w, k) / (w**2 / mp.sqrt(k)) - 1) > 0.4
        value = tacit.potentials.Hypentropy(float(mp.log(mp.sqrt(k) / 4)), weight=0.5).value([3.0])
        np.testing.assert_allclose(value, float(w**2 / (2 * mp.sqrt(k))), rtol=1e-12)

    def test_rich_end_has_a_minus_and_comes_at_the_rate_of_a_logarithm(self):
        """k → 0: q_k → −|w|/2 + (|w|/2)log(4|w|/√k); one line prints +|w|/2."""
        w = mpf(3)
        for k in (mpf(10) ** -40, mpf(10) ** -200):
            logarithm = w / 2 * mp.log(4 * w / mp.sqrt(k))
            assert abs(q_azulay(w, k) - (logarithm - w / 2)) < mp.sqrt(k)
            assert abs(q_azulay(w, k) - (logarithm + w / 2)) > 0.99 * w
            gap = q_azulay(w, k) / (mp.log(1 / mp.sqrt(k)) / 2) - w
            assert abs(gap * mp.log(1 / mp.sqrt(k)) / (w * (mp.log(4 * w) - 1)) - 1) < 1e-15
            value = tacit.potentials.Hypentropy(float(mp.log(mp.sqrt(k) / 4)), weight=0.5).value([3.0])
            np.testing.assert_allclose(value, float(logarithm - w / 2), rtol=1e-12)

    def test_tied_weights_give_half_the_potential_of_woodworth(self):
        """u = v = α: √k = 4α² and Q_k = ½Q_α, the same minimizers but not the same function."""
        alpha, w = mpf("0.3"), mpf(2)
        tied, woodworth = q_azulay(w, (4 * alpha**2) ** 2), scaled(q, w, 2 * mp.log(alpha))
        assert abs(tied / (woodworth / 2) - 1) < 1e-30
        untied = tacit.UntiedDiagonal(scale=0.09, shape=0.0).potential(1).value([2.0])
        diagonal = tacit.Diagonal(depth=2, scale=0.3).potential(1).value([2.0])
        np.testing.assert_allclose([untied, diagonal], [float(tied), float(woodworth)], rtol=1e-12)
