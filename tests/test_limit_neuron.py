"""Where a single neuron ends: against simulated flows, a closed form in many digits, and plain minimization.

Azulay et al. 2021, Theorems 2 and 4 with the corrected constants, for δ = a² − ‖w‖² of either sign.
"""

import json
import re
from contextlib import suppress

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

import tacit

SLOPES = [1.0, 0.5, 0.1]


def above_the_saddle(model, X, y):
    """Is the loss at the start larger than that of the zero predictor, so that a may change its sign?"""
    t = X @ model.weights
    f = model.output * np.maximum(t, model.slope * t)
    return model.shape < 0 and square(f, y)[0] < square(0 * y, y)[0]


class TestReferences:
    """They agree with each other before anything is compared with them."""

    @pytest.mark.parametrize("shape", [-0.5, 0.0, 0.6])
    @pytest.mark.parametrize("scale", [1e-3, 1.0])
    def test_closed_form_is_the_minimum_of_the_printed_potential(self, scale, shape):
        model, X, y = draw(scale, shape, -1, 1.0, seed=1)
        found = neuron_end_by_minimization(*weights_of(model), X, y)
        assert gap(found, end_of(model, X, y)) < 1e-6

    @pytest.mark.parametrize(("slope", "seed"), [(1.0, 1), (0.1, 10)])
    def test_closed_form_holds_for_either_sign_of_the_end(self, slope, seed):
        """Also where a has changed its sign; only then the other sign of a∞ is the right one."""
        kept, flipped = (draw(1.0, shape, 1, slope, seed, 3, 5) for shape in (0.3, -0.9))
        for (model, X, y), changes in ((kept, False), (flipped, True)):
            run = neuron_flow(*weights_of(model), slope, X, y)
            sign = final_sign(*weights_of(model), slope, X, y)
            assert (sign != 1) == (run.output < 0) == changes
            # the rounded kink of the reference leaves up to 1.7e-9
            assert gap(end_of(model, X, y, sign), run.predictor) < 2e-8
            assert gap(end_of(model, X, y, -sign), run.predictor) > 1e-2


class TestLimit:
    @pytest.mark.parametrize("slope", SLOPES)
    @pytest.mark.parametrize("samples", [4, 7])
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_limits_are_those_of_the_closed_form(self, scale, samples, slope):
        """Every shape and both signs of a; where a changes its sign, a refusal."""
        for number, shape in enumerate((-0.9, 0.0, 0.5, 0.99) if slope < 1 else (-0.9, -0.4, 0.0, 0.5, 0.99)):
            for sign in (1, -1):
                model, X, y = draw(scale, shape, sign, slope, 10 * number + sign + 1, samples)
                if final_sign(*weights_of(model), slope, X, y) != sign:
                    assert_refused_or_equal(model, X, y)
                    continue
                found = tacit.limit(model, X, y)
                assert found.converged
                assert gap(found.predictor, end_of(model, X, y)) < 1e-10

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("shape", [-0.9, -0.2, 0.0, 0.6, 0.99])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_limits_of_linear_neurons_agree_with_simulated_flows(self, scale, shape, sign):
        for seed in range(30, 40):
            model, X, y = draw(scale, shape, sign, 1.0, seed)
            run = neuron_flow(*weights_of(model), 1.0, X, y)
            if np.sign(run.output) == sign:
                break
        assert gap(tacit.limit(model, X, y).predictor, run.predictor) < 1e-8

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
        rows = np.vstack([X, X[0] + 2 * X[1]])  # what the neuron says there once it fits the rest
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
        """The flow ends at |a∞|·P⊥w̃(0)/|a(0)|, a∞² = δ + ‖P⊥w(0)‖², or at 0 where that is negative."""
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
    def test_no_output_weight_is_answered_rightly_or_refused(self, slope):
        """a'(0) = Σ yₙσ(w·xₙ)/N decides the sign of a."""
        for seed in range(12):
            _, X, y = draw(1.0, 0.0, 1, slope, seed)
            w = 0.6 * np.random.default_rng(seed).standard_normal(7)
            t = X @ w
            sign = np.sign(y @ np.maximum(t, slope * t))
            assert final_sign(sign * 1e-9, w, slope, X, y) == sign
            try:
                found = tacit.limit(tacit.Neuron(0.0, w, slope), X, y)
            except tacit.NoPotentialError:
                continue
            assert gap(found.predictor, neuron_end(0.0, w, X, leaky_targets(y, slope, sign), sign)) < 1e-8

    def test_saddles_are_refused(self):
        """No output weight and w ⟂ Xᵀy never move; balanced and opposite, a and w shrink to 0 for ever."""
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


CHANGES = r"output weight[^;:,.]* changes sign"


