"""Properties shared by all families of potentials."""

import numpy as np
import pytest
from guests import Cosh

import tacit
from tacit.potentials import L1, Bregman, DeepHypentropy, Hypentropy, NeuronPotential, Power, Quadratic

POTENTIALS = {
    "depth 2": Hypentropy(-1.0),
    "depth 3": DeepHypentropy(3, -1.0),
    "untied": tacit.UntiedDiagonal.from_layers([0.3, 0.5, 0.9]).potential(5),
    "ℓ1": L1(),
    "ℓ2": Quadratic(2.0),
    "neuron": NeuronPotential(0.3),
    "power": Power(1.5),
    "guest": Cosh(),
}
X = np.random.default_rng(3).standard_normal((2, 5))


@pytest.mark.parametrize("name", POTENTIALS)
def test_targets_that_the_start_meets_take_no_steps_to_speak_of(name):
    """The predictor is 0, so that no error can be relative to it."""
    found = tacit.limit(POTENTIALS[name], X, np.zeros(2))
    assert found.converged and 0 <= found.iterations <= 2 and found.error == 0
    assert not found.predictor.any() and not np.any(found.dual)


@pytest.mark.parametrize("delta", [-1.0, 0.0])
def test_a_neuron_that_ends_at_zero_has_multipliers(delta):
    """∇q̂(0) is 0 along the samples, so that Xᵀν takes away the slope at the start."""
    Q, origin, features = NeuronPotential(delta), np.array([1.0, 0.5, 0.0]), np.diag([2.0, 1.0, 1.0])[:2]
    found = tacit.limit(Bregman(Q, origin), features, np.zeros(2))
    assert found.converged and not found.predictor.any()
    np.testing.assert_allclose(features.T @ found.dual, -Q.gradient(origin), rtol=1e-12)
