"""The potentials of neurons over the whole floating-point range, compared with high-precision definitions.

Azulay et al. 2021, Theorem 2 and Proposition 1, with q̂' = (3/2)√P and δ of either sign.
"""

from itertools import chain

import numpy as np
import pytest
from connected_oracles import enough_digits, inner_size, length, q_hat
from mpmath import mp, mpf

import tacit
from tacit.potentials import Bregman, NeuronPotential, Power

TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
DELTAS = [0.0, *(s * 10.0**e for s in (1, -1) for e in (-300, -120, -3, 0, 2, 120, 300))]
SIZES = [1e-300, 1e-150, 1e-20, 1e-5, 0.1, 1.0, 30.0, 1e10, 1e150, 1e300]
ALONG = np.array([0.36, -0.48, 0.8])


@pytest.mark.parametrize("delta", DELTAS)
def test_value_and_gradient_match_the_definition(delta):
    Q, compared = NeuronPotential(delta), np.zeros(2, int)
    for size in SIZES:
        w = size * ALONG
        x = length(w)
        with enough_digits(x, delta):
            x = length(w)
            value, slope = q_hat(x, delta), mpf(1.5) * inner_size(x, delta)
            if TINY < abs(value) < HUGE:
                assert abs(mpf(float(Q.value(w))) / value - 1) <= 1e-12
                compared[0] += 1
            expected = [slope * mpf(float(v)) / x for v in w]
            if all(TINY < abs(v) < HUGE for v in expected):
                errors = [abs(mpf(float(g)) / e - 1) for g, e in zip(Q.gradient(w), expected, strict=True)]
                assert max(errors) <= 1e-12
                compared[1] += 1
    assert compared[1] >= 3 and (compared[0] >= 3 or delta == 1e300)  # its power 3/2 overflows


@pytest.mark.parametrize("delta", DELTAS)
def test_hessian_matches_the_definition(delta):
    """(q̂'/x)(I − uuᵀ) + q̂''·uuᵀ with q̂'' = ¾x/(√P·√(x² + δ²/4))."""
    Q, compared = NeuronPotential(delta), 0
    for size in SIZES:
        w = size * ALONG
        with enough_digits(length(w), delta):
            x = length(w)
            root = inner_size(x, delta)
            around = mpf(1.5) * root / x
            along = mpf(0.75) * x / (root * mp.sqrt(x**2 + mpf(delta) ** 2 / 4))
            u = [mpf(float(v)) / x for v in w]
            exact = [[along * a * b + around * ((i == j) - a * b) for j, b in enumerate(u)]
                     for i, a in enumerate(u)]  # fmt: skip
            if not TINY < max(map(abs, chain(*exact))) < HUGE:
                continue
            found = np.asarray(Q.hessian(w))
            assert found.shape == (3, 3)
            errors = [abs(mpf(float(found[i, j])) - exact[i][j]) for i in range(3) for j in range(3)]
            assert max(errors) <= 1e-12 * max(map(abs, chain(*exact)))
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("delta", [0.0, 1.0, 1e8, -1e-8, -1.0, -1e8])
def test_no_entry_of_the_hessian_is_lost_to_a_larger_one(delta):
    """For δ < 0, q̂'/x (orthogonal to w) is much larger than q̂'' (along w), and every entry is accurate."""
    for w in ([1e-9], [1e-3], [1e5], [1e-9, 0.0], [3e-7, 4e-13], [1e-2, 1e-8, -1e-5]):
        found = np.asarray(NeuronPotential(delta).hessian(w))
        with enough_digits(length(w), delta or 1.0, digits=60):
            x = length(w)
            root = inner_size(x, delta)
            around = mpf(1.5) * root / x
            along = mpf(0.75) * x / (root * mp.sqrt(x**2 + mpf(delta) ** 2 / 4))
            u = [mpf(float(v)) / x for v in w]
            exact = [[along * a * b + around * ((i == j) - a * b) for j, b in enumerate(u)]
                     for i, a in enumerate(u)]  # fmt: skip
            for i, j in np.ndindex(found.shape):
                # the largest error that the round-off of its argument can explain
                parts = abs(along * u[i] * u[j]) + abs(exact[i][j])
                assert abs(mpf(float(found[i, j])) - exact[i][j]) <= 1e-12 * parts


