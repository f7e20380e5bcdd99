"""Potentials over the whole floating-point range, compared with high-precision definitions, without "
"warnings."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf
from oracles import bregman, h, h_inverse, q, q_azulay, q_hessian, r, scaled
from properties import examples

from tacit.errors import InputError
from tacit.potentials import L1, Bregman, DeepHypentropy, Hypentropy, Quadratic, WeightDistance

pytestmark = pytest.mark.filterwarnings("error")
TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
DEPTHS = [2, 2.1, 3, 4, 10, 50]
LOG_SCALES = [-1400.0, -700.3, -50.0, -1.0, 0.0, 3.3, 100.0, 700.0]
SIZES = [1e-300, 1e-150, 1e-20, 1e-5, 0.1, 1.0, 30.0, 1e10, 1e150, 1e300]
properties = examples(200)
depths = st.sampled_from(DEPTHS)
log_scales = st.floats(-1400, 700)
sizes = st.floats(-300, 300).map(lambda exponent: 10.0**exponent)
moderate = st.floats(-1e3, 1e3).filter(lambda w: abs(w) > 1e-3)


def potential(depth, log_scale, weight=1.0):
    return Hypentropy(log_scale, weight) if depth == 2 else DeepHypentropy(depth, log_scale, weight)


def worst(function, arguments, exact):
    """Largest relative error of results that are normal floats; for subnormal ones the absolute error."""
    kept = [(a, e) for a, e in zip(arguments, exact, strict=True) if abs(e) < HUGE]
    results = np.asarray(function(np.array([a for a, _ in kept])))
    assert results.shape == (len(kept),)
    gaps = [abs(mpf(float(v)) - e) for v, (_, e) in zip(results, kept, strict=True)]
    assert all(gap <= 2 * TINY for gap, (_, e) in zip(gaps, kept, strict=True) if abs(e) < TINY)
    return max(
        [float(gap / abs(e)) for gap, (_, e) in zip(gaps, kept, strict=True) if abs(e) >= TINY], default=0
    )


def each(function):
    return lambda w: [function(np.array([v])) for v in w]


@pytest.mark.every(10)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_value_gradient_and_hessian_match_the_definitions(depth, log_scale):
    w = [0.0, *SIZES]
    exact = {f: [scaled(f, v, log_scale, depth, digits=25) for v in w] for f in (q, h_inverse, q_hessian)}
    Q = potential(depth, log_scale)
    for sign in (1.0, -1.0):
        signed = [sign * v for v in w]
        assert worst(each(Q.value), signed, exact[q]) <= 1e-12
        assert worst(Q.gradient, signed, [sign * v for v in exact[h_inverse]]) <= 1e-12
        assert worst(Q.hessian, signed, exact[q_hessian]) <= 1e-12


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_mirror_map_matches_its_definition(depth, log_scale):
    """m·h_D(z), up to the last float below 1 for D > 2."""
    z = [1e-300, 1e-20, 1e-9, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53]
    z = [0.0, *z] if depth > 2 else [0.0, *z, 5.0, 40.0, 300.0, 690.0, 1400.0, 2100.0]
    with mp.workdps(700):
        exact = [mp.exp(mpf(log_scale)) * h(mpf(v), depth) for v in z]
    Q = potential(depth, log_scale)
    assert worst(Q.mirror, z, exact) <= 1e-12
    assert worst(Q.mirror, [-v for v in z], [-v for v in exact]) <= 1e-12


@pytest.mark.every(4)
@pytest.mark.parametrize("log_scale", [-1400.0, -20.0, 0.0, 5.0, 700.0])
def test_weight_distance_is_the_smallest_root_of_the_quartic(log_scale):
    """Woodworth et al. 2020, equation 9: R = Σ m r(w/m), whose derivatives are those of q₄."""
    R, w = WeightDistance(log_scale), [0.0, *SIZES]
    assert worst(each(R.value), w, [scaled(r, v, log_scale, digits=25) for v in w]) <= 1e-12
    assert worst(R.gradient, w, [scaled(h_inverse, v, log_scale, 4, digits=25) for v in w]) <= 1e-12
    assert worst(R.hessian, w, [scaled(q_hessian, v, log_scale, 4, digits=25) for v in w]) <= 1e-12


def test_half_a_hypentropy_is_the_potential_of_azulay():
    """Azulay et al. 2021, Theorem 1, with k from 1e-200 to 1e200."""
    for k in (1e-200, 1e-3, 1.0, 1e4, 1e200):
        Q = Hypentropy(float(mp.log(mp.sqrt(mpf(k)) / 4)), weight=0.5)
        with mp.workdps(900):
            exact = [q_azulay(mpf(w), mpf(k)) for w in SIZES]
        assert worst(each(Q.value), SIZES, exact) <= 1e-12


@pytest.mark.parametrize("depth", DEPTHS)
def test_coordinates_add_up_with_their_own_scales_and_weights(depth):
    w, log_scale, weight = np.array([0.5, -3, 0, 20]), np.array([-5, 0, 2, 5.0]), np.array([1, 0.3, 2, 7.0])
    Q = potential(depth, log_scale, weight)
    alone = [potential(depth, s, a) for s, a in zip(log_scale, weight, strict=True)]
    np.testing.assert_allclose(Q.value(w), sum(P.value(w[[i]]) for i, P in enumerate(alone)), rtol=1e-14)
    assert isinstance(Q.value(w), float)
    slopes = [a * float(scaled(h_inverse, v, s, depth)) for v, s, a in zip(w, log_scale, weight, strict=True)]
    np.testing.assert_allclose(Q.gradient(w), slopes, rtol=1e-12)
    np.testing.assert_allclose(Q.hessian(w), [P.hessian(w[[i]])[0] for i, P in enumerate(alone)], rtol=1e-14)
    np.testing.assert_allclose(Q.mirror(Q.gradient(w)), w, rtol=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("depth", [2, 3])
def test_lists_and_jax_arrays_are_accepted(depth):
    jax = pytest.importorskip("jax")
    Q, w = potential(depth, -1.0), [0.5, -2.0, 0.0]
    with jax.enable_x64(True):
        for method in (Q.value, Q.gradient, Q.hessian):
            np.testing.assert_allclose(method(w), method(np.array(w)), rtol=1e-15)
            np.testing.assert_allclose(method(jax.numpy.asarray(w)), method(np.array(w)), rtol=1e-12)
    np.testing.assert_allclose(Q.gradient(jax.numpy.asarray(w)), Q.gradient(w), rtol=1e-5)


def test_quadratic_takes_a_number_a_diagonal_or_a_matrix():
    w, diagonal, full = np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([[2.0, 1.0], [1.0, 3.0]])
    for metric, matrix in [(4.0, 4 * np.eye(2)), (diagonal, np.diag(diagonal)), (full, full)]:
        Q = Quadratic(metric)
        np.testing.assert_allclose(Q.value(w), w @ matrix @ w / 2, rtol=1e-15)
        np.testing.assert_allclose(Q.gradient(w), matrix @ w, rtol=1e-15)
        np.testing.assert_allclose(Q.mirror(Q.gradient(w)), w, rtol=1e-14)
        hessian = np.asarray(Q.hessian(w))
        np.testing.assert_array_equal(hessian if hessian.ndim == 2 else hessian * np.eye(2), matrix)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_metric_is_symmetric_and_positive_definite_in_any_unit(unit):
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    units = np.array([1.0, unit])
    for matrix in (unit * good, good * units[:, None] * units, np.diag([1.0, 1e16])):
        np.testing.assert_array_equal(Quadratic(matrix).metric, matrix)
    rounded = good + np.array([[0.0, 1e-15], [0.0, 0.0]])
    np.testing.assert_allclose(Quadratic(unit * rounded).metric, unit * good, rtol=1e-15)
    assert (Quadratic(rounded).metric == Quadratic(rounded).metric.T).all()
    for bad in (
        [[1.0, 0.9], [0.0, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[0.0, 0.0]] * 2,
    ):
        for matrix in (unit * np.array(bad), np.array(bad) * units[:, None] * units):
            with pytest.raises(InputError, match="symmetric and positive definite"):
                Quadratic(matrix)
    with pytest.raises(InputError, match="symmetric"):
        Quadratic(np.ones((2, 3)))


def test_l1_is_the_weighted_sum_of_absolute_values():
    assert L1().value([1.0, -2.0, 0.0]) == 3
    assert L1(0.5).value([1.0, -2.0, 0.0]) == 1.5
    np.testing.assert_array_equal(L1(0.5).gradient([1.0, -2.0]), [0.5, -0.5])


@properties
@given(z=st.floats(-700, 700), log_scale=log_scales)
def test_gradient_inverts_the_mirror_map_of_the_hypentropy(z, log_scale):
    assume(z == 0 or -700 < log_scale + abs(z) + min(0, np.log(abs(z))) < 700)
    Q = Hypentropy(log_scale)
    np.testing.assert_allclose(Q.gradient(Q.mirror(np.array([z]))), [z], rtol=2.5e-12)


@properties
@given(
    z=st.floats(-0.999, 0.999), log_scale=st.floats(-300, 300), depth=depths.filter(lambda depth: depth > 2)
)
def test_gradient_inverts_the_mirror_map_of_the_deep_hypentropy(z, log_scale, depth):
    assume(z == 0 or abs(z) > 1e-150)
    Q = DeepHypentropy(depth, log_scale)
    np.testing.assert_allclose(Q.gradient(Q.mirror(np.array([z]))), [z], rtol=2.5e-12)


@properties
@given(a=moderate, b=moderate, log_scale=st.floats(-100, 100), depth=depths)
def test_potentials_are_even_convex_and_least_at_zero(a, b, log_scale, depth):
    Q = potential(depth, log_scale)
    left, right, middle = (Q.value(np.array([v])) for v in (a, b, (a + b) / 2))
    assert left > 0 == Q.value(np.array([0.0]))
    assert Q.value(np.array([-a])) == left
    assert middle <= (left + right) / 2 * (1 + 1e-12)
    assert (Q.gradient(np.array([a])) - Q.gradient(np.array([b])))[0] * (a - b) >= 0
    assert Q.gradient(np.array([-a]))[0] == -Q.gradient(np.array([a]))[0]


@properties
@given(w=moderate, log_scale=st.floats(-300, 300), doublings=st.integers(-300, 300), depth=depths)
def test_scaling_predictor_and_scale_together_scales_the_potential(w, log_scale, doublings, depth):
    """Q_{cm}(c·w) = c·Q_m(w)."""
    whole = potential(depth, log_scale + doublings * np.log(2)).value([w * 2.0**doublings])
    np.testing.assert_allclose(whole, potential(depth, log_scale).value([w]) * 2.0**doublings, rtol=3e-12)


@properties
@given(w=moderate, depth=depths)
def test_large_scale_is_a_parabola_and_small_scale_the_absolute_value(w, depth):
    """(D−2)w²/4Dm (w²/4m for D = 2) and |w| − (D/2)|w|^{2/D} m^{1−2/D} (|w|(log|w|/m − 1) for D = 2)."""
    size, power = abs(w), 2 / depth
    flat = w**2 * np.exp(-60) * (1 / 4 if depth == 2 else (depth - 2) / (4 * depth))
    sharp = size - size**power / power * np.exp(-200 * (depth - 2) / depth)
    rich = size * (np.log(size) + 199) if depth == 2 else sharp
    np.testing.assert_allclose(potential(depth, 60.0).value([w]), flat, rtol=2e-12)
    np.testing.assert_allclose(potential(depth, -200.0).value([w]), rich, rtol=2e-12)


@properties
@given(w=st.lists(moderate, min_size=6, max_size=6), order=st.permutations(range(6)), depth=depths)
def test_permuting_coordinates_permutes_everything(w, order, depth):
    w, log_scale = np.array(w), np.linspace(-30, 5, 6)
    Q, shuffled = potential(depth, log_scale), potential(depth, log_scale[list(order)])
    np.testing.assert_allclose(shuffled.value(w[list(order)]), Q.value(w), rtol=1e-14)
    np.testing.assert_allclose(shuffled.gradient(w[list(order)]), Q.gradient(w)[list(order)], rtol=1e-14)
    np.testing.assert_allclose(shuffled.hessian(w[list(order)]), Q.hessian(w)[list(order)], rtol=1e-14)


@properties
@given(w=moderate, log_scale=st.floats(-2, 8), depth=depths)
def test_hessian_is_the_derivative_of_the_gradient(w, log_scale, depth):
    Q, ends = potential(depth, log_scale), np.array([w * (1 - 1e-4), w * (1 + 1e-4)])
    difference = np.diff(Q.gradient(ends)) / np.diff(ends)
    np.testing.assert_allclose(Q.hessian(np.array([w])), difference, rtol=1e-6)


@pytest.mark.every(4)
@pytest.mark.parametrize("depth", [2, 3, 10])
@pytest.mark.parametrize("log_scale", [-30.0, 0.0, 5.0])
@pytest.mark.parametrize("origin", [1e-3, -1.0, 50.0])
def test_bregman_divergence_keeps_its_digits_near_the_origin(depth, log_scale, origin):
    D = Bregman(potential(depth, log_scale), np.array([origin]))
    for change in (-1.5, -0.1, 1e-2, -1e-4, 1e-6, -1e-9, 1e-12, 2**-52):
        w = origin * (1 + change)
        exact = float(bregman(w, origin, log_scale, depth))
        np.testing.assert_allclose(D.value(np.array([w])), exact, rtol=1e-10)


@properties
@given(w=moderate, origin=moderate, log_scale=st.floats(-50, 10), depth=depths)
def test_bregman_divergence_is_least_at_its_origin(w, origin, log_scale, depth):
    Q, w, origin = potential(depth, log_scale), np.array([w]), np.array([origin])
    D = Bregman(Q, origin)
    assert D.value(w) >= 0 == D.value(origin)
    assert D.gradient(origin)[0] == 0
    np.testing.assert_allclose(D.gradient(w), Q.gradient(w) - Q.gradient(origin), atol=1e-14, rtol=1e-12)
    np.testing.assert_array_equal(D.hessian(w), Q.hessian(w))
