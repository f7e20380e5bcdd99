"""The potential of untied networks with several layers, compared with known special cases."""

import numpy as np
import pytest

import tacit
from tacit.errors import InputError, NoPotentialError

RNG = np.random.default_rng(5)
D = 40
W = RNG.standard_normal(D)
STARTS = {
    "biased": (RNG.standard_normal((3, D)), RNG.standard_normal((3, D))),
    "biased, five": (RNG.standard_normal((5, D)), RNG.standard_normal((5, D))),
    "small": (1e-2 * RNG.standard_normal((4, D)),) * 2,
    "large": (1e3 * RNG.standard_normal((3, D)),) * 2,
    "minus tied": (RNG.standard_normal((3, D)), np.full((3, D), 0.5)),
    "minus dead": (RNG.standard_normal((3, D)), np.array([np.zeros(D), np.zeros(D), np.ones(D)])),
    "a zero layer": (np.array([np.zeros(D), np.ones(D), np.full(D, 0.3)]),) * 2,
}


def potential(name):
    return tacit.UntiedDiagonal.from_layers(*STARTS[name]).potential(D)


@pytest.mark.parametrize("name", STARTS)
def test_value_gradient_hessian_and_mirror_belong_together(name):
    """By central differences of order 4, with an error of 1e-9; the mirror map inverts the gradient."""
    Q = potential(name)
    size = np.abs(W - Q.start(D))
    h = 1e-3 * size
    steps, shares = (-2, -1, 1, 2), (1 / 12, -2 / 3, 2 / 3, -1 / 12)
    slopes = sum(c * Q.gradient(W + k * h) for k, c in zip(steps, shares, strict=True)) / h
    np.testing.assert_allclose(slopes, Q.hessian(W), rtol=1e-6)
    direction = np.sign(Q.gradient(W)) * h
    rise = sum(c * Q.value(W + k * direction) for k, c in zip(steps, shares, strict=True))
    assert rise == pytest.approx(Q.gradient(W) @ direction, rel=1e-6)
    np.testing.assert_allclose(Q.mirror(Q.gradient(W)), W, rtol=1e-9, atol=1e-12 * np.abs(Q.start(D)).max())
    assert np.abs(Q.gradient(Q.start(D))).max() <= 1e-12 * np.abs(Q.gradient(W)).max()
    assert Q.value(W) > 0 and 0 <= Q.value(Q.start(D)) < 1e-24 * Q.value(W)


@pytest.mark.parametrize("depth", [3, 4, 7])
@pytest.mark.parametrize("scale", [1e-2, 0.3, 30.0])
def test_equal_layers_are_the_tied_network(depth, scale):
    """Q of `Diagonal`, of slope 1 at infinity, times that of equal layers, α^{2−D}/(D−2)."""
    layered = tacit.UntiedDiagonal.from_layers([np.full(D, scale)] * depth).potential(D)
    tied = tacit.Diagonal(depth, scale).potential(D)
    weight = scale ** (2 - depth) / (depth - 2)
    np.testing.assert_allclose(layered.gradient(W), weight * tied.gradient(W), rtol=1e-12)
    np.testing.assert_allclose(layered.hessian(W), weight * tied.hessian(W), rtol=1e-10)
    assert layered.value(W) == pytest.approx(weight * tied.value(W), rel=1e-12)
    np.testing.assert_allclose(layered.ends, weight, rtol=1e-13)


def test_nearly_equal_layers_are_nearly_it():
    apart = tacit.UntiedDiagonal.from_layers([0.3, 0.3 * (1 + 1e-9), 0.3 * (1 - 1e-9)]).potential(D)
    tied = tacit.Diagonal(3, 0.3).potential(D)
    np.testing.assert_allclose(apart.gradient(W), tied.gradient(W) / 0.3, rtol=1e-8)


@pytest.mark.parametrize("name", ["biased", "small", "minus tied"])
def test_slopes_end_at_the_weights_of_the_rich_end(name):
    """Q(w)/|w| tends to them, and they bound all slopes."""
    Q = potential(name)
    below, above = Q.ends
    far = 1e30 * np.abs(Q.hessian(W)) ** 0
    np.testing.assert_allclose(Q.gradient(far), above, rtol=1e-6)
    np.testing.assert_allclose(Q.gradient(-far), -below, rtol=1e-6)
    assert np.isnan(Q.mirror(1.01 * above)).all() and np.isnan(Q.mirror(-1.01 * below)).all()


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_do_not_matter(unit):
    """Layers multiplied by c multiply predictors by c^L and slopes by c^{2−L}."""
    plus, minus = RNG.standard_normal((2, 3, D))
    here = tacit.UntiedDiagonal.from_layers(plus, minus).potential(D)
    there = tacit.UntiedDiagonal.from_layers(unit * plus, unit * minus).potential(D)
    np.testing.assert_allclose(there.gradient(W * unit**3) * unit, here.gradient(W), rtol=1e-12)
    with pytest.raises(InputError, match="leave the range of floats"):
        tacit.UntiedDiagonal.from_layers([unit] * 6).potential(D)


@pytest.mark.parametrize(
    ("plus", "minus", "side"),
    [([1.0, -1.0, 1.0], [1.0, 1.0, 1.0], "positive"), ([1.0, 1.0, 1.0], [0.0, 0.0, 1.0], "negative")],
)
def test_coordinates_that_never_cross_zero_have_no_potential(plus, minus, side):
    model = tacit.UntiedDiagonal.from_layers(plus, minus)
    with pytest.raises(NoPotentialError, match=f"coordinate 0 can never become {side}"):
        model.potential(D)
