"""Properties shared by all families of potentials."""

import numpy as np
import pytest
from guests import Cosh

import tacit
from tacit.potentials import L1, DeepHypentropy, Hypentropy, NeuronPotential, Power, Quadratic

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
