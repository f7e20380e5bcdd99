"""Limits of single neurons, compared with simulated flows, a high-precision closed form, and minimization.

Azulay et al. 2021, Theorems 2 and 4 with the corrected constants, for δ = a² − ‖w‖² of either sign.
"""

import json
from itertools import product

import numpy as np
import pytest
from connected_oracles import (
    draw,
    end_of,
    final_sign,
    gap,
    inner_size,
    leaky_targets,
    neuron_end,
    neuron_end_by_minimization,
    neuron_flow,
    weights_of,
)
from flow_oracles import square
from properties import some
from scipy.integrate import solve_ivp

import tacit
from tacit.solvers.networks.neuron import _below_saddle

SLOPES = [1.0, 0.5, 0.1]


def stiff_end(a, w, X, y):
    """Predictor and output weight at the end of (a, w)' = (w·g, a·g), g = Xᵀ(y − aXw): LSODA, raw weights."""

    def rate(t, s):
        g = X.T @ (y - s[0] * (X @ s[1:]))
        return np.append(s[1:] @ g, s[0] * g)

    state, span = np.append(a, w), 1.0
    while np.linalg.norm(y - state[0] * (X @ state[1:])) > 1e-10 * np.linalg.norm(y):
        tight = {"rtol": 1e-12, "atol": 1e-14 * max(1.0, np.abs(state).max())}
        state = solve_ivp(rate, (0, span), state, method="LSODA", **tight).y[:, -1]
        span *= 4
        assert span < 1e12
    return state[0] * state[1:], state[0]


def above_the_saddle(model, X, y):
    """Whether the initial loss is larger than that of the zero predictor, so that a may change its sign."""
    t = X @ model.weights
    f = model.output * np.maximum(t, model.slope * t)
    return model.shape < 0 and square(f, y)[0] < square(0 * y, y)[0]


class TestReferences:
    """The references agree with each other."""

    @pytest.mark.parametrize("shape", [-0.5, 0.0, 0.6])
    @pytest.mark.parametrize("scale", [1e-3, 1.0])
    def test_closed_form_is_the_minimum_of_the_printed_potential(self, scale, shape):
        model, X, y = draw(scale, shape, -1, 1.0, seed=1)
        found = neuron_end_by_minimization(*weights_of(model), X, y)
        assert gap(found, end_of(model, X, y)) < 1e-6

    @pytest.mark.parametrize(("slope", "seed"), [(1.0, 1), (0.1, 10)])
    def test_closed_form_holds_for_either_sign_of_the_end(self, slope, seed):
        """This also holds if a has changed its sign."""
        kept, flipped = (draw(1.0, shape, 1, slope, seed, 3, 5) for shape in (0.3, -0.9))
        for (model, X, y), changes in ((kept, False), (flipped, True)):
            run = neuron_flow(*weights_of(model), slope, X, y)
            sign = final_sign(*weights_of(model), slope, X, y)
            assert (sign != 1) == (run.output < 0) == changes
            # the rounded kink of the reference causes errors of up to 1.7e-9
            assert gap(end_of(model, X, y, sign), run.predictor) < 2e-8
            assert gap(end_of(model, X, y, -sign), run.predictor) > 1e-2


