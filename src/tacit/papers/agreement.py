r"""Where a theorem says that a flow ends, against the flow itself.

A flow is stopped at a relative residual of 1e-8, and its distance to the predicted limit is measured. How far
that residual keeps it from its end depends on X: where the distance is above 1e-6, the flow is compared with
the limit of the targets that it has reached instead.

Flows of diagonal networks are followed on the raw weights where that takes about a second, and else in mirror
space, the form that their proofs find for them. That form knows the potential which it is to test; so the
potential is held against the weights by itself, too, whatever the data are (`metric`).

Every coordinate w of the predictor has weights θ of its own, which gradient flow moves along J = ∂w/∂θ. On
their way from the start they are therefore functions of w, and so is the pull τ = ∫(−∂L/∂w)dt that it takes:

    dθ/dw = J/‖J‖²,      dτ/dw = 1/‖J‖²,      and      ∇Q(w) − ∇Q(w(0)) = c·τ(w)

with one number c for all coordinates and all w says that ∇²Q is the metric (JJᵀ)⁻¹, but for c: that is what
makes Q the potential of the flow, of which τ = Xᵀ∫(−∂L/∂f)dt. The left two are integrated here from the
weights at the start; no formula of a potential has a part in it.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.numerics.rounding import EPS
from tacit.papers import Assumption, Bound, Parts, Premise
from tacit.papers.arguments import arrived
from tacit.papers.shared_results import shared
from tacit.papers.statements import unmet

AGREE = 1e-6  # relative distance at which flow and theorem are the same
_RESIDUAL = 1e-8  # ‖f(X) − y‖/‖y‖ at which a simulated flow has ended
_SMALLEST = 1e-300
_DIAGONAL = 1e-7  # rtol, of which steps of raw weights take a thousandth, and mirror space keeps its end
_OTHERWISE = 1e-10
_FEW, _MOST = 300, 900  # weights: fewer take as long, and more too long for an implicit method
_WORK = 8000.0  # these times D/2·log(|β|/α^D), that a second is enough for, if ...
_EVEN = 100.0  # ... singular values of X lie within this factor


@dataclass(frozen=True, eq=False)
class End:
    """Predictor and outputs at the end of a flow, whether they fit the targets, and how the flow was run."""

    predictor: Float
    outputs: Float
    fits: Premise
    how: str


def compared(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """The simulated flow against the limit; method: that of `tacit.flow`, "auto" or "parameters"."""
    X, y = check_problem(X, y)
    limit = yield from limit_of(model, X, y)
    arrived(
        limit, f"the limit of {model!r} did not converge ({limit.reason}); no flow can be compared with it"
    )
    if (sudden := suddenness(model, limit.predictor)) < EPS:
        text = "floats can follow the flow: a deep network at so small a scale stands still until it jumps, "
        yield Premise(f"{text}within {sudden:.2g} of the time", False)
    if limit.sign and limit.sign != np.sign(getattr(model, "output", 1.0)):
        yield Assumption("the output weight keeps its sign: it changes sign on these data", False)
    end = ended(model, X, y, method)
    yield end.fits
    yield _apart(model, X, end, limit)
    if isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal):
        bound = metric(model, X.shape[1], float(np.abs(limit.predictor).max()))
        yield from () if bound is None else (bound,)


def limit_of(model: Any, X: Any, y: Any) -> Generator[Assumption, None, Any]:
    """The limit, if there is one: a potential, and a predictor that fits the data, are premises."""
    try:
        return tacit.limit(model, X, y)
    except tacit.NoPotentialError as refusal:
        yield Premise(f"a potential describes the flow: {refusal}", False)
    except tacit.InconsistentDataError as refusal:
        yield unmet(refusal)


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
        return End(predictor, outputs, Premise(text, True), "at its start")
    until = math.log(2 * len(y)) - 2 * math.log(_RESIDUAL * max(size, missing, _SMALLEST))
    run = _followed(model, X, y, until, method)
    fits = Premise(text if run.converged else f"{text}: {run.reason}", bool(run.converged))
    how = run.method.replace(" (", ", ").replace(")", "")
    return End(np.asarray(run.predictor[-1]).ravel(), run.outputs[-1], fits, how)


def _followed(model: Any, X: Float, y: Float, until: float, method: str) -> tacit.Trajectory:
    """The flow up to an accuracy; by itself on the raw weights, where they arrive soon."""
    diagonal = isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal)
    rtol = _DIAGONAL if diagonal else _OTHERWISE
    if method == "auto" and diagonal and _soon_followed(model, X, y):
        run = tacit.flow(model, X, y, at=[until], rtol=rtol, method="parameters")
        if run.converged:
            return run
    return tacit.flow(model, X, y, at=[until], rtol=rtol, method=method)


def _soon_followed(model: Any, X: Float, y: Float) -> bool:
    """Do raw weights arrive in about a second? The potential, which is tested, has no say in it."""
    start = model.start(X.shape[1])
    weights = sum(np.size(each) for each in start.values())
    sizes = np.linalg.svd(X, compute_uv=False) if weights <= _MOST else np.zeros(1)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    if not (0 < sizes[0] <= _EVEN * sizes[-1] and np.any(least)):
        return False
    D = getattr(model, "depth", 2)
    with np.errstate(all="ignore"):  # 2D²α^{2D−2} at the start; 0 or infinite where that is no float
        slopes = float(np.log(model.parametrization.metric(start)).min())
        far = abs(float(np.log(np.abs(least).max()) - D / (2 * D - 2) * (slopes - np.log(2 * D * D))))
    return max(weights, _FEW) * D / 2 * far <= _WORK


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


Weights = dict[str, Float]
_WAY = 12  # predictors between the start and the farthest, either way, evenly in asinh
_FAR = 10.0  # times the size of a start: how far a predictor goes at least
_RTOL = 1e-11
_TINY = 1e-290
_AGREE = 1e-6


def metric(model: tacit.Diagonal | tacit.UntiedDiagonal, features: int, farthest: float) -> Bound | None:
    """By how much ∇Q(w) differs from c·τ(w), relative, for |w| up to the farthest.

    None where floats do not hold the start.
    """
    start = model.start(features)
    with np.errstate(all="ignore"):
        slopes = _squared(model.parametrization.slopes(start))
        units = np.sqrt(slopes * _squared(start))
        ends = np.maximum(farthest, _FAR * units)
        usable = np.isfinite(ends / units * ends / slopes) & (np.minimum(units, slopes) > _TINY)
    if not usable.all():
        return None
    off = max(_off(model, start, units, sign * np.arcsinh(ends / units)) for sign in (1.0, -1.0))
    return Bound("∇Q(w) against c·τ(w), the pull that moves the weights to w, relative", off, at_most=_AGREE)


def _off(model: Any, start: Weights, units: Float, ends: Float) -> float:
    """The largest |∇Q(w)/(c·τ(w)) − 1| on the way to w(0) + units·sinh(ends)."""
    rows = np.column_stack([*start.values(), units, ends])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    few = {name: each[first] for name, each in start.items()}
    moved, pulls = _driven(model.parametrization, few, units[first], ends[first])
    potential = model.potential(len(ends))
    origin = np.asarray(model.parametrization.predictor(start))
    curvature = np.broadcast_to(np.asarray(potential.hessian(origin)), origin.shape)
    c = float(np.median(curvature * _squared(model.parametrization.slopes(start))))
    seen = np.asarray(potential.gradient(origin + moved[:, which.ravel()]))
    seen = seen - np.asarray(potential.gradient(origin))
    return float(np.abs(seen / (c * pulls[:, which.ravel()]) - 1).max())


def _driven(parametrization: Any, start: Weights, units: Float, ends: Float) -> tuple[Float, Float]:
    """w − w(0) and τ on the way to units·sinh(ends), a row for each place."""
    names, count = list(start), len(units)
    sizes = _squared(parametrization.slopes(start))

    def rates(place: float, state: Float) -> Float:
        """Of weights and τ, in units of the start, by the place between 0 and 1 in asinh."""
        parts = state.reshape(-1, count)
        slopes = parametrization.slopes(dict(zip(names, parts[:-1], strict=True)))
        squared = _squared(slopes)
        speed = units * np.cosh(place * ends) * ends
        moving = [slopes[name] * speed / squared for name in names]
        return np.concatenate([*moving, speed / units * sizes / squared])

    first = np.concatenate([*(start[name] for name in names), np.zeros(count)])
    atol = np.repeat([*(float(np.abs(start[name]).max()) for name in names), 1.0], count) * _RTOL * 1e-3
    places = np.arange(1, _WAY + 1) / _WAY
    with np.errstate(under="ignore"):  # of SciPy's shortest step at the time 0
        found = solve_ivp(
            rates, (0, 1), first, "DOP853", t_eval=places, rtol=_RTOL, atol=np.maximum(atol, 1e-300)
        )
    if not found.success:
        raise tacit.NotConvergedError(f"the weights cannot be followed to the farthest w: {found.message}")
    pulls = found.y[-count:].T * (units / sizes)
    return units * np.sinh(places[:, None] * ends), pulls


def _squared(slopes: Weights) -> Float:
    """The sum of squares, coordinate by coordinate."""
    return np.asarray(sum(np.square(each) for each in slopes.values()))
