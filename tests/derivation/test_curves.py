"""Scalar curves of closed forms: value and slope agree for any constants."""

import numpy as np
import pytest
import sympy as sp

import tacit
from tacit.derivation.symbolic.curve import SLOPE, W, exponential, hyperbolic, power, straight
from tacit.derivation.symbolic.scalar import _quadratic_root

half, third = sp.Rational(1, 2), sp.Rational(1, 3)
CURVES = {
    "straight": straight(2, third),
    "exponential": exponential(1, half, third),
    "falling": exponential(1, -half, -third),
    "hyperbolic, odd": hyperbolic(1, half, -2, third),
    "hyperbolic, even": hyperbolic(1, half, 2, third),
    "power": power(1, half, 2, third, 3),
    "root": power(1, half, 2, third, half),
    "inverse": power(1, half, 2, third, -1),
}


@pytest.mark.parametrize("name", CURVES)
def test_the_potential_is_0_at_the_start_and_its_derivative_is_the_slope(name):
    curve = CURVES[name]
    t = curve.parameter
    assert sp.simplify(curve.value.subs(t, curve.start)) == 0
    assert sp.simplify(curve.slope.subs(t, curve.start)) == 0
    for at in (curve.start + third, curve.start + 1):
        sides = (sp.diff(curve.value, t), curve.slope * sp.diff(curve.predictor, t))
        first, second = (float(each.subs(t, at)) for each in sides)
        assert first == pytest.approx(second, rel=1e-12)
        w = curve.predictor.subs(t, at)
        assert abs(float(curve.inverse.subs(W, w))) == pytest.approx(abs(float(at)), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("m", [1, 2])
def test_the_sign_of_the_factor_reflects_the_potential(m, n):
    """w = ±2aᵐ·v|v|ⁿ⁻¹, of constant r = |v| if n = 0: reflection maps one potential to the other."""
    a, v = sp.symbols("a v", real=True)
    u = sp.Symbol("u", real=True)
    forms = []
    for factor in (2, -2):
        direction = sp.Matrix([u, v]) * sp.sqrt(u**2 + v**2) ** (n - 1)
        start = (1, sp.Rational(3, 5), sp.Rational(4, 5))
        forms.append(tacit.closed_form(list(factor * a**m * direction), (a, u, v), start))
    first, second = (form.potential for form in forms)
    for w in np.array([[1.2, 1.6], [0.9, 0.7], [2.0, 3.0]]):
        np.testing.assert_allclose(second.gradient(-w), -np.asarray(first.gradient(w)), rtol=1e-12)


@pytest.mark.parametrize(
    ("square", "linear", "constant"), [(1.0, 3.0, 0.5), (-0.7, 1.1, -2.0), (2.5, -0.4, 0.0)]
)
def test_a_quadratic_with_a_linear_term_is_an_entropy_from_its_vertex(square, linear, constant):
    """The flow θ' = 2pθ + q is at θ(z) = (θ₀ + q/2p)·e^{2pz} − q/2p at time z, which is ∇Q there."""
    t, start = sp.Symbol("t", real=True), 0.8
    p, q, r = (sp.nsimplify(each) for each in (square, linear, constant))
    Q = tacit.closed_form(p * t**2 + q * t + r, (t,), (sp.nsimplify(start),)).potential
    z = np.linspace(-0.3, 0.5, 5)
    vertex = linear / (2 * square)
    theta = (start + vertex) * np.exp(2 * square * z) - vertex
    for time, w in zip(z, square * theta**2 + linear * theta + constant, strict=True):
        np.testing.assert_allclose(Q.gradient(np.array([w])), time, atol=1e-12)


@pytest.mark.parametrize(("square", "pole"), [(3, 1), (-2, 1), (3, -1), (0, 2)])
def test_the_root_that_is_0_at_the_start_is_chosen(square, pole):
    """w = (z + sz²)/(1 + pz), whose linear coefficient 1 − pw changes its sign along the curve."""
    w = (SLOPE + square * SLOPE**2) / (1 + pole * SLOPE)
    root = _quadratic_root(w)
    if not square:
        assert root is None  # an equation of first degree
        return
    assert root.subs(W, 0) == 0
    for z in (0.01, -0.01, 0.1):
        assert float(root.subs(W, w.subs(SLOPE, z))) == pytest.approx(z, rel=1e-12)
