"""What a derivation will cost, said before."""

import numpy as np
from maps import TIED, neuron

from tacit.derivation import cost


def test_large_maps_say_what_they_will_cost():
    small, large = cost(neuron, np.ones(4)), cost(TIED[2], np.linspace(0.1, 1, 60))
    assert not small.large and large.large
    assert (large.parameters, large.features) == (60, 30)
    assert large.polynomials > 10 * small.polynomials and large.memory > small.memory
    assert large.seconds == large.verdict + large.polynomials
    assert "60 parameters to 30 features" in str(large)


def test_beyond_the_search_for_polynomials_there_is_none_to_pay():
    assert cost(TIED[2], np.linspace(0.1, 1, 100)).polynomials == 0
