"""Derived potentials compared with closed forms, and with the ends of flows."""

import numpy as np
import pytest
from maps import TIED, exponential, neuron, sums_of_squares, two_neurons, untied, untied_three
from properties import some
from scipy.integrate import quad

import tacit
from tacit.potentials import Bregman, DeepHypentropy, Hypentropy, NeuronPotential

CLOSE = 1e-8  # the documented accuracy; ≤ 2e-12 was seen


def agree(Q, closed, factor, w):
    """factor·Q is the closed form, in all four methods."""
    slope = closed.gradient(w)
    np.testing.assert_allclose(factor * Q.gradient(w), slope, rtol=0, atol=CLOSE * np.abs(slope).max())
    np.testing.assert_allclose(Q.mirror(slope / factor), w, rtol=0, atol=CLOSE * np.abs(w).max())
    np.testing.assert_allclose(factor * Q.value(w), closed.value(w), rtol=CLOSE)
    H = np.asarray(closed.hessian(w))
    H = np.diag(H) if H.ndim == 1 else H
    np.testing.assert_allclose(factor * Q.hessian(w), H, rtol=0, atol=CLOSE * np.abs(H).max())


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_tied_layers(depth):
    """From any start: w₊w₋, or w₊^{2−D} + w₋^{2−D}, determines the scale, and w₀ the origin."""
    for seed in some(range(20), 10):
        rng = np.random.default_rng(seed)
        plus, minus = rng.uniform(0.2, 2, (2, 3))
        if depth == 2:
            closed, factor = Hypentropy(np.log(plus * minus)), 4
        else:
            alpha = ((plus ** (2 - depth) + minus ** (2 - depth)) / 2) ** (1 / (2 - depth))
            closed = DeepHypentropy(depth, depth * np.log(alpha), alpha ** (2 - depth))
            factor = depth * (depth - 2)
        found = tacit.derive(TIED[depth], np.concatenate([plus, minus]), samples=3)
        closed = Bregman(closed, plus**depth - minus**depth)
        agree(found.potential, closed, factor, rng.standard_normal(3))


def test_untied_layers():
    for seed in some(range(20), 10):
        rng = np.random.default_rng(seed)
        u, v, u_minus, v_minus = layers = rng.standard_normal((4, 3))
        found = tacit.derive(untied, layers.ravel(), samples=3)
        closed = tacit.UntiedDiagonal.from_weights(u, v, u_minus, v_minus).potential(3)
        agree(found.potential, closed, 1.0, rng.standard_normal(3))


@pytest.mark.every(2)
@pytest.mark.parametrize("output", [2.0, 0.5, -0.7])
def test_a_neuron(output):
    """g = |a|/|a₀| here and (3/2)|a| in the paper."""
    inner = np.array([0.3, -0.8, 0.6])
    found = tacit.derive(neuron, np.array([output, *inner]), samples=3)
    closed = Bregman(NeuronPotential(output**2 - inner @ inner), output * inner)
    for w in (output * inner + [0.5, 0.2, -0.1], output * inner * 3, 4 * np.sign(output) * inner):
        agree(found.potential, closed, 1.5 * abs(output), w)


def test_three_untied_layers_by_quadrature():
    """∫ dx/∏√(x² + μⱼ²) from the smallest layer: ∇Q of one product of three, which no paper treats."""
    layers = np.array([1.5, 0.8, 0.3])
    mu = np.sqrt(layers**2 - layers[-1] ** 2)

    def product(z):
        return z * np.hypot(z, mu[0]) * np.hypot(z, mu[1])

    found = tacit.derive(lambda theta: theta[:1] * theta[1:2] * theta[2:], layers)
    for z in (0.5, 2.0, 0.01):
        expected = quad(lambda x: 1 / np.hypot(x, mu[0]) / np.hypot(x, mu[1]), 0.3, z, epsabs=1e-13)[0]
        np.testing.assert_allclose(found.potential.gradient([product(z)]), expected, rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("function", "p", "tol"),
    [(untied_three, 18, 1e-6), (sums_of_squares, 4, 1e-6)],
    ids=["untied", "squares"],
)
def test_flows_of_models_that_no_paper_treats_end_at_the_derived_limit(function, p, tol):
    rng = np.random.default_rng(1)
    X, start = rng.standard_normal((2, 3)), rng.standard_normal(p)
    y = X @ np.array([1.0, 2.0, 3.0])
    model = tacit.derive(function, start, samples=3).model
    ended = tacit.flow(tacit.model(function, start), X, y).predictor[-1]
    assert tacit.certify(model, X, y, ended, tol=tol).holds
    limit = tacit.limit(model, X, y)
    assert limit.converged
    np.testing.assert_allclose(limit.predictor, ended, rtol=0, atol=tol * np.abs(ended).max())
    elsewhere = ended + 1e-3 * np.cross(*X)  # this predictor fits as well
    assert not tacit.certify(model, X, y, elsewhere, tol=tol).holds


def test_without_a_potential_the_error_gives_the_reason():
    found = tacit.derive(two_neurons, np.random.default_rng(0).standard_normal(8), samples=3)
    for ask in (lambda: found.potential, lambda: found.model.potential(3)):
        with pytest.raises(tacit.NoPotentialError, match="dimension 5 > 3"):
            ask()


def test_unreachable_predictors_are_outside_the_domain():
    """For w = e^θ from w₀ = 1, Q' = 1 − 1/w, so slopes are below 1 and w is above 0."""
    Q = tacit.derive(exponential, np.zeros(2)).potential
    np.testing.assert_allclose(Q.gradient([4.0, 0.25]), [0.75, -3.0], rtol=1e-10)
    np.testing.assert_allclose(Q.mirror([0.75, -3.0]), [4.0, 0.25], rtol=1e-10)
    with pytest.raises(tacit.OutsideDomainError, match="outside the domain") as caught:
        Q.gradient([2.0, -1.0])
    np.testing.assert_allclose(caught.value.share, 0.5, rtol=1e-6)
    assert np.isnan(Q.mirror([1.5, 0.0])).all()
    assert np.isnan(Q.value([np.nan, 1.0])) and np.isnan(Q.mirror([np.nan, 1.0])).all()
    for ask in (Q.gradient, Q.hessian, Q.weights):
        with pytest.raises(tacit.InputError, match="NaN or infinite"):
            ask([np.nan, 1.0])
    with pytest.raises(tacit.InputError, match="2 entries"):
        Q.gradient([1.0])
    with pytest.raises(tacit.InputError, match="2 entries but the data has 3"):
        Q.check_features(3)


def test_the_accuracy_is_measured():
    Q = tacit.derive(TIED[2], np.array([1.0, 0.5, 0.7, 1.2]), samples=3).potential
    assert 0 < Q.accuracy() <= 1e-10
    assert "mirror" in repr(Q) and "minimized" in Q.describe()
    np.testing.assert_allclose(Q.weights(Q.origin), [1.0, 0.5, 0.7, 1.2])
