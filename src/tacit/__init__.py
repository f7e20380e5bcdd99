"""Tacit computes the implicit bias of gradient descent: which of all solutions that fit the data it picks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tacit.results.delegation import register

if TYPE_CHECKING:
    from tacit import estimators as estimators
    from tacit import losses as losses
    from tacit import potentials as potentials
    from tacit import theorems as theorems
    from tacit import warping as warping
    from tacit.data.entries import observed as observed
    from tacit.data.prepared import Prepared as Prepared
    from tacit.data.prepared import prepare as prepare
    from tacit.data.status import Status as Status
    from tacit.derivation.closed_form import closed_form as closed_form
    from tacit.derivation.derive import derive as derive
    from tacit.derivation.result import Derivation as Derivation
    from tacit.errors import InconsistentDataError as InconsistentDataError
    from tacit.errors import InputError as InputError
    from tacit.errors import Interrupted as Interrupted
    from tacit.errors import MissingDataError as MissingDataError
    from tacit.errors import MissingDeviceError as MissingDeviceError
    from tacit.errors import MissingPackageError as MissingPackageError
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
    from tacit.papers.checking import check as check
    from tacit.results.audit import Audit as Audit
    from tacit.results.certificate import Certificate as Certificate
    from tacit.results.decay_path import DecayPath as DecayPath
    from tacit.results.explanation import Explanation as Explanation
    from tacit.results.limit import Limit as Limit
    from tacit.results.limits import Limits as Limits
    from tacit.results.margin import Margin as Margin
    from tacit.results.margin_paths import MarginPaths as MarginPaths
    from tacit.results.monitor import Monitor as Monitor
    from tacit.results.paths import MarginPath as MarginPath
    from tacit.results.paths import Stability as Stability
    from tacit.results.paths import SweepingPath as SweepingPath
    from tacit.results.probe import Probe as Probe
    from tacit.results.probe import ProbeSweep as ProbeSweep
    from tacit.results.regime import Regime as Regime
    from tacit.results.risk import Risk as Risk
    from tacit.results.run import Run as Run
    from tacit.results.saddle_path import SaddlePath as SaddlePath
    from tacit.results.trajectory import Trajectory as Trajectory
    from tacit.results.verdicts import Verdicts as Verdicts
    from tacit.studies.sweep import sweep as sweep
    from tacit.training.settings import Training as Training
    from tacit.verbs.audit import audit as audit
    from tacit.verbs.certify import certify as certify
    from tacit.verbs.decay_path import decay_path as decay_path
    from tacit.verbs.descend import descend as descend
    from tacit.verbs.explain import explain as explain
    from tacit.verbs.flow import flow as flow
    from tacit.verbs.limit import limit as limit
    from tacit.verbs.limits import limits as limits
    from tacit.verbs.margin_path import margin_path as margin_path
    from tacit.verbs.margin_paths import margin_paths as margin_paths
    from tacit.verbs.max_margin import max_margin as max_margin
    from tacit.verbs.probe import probe as probe
    from tacit.verbs.regime import regime as regime
    from tacit.verbs.risk import risk as risk
    from tacit.verbs.saddle_path import saddle_path as saddle_path
    from tacit.verbs.sweeping_path import support_stability as support_stability
    from tacit.verbs.sweeping_path import sweeping_path as sweeping_path

__version__ = "0.2.0.dev0"

_HOMES = {  # module: its public names, imported when they are first used
    "data.entries": "observed",
    "data.prepared": "Prepared prepare",
    "data.status": "Status",
    "derivation.closed_form": "closed_form",
    "derivation.derive": "derive",
    "derivation.result": "Derivation",
    "errors": (
        "InconsistentDataError InputError Interrupted MissingDataError MissingDeviceError "
        "MissingPackageError NoClosedFormError NoPotentialError NotConvergedError NotSeparableError "
        "OutsideDomainError TacitError"
    ),
    "models": "Diagonal Factorization LinearNetwork Model Neuron SymmetricFactorization UntiedDiagonal model",
    "networks": "Network",
    "papers.checking": "check",
    "results.audit": "Audit",
    "results.certificate": "Certificate",
    "results.decay_path": "DecayPath",
    "results.explanation": "Explanation",
    "results.limit": "Limit",
    "results.limits": "Limits",
    "results.margin": "Margin",
    "results.margin_paths": "MarginPaths",
    "results.paths": "MarginPath Stability SweepingPath",
    "results.monitor": "Monitor",
    "results.probe": "Probe ProbeSweep",
    "results.regime": "Regime",
    "results.risk": "Risk",
    "results.run": "Run",
    "results.saddle_path": "SaddlePath",
    "results.trajectory": "Trajectory",
    "results.verdicts": "Verdicts",
    "studies.sweep": "sweep",
    "training.settings": "Training",
    "verbs.audit": "audit",
    "verbs.certify": "certify",
    "verbs.decay_path": "decay_path",
    "verbs.descend": "descend",
    "verbs.explain": "explain",
    "verbs.flow": "flow",
    "verbs.limit": "limit",
    "verbs.limits": "limits",
    "verbs.margin_path": "margin_path",
    "verbs.margin_paths": "margin_paths",
    "verbs.max_margin": "max_margin",
    "verbs.probe": "probe",
    "verbs.regime": "regime",
    "verbs.risk": "risk",
    "verbs.saddle_path": "saddle_path",
    "verbs.sweeping_path": "support_stability sweeping_path",
}
_HOME = {name: f"tacit.{module}" for module, names in _HOMES.items() for name in names.split()}
_IMPLEMENTATIONS = {  # of methods of results, in layers above `results`
    "Audit.picture": "tacit.show.runs:audit_picture",
    "Audit.start": "tacit.verbs.audit:start_of",
    "Audit.summary": "tacit.show.runs:audit_report",
    "AlongMu.picture": "tacit.show.paths:path_picture",
    "CoefficientPath.picture": "tacit.show.fits:coefficients_picture",
    "Certificate.picture": "tacit.show.limits:certificate_picture",
    "Derivation.picture": "tacit.derivation.illustration:derivation_picture",
    "Limit.other_scales": "tacit.verbs.regime:other_scales",
    "DecayPath.picture": "tacit.show.practice:decay_picture",
    "DecayPath.predictor_at": "tacit.verbs.decay_path:predictor_at",
    "DecayPath.summary": "tacit.show.practice:decay_report",
    "Explanation.picture": "tacit.show.practice:explanation_picture",
    "Explanation.summary": "tacit.show.practice:explanation_report",
    "Limit.picture": "tacit.show.limits:limit_picture",
    "Limit.error_explanation": "tacit.solvers.table:explain_error",
    "Limit.regime": "tacit.verbs.regime:regime_of",
    "Limit.summary": "tacit.show.text:limit_report",
    "Limits.picture": "tacit.show.limits:limits_picture",
    "Limits.summary": "tacit.show.limits:limits_report",
    "Margin.picture": "tacit.show.limits:margin_picture",
    "Margin.summary": "tacit.show.text:margin_report",
    "MarginPath.excess": "tacit.verbs.margin_path:excess_of",
    "MarginPath.kinks": "tacit.verbs.margin_path:kinks_of",
    "MarginPaths.picture": "tacit.show.paths:paths_picture",
    "MarginPaths.summary": "tacit.show.paths:paths_report",
    "MarginPath.summary": "tacit.show.paths:path_report",
    "Monitor.picture": "tacit.show.monitors:monitor_picture",
    "Monitor.summary": "tacit.show.monitors:monitor_report",
    "Probe.doubled": "tacit.verbs.probe:doubled",
    "Probe.picture": "tacit.show.probes:probe_picture",
    "Probe.summary": "tacit.show.probes:probe_report",
    "Probe.sweep": "tacit.verbs.probe:sweep_of",
    "ProbeSweep.picture": "tacit.show.probes:sweep_picture",
    "ProbeSweep.summary": "tacit.show.probes:sweep_report",
    "Risk.picture": "tacit.show.practice:risk_picture",
    "Risk.summary": "tacit.show.practice:risk_report",
    "Run.explained": "tacit.verbs.descend:explained",
    "Run.flow_limit": "tacit.verbs.descend:flow_limit",
    "Run.picture": "tacit.show.runs:run_picture",
    "Run.predicted": "tacit.verbs.descend:predicted",
    "Run.summary": "tacit.show.runs:run_report",
    "SaddlePath.picture": "tacit.show.saddles:saddle_picture",
    "SaddlePath.summary": "tacit.show.saddles:saddle_report",
    "SweepingPath.summary": "tacit.show.paths:sweeping_report",
    "Trajectory.picture": "tacit.show.flows:flow_picture",
    "Trajectory.predicted_end": "tacit.verbs.regime:predicted_end",
    "Trajectory.summary": "tacit.show.text:flow_report",
    "Verdicts.picture": "tacit.show.bounds:picture_of",
}
register(_IMPLEMENTATIONS)
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
