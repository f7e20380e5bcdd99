"""Tacit: of all the solutions that fit the data, which one does gradient descent pick, and why?"""

import importlib

from tacit import losses, potentials
from tacit.errors import (
    InconsistentDataError,
    InputError,
    Interrupted,
    NoPotentialError,
    NotConvergedError,
    NotSeparableError,
    TacitError,
)
from tacit.models import Diagonal, Factorization, LinearNetwork, Model, Neuron, UntiedDiagonal, model
from tacit.verbs.answer import Limit
from tacit.verbs.certify import Certificate, certify
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit
from tacit.verbs.margin_path import MarginPath, margin_path
from tacit.verbs.max_margin import Margin, max_margin
from tacit.verbs.prepare import Prepared, prepare
from tacit.verbs.regime import Regime, regime
from tacit.verbs.stability import Stability, support_stability
from tacit.verbs.sweeping_path import SweepingPath, sweeping_path
from tacit.verbs.trajectory import Trajectory

__version__ = "0.1.0"

_ON_FIRST_USE = ("theorems", "warping")  # modules that most users never need


def __getattr__(name: str) -> object:
    if name in _ON_FIRST_USE:
        return importlib.import_module(f"tacit.{name}")
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ON_FIRST_USE, "__version__"])


__all__ = [
    "Certificate",
    "Diagonal",
    "Factorization",
    "InconsistentDataError",
    "InputError",
    "Interrupted",
    "Limit",
    "LinearNetwork",
    "Margin",
    "MarginPath",
    "Model",
    "Neuron",
    "NoPotentialError",
    "NotConvergedError",
    "NotSeparableError",
    "Prepared",
    "Regime",
    "Stability",
    "SweepingPath",
    "TacitError",
    "Trajectory",
    "UntiedDiagonal",
    "certify",
    "flow",
    "limit",
    "losses",
    "margin_path",
    "max_margin",
    "model",
    "potentials",
    "prepare",
    "regime",
    "support_stability",
    "sweeping_path",
]
