"""Tacit: of all the solutions that fit the data, which one does gradient descent pick, and why?"""

from tacit import potentials
from tacit.certify import Certificate, certify
from tacit.errors import (
    InconsistentDataError,
    InputError,
    NoPotentialError,
    NotConvergedError,
    NotSeparableError,
    TacitError,
)
from tacit.flows import Trajectory, flow, losses
from tacit.limits import Limit, limit
from tacit.models import Diagonal, Factorization, LinearNetwork, Neuron, UntiedDiagonal
from tacit.regimes import Regime, regime

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Diagonal",
    "Factorization",
    "InconsistentDataError",
    "InputError",
    "Limit",
    "LinearNetwork",
    "Neuron",
    "NoPotentialError",
    "NotConvergedError",
    "NotSeparableError",
    "Regime",
    "TacitError",
    "Trajectory",
    "UntiedDiagonal",
    "certify",
    "flow",
    "limit",
    "losses",
    "potentials",
    "regime",
]
