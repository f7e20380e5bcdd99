"""Verdicts do not depend on the size of θ₀, and every law that is reported holds."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from maps import neuron, two_neurons
from properties import some
from scaled_maps import MAPS, SCALES

import tacit
from tacit.derivation.length_scale import length_scale
from tacit.derivation.smooth_map import checked_model


def unit_field(function, theta):
    """Jᵀc divided by its norm, with J from finite differences."""
    small, first = mpmath.mpf(10) ** -25, function(theta)
    slope = []
    for j in range(len(theta)):
        ahead = function([each + (small if k == j else 0) for k, each in enumerate(theta)])
        slope.append(
            sum((x - y) / small * mpmath.cos(i) for i, (x, y) in enumerate(zip(ahead, first, strict=True)))
        )
    size = mpmath.sqrt(sum(each**2 for each in slope))
    return [each / size for each in slope]


def flows_keep(function, start, law, length):
    """The change of the law along a flow θ' = Jᵀc in fifty digits, relative to |∇I| times the length."""
    with mpmath.workdps(50):
        theta = [mpmath.mpf(float(each)) for each in start]
        first, step = value_of(law, theta), mpmath.mpf(length) / _STEPS
        for _ in range(_STEPS):  # the midpoint rule: errors are of the order (1/50)²
            half = [at + step / 2 * s for at, s in zip(theta, unit_field(function, theta), strict=True)]
            theta = [at + step * s for at, s in zip(theta, unit_field(function, half), strict=True)]
        return float(abs(value_of(law, theta) - first) / (length * size_of(law, theta)))


def value_of(law, theta):
    p = range(len(theta))
    linear = sum(mpmath.mpf(law.linear[i]) * theta[i] for i in p)
    return linear + sum(mpmath.mpf(law.quadratic[i, j]) * theta[i] * theta[j] for i in p for j in p)


def size_of(law, theta):
    """|∇I|."""
    p = range(len(theta))
    slope = [law.linear[i] + 2 * sum(law.quadratic[i, j] * theta[j] for j in p) for i in p]
    return mpmath.sqrt(sum(each**2 for each in slope))


_STEPS = 50
DIRECTION = np.array([1.0, 0.5, -0.3, 0.8])


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1e-10, 1e-8, 1e-4, 1.0, 1e6])
def test_a_neuron_with_an_offset_is_warped_at_every_scale(scale):
    found = tacit.derive(lambda t: (1 + t[0]) * t[1:], scale * DIRECTION, samples=3)
    assert found.kind == "warped"
    (law,) = found.conserved
    assert law.text == "θ₁² − θ₂² − θ₃² − θ₄² + 2·θ₁"


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [1e-8, 1e-6])
def test_laws_hold_along_flows_in_fifty_digits(scale):
    shift = np.array([0.7, -0.4, 1.1])
    found = tacit.derive(lambda t: (1 + t[0]) * (jnp.asarray(shift) + t[1:]), scale * DIRECTION, samples=3)
    assert found.kind == "warped" and len(found.conserved) == 1

    def exact(theta):
        return [(1 + theta[0]) * (float(c) + each) for c, each in zip(shift, theta[1:], strict=True)]

    (law,) = found.conserved
    wrong = replace(law, quadratic=0 * law.quadratic)  # quantities that appear to be conserved at this size
    assert flows_keep(exact, found.theta0, law, 0.3) < 1e-4
    assert flows_keep(exact, found.theta0, wrong, 0.3) > 1e-2


@pytest.mark.parametrize("scale", [1e-8, 1e-5, 1.0, 1e3])
def test_a_coupling_is_seen_at_every_scale(scale):
    assert tacit.derive(lambda t: t + t[::-1] ** 2, scale * np.array([1.0, 2.0]), samples=3).kind == "none"


def test_terms_too_small_to_be_seen_at_the_start_make_the_verdict_undecided():
    """At 1e6 this is a permutation of fifth powers up to 1e-24, and at 1 it is not a mirror flow."""
    found = tacit.derive(lambda t: t + t[::-1] ** 5, 1e6 * np.array([1.0, 2.0]), samples=3)
    assert found.kind == "undecided" and "too small to be seen" in found.reason


@pytest.mark.parametrize("scale", [1e-10, 1e-6, 1e-2])
def test_round_off_at_far_multiples_contradicts_nothing(scale):
    """At 1e4 the Jacobian is a permuted diagonal matrix up to 1e-8, and the curl of its warp is round-off."""
    found = tacit.derive(lambda t: t + t[::-1] ** 3, scale * np.array([0.63, 1.15]), samples=3)
    assert found.kind == "warped"


