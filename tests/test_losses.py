"""Cross-entropy, compared with multiple precision and finite differences."""

import mpmath
import numpy as np
import pytest

from tacit.autodiff import jax, jnp
from tacit.losses import CrossEntropy, Logistic, as_loss

RNG = np.random.default_rng(2)
Y = np.eye(3)[[0, 2, 1, 1]]


def exact(outputs):
    """−log L in fifty digits."""
    with mpmath.workdps(50):
        terms = []
        for f, y in zip(outputs.tolist(), Y.argmax(1).tolist(), strict=True):
            others = mpmath.fsum(
                mpmath.exp(mpmath.mpf(each) - mpmath.mpf(f[y])) for k, each in enumerate(f) if k != y
            )
            terms.append(mpmath.log1p(others))
        return -mpmath.log(mpmath.fsum(terms) / len(terms))


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("right", [False, True])
def test_accuracies_are_those_of_many_digits(size, right):
    f = RNG.standard_normal((4, 3)) * size
    if right:  # losses down to exp(−10⁶)
        f = np.where(Y > 0, np.abs(f).max(1, keepdims=True) + size, f)
    found, expected = float(CrossEntropy().accuracy(f, Y)), float(exact(f))
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_the_pull_is_how_the_accuracy_rises(size):
    f, step = RNG.standard_normal((4, 3)) * size, 1e-6
    pull = CrossEntropy().pull(f, Y)
    for place in np.ndindex(f.shape):
        aside = np.zeros_like(f)
        aside[place] = step
        rise = CrossEntropy().accuracy(f + aside, Y) - CrossEntropy().accuracy(f - aside, Y)
        assert pull[place] == pytest.approx(rise / (2 * step), abs=1e-7)


def test_of_two_classes_it_is_the_logistic_loss():
    f, labels = RNG.standard_normal((6, 2)), np.array([1, 0, 1, 1, 0, 0])
    signs, rows = 2.0 * labels - 1, np.eye(2)[labels]
    gap = f[:, 1] - f[:, 0]
    assert CrossEntropy().accuracy(f, rows) == pytest.approx(Logistic().accuracy(gap, signs), rel=1e-14)
    assert CrossEntropy().pull(f, rows)[:, 1] == pytest.approx(Logistic().pull(gap, signs), rel=1e-13)
    assert CrossEntropy().margins(f, rows) == pytest.approx(signs * gap)


def test_it_works_over_leading_axes_and_in_jax():
    f = RNG.standard_normal((5, 4, 3))
    loss = as_loss("cross-entropy")
    assert loss.accuracy(f, Y) == pytest.approx([float(loss.accuracy(each, Y)) for each in f])
    with jax.enable_x64(True):
        assert np.asarray(loss.pull(jnp.asarray(f), Y)) == pytest.approx(loss.pull(f, Y))
        slope = jax.grad(lambda each: loss.accuracy(each, jnp.asarray(Y)))(jnp.asarray(f[0]))
        assert np.asarray(slope) == pytest.approx(loss.pull(f[0], Y), rel=1e-12)


@pytest.mark.parametrize("name", ["exp", "logistic"])
@pytest.mark.parametrize("margin", [-700.0, -30.0, -1.0, 0.0, 1e-3, 2.0, 39.0, 41.0, 700.0])
def test_losses_of_margins_are_those_of_many_digits(name, margin):
    """ℓ, −ℓ' and −d(log −ℓ')/dm, from derivatives of the formula by mpmath."""
    loss = as_loss(name)
    with mpmath.workdps(700):  # enough digits for e⁻⁷⁰⁰
        m, one = mpmath.mpf(margin), mpmath.mpf(1)
        term = {"exp": lambda m: mpmath.exp(-m), "logistic": lambda m: mpmath.log(one + mpmath.exp(-m))}[name]
        slope = {"exp": lambda m: mpmath.exp(-m), "logistic": lambda m: one / (one + mpmath.exp(m))}[name]
        step = mpmath.mpf(10) ** -30
        assert abs((term(m - step) - term(m + step)) / (2 * step) / slope(m) - 1) < 1e-25
        rate = (mpmath.log(slope(m - step)) - mpmath.log(slope(m + step))) / (2 * step)
        expected = [float(each) for each in (mpmath.log(term(m)), mpmath.log(slope(m)), rate)]
    m = np.array([margin])
    found = [float(each[0]) for each in (loss.log_terms(m), loss.log_slope(m), loss.slope_rate(m))]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
