"""Exponential steps: φ-functions compared with integrals, order of convergence, and exact cases."""

import math

import mpmath
import numpy as np
import pytest

from tacit.flows.stopping.exponential import phi, refined, step


def test_phi_are_their_integrals():
    """φ_k(−z) = ∫₀¹ e^{−z(1−θ)} θ^{k−1}/(k−1)! dθ."""
    z = np.array([0.0, 1e-12, 1e-3, 0.3, 0.999, 1.0, 1.001, 5.0, 60.0, 1e5])
    for k, values in zip((1, 3, 4), phi(z), strict=True):
        for at, value in zip(z, values, strict=True):
            nodes = [0, 1 - min(1.0, 30 / max(at, 1e-9)), 1]
            expected = mpmath.quad(lambda t, at=at, k=k: mpmath.exp(-at * (1 - t)) * t ** (k - 1), nodes)
            assert float(expected) / math.factorial(k - 1) == pytest.approx(value, rel=1e-12)


def pendulum(x):
    """A nonlinear rate with Jacobian −diag(1, 4) at 0."""
    return np.array([1.0 - np.sin(x[0]) + 0.3 * x[1] ** 2, 0.5 - 4 * x[1] + x[0] * x[1]])


def endpoint(steps, length=0.4):
    """The end of steps of constant length, each in the axes of its own (symmetric) Jacobian."""
    x = np.zeros(2)
    for _ in range(steps):
        jacobian = np.array([[-np.cos(x[0]), 0.0], [0.0, -4.0]])
        first = pendulum(x)
        taken = step(lambda d, x=x: pendulum(x + d), first, -np.diag(jacobian), length / steps)
        x = x + taken.end
    return x


def test_an_inexact_jacobian_costs_order_and_no_more():
    """The Jacobian omits the coupling: halving the step size divides errors by four."""
    fine = endpoint(256)
    errors = [np.linalg.norm(endpoint(n) - fine) for n in (4, 8, 16)]
    assert errors[0] < 1e-4 and min(errors[0] / errors[1], errors[1] / errors[2]) > 3


def test_the_order_is_four_with_the_exact_jacobian():
    def taken(n):
        x = 0.0
        for _ in range(n):
            rate = np.array([1 - math.sinh(x)])
            x += step(lambda d, x=x: 1 - np.sinh(x + d), rate, np.array([math.cosh(x)]), 2 / n).end[0]
        return x

    fine = taken(400)
    errors = [abs(taken(n) - fine) for n in (4, 8, 16)]
    assert min(errors[0] / errors[1], errors[1] / errors[2]) > 14


def test_linear_rates_are_exact_along_the_step():
    values, first = np.array([0.0, 1e-3, 2.0, 1e4]), np.array([1.0, -1.0, 0.5, 3.0])
    taken = step(lambda x: first - values * x, first, values, 7.0)
    shares = np.array([1e-4, 0.3, 1.0])
    exact = first * np.exp(-values * 7 * shares[:, None])
    assert np.abs(taken.rate(shares) - exact).max() < 1e-11 * np.abs(first).max()
    assert np.abs(taken.rate(shares)[-1] - taken.last).max() < 1e-11
    assert np.abs(taken.at(shares)[-1] - taken.end).max() < 1e-12 and np.abs(taken.error).max() < 1e-11


def test_a_refined_step_meets_the_rate_at_its_end():
    rate = lambda x: 1 - np.sinh(x)  # noqa: E731
    taken = step(rate, np.ones(1), np.ones(1), 1.5)
    better = refined(refined(taken, rate(taken.end)), rate(refined(taken, rate(taken.end)).end))
    offs = [abs((rate(each.end) - each.last)[0]) for each in (taken, better)]
    assert offs[1] < 0.1 * offs[0]


def test_a_step_that_is_much_too_long_is_none():
    assert step(lambda x: 1 + np.exp(9 * x), np.full(1, 2.0), np.zeros(1), 10.0) is None
