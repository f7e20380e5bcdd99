"""What a derivation will cost, said before."""

import jax.numpy as jnp
import numpy as np
import pytest
from maps import TIED, neuron

import tacit
from tacit.derivation.cost import cost


def dense(theta):
    """All parameters in one block, however many."""
    return jnp.array([jnp.sum(theta) ** 2, jnp.sum(theta**3)])


def test_large_maps_say_what_they_will_cost():
    small, large = cost(neuron, np.ones(4)), cost(dense, np.linspace(0.1, 1, 60))
    assert not small.large and large.large
    assert (large.parameters, large.features) == (60, 2)
    assert large.polynomials > 10 * small.polynomials and large.memory > small.memory
    assert large.seconds == large.verdict + large.polynomials
    assert "60 parameters to 2 features" in str(large)


def test_beyond_the_search_for_polynomials_there_is_none_to_pay():
    assert cost(dense, np.linspace(0.1, 1, 100)).polynomials == 0


def test_separate_blocks_are_searched_each_for_itself():
    """Pairs of parameters cost nothing, however many there are: what is counted is the largest block."""
    assert cost(TIED[2], np.linspace(0.1, 1, 100)).polynomials < 0.1 * cost(dense, np.ones(60)).polynomials


def test_what_does_not_fit_in_memory_is_refused_by_name():
    """Before its Jacobian is formed: where memory for it ends, XLA ends the whole process."""
    for p in (5_000, 200_000):
        with pytest.raises(tacit.InputError, match="too large to derive"):
            tacit.derive(neuron, np.ones(p))
        with pytest.raises(tacit.InputError, match="too large to derive"):
            cost(neuron, np.ones(p))