@pytest.mark.parametrize("Q", [NeuronPotential(0.0), NeuronPotential(-4.0), Power(1.5), Power(3.0)])
def test_the_hessian_at_zero_is_the_same_in_all_directions(Q):
    limit = 0.0 if isinstance(Q, Power) and Q.exponent > 2 else np.inf
    np.testing.assert_array_equal(Q.hessian(np.zeros(3)), np.where(np.eye(3) > 0, limit, 0.0))


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1.0, 1e9, -1e-9, -1.0, -1e9])
def test_differences_of_slopes_keep_their_digits(delta):
    """(3/2)(ω − ω₀) for w close to w₀, and for w and w₀ of very different size."""
    origin = np.array([0.7, -0.2, 0.4])
    others = [f * origin for f in (1e-30, 1e-12, 1e-3, 1e3, 1e12)]
    others += [origin + step * np.array([0.3, 1.0, -0.2]) for step in (1.0, 1e-3, 1e-7, 1e-13)]
    others += [1e-31 * np.array([1.0, 2.0, 3.0]), 1e20 * np.array([1.0, 2.0, 3.0])]
    for w in others:
        change = np.linalg.norm(w - origin) / max(np.linalg.norm(w), np.linalg.norm(origin))
        with enough_digits(min(length(w), length(origin)), delta or 1.0, digits=60):
            (end, size), (start, first) = ((v, length(v)) for v in (w, origin))
            ends = [inner_size(size, delta) * mpf(float(v)) / size for v in end]
            starts = [inner_size(first, delta) * mpf(float(v)) / first for v in start]
            exact = [mpf(1.5) * (a - b) for a, b in zip(ends, starts, strict=True)]
            found = NeuronPotential(delta).slope_from(w, origin)
            error = max(abs(mpf(float(a)) - b) for a, b in zip(found, exact, strict=True))
            assert error <= 1e-14 * change * max(map(abs, ends + starts))


def test_slopes_at_the_tip_of_a_cone_fill_a_ball():
    """∂Q(0) = {‖z‖ ≤ (3/2)√−δ}; elsewhere the subgradient is unique."""
    Q, z = NeuronPotential(-4.0), np.array([2.0, 2.0, 0.5])
    assert np.linalg.norm(z) < 3
    np.testing.assert_array_equal(Q.nearest_slope(np.zeros(3), z), z)
    np.testing.assert_allclose(Q.nearest_slope(np.zeros(3), 10 * z), 3 * z / np.linalg.norm(z), rtol=1e-14)
    np.testing.assert_array_equal(Q.nearest_slope(np.zeros(3), 0 * z), 0)
    np.testing.assert_array_equal(Q.nearest_slope(ALONG, z), Q.gradient(ALONG))
    np.testing.assert_array_equal(Power().nearest_slope(np.zeros(3), z), 0)


@pytest.mark.parametrize("delta", DELTAS)
def test_mirror_inverts_the_gradient(delta):
    """‖w̃‖ = √P·√(P + δ) with √P = ⅔‖z‖; below the kink at ‖z‖ = (3/2)√−δ it is 0."""
    Q, kink, compared = NeuronPotential(delta), 1.5 * np.sqrt(max(0.0, -delta)), 0
    for size in [kink * f for f in (1.001, 1.5, 1e3, 1e60)] if kink else [1e-150, 1e-3, 1.0, 1e3, 1e140]:
        z = size * ALONG
        with mp.workdps(700):
            P = (2 * length(z) / 3) ** 2
            factor = mp.sqrt(P) * mp.sqrt(P + mpf(delta)) / length(z)
            exact = [factor * mpf(float(v)) for v in z]
        if all(TINY < abs(v) < HUGE for v in exact):
            pairs = zip(Q.mirror(z), exact, strict=True)
            assert max(abs(mpf(float(f)) / e - 1) for f, e in pairs) <= (
                1e-12 if size != 1.001 * kink else 1e-9
            )
            np.testing.assert_allclose(Q.gradient(Q.mirror(z)), z, rtol=1e-12)
            compared += 1
    assert compared >= 2
    if kink:
        np.testing.assert_array_equal(Q.mirror(0.999 * kink * ALONG), 0)