class TestLimit:
    @pytest.mark.every(4)
    @pytest.mark.parametrize("slope", SLOPES)
    @pytest.mark.parametrize("samples", [4, 7])
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_limits_are_those_of_the_closed_form(self, scale, samples, slope):
        """All shapes and both signs of a, with and without a change of sign."""
        shapes = (-0.9, 0.0, 0.5, 0.99) if slope < 1 else (-0.9, -0.4, 0.0, 0.5, 0.99)
        for (number, shape), sign in some(product(enumerate(shapes), (-1, 1)), 3):
            model, X, y = draw(scale, shape, sign, slope, 10 * number + sign + 1, samples)
            last = final_sign(*weights_of(model), slope, X, y)
            found = tacit.limit(model, X, y)
            assert found.converged and found.sign == last
            assert gap(found.predictor, end_of(model, X, y, last)) < 1e-10

    @pytest.mark.every(7)
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("shape", [-0.9, -0.2, 0.0, 0.6, 0.99])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_limits_of_linear_neurons_agree_with_simulated_flows(self, scale, shape, sign):
        model, X, y = draw(scale, shape, sign, 1.0, 30)
        run = neuron_flow(*weights_of(model), 1.0, X, y)
        assert gap(tacit.limit(model, X, y).predictor, run.predictor) < 1e-8

    @pytest.mark.every(10)
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("scale", "shape", "sign", "slope"),
        [(1e-3, -0.9, 1, 0.5), (1e-3, 0.0, -1, 0.1), (1.0, -0.5, -1, 0.5), (1.0, 0.99, 1, 0.1),
         (1e3, -0.3, 1, 0.5), (1e3, 0.99, -1, 0.1)],
    )  # fmt: skip
    def test_limits_of_leaky_neurons_agree_with_simulated_flows(self, scale, shape, sign, slope):
        for seed in range(50, 70):
            model, X, y = draw(scale, shape, sign, slope, seed, 3, 5)
            if final_sign(*weights_of(model), slope, X, y) == sign:
                break
        run = neuron_flow(*weights_of(model), slope, X, y)
        found = tacit.limit(model, X, y)
        assert gap(found.predictor, run.predictor) < 1e-8
        other = tacit.flow(model, X, y, rtol=1e-10, until=47.0)
        assert gap(other.predictor[-1], found.predictor) < 1e-8

    @pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e9])
    @pytest.mark.parametrize("shape", [0.0, 0.7, 1 - 1e-9])
    def test_limits_at_extreme_scales(self, scale, shape):
        model, X, y = draw(scale, shape, -1, 0.3, seed=4)
        found = tacit.limit(model, X, y)
        assert found.converged
        assert gap(found.predictor, end_of(model, X, y)) < 1e-10

    @pytest.mark.parametrize("slope", SLOPES)
    @pytest.mark.parametrize("shape", [-0.4, 0.0, 0.8])
    def test_the_certificate(self, shape, slope):
        """(3/2)·sgn(a)·(w∞ − w(0)) = Xᵀν, and the equations are those of the targets."""
        model, X, y = draw(0.3, shape, -1, slope, seed=5)
        assert final_sign(*weights_of(model), slope, X, y) == -1
        found, (a, w), t = tacit.limit(model, X, y), weights_of(model), leaky_targets(y, slope, -1)
        v, delta = found.predictor, a * a - w @ w
        assert found.feasibility == pytest.approx(np.linalg.norm(X @ v - t) / np.linalg.norm(t), abs=1e-15)
        assert max(found.feasibility, found.stationarity) < 1e-10
        inner = float(inner_size(np.linalg.norm(v), delta)) * v / np.linalg.norm(v)
        assert gap(X.T @ found.dual, 1.5 * (inner + w)) < 1e-9
        np.testing.assert_allclose(found.value, float(model.potential(7).value(v)), rtol=1e-9)
        outputs = found.predictor @ X.T
        np.testing.assert_allclose(-np.maximum(-outputs, -slope * outputs), y, atol=1e-10)
        assert found.regime.name in {"kernel", "intermediate", "anti-kernel"}
        assert str(found.regime) in found.summary()
        plain = json.loads(json.dumps(found.to_dict()))
        np.testing.assert_array_equal(plain["predictor"], v)
        assert plain["converged"] is True and plain["regime"]["name"] == found.regime.name

    def test_lists_are_taken_and_nothing_is_changed(self):
        model, X, y = draw(0.3, 0.2, 1, 0.5, seed=6)
        X.flags.writeable = y.flags.writeable = False
        one, other = tacit.limit(model, X, y), tacit.limit(model, X.tolist(), y.tolist())
        np.testing.assert_array_equal(one.predictor, other.predictor)

    @pytest.mark.parametrize("slope", [1.0, 0.2])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_start_that_fits_stays(self, sign, slope):
        for shape in (-0.8, 0.0, 0.8):
            model, X, _ = draw(2.0, shape, sign, slope, seed=7)
            t = X @ model.weights
            found = tacit.limit(model, X, model.output * np.maximum(t, slope * t))
            assert gap(found.predictor, model.predictor()) < 1e-10

    @pytest.mark.parametrize("slope", SLOPES)
    def test_repeated_and_dependent_samples(self, slope):
        model, X, y = draw(0.5, 0.3, 1, slope, seed=8)
        end = end_of(model, X, y)
        again = tacit.limit(model, np.vstack([X, X[:2]]), np.append(y, y[:2]))
        assert again.converged and gap(again.predictor, end) < 1e-10
        rows = np.vstack([X, X[0] + 2 * X[1]])  # the output there of a neuron that fits the other samples
        outputs = rows @ end
        fitted = tacit.limit(model, rows, np.maximum(outputs, slope * outputs))
        assert fitted.converged and gap(fitted.predictor, end) < 1e-10

    @pytest.mark.parametrize("slope", [1.0, 0.4])
    def test_more_samples_than_features(self, slope):
        model, X, _ = draw(0.5, 0.3, 1, slope, seed=9, samples=12)
        hidden = np.random.default_rng(9).standard_normal(7)
        found = tacit.limit(model, X, np.maximum(X @ hidden, slope * (X @ hidden)))
        assert gap(found.predictor, hidden) < 1e-10

    def test_a_target_of_zero_is_on_the_kink(self):
        model, X, y = draw(0.5, 0.3, -1, 0.2, seed=10)
        y[0] = 0.0
        assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y)) < 1e-10

    def test_all_targets_zero(self):
        """The flow ends at |a∞|·P⊥w̃(0)/|a(0)|, a∞² = δ + ‖P⊥w(0)‖², or at 0 if that is negative."""
        for shape in (-0.9, 0.0, 0.9):
            model, X, y = draw(2.0, shape, 1, 1.0, seed=11)
            try:
                found = tacit.limit(model, X, 0 * y).predictor
            except tacit.TacitError:
                assert shape < 0  # a → 0 without ever changing its sign
                continue
            assert np.linalg.norm(found - end_of(model, X, 0 * y)) < 1e-8

    @pytest.mark.parametrize("slope", SLOPES)
    @pytest.mark.parametrize("a", [0.7, -0.7])
    def test_no_inner_weights_give_the_smallest_solution(self, a, slope):
        _, X, y = draw(1.0, 0.0, 1, slope, seed=12)
        found = tacit.limit(tacit.Neuron(a, np.zeros(7), slope), X, y)
        assert found.converged
        assert gap(found.predictor, np.linalg.pinv(X) @ leaky_targets(y, slope, np.sign(a))) < 1e-10

    @pytest.mark.parametrize("slope", [1.0, 0.4])
    def test_a_start_without_output_weight(self, slope):
        """a'(0) = Σ yₙσ(w·xₙ)/N decides the sign of a."""
        for seed in range(12):
            _, X, y = draw(1.0, 0.0, 1, slope, seed)
            w = 0.6 * np.random.default_rng(seed).standard_normal(7)
            t = X @ w
            sign = np.sign(y @ np.maximum(t, slope * t))
            assert final_sign(sign * 1e-9, w, slope, X, y) == sign
            found = tacit.limit(tacit.Neuron(0.0, w, slope), X, y)
            assert found.converged and found.sign == sign
            assert gap(found.predictor, neuron_end(0.0, w, X, leaky_targets(y, slope, sign), sign)) < 1e-10
            assert tacit.certify(tacit.Neuron(0.0, w, slope), X, y, found.predictor).holds
            assert found.regime.name in found.summary()

    def test_no_output_weight_and_nothing_to_learn(self):
        _, X, y = draw(1.0, 0.0, 1, 1.0, seed=3)
        found = tacit.limit(tacit.Neuron(0.0, np.ones(7)), X, 0 * y)
        assert not found.predictor.any() and found.sign == 0 and "‖w‖₂ = 0;" in found.summary()

    def test_saddles_are_refused(self):
        """a = 0 with w ⟂ Xᵀy is stationary; balanced weights opposite to Xᵀy decay to 0 in infinite time."""
        X, y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.ones(2)
        for model in (tacit.Neuron(0.0, [1.0, -1.0, 0.0]), tacit.Neuron(0.0, [0.0, 0.0, 1.0])):
            with pytest.raises(tacit.TacitError):
                tacit.limit(model, X, y)
        for slope in SLOPES:
            with pytest.raises(tacit.TacitError):
                tacit.limit(tacit.Neuron(1.0, [-1.0], slope), [[1.0]], [1.0])

    @pytest.mark.parametrize("slope", [1.0, 0.3])
    def test_equations_without_solution(self, slope):
        model, X, y = draw(0.5, 0.3, 1, slope, seed=13)
        with pytest.raises(tacit.InconsistentDataError):
            tacit.limit(model, np.vstack([X, X[0]]), np.append(y, y[0] + 1))
        with pytest.raises(tacit.InconsistentDataError):
            tacit.limit(*draw(0.5, 0.3, 1, slope, seed=13, samples=12))

    def test_which_equations_depends_on_the_slope_and_the_sign(self):
        _, X, _ = draw(1.0, 0.0, 1, 1.0, seed=14, samples=12)
        hidden = np.random.default_rng(14).standard_normal(7)
        y = np.maximum(X @ hidden, 0.3 * (X @ hidden))
        w = 0.1 * hidden
        assert gap(tacit.limit(tacit.Neuron(0.9, w, 0.3), X, y).predictor, hidden) < 1e-10
        assert gap(tacit.limit(tacit.Neuron(-0.9, w, 0.3), X, -y).predictor, -hidden) < 1e-10
        for model, targets in [
            (tacit.Neuron(-0.9, w, 0.3), y),
            (tacit.Neuron(0.9, w, 0.3), -y),
            (tacit.Neuron(0.9, w), y),
            (tacit.Neuron(0.9, w, 0.3), X @ hidden),
        ]:
            with pytest.raises(tacit.InconsistentDataError):
                tacit.limit(model, X, targets)

    def test_bad_input(self):
        model, X, y = draw(0.5, 0.3, 1, 1.0, seed=15)
        for bad in [(X[:, :6], y), (X, y[:3]), (X, np.ones((4, 2))), (np.full_like(X, np.nan), y), (X[0], y)]:
            with pytest.raises(tacit.InputError):
                tacit.limit(model, *bad)
        with pytest.raises(tacit.InputError):
            tacit.limit(model, X, y, tol=-1)


