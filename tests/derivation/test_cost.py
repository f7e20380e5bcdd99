"""The estimated cost of a derivation."""

import jax.numpy as jnp
import numpy as np
import pytest
from maps import TIED, neuron

import tacit
from tacit.derivation.derive import cost
from tacit.derivation.metric import metric_bytes


def dense(theta):
    """A map with all parameters in one block."""
    return jnp.array([jnp.sum(theta) ** 2, jnp.sum(theta**3)])


def test_the_cost_of_large_maps():
    small, large = cost(neuron, np.ones(4)), cost(dense, np.linspace(0.1, 1, 60))
    assert not small.large and large.large
    assert (large.parameters, large.features) == (60, 2)
    assert large.polynomials > 10 * small.polynomials and large.memory > small.memory
    assert large.seconds == large.verdict + large.polynomials
    assert "60 parameters to 2 features" in str(large)


def test_blocks_too_large_to_search_cost_nothing():
    assert cost(dense, np.linspace(0.1, 1, 100)).polynomials == 0


def test_blocks_are_searched_separately():
    """The cost depends on the sizes of the blocks, so many pairs of parameters are cheap."""
    assert cost(TIED[2], np.linspace(0.1, 1, 100)).polynomials < 0.1 * cost(dense, np.ones(60)).polynomials


def test_maps_that_do_not_fit_in_memory_are_rejected():
    """Before the Jacobian is formed: XLA ends the whole process if memory runs out."""
    for p in (5_000, 200_000):
        with pytest.raises(tacit.InputError, match="too large to derive"):
            tacit.derive(neuron, np.ones(p))
        with pytest.raises(tacit.InputError, match="too large to derive"):
            cost(neuron, np.ones(p))


def test_the_memory_of_the_tensors_counts_their_entries():
    """∂_kH_ij, its transpose and their difference have d³ entries of eight bytes each."""
    for d in (10, 200):
        assert metric_bytes(d, d) >= 3 * 8 * d**3
    assert metric_bytes(1, 200) >= 3 * 8 * 200**3
