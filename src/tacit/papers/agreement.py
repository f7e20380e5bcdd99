r"""The limit that a theorem predicts, compared with the simulated flow.

The flow is stopped at a relative residual of 1e-8, and its distance to the predicted limit is measured. The
resulting distance of the flow from its limit depends on X. If the distance is above 1e-6, the flow is
therefore compared with the limit for the outputs that it has reached instead of the targets.

Flows of diagonal networks are simulated with the raw weights if that takes about a second, and otherwise in
mirror space. The mirror form uses the potential that is tested. The potential is therefore also compared with
the weights directly, for all data (`metric`).

Every coordinate w of the predictor has its own weights θ, which gradient flow moves along J = ∂w/∂θ. From
given initial weights they are therefore functions of w, and so is τ = ∫(−∂L/∂w)dt:

    dθ/dw = J/‖J‖²,      dτ/dw = 1/‖J‖²,      and      ∇Q(w) − ∇Q(w(0)) = c·τ(w)

with one constant c for all coordinates and all w says that ∇²Q is the metric (JJᵀ)⁻¹ up to the factor c. This
makes Q the potential of the flow, since τ = Xᵀ∫(−∂L/∂f)dt. The first two equations are integrated here from
the initial weights; this integration uses no formula of a potential.
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
from tacit.papers.statements import shared, unmet

Weights = dict[str, Float]

AGREE = 1e-6  # largest relative distance at which the flow agrees with the theorem

# Simulation of the flow.
_RESIDUAL = 1e-8  # relative residual ‖f(X) − y‖/‖y‖ at which the flow is stopped
_SMALLEST = 1e-300  # keeps the logarithm of the residual finite
# raw weights have a thousandth of it as the tolerance of a step; in mirror space any value is reached
_RTOL_DIAGONAL = 1e-7
_RTOL = 1e-10

# Raw weights are used if they take about a second on one core (measured): weights·D/2·|log(|β|/α^D)| is at
# most _MAX_WORK. Below _MIN_WEIGHTS the time no longer depends on the number of weights. Implicit steps are
# too slow above _MAX_WEIGHTS, or if the singular values of X differ by more than _MAX_SPREAD.
_MIN_WEIGHTS, _MAX_WEIGHTS = 300, 900
_MAX_WORK = 8000.0
_MAX_SPREAD = 100.0

# Comparison of the potential with the metric of the weights.
_POINTS = 12  # compared values of w between w(0) and the farthest w in either direction, equidistant in asinh
_RANGE = 10.0  # w covers at least this many times the scale of the initialization
_METRIC_RTOL = 1e-11  # of the integration of weights and τ
_MIN_START = 1e-290  # smaller initial metrics and scales are too close to underflow to be integrated
_METRIC_AGREE = 1e-6  # largest relative difference; correct potentials stay below 1e-8


@dataclass(frozen=True, eq=False)
class End:
    """Predictor and outputs at the end of a flow, whether they fit the targets, and how it was simulated."""

    predictor: Float
    outputs: Float
    fits: Premise
    how: str


def compared(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """Compare the simulated flow with the limit; method: as in `tacit.flow`, "auto" or "parameters"."""
    X, y = check_problem(X, y)
    limit = yield from limit_of(model, X, y)
    why = f"the limit of {model!r} did not converge ({limit.reason})"
    arrived(limit, f"{why}, so the flow cannot be compared with it")
    if (sudden := suddenness(model, limit.predictor)) < EPS:
        text = "the flow can be resolved in double precision: at so small a scale, a deep network"
        yield Premise(f"{text} stays near 0 and then moves within {sudden:.2g} of that time", False)
    if limit.sign and limit.sign != np.sign(getattr(model, "output", 1.0)):
        yield Assumption("the output weight keeps its sign (on these data it changes its sign)", False)
    end = ended(model, X, y, method)
    yield end.fits
    yield _distance_bound(model, X, end, limit)
    if isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal):
        bound = metric(model, X.shape[1], float(np.abs(limit.predictor).max()))
        yield from () if bound is None else (bound,)


def limit_of(model: Any, X: Any, y: Any) -> Generator[Assumption, None, Any]:
    """Return the limit; the premises are that a potential exists and that some predictor fits the data."""
    try:
        return tacit.limit(model, X, y)
    except tacit.NoPotentialError as refusal:
        yield Premise(f"a potential describes the flow: {refusal}", False)
    except tacit.InconsistentDataError as refusal:
        yield unmet(refusal)


def _distance_bound(model: Any, X: Float, end: End, limit: tacit.Limit) -> Bound:
    """The distance of a flow to its limit; if that is large, to the limit for the outputs it has reached."""
    gap = _distance(end.predictor, limit)
    text = f"relative distance of the flow ({end.how}) to the minimizer"
    if gap > AGREE:
        text += f" that fits its outputs (to the one that fits the targets: {gap:.2g})"
        gap = _distance(end.predictor, tacit.limit(model, X, end.outputs))
    return Bound(text, gap, at_most=AGREE)


@shared
def ended(model: Any, X: Float, y: Float, method: str = "auto") -> End:
    """Simulate the flow to its end, and say whether it fits the data there."""
    predictor, outputs = _initial(model, X)
    size, missing = _norm(y), _norm(outputs - y)
    text = f"the flow fits the data, to a relative residual of {_RESIDUAL:g}"
    if missing <= _RESIDUAL * size:
        return End(predictor, outputs, Premise(text, True), "at initialization")
    until = math.log(2 * len(y)) - 2 * math.log(_RESIDUAL * max(size, missing, _SMALLEST))
    run = _simulated(model, X, y, until, method)
    fits = Premise(text if run.converged else f"{text}: {run.reason}", bool(run.converged))
    how = run.method.replace(" (", ", ").replace(")", "")
    return End(np.asarray(run.predictor[-1]).ravel(), run.outputs[-1], fits, how)


def _simulated(model: Any, X: Float, y: Float, until: float, method: str) -> tacit.Trajectory:
    """The flow up to an accuracy; "auto" uses the raw weights of diagonal networks if they are fast."""
    diagonal = isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal)
    rtol = _RTOL_DIAGONAL if diagonal else _RTOL
    if method == "auto" and diagonal and _raw_weights_are_fast(model, X, y):
        run = tacit.flow(model, X, y, at=[until], rtol=rtol, method="parameters")
        if run.converged:
            return run
    return tacit.flow(model, X, y, at=[until], rtol=rtol, method=method)


def _raw_weights_are_fast(model: Any, X: Float, y: Float) -> bool:
    """Whether raw weights converge in about a second, estimated without the tested potential."""
    start = model.start(X.shape[1])
    weights = sum(np.size(each) for each in start.values())
    sizes = np.linalg.svd(X, compute_uv=False) if weights <= _MAX_WEIGHTS else np.zeros(1)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    if not (0 < sizes[0] <= _MAX_SPREAD * sizes[-1] and np.any(least)):
        return False
    D = getattr(model, "depth", 2)
    with np.errstate(all="ignore"):  # the metric at initialization is 2D²α^{2D−2}; it may be 0 or infinite
        slopes = float(np.log(model.parametrization.metric(start)).min())
        growth = abs(float(np.log(np.abs(least).max()) - D / (2 * D - 2) * (slopes - np.log(2 * D * D))))
    return max(weights, _MIN_WEIGHTS) * D / 2 * growth <= _MAX_WORK


def steady(model: Any, X: Float, y: Float, least: float = EPS) -> Assumption:
    """Whether double precision can resolve the flow, judged by the minimum-norm solution."""
    sudden = suddenness(model, np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64))
    text = "the flow can be resolved in double precision: it stays near 0 and then moves within "
    return Assumption(f"{text}{sudden:.2g} of that time", sudden >= least)


def suddenness(model: Any, predictor: Float) -> float:
    """The smallest (α^D/|β|)^{1−2/D}: how close slopes of Q come to the ends of their range, relative to it.

    It is also the time in which |β| grows, relative to the time during which the predictor stays near 0.
    """
    if not isinstance(model, tacit.Diagonal):
        return 1.0
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.asarray(model.potential(len(predictor)).log_scale) - np.log(np.abs(predictor))
        return float(np.exp((1 - 2 / model.depth) * np.min(logs, initial=0.0)))


def _initial(model: Any, X: Float) -> tuple[Float, Float]:
    """Predictor and outputs at initialization; NaN if the weights overflow or underflow."""
    with np.errstate(all="ignore"):
        weights = model.start(X.shape[1])
        predictor = np.asarray(model.parametrization.predictor(weights)).ravel()
        return predictor, np.asarray(model.parametrization.outputs(weights, X)).ravel()


def _distance(predictor: Float, limit: tacit.Limit) -> float:
    """The distance to the limit, relative to the norm of the limit."""
    return _norm(predictor.ravel() - limit.predictor.ravel()) / (_norm(limit.predictor) or 1.0)


def _norm(vector: Float) -> float:
    """The Euclidean norm, also of vectors whose squares overflow or underflow."""
    largest = float(np.abs(vector).max())
    return largest * float(np.linalg.norm(vector / largest)) if 0 < largest < math.inf else largest


def metric(model: tacit.Diagonal | tacit.UntiedDiagonal, features: int, farthest: float) -> Bound | None:
    """The largest relative difference of ∇Q(w) − ∇Q(w(0)) and c·τ(w) for |w| up to the farthest.

    None if the initial weights, or the scale of their metric, overflow or underflow.
    """
    start = model.start(features)
    with np.errstate(all="ignore"):
        slopes = _squared(model.parametrization.slopes(start))
        units = np.sqrt(slopes * _squared(start))
        ends = np.maximum(farthest, _RANGE * units)
        usable = np.isfinite(ends / units * ends / slopes) & (np.minimum(units, slopes) > _MIN_START)
    if not usable.all():
        return None
    worst = max(_metric_error(model, start, units, sign * np.arcsinh(ends / units)) for sign in (1.0, -1.0))
    text = "relative difference of ∇Q(w) − ∇Q(w(0)) and c·τ(w), τ = ∫(−∂L/∂w)dt from the raw weights"
    return Bound(text, worst, at_most=_METRIC_AGREE)


def _metric_error(model: Any, start: Weights, units: Float, ends: Float) -> float:
    """The largest |(∇Q(w) − ∇Q(w(0)))/(c·τ(w)) − 1| between w(0) and w(0) + units·sinh(ends)."""
    rows = np.column_stack([*start.values(), units, ends])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    distinct = {name: each[first] for name, each in start.items()}
    moved, tau = _integrate_weights(model.parametrization, distinct, units[first], ends[first])
    potential = model.potential(len(ends))
    origin = np.asarray(model.parametrization.predictor(start))
    curvature = np.broadcast_to(np.asarray(potential.hessian(origin)), origin.shape)
    c = float(np.median(curvature * _squared(model.parametrization.slopes(start))))
    moved, tau = moved[:, which.ravel()], tau[:, which.ravel()]
    slopes = np.asarray(potential.gradient(origin + moved)) - np.asarray(potential.gradient(origin))
    return float(np.abs(slopes / (c * tau) - 1).max())


def _integrate_weights(
    parametrization: Any, start: Weights, units: Float, ends: Float
) -> tuple[Float, Float]:
    """w − w(0) and τ at equidistant asinh((w − w(0))/units) up to `ends`, one row per point."""
    names, count = list(start), len(units)
    sizes = _squared(parametrization.slopes(start))

    # The variable is s = asinh((w − w(0))/units)/ends in [0, 1]: w may grow by hundreds of decades,
    # which steps in w itself would not resolve.
    def rates(s: float, state: Float) -> Float:
        """d/ds of the weights, and of τ in units of its value at initialization."""
        parts = state.reshape(-1, count)
        slopes = parametrization.slopes(dict(zip(names, parts[:-1], strict=True)))
        squared = _squared(slopes)
        speed = units * np.cosh(s * ends) * ends
        moving = [slopes[name] * speed / squared for name in names]
        return np.concatenate([*moving, speed / units * sizes / squared])

    first = np.concatenate([*(start[name] for name in names), np.zeros(count)])
    largest = [*(float(np.abs(start[name]).max()) for name in names), 1.0]
    atol = np.maximum(np.repeat(largest, count) * _METRIC_RTOL * 1e-3, _SMALLEST)
    at = np.arange(1, _POINTS + 1) / _POINTS
    with np.errstate(under="ignore"):  # SciPy's initial step size underflows at time 0
        found = solve_ivp(rates, (0, 1), first, "DOP853", t_eval=at, rtol=_METRIC_RTOL, atol=atol)
    if not found.success:
        raise tacit.NotConvergedError(f"integrating the weights to the farthest w failed: {found.message}")
    tau = found.y[-count:].T * (units / sizes)
    return units * np.sinh(at[:, None] * ends), tau


def _squared(slopes: Weights) -> Float:
    """The sum of squares over the weights, coordinate by coordinate."""
    return np.asarray(sum(np.square(each) for each in slopes.values()))
