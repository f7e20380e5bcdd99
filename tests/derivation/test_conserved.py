"""Conserved quantities: the known numbers and the known polynomials, and no others."""

import jax.numpy as jnp
import numpy as np
import pytest
from maps import TIED, exponential, linear, neuron, sums_of_squares, two_layers, untied

import tacit


def start(seed, p):
    return np.random.default_rng(seed).standard_normal(p)


def known_count(n, m, r):
    """Marcotte et al. 2023."""
    return r * (r + 1) // 2 if r <= n + m else (n + m) * (2 * r + 1 - n - m) // 2


@pytest.mark.every(6)
@pytest.mark.parametrize(("n", "m", "r"), [(2, 1, 1), (2, 1, 2), (1, 1, 3), (2, 1, 4)])
def test_linear_networks_conserve_their_imbalances(n, m, r):
    """The number is the known one, and the polynomials found are in the span of UᵀU − VᵀV."""
    p = (n + m) * r
    found = tacit.derive(two_layers(n, m, r), start(0, p), samples=3)
    assert found.conserved_number == len(found.conserved) == known_count(n, m, r)
    signs = np.repeat([1.0, -1.0], [n, m])
    balances = []
    for i in range(r):
        for j in range(i, r):
            unit = np.zeros((r, r))
            unit[i, j] = unit[j, i] = 1.0
            balances.append(np.kron(np.diag(signs), unit).ravel())
    balances = np.array(balances)
    for law in found.conserved:
        assert not law.linear.any()
        left = np.linalg.lstsq(balances.T, law.quadratic.ravel(), rcond=None)[0] @ balances
        np.testing.assert_allclose(left, law.quadratic.ravel(), atol=1e-12)


def test_polynomials_are_printed_in_standard_form():
    assert [law.text for law in tacit.derive(neuron, start(0, 4), samples=3).conserved] == [
        "θ₁² − θ₂² − θ₃² − θ₄²"
    ]
    laws = {law.text for law in tacit.derive(untied, start(0, 4), samples=3).conserved}
    assert laws == {"θ₁² − θ₂²", "θ₃² − θ₄²", "θ₁·θ₃ + θ₂·θ₄"}
    assert {law.text for law in tacit.derive(TIED[2], start(0, 4), samples=3).conserved} == {"θ₁·θ₃", "θ₂·θ₄"}


def test_linear_conserved_quantities_are_the_null_space_of_the_map():
    found = tacit.derive(linear, start(0, 4), samples=3)
    assert found.conserved_number == len(found.conserved) == 2
    A = np.array([[1.0, 2.0, -1.0, 0.5], [0.0, 1.0, 3.0, -2.0]])
    for law in found.conserved:
        assert not law.quadratic.any()
        np.testing.assert_allclose(A @ law.linear, 0.0, atol=1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("function", "p", "number"), [(TIED[3], 4, 2), (exponential, 3, 0), (sums_of_squares, 4, 0)]
)
def test_quantities_that_are_no_polynomials_are_counted(function, p, number):
    found = tacit.derive(function, start(0, p), samples=3)
    assert (found.conserved_number, found.conserved) == (number, ())
    assert f"{number} quantities" in found.summary()


def test_drifts_along_flows_distinguish_true_from_false_laws():
    from dataclasses import replace

    from tacit.derivation.conserved import drifts

    found = tacit.derive(neuron, start(1, 4), samples=3)
    (law,) = found.conserved
    assert 0 <= law.drift <= 1e-11
    wrong = replace(law, quadratic=law.quadratic + np.diag([0, 1e-3, 0, 0]))
    assert drifts(found._jets, (wrong,), found.theta0)[0] > 1e-6


def test_flows_monitor_conserved_polynomials():
    found = tacit.derive(neuron, np.array([1.5, 0.3, -0.4]), samples=3)
    trajectory = tacit.flow(found.model, np.array([[1.0, 2.0]]), np.array([1.0]))
    assert list(trajectory.drifts) == ["θ₁² − θ₂² − θ₃²"]
    assert 0 < trajectory.drift <= 1e-5
    (value,) = found.model.conserved().values()
    np.testing.assert_allclose(value, 1.5**2 - 0.25, rtol=1e-12)


def test_names_of_parameters_are_used():
    def named(theta):
        return theta["a"] * theta["w"]

    found = tacit.derive(named, {"a": 2.0, "w": [1.0, -0.5]}, samples=3)
    assert [law.text for law in found.conserved] == ["a₁² − w₁² − w₂²"]
    theta = found.theta0
    np.testing.assert_allclose(found.conserved[0](theta), 4 - 1.25)


def test_a_map_defined_almost_nowhere_has_no_polynomials():
    found = tacit.derive(
        lambda t: jnp.log(t[:1] - 1e3) + t[1:2], np.array([1001.0, 1.0]), radius=1e-4, samples=3
    )
    assert found.conserved_number == 1


def test_parameters_that_the_map_does_not_use_are_conserved():
    found = tacit.derive(lambda t: t[:2] * t[2:4], [1.0, 2.0, 3.0, 0.5, 1.0], samples=3)
    assert found.conserved_number == 3
    assert {law.text for law in found.conserved} == {"θ₁² − θ₃²", "θ₂² − θ₄²", "θ₅"}


def test_parameters_without_effect_at_a_saturated_start_have_no_laws():
    """At 1e6, tanh is 1 to the last bit; elsewhere no function of its argument is conserved."""
    found = tacit.derive(lambda t: t[:2] * jnp.tanh(t[2:]), 1e6 * np.array([1.0, -0.5, 0.7, 0.9]), samples=3)
    assert found.kind in ("mirror", "undecided") and found.conserved == ()
    assert "2 quantities" in found.summary()


@pytest.mark.parametrize(
    "function",
    [lambda t: jnp.exp(t), lambda t: jnp.array([jnp.exp(t[0]), t[1]]), lambda t: jnp.exp(t[:1]) * t[1:]],
    ids=["both", "one", "a factor"],
)
def test_underflow_does_not_look_like_conservation(function):
    """At −10⁶, e^θ and its derivatives underflow to 0, but not at smaller multiples of θ."""
    found = tacit.derive(function, [-1e6, -2e6], samples=3)
    assert (found.kind, found.closed, found.conserved) == ("undecided", False, ())
    assert "none of them quadratic" not in found.summary()


def test_a_search_near_saturation_finds_the_law_or_reports_that_it_is_incomplete():
    """θ₁ + θ₂ + θ₃ is conserved, but few digits of the Jacobian are left to show it."""

    def softmax(t):
        return jnp.exp(t) / jnp.sum(jnp.exp(t) * jnp.array([1.0, 2.0, 1.0]))

    laws = tacit.derive(softmax, [0.4, 0.5, -0.3], samples=3).conserved
    assert [law.text for law in laws] == ["θ₁ + θ₂ + θ₃"]
    found = tacit.derive(softmax, [50.0, 49.0, 20.0], samples=3)
    assert found.kind == "undecided" and "at least 1 of 3 dimensions" in found.summary()
    assert "none of them quadratic" not in found.summary()
    assert {law.text for law in found.conserved} <= {"θ₁ + θ₂ + θ₃"}
