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
from tacit.limits import Limit, limit
from tacit.models import Diagonal, UntiedDiagonal
from tacit.regimes import Regime, regime

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Diagonal",
    "InconsistentDataError",
    "InputError",
    "Limit",
    "NoPotentialError",
    "NotConvergedError",
    "NotSeparableError",
    "Regime",
    "TacitError",
    "UntiedDiagonal",
    "certify",
    "limit",
    "potentials",
    "regime",
]
