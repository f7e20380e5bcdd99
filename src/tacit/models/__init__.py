"""Models: a parametrization together with its initialization, one file per family."""

from tacit.models.diagonal import Diagonal, UntiedDiagonal
from tacit.models.linear import LinearNetwork
from tacit.models.matrix import Factorization
from tacit.models.relu import Neuron

__all__ = ["Diagonal", "Factorization", "LinearNetwork", "Neuron", "UntiedDiagonal"]