@pytest.mark.parametrize("delta", [-2.0, 0.0, 2.0])
def test_derivatives_are_those_of_the_value(delta):
    Q, w, steps = NeuronPotential(delta), 1.3 * ALONG, 1e-5 * np.eye(3)
    slopes = [(Q.value(w + h) - Q.value(w - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(Q.gradient(w), slopes, rtol=1e-8)
    bends = [(Q.gradient(w + h) - Q.gradient(w - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(Q.hessian(w), bends, rtol=1e-8, atol=1e-9)


def test_at_zero():
    for delta in (4.0, 1e-200):
        Q = NeuronPotential(delta)
        np.testing.assert_allclose(Q.value(np.zeros(3)), -(delta**1.5) / 2, rtol=1e-13)
        np.testing.assert_array_equal(Q.gradient(np.zeros(3)), 0)
        np.testing.assert_allclose(Q.hessian(np.zeros(3)), 1.5 / np.sqrt(delta) * np.eye(3), rtol=1e-13)
    for Q in (NeuronPotential(0.0), NeuronPotential(-4.0), Power()):
        assert Q.value(np.zeros(3)) == 0
        assert np.linalg.norm(Q.gradient(np.zeros(3))) <= 3.0 + 1e-15  # the ball of radius (3/2)√−δ


@pytest.mark.parametrize("exponent", [1.5, 1.1, 2.0, 3.0])
def test_powers_of_the_length(exponent):
    Q = Power(exponent=exponent)
    for size in (1e-150, 1e-3, 1.0, 1e3, 1e100):
        w = size * ALONG
        with mp.workdps(60):
            x, p = length(w), mpf(exponent)
            value, factor = x**p, p * x ** (p - 2)
            exact = [factor * mpf(float(v)) for v in w]
            u = [mpf(float(v)) / x for v in w]
        if TINY < value < HUGE:
            np.testing.assert_allclose(Q.value(w), float(value), rtol=1e-12)
        np.testing.assert_allclose(Q.gradient(w), [float(v) for v in exact], rtol=1e-12)
        np.testing.assert_allclose(Q.mirror(Q.gradient(w)), w, rtol=1e-11)
        outer = np.array([[float(a * b) for a in u] for b in u])
        expected = float(factor) * (np.eye(3) + (exponent - 2) * outer)
        np.testing.assert_allclose(Q.hessian(w), expected, rtol=0, atol=1e-12 * float(factor))


def test_a_balanced_neuron_has_the_power_three_halves():
    for w in (1e-9 * ALONG, ALONG, 1e9 * ALONG):
        for name in ("value", "gradient", "hessian"):
            found, expected = (getattr(Q, name)(w) for Q in (NeuronPotential(0.0), Power(1.5)))
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_allclose(NeuronPotential(0.0).mirror(w), Power().mirror(w), rtol=1e-13)


@pytest.mark.parametrize("Q", [NeuronPotential(3.0), NeuronPotential(-0.4), Power(1.5)])
def test_divergences_from_an_origin(Q):
    rng = np.random.default_rng(0)
    origin, w = rng.standard_normal(3), rng.standard_normal(3)
    D = Bregman(Q, origin)
    expected = Q.value(w) - Q.value(origin) - Q.gradient(origin) @ (w - origin)
    np.testing.assert_allclose(D.value(w), expected, rtol=1e-12)
    np.testing.assert_allclose(D.gradient(w), Q.gradient(w) - Q.gradient(origin), rtol=1e-12)
    np.testing.assert_array_equal(D.hessian(w), Q.hessian(w))
    np.testing.assert_allclose(D.mirror(D.gradient(w)), w, rtol=1e-12)
    assert abs(D.value(origin)) < 1e-15
    np.testing.assert_allclose(D.gradient(origin), 0, atol=1e-15)


@pytest.mark.parametrize("delta", [1e3, 2.0, 0.0, -2.0])
def test_divergences_keep_their_digits_near_the_origin(delta):
    origin = 1.7 * ALONG
    for change in (0.1, -1e-3, 1e-6, -1e-9):
        w = origin + change * np.array([0.3, 1.0, -0.2])
        with mp.workdps(60):
            start, end = length(origin), length(w)
            slope = mpf(1.5) * inner_size(start, delta) / start
            move = mp.fsum(
                mpf(float(o)) * (mpf(float(v)) - mpf(float(o))) for o, v in zip(origin, w, strict=True)
            )
            exact = float(q_hat(end, delta) - q_hat(start, delta) - slope * move)
        np.testing.assert_allclose(Bregman(NeuronPotential(delta), origin).value(w), exact, rtol=1e-6)


@pytest.mark.parametrize("slope", [1.0, 0.3])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shape", [-0.7, 0.0, 0.9])
def test_the_potential_of_a_neuron_is_least_at_its_start(shape, sign, slope):
    """q̂(‖w̃‖) + z·w̃ with ∇q(w̃(0)) = 0, up to a constant."""
    model = tacit.Neuron.from_scale(0.8, shape, np.random.default_rng(2).standard_normal(7), sign, slope)
    Q, a, w = model.potential(7), model.output, model.weights
    delta, start = a * a - w @ w, a * w
    np.testing.assert_allclose(Q.gradient(start), 0, atol=1e-13)
    z = -1.5 * np.sign(a) * w
    others = np.random.default_rng(3).standard_normal((5, 7))
    values = [float(q_hat(np.linalg.norm(v), delta)) + z @ v for v in others]
    found = [float(Q.value(v)) for v in others]
    np.testing.assert_allclose(np.diff(found), np.diff(values), rtol=1e-10)
    assert min(found) > Q.value(start)
    for v in others:
        size = np.linalg.norm(v)
        np.testing.assert_allclose(
            Q.gradient(v), 1.5 * float(inner_size(size, delta)) * v / size + z, rtol=1e-11
        )
        np.testing.assert_allclose(Q.mirror(Q.gradient(v)), v, rtol=1e-10)
    with pytest.raises(tacit.InputError):
        model.potential(6)
