"""Closed forms compared with the potentials of the papers, and with numerically derived potentials."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad, solve_ivp

import tacit
from tacit.derivation.symbolic.curve import W, random_values
from tacit.potentials import Bregman, DeepHypentropy, Hypentropy, NeuronPotential

CLOSE = 1e-12  # relative to the largest entry; ≤ 4e-14 was seen
u, v, alpha = sp.symbols("u v alpha", positive=True)
a, b, c, d = sp.symbols("a b c d", real=True)


def agree(Q, closed, factor, w):
    """factor·Q is the closed form, in all four methods."""
    slope = closed.gradient(w)
    np.testing.assert_allclose(factor * Q.gradient(w), slope, rtol=0, atol=CLOSE * np.abs(slope).max())
    np.testing.assert_allclose(Q.mirror(slope / factor), w, rtol=0, atol=CLOSE * np.abs(w).max())
    np.testing.assert_allclose(factor * Q.value(w), closed.value(w), rtol=CLOSE, atol=1e-13)
    H = np.asarray(closed.hessian(w))
    np.testing.assert_allclose(factor * Q.hessian(w), H, rtol=0, atol=CLOSE * np.abs(H).max())


def draws(count):
    return [np.random.default_rng(seed) for seed in range(count)]


def test_two_tied_layers_have_the_q_of_woodworth():
    """4Q = α²·q(w/α²), q(z) = 2 − √(4 + z²) + z·arcsinh(z/2), with a symbol α."""
    form = tacit.closed_form(u**2 - v**2, (u, v), (alpha, alpha))
    w = form.variables[0]
    known = alpha**2 * (2 - sp.sqrt(4 + w**2 / alpha**4) + w / alpha**2 * sp.asinh(w / (2 * alpha**2)))
    assert sp.simplify(4 * form.value - known) == 0
    assert sp.simplify(form.gradient[0] - sp.asinh(w / (2 * alpha**2)) / 4) == 0
    assert form.latex().startswith("Q(w) = ") and r"\operatorname{asinh}" in form.latex()
    for rng in draws(5):
        scale = rng.uniform(0.05, 2)
        agree(form.subs({alpha: scale}).potential, Hypentropy(np.log(scale**2)), 4, rng.standard_normal(1))


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_deep_tied_layers_have_a_parametric_form(depth):
    """w = h_D(s) up to scales, which has no inverse in elementary functions."""
    form = tacit.closed_form(u**depth - v**depth, (u, v), (alpha, alpha))
    (curve,) = form.parametric
    z, p = curve["parameter"], sp.Rational(depth, depth - 2)
    s = depth * (depth - 2) * alpha ** (depth - 2) * z
    assert sp.simplify(curve["w"] - alpha**depth * ((1 - s) ** -p - (1 + s) ** -p)) == 0
    assert not form.explicit and "aligned" in form.latex()
    with pytest.raises(tacit.NoClosedFormError, match="no inverse in elementary functions"):
        form.value  # noqa: B018
    for rng in draws(3):
        scale = rng.uniform(0.3, 2)
        closed = DeepHypentropy(depth, depth * np.log(scale), scale ** (2 - depth))
        agree(form.subs(alpha, scale).potential, closed, depth * (depth - 2), rng.standard_normal(1))


def test_a_map_of_one_weight_without_an_inverse_says_so():
    form = tacit.closed_form(a**5 + a, (a,), (1.0,))
    (curve,) = form.parametric
    s = curve["parameter"]
    assert not form.explicit and sp.simplify(sp.diff(curve["slope"], s) * sp.diff(curve["w"], s)) == 1
    with pytest.raises(tacit.NoClosedFormError, match="no inverse in elementary functions"):
        form.value  # noqa: B018


def test_random_values_have_the_declared_signs():
    signs = {"nonnegative": [0.0, np.inf], "nonpositive": [-np.inf, 0.0], "real": [-np.inf, np.inf]}
    names = {sp.Symbol(f"{sign}{i}", **{sign: True}): signs[sign] for sign in signs for i in range(8)}
    values = random_values(sp.Add(*names), np.random.default_rng(0))
    assert all(low <= values[name] <= high for name, (low, high) in names.items())
    drawn = [float(value) for name, value in values.items() if name.is_nonnegative is None]
    assert min(drawn) < 0 < max(drawn)


def test_untied_layers_have_the_q_k_of_azulay():
    """The potential agrees from random starts; from an unbiased start, symbols give √k = 2(a² + b²)."""
    for rng in draws(5):
        layers = rng.standard_normal((4, 2))
        names = sp.symbols("p:8", real=True)
        maps = [names[i] * names[2 + i] - names[4 + i] * names[6 + i] for i in range(2)]
        form = tacit.closed_form(maps, names, layers.ravel())
        agree(
            form.potential, tacit.UntiedDiagonal.from_weights(*layers).potential(2), 1, rng.standard_normal(2)
        )
    form = tacit.closed_form(a * b - c * d, (a, b, c, d), (u, v, u, v))
    assert sp.simplify(form.gradient[0] - sp.asinh(form.variables[0] / (u**2 + v**2)) / 2) == 0


@pytest.mark.parametrize("output", [2.0, 1.0, 0.5, -0.7])
def test_a_neuron_has_the_radial_potential_of_azulay(output):
    """δ above, at and below 0; (3/2)|a₀|·Q is D_q̂(w, w₀)."""
    inner = np.array([0.3, -0.8, 0.6]) if output != 1 else np.array([0.48, -0.64, 0.6])
    form = tacit.closed_form([a * b, a * c, a * d], (a, b, c, d), (output, *inner))
    assert (form.family, form.kind, form.explicit) == ("radial", "warped", True)
    delta = 0.0 if output == 1 else output**2 - inner @ inner
    closed = Bregman(NeuronPotential(delta), output * inner)
    for rng in draws(5):
        agree(form.potential, closed, 1.5 * abs(output), output * inner + 0.3 * rng.standard_normal(3))


def test_a_neuron_with_symbols_as_start():
    """q̂ = √(P+δ)·(P − δ/2) of Theorem 2, up to its factor and a constant."""
    form = tacit.closed_form([a * b, a * c], (a, b, c), (u, v, 0))
    x, delta = sp.Symbol("w", real=True), u**2 - v**2
    P = sp.sqrt(x**2 + delta**2 / 4) - delta / 2
    known = sp.sqrt(P + delta) * (P - delta / 2) / (sp.Rational(3, 2) * u)
    values = {u: 1.3, v: 0.6}
    apart = [(form.radial - known).subs(values).subs(x, at).evalf() for at in (0.2, 0.7, 3.0)]
    np.testing.assert_allclose(np.array(apart, float), float(apart[0]), atol=1e-14)


PAIRS = {  # expressions in a, b, c, d; the same in JAX; a start
    "quadratic": (a, lambda t: t[:1], [0.5]),
    "entropy": (a**2, lambda t: t[:1] ** 2, [0.5]),
    "exponential": (sp.exp(2 * a) / 3, lambda t: jnp.exp(2 * t[:1]) / 3, [0.3]),
    "cube": (a**3, lambda t: t[:1] ** 3, [-1.2]),
    "square root": (a ** sp.Rational(1, 2), lambda t: t[:1] ** 0.5, [1.2]),
    "difference of exponentials": (
        sp.exp(a) - sp.exp(b),
        lambda t: jnp.exp(t[:1]) - jnp.exp(t[1:2]),
        [0.2, -0.3],
    ),
    "sum of squares": (a**2 + 2 * b**2, lambda t: t[:1] ** 2 + 2 * t[1:2] ** 2, [0.7, 0.4]),
    "hyperbola": (a * b + 2 * a, lambda t: t[:1] * t[1:2] + 2 * t[:1], [0.7, 0.4]),
    "ellipse": (a**2 + a * b + b**2, lambda t: t[:1] ** 2 + t[:1] * t[1:2] + t[1:2] ** 2, [0.7, 0.4]),
    "three layers": (a * b * c, lambda t: t[:1] * t[1:2] * t[2:3], [1.5, 0.8, -0.3]),
    "two equal layers": (a * b * c, lambda t: t[:1] * t[1:2] * t[2:3], [1.5, 1.5, 0.3]),
    "balanced layers": (a * b * c - 1, lambda t: t[:1] * t[1:2] * t[2:3] - 1, [1.5, 1.5, -1.5]),
    "squared layer": (a**2 * b, lambda t: t[:1] ** 2 * t[1:2], [1.5, 0.7]),
    "cubic": (a + a**3, lambda t: t[:1] + t[:1] ** 3, [0.4]),
    "sinh": (sp.sinh(a), lambda t: jnp.sinh(t[:1]), [0.7]),
    "tanh": (sp.tanh(a), lambda t: jnp.tanh(t[:1]), [0.4]),
    "sine": (sp.sin(a), lambda t: jnp.sin(t[:1]), [0.5]),
    "cosine": (sp.cos(a), lambda t: jnp.cos(t[:1]), [0.9]),
    "logistic": (1 / (1 + sp.exp(-a)), lambda t: 1 / (1 + jnp.exp(-t[:1])), [0.4]),
    "fraction": (a / (1 + a**2), lambda t: t[:1] / (1 + t[:1] ** 2), [0.4]),
    "logarithm": (sp.log(a), lambda t: jnp.log(t[:1]), [1.4]),
    "affine": (
        (a + b, a - 2 * c + 1),
        lambda t: jnp.array([t[0] + t[1], t[0] - 2 * t[2] + 1]),
        [0.1, 0.2, 0.3],
    ),
    "weight normalization": (
        (a * b / sp.sqrt(b**2 + c**2), a * c / sp.sqrt(b**2 + c**2)),
        lambda t: t[0] * t[1:3] / jnp.sqrt(t[1] ** 2 + t[2] ** 2),
        [0.7, 0.5, -0.4],
    ),
    "squared output": ((a**2 * b, a**2 * c), lambda t: t[0] ** 2 * t[1:3], [0.7, 0.5, -0.4]),
    "two outputs": ((a * d * b, a * d * c), lambda t: t[0] * t[3] * t[1:3], [0.7, 0.5, -0.4, 1.1]),
    "length cubed": ((b * (b**2 + c**2), c * (b**2 + c**2)), lambda t: t * jnp.sum(t**2), [0.7, 0.5]),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", PAIRS)
def test_a_flow_with_constant_residual_has_a_slope_linear_in_time(name):
    """θ' = Jᵀc implies ∇Q(w)' = c, or in a warped clock a multiple of it."""
    expressions, _, start = PAIRS[name]
    symbols = sorted(sp.Tuple(expressions).free_symbols, key=str)
    form = tacit.closed_form(expressions, symbols, start)
    w = sp.Matrix([expressions] if isinstance(expressions, sp.Expr) else expressions)
    rate = sp.lambdify([symbols], w.jacobian(symbols).T)
    rng = np.random.default_rng(1)
    for _ in range(2):
        c = 0.2 * rng.standard_normal(len(w))
        end = solve_ivp(
            lambda _, t, c=c: rate(t) @ c, (0, 1), start, method="DOP853", rtol=1e-12, atol=1e-13
        ).y[:, -1]
        slope = form.potential.gradient(np.array(w.subs(dict(zip(symbols, end, strict=True))), float).ravel())
        if form.kind == "warped":
            c = c * (slope @ c) / (c @ c)
        np.testing.assert_allclose(slope, c, rtol=0, atol=1e-9 * np.abs(c).max())
        assert np.abs(c).max() > 1e-3


@pytest.mark.every(20)
@pytest.mark.parametrize("name", PAIRS)
def test_formulas_agree_with_derived_potentials(name):
    """Integration along the orbit gives the same verdict, value, slope, mirror map and Hessian."""
    expressions, function, start = PAIRS[name]
    symbols = sorted(sp.Tuple(expressions).free_symbols, key=str)
    form = tacit.closed_form(expressions, symbols, start)
    found = tacit.derive(function, np.array(start), samples=3)
    assert found.kind == form.kind
    Q, derived = form.potential, found.potential
    np.testing.assert_allclose(Q.origin, derived.origin, rtol=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(2):
        w = Q.origin * (1 + 0.2 * rng.standard_normal(len(Q.origin)))
        slope = derived.gradient(w)
        np.testing.assert_allclose(Q.gradient(w), slope, rtol=0, atol=1e-10 * np.abs(slope).max())
        np.testing.assert_allclose(Q.value(w), derived.value(w), rtol=1e-9)
        np.testing.assert_allclose(Q.mirror(slope), w, rtol=1e-9)
        H = np.atleast_2d(Q.hessian(w))
        np.testing.assert_allclose(H, derived.hessian(w), rtol=0, atol=1e-9 * np.abs(H).max())
        if form.explicit:
            at = dict(zip(form.variables, w, strict=True))
            np.testing.assert_allclose(float(form.value.subs(at)), Q.value(w), rtol=1e-9)
            np.testing.assert_allclose([float(each.subs(at)) for each in form.gradient], slope, rtol=1e-8)


def test_every_verb_accepts_a_formula():
    rng = np.random.default_rng(0)
    X, names = rng.standard_normal((2, 3)), sp.symbols("p:6", positive=True)
    y = X @ [1.0, 0.0, -2.0]
    form = tacit.closed_form([names[i] ** 2 - names[3 + i] ** 2 for i in range(3)], names, [0.5] * 6)
    found = tacit.limit(form.potential, X, y)
    known = tacit.limit(tacit.Diagonal(depth=2, scale=0.5), X, y)
    np.testing.assert_allclose(found.predictor, known.predictor, rtol=1e-9)
    assert tacit.certify(form.potential, X, y, known.predictor).holds


@pytest.mark.parametrize(
    ("expressions", "symbols", "start", "words"),
    [
        ((a * b, a + b * c), (a, b, c), (1, 2, 3), "neither separable"),
        (sp.sin(a) * b, (a, b), (1, 2), "neither quadratic"),
        (a * b * c - d**3, (a, b, c, d), (1, 2, 3, 4), "start at different sizes"),
        ((a + b, 2 * a + 2 * b), (a, b), (0, 0), "does not have full rank"),
        (sp.sin(a) + a**2, (a,), (1,), "no antiderivative"),
        (a * b, (a, b), (0, 0), "does not move"),
        ((a, sp.Integer(2)), (a,), (0,), "never moves"),
        (a * sp.Abs(a), (a,), (1,), "has kinks"),
        ((sp.sin(a) * b, sp.sin(a) * c), (a, b, c), (1, 1, 1), "not a product of powers"),
    ],
)
def test_errors_say_why_there_is_no_formula(expressions, symbols, start, words):
    with pytest.raises(tacit.NoClosedFormError, match=words):
        tacit.closed_form(expressions, symbols, start)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a**2", (a,), (1,)), "not a text"),
        ((a**2, (a,), (1, 2)), "2 values for 1"),
        ((a**2, (a,), {b: 1}), "start lacks a"),
        ((a**2, (2,), (1,)), "must be symbols"),
        (([], (a,), (1,)), "must be an expression"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.closed_form(*arguments)


def test_symbols_left_and_points_outside_the_domain_are_rejected():
    form = tacit.closed_form(sp.exp(a), (a,), (u,))
    with pytest.raises(tacit.InputError, match="give numbers for u"):
        form.potential  # noqa: B018
    Q = form.subs(u, 0).potential
    with pytest.raises(tacit.OutsideDomainError, match="outside the domain"):
        Q.gradient([-1.0])
    assert np.isnan(Q.mirror([1.5])).all()
    with pytest.raises(tacit.InputError, match="1 entries"):
        Q.gradient([1.0, 2.0])
    with pytest.raises(tacit.InputError, match="the data has 3"):
        Q.check_features(3)


def test_the_smallest_of_three_layers_may_change_its_sign():
    """∇Q = ∫ ds/∏√(s² + μ²) on both sides of w = 0."""
    Q = tacit.closed_form(a * b * c, (a, b, c), (1.5, 0.8, 0.3)).potential
    mu = np.sqrt(np.array([1.5, 0.8]) ** 2 - 0.09)
    for s in (-0.7, 0.1, 2.0):
        w = s * np.hypot(s, mu[0]) * np.hypot(s, mu[1])
        slope = quad(lambda x: 1 / np.hypot(x, mu[0]) / np.hypot(x, mu[1]), 0.3, s, epsabs=1e-13)[0]
        np.testing.assert_allclose(Q.gradient([w]), slope, rtol=1e-12)


@pytest.mark.every(4)
@pytest.mark.parametrize("start", [0.4, 0.7, 1.1])
@pytest.mark.parametrize("function", [sp.sinh, sp.tanh, sp.cosh], ids=["sinh", "tanh", "cosh"])
def test_inverses_are_found_from_every_start(function, start):
    """SymPy simplifies the inverse at the start to the start for some starts only."""
    form = tacit.closed_form(function(a), [a], [start])
    assert form.explicit
    (curve,) = form.curves
    w = function(sp.Float(1.1 * start, 30))
    np.testing.assert_allclose(float(sp.re(sp.N(curve.inverse.subs(W, w)))), 1.1 * start, rtol=1e-12)


@pytest.mark.parametrize("start", [0.4, 1.1])
def test_integrals_up_to_an_end_of_the_domain_are_evaluated(start):
    """x·log x is integrated up to 0, where quadrature is too inaccurate for a comparison."""
    form = tacit.closed_form(sp.log(a), [a], [start])
    assert not form.value.has(sp.Integral)


@pytest.mark.parametrize("duplicate", [lambda Q: pickle.loads(pickle.dumps(Q)), copy.copy, copy.deepcopy])
def test_a_potential_that_has_been_evaluated_can_be_pickled_and_copied(duplicate):
    form = tacit.closed_form(u**2 - v**2, (u, v), (0.5, 0.5))
    w = np.array([0.3])
    value = form.potential.value(w)
    assert duplicate(form.potential).value(w) == value
    assert duplicate(form).potential.value(w) == value
