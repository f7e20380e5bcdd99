"""Models: a parametrization together with its initialization, one file per family."""

from tacit.models.diagonal import Diagonal, UntiedDiagonal
from tacit.models.function import FunctionModel, model
from tacit.models.linear import LinearNetwork
from tacit.models.matrix import Factorization, SymmetricFactorization
from tacit.models.model import MirrorForm, Model
from tacit.models.neuron import Neuron
from tacit.models.parametrizations import Parametrization

__all__ = [
    "Diagonal",
    "Factorization",
    "FunctionModel",
    "LinearNetwork",
    "MirrorForm",
    "Model",
    "Neuron",
    "Parametrization",
    "SymmetricFactorization",
    "UntiedDiagonal",
    "model",
]
