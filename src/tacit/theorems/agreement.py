r"""Where a theorem says that a flow ends, against the flow itself.

A flow is stopped at a relative residual of 1e-8, and its distance to the predicted limit is measured. How far
that residual keeps it from its end depends on X: where the distance is above 1e-6, the flow is compared with
the limit of the targets that it has reached instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.numerics.rounding import EPS
from tacit.theorems.registry import Assumption, Bound, Parts
from tacit.theorems.sharing import shared

AGREE = 1e-6  # relative distance at which flow and theorem are the same
_RESIDUAL = 1e-8  # ‖f(X) − y‖/‖y‖ at which a simulated flow has ended
_SMALLEST = 1e-300
_IN_MIRROR_SPACE = 1e-7  # rtol where errors of the flow's way do not move its end
_OTHERWISE = 1e-10


@dataclass(frozen=True, eq=False)
class End:
    """Predictor and outputs at the end of a flow, whether they fit the targets, and how the flow was run."""

    predictor: Float
    outputs: Float
    fits: Assumption
    how: str


def compared(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """The simulated flow against the limit; method: that of `tacit.flow`, "auto" or "parameters"."""
    X, y = check_problem(X, y)
    try:
        limit = tacit.limit(model, X, y)
    except tacit.NoPotentialError as refusal:
        yield Assumption(f"a potential describes the flow: {refusal}", False)
        return
    except tacit.InconsistentDataError as refusal:
        yield Assumption(f"some w has Xw = y (best relative residual: {refusal.residual:.2g})", False)
        return
    if not limit.converged:
        raise tacit.NotConvergedError(
            f"the limit of {model!r} did not converge; no flow can be compared with it"
        )
    if (sudden := suddenness(model, limit.predictor)) < EPS:
        yield Assumption(
            "floats can follow the flow: a deep network at so small a scale stands still until it jumps, "
            f"within {sudden:.2g} of the time",
            False,
        )
        return
    if limit.sign and limit.sign != np.sign(getattr(model, "output", 1.0)):
        yield Assumption("the output weight keeps its sign: it changes sign on these data", False)
    end = ended(model, X, y, method)
    yield end.fits
    if end.fits.holds:
        yield _apart(model, X, end, limit)


def _apart(model: Any, X: Float, end: End, limit: tacit.Limit) -> Bound:
    """The distance of a flow to its limit; where that is large, to the limit of what it has reached."""
    gap = _distance(end.predictor, limit)
    text = f"relative distance of the flow ({end.how}) to the minimizer"
    if gap > AGREE:
        text += f" that fits its outputs, for their residual leaves {gap:.2g}"
        gap = _distance(end.predictor, tacit.limit(model, X, end.outputs))
    return Bound(text, gap, at_most=AGREE)


@shared
def ended(model: Any, X: Float, y: Float, method: str = "auto") -> End:
    """Where the simulated flow ends, and whether it fits the data there."""
    predictor, outputs = _started(model, X)
    size, missing = _length(y), _length(outputs - y)
    text = f"the flow fits the data, to a relative residual of {_RESIDUAL:g}"
    if missing <= _RESIDUAL * size:
        return End(predictor, outputs, Assumption(text, True), "at its start")
    until = math.log(2 * len(y)) - 2 * math.log(_RESIDUAL * max(size, missing, _SMALLEST))
    mirror = method == "auto" and isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal)
    rtol = _IN_MIRROR_SPACE if mirror else _OTHERWISE
    run = tacit.flow(model, X, y, at=[until], rtol=rtol, method=method)
    fits = Assumption(text if run.converged else f"{text}: {run.reason}", bool(run.converged))
    how = run.method.replace(" (", ", ").rstrip(")")
    return End(np.asarray(run.predictor[-1]).ravel(), run.outputs[-1], fits, how)


def steady(model: Any, X: Float, y: Float, least: float = EPS) -> Assumption:
    """Can the flow be followed, by the size of the solution of least norm?"""
    sudden = suddenness(model, np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64))
    text = f"floats can follow the flow: it arrives within {sudden:.2g} of the time that it stands still"
    return Assumption(text, sudden >= least)


def suddenness(model: Any, predictor: Float) -> float:
    """(α^D/|β|)^{1−2/D}, where it is least: by this part of their range slopes of Q stay below their ends.

    It is also the time in which |β| arrives, in units of the time in which it stands still.
    """
    if not isinstance(model, tacit.Diagonal):
        return 1.0
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.asarray(model.potential(len(predictor)).log_scale) - np.log(np.abs(predictor))
        return float(np.exp((1 - 2 / model.depth) * np.min(logs, initial=0.0)))


def _started(model: Any, X: Float) -> tuple[Float, Float]:
    """Predictor and outputs at the start; NaN where the weights are beyond the range of floats."""
    with np.errstate(all="ignore"):
        weights = model.start(X.shape[1])
        predictor = np.asarray(model.parametrization.predictor(weights)).ravel()
        return predictor, np.asarray(model.parametrization.outputs(weights, X)).ravel()


def _distance(predictor: Float, limit: tacit.Limit) -> float:
    """The distance to the limit in units of its length."""
    return _length(predictor.ravel() - limit.predictor.ravel()) / (_length(limit.predictor) or 1.0)


def _length(vector: Float) -> float:
    """The Euclidean norm, of vectors too whose squares leave the range of floats."""
    largest = float(np.abs(vector).max())
    return largest * float(np.linalg.norm(vector / largest)) if 0 < largest < math.inf else largest