def assert_refused_or_equal(model, X, y):
    """A neuron whose output weight changes its sign: refused by name; or right, where both signs agree."""
    try:
        found = tacit.limit(model, X, y).predictor
    except tacit.NoPotentialError as refusal:
        message = str(refusal)
    else:
        message = None
        assert gap(found, end_of(model, X, y, -np.sign(model.output))) < 1e-8
    assert message is None or re.search(CHANGES, message)


class TestChangeOfSign:
    def test_the_error_says_so(self):
        model, X, y = draw(1.0, -0.9, 1, 1.0, seed=1)
        assert final_sign(*weights_of(model), 1.0, X, y) == -1
        with pytest.raises(tacit.NoPotentialError, match=CHANGES):
            tacit.limit(model, X, y)

    @pytest.mark.parametrize("slope", [1.0, 0.5, 0.1])
    @pytest.mark.parametrize(("samples", "features"), [(1, 3), (4, 7), (6, 7)])
    def test_it_is_never_answered_with_the_wrong_formula(self, samples, features, slope):
        """Random starts above the loss of the zero predictor: refused if a flips, right if it does not."""
        flips = kept = 0
        for seed in range(100, 160 if slope == 1 else 120):
            rng = np.random.default_rng(seed)
            shape, scale = rng.uniform(-0.97, -0.02), 10 ** rng.uniform(-2, 2)
            model, X, y = draw(scale, shape, rng.choice([-1, 1]), slope, seed, samples, features)
            if not above_the_saddle(model, X, y):
                continue
            sign = final_sign(*weights_of(model), slope, X, y)
            if sign != np.sign(model.output):
                flips += 1
                assert_refused_or_equal(model, X, y)
            else:
                kept += 1
                assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y)) < 1e-8
        assert flips >= 2 and kept >= (0 if samples == 1 else 2)

    def test_close_to_the_border(self):
        """A family of starts along which a begins to flip: both sides of the border are told apart."""
        _, X, y = draw(1.0, 0.0, 1, 1.0, seed=1)
        _, flipping = weights_of(draw(1.0, -0.9, 1, 1.0, seed=1)[0])
        below, above = 1e-3, 40.0
        for _ in range(20):
            middle = np.sqrt(below * above)
            same = final_sign(middle, flipping, 1.0, X, y) == 1
            below, above = (below, middle) if same else (middle, above)
        assert above < 1.01 * below
        model = tacit.Neuron(1.01 * above, flipping)
        assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y)) < 1e-8
        assert_refused_or_equal(tacit.Neuron(0.99 * below, flipping), X, y)

    @pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-9, 1e-20, 1e-120, 1e-170])
    def test_small_starts_keep_or_change_it_as_linear_flows_do(self, size):
        """a(t) = a cosh kt + (ĝ·ω) sinh kt with ĝ along Xᵀy, while the predictor is small."""
        decided = []
        for seed in range(20):
            rng = np.random.default_rng([seed, 5])
            X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
            final = 0.6 + w @ (X.T @ y) / np.linalg.norm(X.T @ y)
            if abs(final) < 0.1:
                continue
            decided.append(final > 0)
            model = tacit.Neuron(0.6 * size, size * w)
            if final > 0:
                found = tacit.limit(model, X, y)
                assert found.converged and gap(found.predictor, np.linalg.pinv(X) @ y) < 100 * size + 1e-12
            else:
                with pytest.raises(tacit.NoPotentialError, match=CHANGES):
                    tacit.limit(model, X, y)
        assert any(decided) and not all(decided)

    @pytest.mark.parametrize("slope", [1.0, 0.3])
    def test_an_output_weight_above_what_is_seen_keeps_it_without_a_flow(self, slope, monkeypatch):
        """a² − ‖ω∥‖² is constant: no target, however far, moves a through 0."""
        rng = np.random.default_rng(3)
        X, hidden = rng.standard_normal((2, 7)), rng.standard_normal(7)
        seen = X.T @ np.linalg.solve(X @ X.T, X @ hidden)
        w = 10 * (hidden - seen) + seen / np.linalg.norm(seen)
        model, y = tacit.Neuron(-1.1, w, slope), 30 * np.sign(X @ w)
        assert model.delta < 0 and above_the_saddle(model, X, y)
        monkeypatch.setattr("tacit.flows.flow", None)
        assert gap(tacit.limit(model, X, y).predictor, end_of(model, X, y, -1)) < 1e-10

    @pytest.mark.parametrize("unit", [1e-100, 1e-30, 1e30, 1e100, 1e180])
    def test_units_do_not_matter(self, unit):
        """Samples and targets in another unit make the same flow; so do weights, with the root of theirs."""
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
        rng = np.random.default_rng(0)
        X, y, w = rng.standard_normal((3, 6)), rng.standard_normal(3), rng.standard_normal(6)
        for problem in [(w, X, unit * y), (w, X / unit, y), (w / np.sqrt(unit), X, y)]:
            with suppress(tacit.TacitError):
                assert tacit.limit(tacit.Neuron(0.3, problem[0]), *problem[1:]).feasibility < 1e-9