def gated(theta):
    """If θ₁ = 0 it stays 0, and w is linear; otherwise the flow is warped."""
    return (1 + theta[0] ** 2) * theta[1:]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("function", "direction"),
    [
        (gated, [0.8, 0.5, -1.1]),
        (gated, [-0.3, -1.1, 0.3]),
        (lambda t: jnp.append(t[1:], t[0] ** 2 * t[2] + t[1]), [0.8, 0.5, -1.1]),
        (lambda t: (1 + t[0] ** 2) * t[2:4] + (1 + t[1] ** 2) * t[4:], [0.8, -0.6, 0.5, -1.1, 0.9, 0.4]),
    ],
    ids=["warped", "warped, too", "off the plane", "none"],
)
@pytest.mark.parametrize("scale", [1e-10, 1e-6])
def test_a_nearly_special_start_is_undecided(function, direction, scale):
    """At 1e-10, terms in θ₁² are 1e-20, and flows from θ₀ do not enlarge them, so they cannot be seen."""
    direction = np.array(direction)
    assert tacit.derive(function, direction, samples=3).kind in ("warped", "none")
    assert tacit.derive(function, scale * direction, samples=3).kind == "undecided"


def test_an_image_that_is_nearly_a_surface_is_undecided():
    """At 1e6 the image of θ/√(1 + |θ|²) is a sphere up to 1e-18, and at 1 it is a ball."""

    def ball(theta):
        return theta / jnp.sqrt(1 + theta @ theta)

    start = np.array([0.9, 0.8, -0.6])
    assert tacit.derive(ball, start, samples=3).kind == "warped"
    found = tacit.derive(ball, 1e6 * start, samples=3)
    assert (found.kind, found.closed) == ("undecided", False)
    assert "at most 1 quantity" in found.summary()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda t: jnp.array([t[0], t[0] ** 2]), "none"),
        (lambda t: jnp.array([t[0] ** 3 + t[0], t[0], jnp.sin(t[0])]), "none"),
        (lambda t: jnp.array([t[0] ** 3 + t[0], 2 * t[0] ** 3 + 2 * t[0]]), "mirror"),
    ],
    ids=["parabola", "in space", "line"],
)
def test_curves_have_the_known_verdict_although_flows_end_on_them(function, kind):
    """On the parabola the critical point is within 0.5 of some starts, in the middle of an orbit."""
    for start in some((-0.4, 1e-8, 0.4, 1.1), 2):
        assert tacit.derive(function, [start], samples=8).kind == kind


def test_a_special_start_keeps_its_verdict():
    found = tacit.derive(gated, [0.0, 0.5, -1.1], samples=3)
    assert (found.kind, found.reachable_dimension) == ("mirror", 2)


def test_the_map_in_other_units_has_the_same_verdict_and_numbers():
    """F(θ/s)·s with s a power of two gives the same floats up to their exponents."""

    def folded(theta):
        return theta + 0.3 * jnp.array([theta[1] ** 2, theta[0] * theta[1]])

    theta, found = np.array([0.4, 0.9]), []
    for unit in (2.0**-30, 1.0, 2.0**20):
        found.append(tacit.derive(lambda t, s=unit: folded(t / s) * s, unit * theta, samples=3))
    assert {each.kind for each in found} == {found[1].kind}
    for each, unit in zip(found, (2.0**-30, 1.0, 2.0**20), strict=True):
        np.testing.assert_allclose(each.hessian_violation, found[1].hessian_violation, rtol=0.5)
        np.testing.assert_allclose(each.length / unit, found[1].length, rtol=1.0)


def test_length_scales_of_known_maps():
    def length(function, start):
        _, jets, theta = checked_model(function, start)
        return length_scale(jets, theta)

    assert 1e-4 < length(jnp.log, [1e-3, 1.0]) < 1e-3  # the pole
    assert 0.1 < length(lambda t: (1 + t[0]) * t[1:], 1e-9 * DIRECTION) < 1
    assert 0.2 < length(jnp.sin, [1e6, 3.0]) < 2
    np.testing.assert_allclose(length(lambda t: 3 * t, [3.0, 4.0]), 5.0)


@pytest.mark.parametrize("scale", [1e-10, 1e-6, 1e-2])
@pytest.mark.parametrize(
    ("function", "length"),
    [
        (lambda t: (1 + t / 10) ** 10 - 1, 0.5),  # J changes by half where t is about 0.5
        (lambda t: (1 + t / 1000) ** 1000 - 1, 0.4),
        (lambda t: jnp.sqrt(1 + t) ** 7 / 3, 0.2),
    ],
    ids=["layers of a residual network", "a thousand layers", "a root"],
)
def test_round_off_of_the_jacobian_does_not_shorten_the_length_scale(function, length, scale):
    """A step far below the last bits of 1 + t may change the rounding of 1 + t, and J amplifies this."""
    for seed in range(5):
        _, jets, theta = checked_model(function, scale * np.array([0.7, 0.5]))
        assert length / 3 < length_scale(jets, theta, seed=seed) < 3 * length
    assert tacit.derive(function, scale * np.array([0.7, 0.5]), samples=3).kind == "mirror"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("function", "start"),
    [
        (lambda t: t**2, [1e-7, 1.0]),
        (jnp.log, [1e-3, 1.0]),
        (lambda t: 1 / t, [1e-3, 2.0]),
        (lambda t: jnp.exp(jnp.log(t)), [1.0, 2.0]),
        (jnp.sin, [1e6, 3.0]),
    ],
    ids=["two sizes", "log", "1/θ", "exp log", "far away"],
)
def test_smooth_maps_are_accepted(function, start):
    assert tacit.derive(function, start, samples=3).kind == "mirror"