class TestChangeOfSign:
    @pytest.mark.parametrize("slope", [1.0, 0.3])
    def test_everything_that_is_said_of_it(self, slope, monkeypatch):
        """ω moves in the span of the samples, δ is conserved, and the data are fitted; verified by linear
        algebra."""
        model, X, y = draw(1.0, -0.9, 1, slope, seed=1 if slope == 1 else 10)
        assert final_sign(*weights_of(model), slope, X, y) == -1
        found = tacit.limit(model, X, y)
        assert found.converged and found.sign == -1 and "changes its sign" in found.summary()
        a = -np.sqrt(model.delta / 2 + np.hypot(model.delta / 2, np.linalg.norm(found.predictor)))
        w = found.predictor / a
        outputs = a * np.maximum(X @ w, slope * (X @ w))
        np.testing.assert_allclose(outputs, y, atol=1e-12)
        moved = w - model.weights
        assert np.linalg.norm(moved - np.linalg.pinv(X) @ (X @ moved)) < 1e-12
        assert gap(X.T @ found.dual, -1.5 * moved) < 1e-9  # (3/2)·sgn(a)·(ω(∞) − ω(0))
        certificate = tacit.certify(model, X, y, found.predictor)
        assert max(certificate.stationarity, certificate.feasibility) < 1e-10
        # the limit if the sign of a(0) > 0 were kept
        assert not tacit.certify(model, X, y, end_of(model, X, y)).holds
        kernels = [tacit.Neuron(*layers, slope).tangent_kernel(X) for layers in (weights_of(model), (a, w))]
        cosine = np.sum(kernels[0] * kernels[1]) / np.prod([np.linalg.norm(kernel) for kernel in kernels])
        assert found.regime.kernel_distance == pytest.approx(1 - cosine, abs=1e-9)
        assert json.loads(json.dumps(found.to_dict()))["sign"] == -1
        mirrored = tacit.limit(tacit.Neuron(-model.output, model.weights, slope), X, y)
        if mirrored.sign == -1:
            np.testing.assert_allclose(mirrored.predictor, found.predictor, rtol=1e-12)

    def test_random_draws_against_stiff_flows_of_the_raw_weights(self):
        """Any data and weights: a changes its sign in about a third of them."""
        flips = 0
        seeds = some(range(40), 2)
        for seed in seeds:
            rng = np.random.default_rng([seed, 77])
            samples = int(rng.integers(1, 6))
            X = rng.standard_normal((samples, int(rng.integers(samples, 9))))
            y = rng.standard_normal(samples) * 10 ** rng.uniform(-1, 1)
            a = rng.standard_normal() * 10 ** rng.uniform(-1, 0.5)
            w = rng.standard_normal(X.shape[1]) * 10 ** rng.uniform(-0.5, 0.5)
            found, (end, last) = tacit.limit(tacit.Neuron(a, w), X, y), stiff_end(a, w, X, y)
            assert found.converged and found.sign == np.sign(last)
            assert gap(found.predictor, end) < 1e-8
            flips += a * last < 0
        assert len(seeds) / 5 <= flips <= len(seeds) * 5 / 8

    @pytest.mark.every(10)
    @pytest.mark.parametrize("slope", [1.0, 0.5, 0.1])
    @pytest.mark.parametrize(("samples", "features"), [(1, 3), (4, 7), (6, 7)])
    def test_starts_above_the_loss_of_the_zero_predictor(self, samples, features, slope):
        """The sign of a may or may not change there; the limit is correct in both cases."""
        flips = kept = 0
        for seed in some(range(100, 140), 2) if slope == 1 else range(100, 115):
            rng = np.random.default_rng(seed)
            shape, scale = rng.uniform(-0.97, -0.02), 10 ** rng.uniform(-2, 2)
            model, X, y = draw(scale, shape, rng.choice([-1, 1]), slope, seed, samples, features)
            if not above_the_saddle(model, X, y):
                continue
            sign = final_sign(*weights_of(model), slope, X, y)
            found = tacit.limit(model, X, y)
            assert found.sign == sign and gap(found.predictor, end_of(model, X, y, sign)) < 1e-8
            flips += sign != np.sign(model.output)
            kept += sign == np.sign(model.output)
        assert flips >= 2 and kept >= (0 if samples == 1 else 2)

    def test_close_to_the_border(self):
        """Starts on both sides of the separatrix of signs of a(∞) are solved; those on it raise an error."""
        _, X, y = draw(1.0, 0.0, 1, 1.0, seed=1)
        _, flipping = weights_of(draw(1.0, -0.9, 1, 1.0, seed=1)[0])
        below, above = 2.43, 2.431
        assert [final_sign(a, flipping, 1.0, X, y) for a in (below, above)] == [-1, 1]
        for _ in range(16):
            middle = np.sqrt(below * above)
            same = final_sign(middle, flipping, 1.0, X, y) == 1
            below, above = (below, middle) if same else (middle, above)
        assert above < (1 + 1e-8) * below
        for factor, sign in [(1.01, 1), (1 + 1e-5, 1), (1 - 1e-5, -1), (0.99, -1)]:
            model = tacit.Neuron(factor * above, flipping)
            assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y, sign)) < 1e-8
        with pytest.raises(tacit.NoPotentialError, match="saddle"):
            tacit.limit(tacit.Neuron(above, flipping), X, y)

    @pytest.mark.every(4)
    @pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-9, 1e-20, 1e-120, 1e-170])
    def test_small_starts_keep_or_change_it_as_linear_flows_do(self, size):
        """a(t) = a cosh kt + (ĝ·ω) sinh kt with ĝ along Xᵀy, while the predictor is small."""
        decided = []
        for seed in some(range(20), 2):
            rng = np.random.default_rng([seed, 5])
            X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
            final = 0.6 + w @ (X.T @ y) / np.linalg.norm(X.T @ y)
            if abs(final) < 0.1:
                continue
            decided.append(final > 0)
            model = tacit.Neuron(0.6 * size, size * w)
            found = tacit.limit(model, X, y)
            assert found.converged and found.sign == np.sign(final)
            assert gap(found.predictor, np.linalg.pinv(X) @ y) < 100 * size + 1e-12
        assert any(decided) and not all(decided)

    @pytest.mark.parametrize("slope", [1.0, 0.3])
    def test_an_output_weight_above_what_is_seen_keeps_it_without_a_flow(self, slope, monkeypatch):
        """a² − ‖ω∥‖² is constant: a stays away from 0 for any target."""
        rng = np.random.default_rng(3)
        X, hidden = rng.standard_normal((2, 7)), rng.standard_normal(7)
        seen = X.T @ np.linalg.solve(X @ X.T, X @ hidden)
        w = 10 * (hidden - seen) + seen / np.linalg.norm(seen)
        model, y = tacit.Neuron(-1.1, w, slope), 30 * np.sign(X @ w)
        assert model.delta < 0 and above_the_saddle(model, X, y)
        monkeypatch.setattr("tacit.verbs.limit.flow", None)
        assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y, -1)) < 1e-10

    @pytest.mark.parametrize("unit", [1e-100, 1e-30, 1e30, 1e100, 1e180])
    def test_units_do_not_matter(self, unit):
        """The flow is invariant under changes of units of samples, targets and weights."""
        for seed in range(20):
            rng = np.random.default_rng([seed, 6])
            X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
            if above_the_saddle(tacit.Neuron(0.9, w), X, y) and final_sign(0.9, w, 1.0, X, y) == 1:
                break
        expected = neuron_end(0.9, w, X, y)
        found = tacit.limit(tacit.Neuron(0.9, w), unit * X, unit * y)
        assert found.converged and gap(found.predictor, expected) < 1e-12
        if unit < 1e150:
            root = np.sqrt(unit)
            found = tacit.limit(tacit.Neuron(0.9 * root, root * w), X, unit * y)
            assert found.converged and gap(found.predictor / unit, expected) < 1e-12

    @pytest.mark.parametrize("unit", [1e-170, 1e-40, 1e160])
    def test_what_floats_cannot_follow_is_refused_by_name(self, unit):
        """Weights much larger than those that fit the data; for smaller ones the flow is integrated."""
        rng = np.random.default_rng(0)
        X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
        for weights, *data in some([(w, X, unit * y), (w / np.sqrt(unit), X, y), (w, X / unit, y)], 2):
            model = tacit.Neuron(0.3, weights)
            if unit < 1:
                with pytest.raises(tacit.NoPotentialError, match=r"would overflow|there is a saddle"):
                    tacit.limit(model, *data)
            else:
                found = tacit.limit(model, *data)
                assert found.converged and found.feasibility < 1e-9


def test_a_loss_equal_to_that_of_the_saddle_is_not_below_it():
    """With y = f/2 + n and n orthogonal to f, both losses are equal up to round-off of either sign."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model, X = tacit.Neuron(0.7, rng.standard_normal(4)), rng.standard_normal((6, 4))
        outputs, n = X @ model.predictor(), rng.standard_normal(6)
        n -= outputs * (n @ outputs) / (outputs @ outputs)
        assert not _below_saddle(model, X, outputs / 2 + n)
        assert _below_saddle(model, X, outputs + n)
