"""Tacit: of all the solutions that fit the data, which one does gradient descent pick, and why?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit import estimators as estimators
    from tacit import losses as losses
    from tacit import potentials as potentials
    from tacit import theorems as theorems
    from tacit import warping as warping
    from tacit.data.observed import observed as observed
    from tacit.data.status import Status as Status
    from tacit.derivation import Derivation as Derivation
    from tacit.derivation import closed_form as closed_form
    from tacit.derivation import derive as derive
    from tacit.errors import InconsistentDataError as InconsistentDataError
    from tacit.errors import InputError as InputError
    from tacit.errors import Interrupted as Interrupted
    from tacit.errors import MissingDataError as MissingDataError
    from tacit.errors import NoClosedFormError as NoClosedFormError
    from tacit.errors import NoPotentialError as NoPotentialError
    from tacit.errors import NotConvergedError as NotConvergedError
    from tacit.errors import NotSeparableError as NotSeparableError
    from tacit.errors import OutsideDomainError as OutsideDomainError
    from tacit.errors import TacitError as TacitError
    from tacit.models import Diagonal as Diagonal
    from tacit.models import Factorization as Factorization
    from tacit.models import LinearNetwork as LinearNetwork
    from tacit.models import Model as Model
    from tacit.models import Neuron as Neuron
    from tacit.models import SymmetricFactorization as SymmetricFactorization
    from tacit.models import UntiedDiagonal as UntiedDiagonal
    from tacit.models import model as model
    from tacit.networks import Network as Network
    from tacit.theorems.checking import check as check
    from tacit.theorems.verdicts import Verdicts as Verdicts
    from tacit.verbs.answer import Limit as Limit
    from tacit.verbs.certify import Certificate as Certificate
    from tacit.verbs.certify import certify as certify
    from tacit.verbs.flow import flow as flow
    from tacit.verbs.limit import limit as limit
    from tacit.verbs.margin_path import MarginPath as MarginPath
    from tacit.verbs.margin_path import margin_path as margin_path
    from tacit.verbs.max_margin import Margin as Margin
    from tacit.verbs.max_margin import max_margin as max_margin
    from tacit.verbs.monitor import Monitor as Monitor
    from tacit.verbs.prepare import Prepared as Prepared
    from tacit.verbs.prepare import prepare as prepare
    from tacit.verbs.probe import Probe as Probe
    from tacit.verbs.probe import probe as probe
    from tacit.verbs.probe_sweep import ProbeSweep as ProbeSweep
    from tacit.verbs.regime import Regime as Regime
    from tacit.verbs.regime import regime as regime
    from tacit.verbs.stability import Stability as Stability
    from tacit.verbs.stability import support_stability as support_stability
    from tacit.verbs.sweeping_path import SweepingPath as SweepingPath
    from tacit.verbs.sweeping_path import sweeping_path as sweeping_path
    from tacit.verbs.trajectory import Trajectory as Trajectory

__version__ = "0.1.0"

_HOMES = {  # where each public name is, which is loaded when it is first used
    "data.observed": ["observed"],
    "data.status": ["Status"],
    "derivation": ["Derivation", "closed_form", "derive"],
    "errors": [
        "InconsistentDataError",
        "InputError",
        "Interrupted",
        "MissingDataError",
        "NoClosedFormError",
        "NoPotentialError",
        "NotConvergedError",
        "NotSeparableError",
        "OutsideDomainError",
        "TacitError",
    ],
    "models": [
        "Diagonal",
        "Factorization",
        "LinearNetwork",
        "Model",
        "Neuron",
        "SymmetricFactorization",
        "UntiedDiagonal",
        "model",
    ],
    "networks": ["Network"],
    "theorems.checking": ["check"],
    "theorems.verdicts": ["Verdicts"],
    "verbs.answer": ["Limit"],
    "verbs.certify": ["Certificate", "certify"],
    "verbs.flow": ["flow"],
    "verbs.limit": ["limit"],
    "verbs.margin_path": ["MarginPath", "margin_path"],
    "verbs.max_margin": ["Margin", "max_margin"],
    "verbs.monitor": ["Monitor"],
    "verbs.prepare": ["Prepared", "prepare"],
    "verbs.probe": ["Probe", "probe"],
    "verbs.probe_sweep": ["ProbeSweep"],
    "verbs.regime": ["Regime", "regime"],
    "verbs.stability": ["Stability", "support_stability"],
    "verbs.sweeping_path": ["SweepingPath", "sweeping_path"],
    "verbs.trajectory": ["Trajectory"],
}
_HOME = {name: f"tacit.{module}" for module, names in _HOMES.items() for name in names}
_MODULES = ("estimators", "losses", "potentials", "theorems", "warping")

__all__ = sorted([*_HOME, "losses", "potentials"])


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"tacit.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "estimators", "theorems", "warping", "__version__"])