def test_orbits_too_short_to_resolve_are_rejected():
    with pytest.raises(tacit.InputError, match="too short to resolve at θ₀"):
        tacit.derive(neuron, DIRECTION, radius=1e-300)


def test_quantities_conserved_nearby_and_at_a_special_start_are_counted_separately():
    direction = np.array([2.0, -1.0]) / np.sqrt(5)
    theta = np.concatenate([[each, *(abs(each) * direction)] for each in (0.5, 1.25)])
    found = tacit.derive(two_neurons, theta, samples=3)
    assert (found.kind, found.conserved_number, found.conserved_here) == ("warped", 3, 4)
    assert "1 more from this special start" in found.summary()


@pytest.mark.parametrize(
    ("function", "start", "here"),
    [
        (lambda t: jnp.array([t[0] ** 2 + t[1] ** 2, t[0] * t[1]]), [1.0, 1.0], 1),
        (lambda t: t**2, [0.0, 1.0], 1),
    ],
    ids=["equal weights", "a weight at 0"],
)
def test_flows_nearby_may_leave_the_line_of_a_special_start(function, start, here):
    """From θ₀, w stays on a line; from starts nearby it moves in the plane and nothing is conserved."""
    found = tacit.derive(function, start, samples=3)
    assert found.basis is not None and found.basis.shape == (2, 1)
    assert (found.conserved_number, found.conserved_here, found.conserved) == (0, here, ())


def test_deep_brackets_do_not_cost_more():
    """Twelve parameters and two features: three levels of brackets, by fields transported along flows."""

    def chained(t):
        first = t[0] * t[1] + t[2] * t[3] ** 2 + t[4] * t[7] * t[8] + t[10] ** 2 * t[11]
        return jnp.array(
            [first, t[5] * t[6] + t[0] ** 3 * t[4] + t[2] * t[9] + t[11] ** 3 + t[8] ** 2 * t[1]]
        )

    found = tacit.derive(chained, np.linspace(0.3, 1.4, 12), samples=2)
    assert (found.kind, found.reachable_dimension, found.conserved_number) == ("none", 9, 3)
    assert "θ₆² − θ₇²" in {law.text for law in found.conserved}


def verdicts(each, scales):
    for scale in scales:
        start = scale * each.start
        if not np.isfinite(each.function(start)).all():  # e^θ at 1e6, which is rejected because it overflows
            continue
        try:
            found = tacit.derive(each.function, start, samples=3)
        except tacit.InputError as error:
            if "saturated" in str(error):  # a softmax at 100
                continue
            raise
        for law in found.conserved:  # at points that the search has not used
            for theta in (np.random.default_rng(7).standard_normal((4, len(each.start)))) * max(scale, 1.0):
                J, slope = found._jets.slopes(theta), law.gradient(theta)
                size = np.linalg.norm(J, axis=1) * np.linalg.norm(slope)
                assert (np.abs(J @ slope) <= 1e-6 * size)[np.isfinite(size)].all()
        yield found.kind


@pytest.mark.thorough
@pytest.mark.parametrize("each", MAPS, ids=lambda each: each.name)
def test_a_hundred_maps_have_one_verdict_at_all_scales(each):
    assert set(verdicts(each, SCALES)) <= {each.kind, "undecided"}


@pytest.mark.thorough_cases("70")  # takes as long as all others
@pytest.mark.parametrize("at", [2, 51, 70])
def test_some_maps_have_one_verdict_at_all_scales(at):
    each = MAPS[at]
    assert set(verdicts(each, [1e-10, 1e-5, 1e3])) <= {each.kind, "undecided"}


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "start", [[0.1, 0.5, -0.3], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.1, 0.2, 0.3, -0.4]]
)
def test_saturation_at_larger_starts_contradicts_nothing(start):
    assert tacit.derive(jax.nn.softmax, np.array(start)).kind == "warped"


@pytest.mark.parametrize(
    ("start", "entry"), [([10.0, 50.0, -30.0], r"w\[1\] = 1"), ([80.0, 30.0, 100.0], r"w\[2\] = 1")]
)
def test_a_saturated_entry_is_named(start, entry):
    with pytest.raises(tacit.InputError, match=entry + " is saturated"):
        tacit.derive(jax.nn.softmax, np.array(start))
