"""State evolution against independent numbers, SciPy's quadrature, and simulated data sets."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import tacit
from tacit.verbs.risk import _StateEvolution

SIGNAL = np.repeat([1.0, 0.0], [5, 395])


@pytest.mark.parametrize(
    ("depth", "scale", "expected", "tau"),
    [(2, 1.0, 3.828647, 0.201957), (2, 0.1, 1.091844, 0.115838), (3, 0.3, 1.217944, 0.121159)],
)
def test_numbers_that_were_computed_elsewhere(depth, scale, expected, tau):
    found = tacit.risk(tacit.Diagonal(depth, scale), SIGNAL, 0.5, 100, draws=2)
    np.testing.assert_allclose([found.risk, found.tau], [expected, tau], atol=6e-7)


@pytest.mark.parametrize(("depth", "scale"), [(2, 0.3), (3, 0.5), (2, 1e-6)])
@pytest.mark.parametrize(("tau", "c"), [(0.1, 0.05), (0.5, 0.01)])
def test_expectations_are_those_of_adaptive_quadrature(depth, scale, tau, c):
    """η by bisection from the potential's own gradient, and SciPy's quad over the Gaussian."""
    signal = np.array([1.0, 0.0, -0.4])
    model = tacit.Diagonal(depth, scale)
    gradient = model.potential().gradient

    def eta(z):
        size = abs(z)
        return math.copysign(brentq(lambda x: x + c * float(gradient(np.array([x]))[0]) - size, 0, size), z)

    def density(g):
        return math.exp(-g * g / 2) / math.sqrt(2 * math.pi)

    expected = 0.0
    for b in signal:
        kinks = sorted({(s * c * k - b) / tau for s in (-1, 0, 1) for k in (1, -2 * math.log(scale))})
        inside = [k for k in kinks if -9 < k < 9]
        value = quad(
            lambda g, b=b: (eta(b + tau * g) - b) ** 2 * density(g), -9, 9, points=inside, limit=400
        )[0]
        expected += value
    found = _StateEvolution.of(model, signal, 0.1, 2).moments(tau, c)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("depth", "scale"), [(2, 0.3), (3, 0.4)])
def test_sums_of_slopes_satisfy_the_identity_of_stein(depth, scale):
    """E η'(b + τZ) = E[η(b + τZ) Z]/τ, with η tabulated from the potential's gradient."""
    tau, c, signal = 0.3, 0.1, np.array([0.7, 0.0, 0.0])
    model = tacit.Diagonal(depth, scale)
    x = np.linspace(-5, 5, 400_001)
    inputs = x + c * model.potential().gradient(x)
    z = np.linspace(-9, 9, 20_001)
    weight = z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0]) / tau
    expected = sum(float(np.interp(b + tau * z, inputs, x) @ weight) for b in signal)
    found = _StateEvolution.of(model, signal, 0.1, 2).moments(tau, c)[1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_kernel_end_is_the_minimum_norm_solution():
    """At infinite scale η is linear: R = (σ² + ‖b‖²(1 − N/d)) … in closed form."""
    d, N, sigma = 60, 20, 0.3
    signal = np.full(d, 0.2)
    found = tacit.risk(tacit.Diagonal(2, 1e3), signal, sigma, N, draws=2)
    share, power = N / d, float(signal @ signal)
    # R = d·share²·τ² + (1 − share)²·‖b‖², and τ² = (σ² + R)/N
    tau2 = (sigma**2 + (1 - share) ** 2 * power) / (N - d * share**2)
    np.testing.assert_allclose(found.tau**2, tau2, rtol=1e-6)
    np.testing.assert_allclose(found.risk, d * share**2 * tau2 + (1 - share) ** 2 * power, rtol=1e-6)


@pytest.mark.thorough
def test_simulated_data_sets_agree_on_average():
    """N = 160, d = 640: an independent simulation gave 1.1 ± 0.9%; three standard errors and 3% are
    allowed."""
    signal = np.repeat([1.0, 0.0], [8, 632])
    found = tacit.risk(tacit.Diagonal(2, 0.1), signal, 0.5, 160, draws=60)
    bias, error = found.bias
    assert abs(bias) < 3 * error + 0.03
    assert 0.1 < found.scatter < 0.4


def test_the_scatter_is_that_of_simulated_data_sets_and_always_shown(tmp_path):
    found = tacit.risk(tacit.Diagonal(2, 0.3), SIGNAL[:50], 0.5, 20, draws=6)
    again = tacit.risk(tacit.Diagonal(2, 0.3), SIGNAL[:50], 0.5, 20, draws=6)
    other = tacit.risk(tacit.Diagonal(2, 0.3), SIGNAL[:50], 0.5, 20, draws=6, seed=1)
    np.testing.assert_array_equal(found.simulated, again.simulated)
    assert found.risk == other.risk and found.scatter != other.scatter
    np.testing.assert_allclose(found.scatter, found.simulated.std(ddof=1) / found.risk)
    assert "a single data set deviates by" in found.summary()
    assert found.plot(tmp_path / "risk.png").stat().st_size > 3_000
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_xarray().simulated.shape == (6,)


def test_groups_and_profiles():
    """Signs and the order of coordinates do not matter; a profile is permuted with its coordinates."""
    rng = np.random.default_rng(0)
    signal, profile = rng.choice([-1.0, 0, 1], 30), rng.choice([0.5, 2.0], 30)
    order = rng.permutation(30)
    one = tacit.risk(tacit.Diagonal(3, 0.5, profile), signal, 0.2, 10, draws=2)
    two = tacit.risk(tacit.Diagonal(3, 0.5, profile[order]), -signal[order], 0.2, 10, draws=2)
    np.testing.assert_allclose(one.risk, two.risk, rtol=1e-9)


def test_errors_say_what_is_wrong():
    model = tacit.Diagonal(2, 0.1)
    for call, words in (
        (lambda: tacit.risk(model, SIGNAL, -1, 100), "noise must be 0 or positive, got -1"),
        (lambda: tacit.risk(model, SIGNAL, 0.5, 400), "below the number of features, 400, got 400"),
        (lambda: tacit.risk(model, SIGNAL, 0.5, 10.5), "samples must be a whole number"),
        (lambda: tacit.risk(model, SIGNAL, 0.5, 100, draws=1), "draws must be a whole number, 2 or more"),
        (lambda: tacit.risk(model, 0 * SIGNAL, 0, 100), "without signal and noise"),
        (lambda: tacit.risk(tacit.Diagonal(scale=0), SIGNAL, 0.5, 100), "risk is for diagonal networks"),
        (lambda: tacit.risk(tacit.Diagonal, SIGNAL, 0.5, 100), "write Diagonal"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            call()
