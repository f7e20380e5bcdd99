"""The largest margin in a norm or a potential."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.data import Float, Index, as_floats, check_labelled, kept
from tacit.errors import InputError, NoPotentialError, NotConvergedError
from tacit.limits.answer import NEAR
from tacit.limits.ends import least_quadratic, vertex_error
from tacit.limits.geometry import as_separable, potential_of
from tacit.limits.linear_margin import least_l1_margin, solutions
from tacit.limits.margin_path import at_the_kernel_end
from tacit.limits.margins import Margins
from tacit.limits.power_margin import minimize_power
from tacit.limits.quasi_margin import Stationary, all_stationary, local_minima
from tacit.limits.support import Held, hold, hold_from, least_norm_support, margin_residual
from tacit.potentials import L1, Bregman, NeuronPotential, Power, Quadratic
from tacit.potentials.arrays import quiet
from tacit.potentials.separable import DiagonalPotential
from tacit.units import Units

_VOUCHED = 1e-9
_STRIDE, _SHORTEST = 0.5, 1e-4  # of log(p − 1), on the way from p = 2 to 1
_NO_PULL = 1e-12  # pulls ν_n|z_n| this small, relative to the largest, are rounding


@dataclass(frozen=True, eq=False)
class Margin:
    """argmin norm(w) subject to y_n x_n·w ≥ 1, with its certificate.

    predictor: w; its margin over its norm is the largest there is, 1/value. dual: ν ≥ 0 with Σ ν_n y_n x_n
    in the subdifferential of the norm (or potential) at w. value: norm(w). support: samples with ν_n > 0.
    kkt: the largest relative residual of the optimality conditions. error: an estimate of the relative
    forward error of w, conditioning included (to the nearest solution, where there are several). unique: is
    w the only solution (None: not known)? converged: kkt is 1e-9 or less, and error 1e-7 or less.

    face: where an ℓ1 solution is not unique, the vertices of all solutions, as rows (extreme points of them,
    for faces of more than five dimensions). stationary: for p < 1, all stationary points for up to three
    features, otherwise the local minima found, as rows, best first; minimum: which of them are local minima.
    complete: is that list all there is?

    intercept: b of y_n(x_n·w + b) ≥ 1, 0 where none was asked for; Σ ν_n y_n is then 0. units: what the
    features were divided by, where they were standardized: the norm is that of scale·w.
    """

    predictor: Float
    dual: Float
    value: float
    support: Index
    kkt: float
    error: float
    unique: bool | None
    converged: bool
    norm: str
    seconds: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    face: Float | None = field(default=None, repr=False)
    stationary: Float | None = field(default=None, repr=False)
    minimum: Any = field(default=None, repr=False)
    complete: bool = True
    intercept: float = 0.0
    units: Units | None = field(default=None, repr=False)

    def summary(self, names: Sequence[str] | None = None) -> str:
        """The margin in a few lines; names: of the features, x0, x1, … if left out."""
        from tacit.report import margin_report

        return margin_report(self, names)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        lists = {name: getattr(self, name) for name in ("face", "stationary", "minimum")}
        return {
            "norm": self.norm,
            "predictor": self.predictor.tolist(),
            "dual": self.dual.tolist(),
            "value": self.value,
            "support": self.support.tolist(),
            "kkt": self.kkt,
            "error": self.error,
            "unique": self.unique,
            "converged": self.converged,
            "complete": self.complete,
            "intercept": self.intercept,
            "seconds": self.seconds,
        } | {name: each.tolist() for name, each in lists.items() if each is not None}


def max_margin(X: Any, y: Any, norm: Any, *, intercept: bool = False, standardize: bool = False) -> Margin:
    """argmin norm(w) subject to y_n x_n·w ≥ 1: the predictor of largest margin.

    y: two classes, −1 and +1, or any two names or whole numbers, of which the first in order becomes −1.
    norm: "l1", "l2", a number p with 0 < p ≤ 2 for ‖w‖_p, or a potential (or a model that has one). Below
    p = 1 the problem is not convex: with up to three features all stationary points are found, otherwise the
    best local one from several starts (beside an intercept always).

    intercept: margins of x_n·w + b, with b free and not in the norm. standardize: the norm of the weights
    that belong to features divided by their standard deviation; predictor and intercept are for the features
    as they came.
    """
    begun = time.perf_counter()
    X, y = check_labelled(X, y)
    goal = _objective(norm, X.shape[1])
    X, y = kept(X), kept(y)
    units = Units.of(X, y, intercept, standardize)
    margins = Margins.of(units, X, y)
    found = _solve(margins, goal)
    w, dual = found.predictor, found.dual
    pull = dual * np.abs(margins.rows).max(axis=1)
    dual = np.where(pull > _NO_PULL * pull.max(), dual, 0.0)
    kkt = margin_residual(goal, margins, w, found.intercept, dual)
    lists: dict[str, Any] = {
        name: units.predictor(each.T).T if name in ("face", "stationary") else each
        for name, each in found.lists.items()
    }
    return Margin(
        predictor=units.predictor(w),
        dual=dual,
        value=float(goal.value(w)),
        support=np.flatnonzero(dual),
        kkt=kkt,
        error=found.error,
        unique=found.unique,
        converged=bool(found.settled and kkt <= _VOUCHED and found.error <= NEAR),
        norm=goal.name if isinstance(goal, _Power) else type(goal).__name__,
        seconds=time.perf_counter() - begun,
        X=X,
        y=y,
        intercept=float(found.intercept - units.center @ units.predictor(w)),
        units=units,
        **lists,
    )


@dataclass(frozen=True)
class _Power:
    """The norm ‖w‖_p, or quasi-norm where p < 1."""

    p: float

    @property
    def name(self) -> str:
        return f"l{self.p:.6g}"

    def value(self, w: Float) -> float:
        size = np.abs(w).max()
        return float(size * ((np.abs(w) / size) ** self.p).sum() ** (1 / self.p)) if size > 0 else 0.0

    def gradient(self, w: Float) -> Float:
        """Where w is not zero."""
        return np.sign(w) * (np.abs(w) / self.value(w)) ** (self.p - 1)

    @quiet
    def subdifferential(self, w: Float) -> tuple[Float, Float]:
        """An interval at the zeros of w: of slopes up to 1 for ℓ1, of all slopes for a quasi-norm.

        For p > 1 it is that of the numbers too small for a float, which is not small for p near 1.
        """
        smooth = np.where(w == 0, 0.0, self.gradient(w))
        smallest = np.finfo(float).tiny / (self.value(w) or 1.0)
        edge = math.inf if self.p < 1 else smallest ** (self.p - 1)
        return np.where(w == 0, -edge, smooth), np.where(w == 0, edge, smooth)


@dataclass(frozen=True, eq=False)
class _Found:
    predictor: Float
    intercept: float
    dual: Float
    unique: bool | None
    error: float
    settled: bool = True
    lists: dict[str, Any] = field(default_factory=dict)


def _objective(norm: Any, features: int) -> Any:
    """The norm or potential, checked."""
    if isinstance(norm, str):
        if norm not in ("l1", "l2"):
            raise InputError(
                f'norm must be "l1", "l2", a number p with 0 < p ≤ 2, or a potential, got {norm!r}'
            )
        return _Power(1.0 if norm == "l1" else 2.0)
    if isinstance(norm, bool) or norm is None:
        raise InputError(f'norm must be "l1", "l2", a number p with 0 < p ≤ 2, or a potential, got {norm!r}')
    if isinstance(norm, int | float | np.number):
        p = float(as_floats(norm, "norm", ndim=(0,)))
        if not 1e-3 <= p <= 2:
            raise InputError(f"the p of an ℓp norm must lie between 0.001 and 2, got {p:g}")
        return _Power(p)
    return potential_of(norm, features)


def _solve(margins: Margins, goal: Any) -> _Found:
    features = margins.Z.shape[1]
    match goal:
        case _Power(p=p) if p < 1:
            return _quasi(margins, goal)
        case _Power(p=1.0):
            return _linear(margins, np.ones(features))
        case L1(weight=weight):
            return _linear(margins, np.broadcast_to(np.asarray(weight, float), (features,)))
        case _Power(p=2.0):
            return _scaled(goal, _quadratic(margins, np.ones(features)))
        case Quadratic(metric=metric):
            inverse = 1 / np.asarray(metric, float) if np.ndim(metric) < 2 else np.linalg.inv(metric)
            shape = inverse.shape if np.ndim(metric) == 2 else (features,)
            return _quadratic(margins, np.broadcast_to(inverse, shape))
        case _Power(p=p):
            return _scaled(goal, _power(margins, p))
        case NeuronPotential() | Power():
            return _radial(margins, goal)
        case Bregman(potential=DiagonalPotential()) | DiagonalPotential():
            return _separable(margins, goal)
    inner = f" of {type(goal.potential).__name__}" if isinstance(goal, Bregman) else ""
    raise NoPotentialError(
        f"no maximum-margin solver for {type(goal).__name__}{inner}; there are solvers for the ℓp norms, L1, "
        "Quadratic, NeuronPotential, Power, and the potentials of diagonal networks"
    )


def _linear(margins: Margins, weight: Float) -> _Found:
    vertex = least_l1_margin(margins, weight)
    w, dual = vertex.predictor, vertex.dual
    error = _error_on_support(margins, w, dual)
    try:
        unique, face = solutions(margins, weight, vertex)
    except NotConvergedError:
        return _Found(w, vertex.intercept, dual, None, error)
    return _Found(w, vertex.intercept, dual, unique, error, lists={} if unique else {"face": face})


def _quadratic(margins: Margins, inverse: Float) -> _Found:
    half = np.asarray(np.linalg.cholesky(inverse) if inverse.ndim == 2 else np.sqrt(inverse), dtype=float)
    guess = least_norm_support(margins.in_units(half).nearly_free())
    return _of(hold(margins, lambda equations: least_quadratic(equations, inverse), guess))


def _radial(margins: Margins, potential: Any) -> _Found:
    """The ℓ2 margin, with the multipliers of this function of the length."""
    found = _quadratic(margins, np.ones(margins.Z.shape[1]))
    x = float(np.linalg.norm(found.predictor))
    share = float(potential.steepness(np.float64(x))) / x
    return replace(found, dual=share * found.dual)


def _power(margins: Margins, p: float) -> _Found:
    """From p = 2 down in steps of log(p − 1), halved where the support cannot be found from the last one."""
    held = hold(margins, partial(minimize_power, p=2.0), least_norm_support(margins.nearly_free()))
    goal, here, step = math.log(p - 1), 0.0, _STRIDE
    while held is not None and here > goal:
        ahead = max(here - step, goal)
        closer = partial(minimize_power, p=p if ahead == goal else 1 + math.exp(ahead))
        found = hold(margins, closer, held.support)
        if found is not None:
            held, here, step = found, ahead, min(2 * step, _STRIDE)
            continue
        step /= 2
        if step < _SHORTEST:
            return _of(None)
    return _of(held)


def _separable(margins: Margins, potential: Any) -> _Found:
    """From a scale where the geometry is that of a kernel down to this one."""
    geometry = as_separable(potential, margins.Z.shape[1])
    start, log_scale = at_the_kernel_end(margins, geometry)
    return _of(hold_from(margins, geometry, start, -log_scale))


def _of(held: Held | None) -> _Found:
    if held is None:
        raise NotConvergedError(
            "the support vectors of the maximum margin could not be found: nearly equal samples take turns; "
            "drop near-duplicates"
        )
    return _Found(held.predictor, held.intercept, held.dual, True, held.error, held.settled)


def _scaled(goal: _Power, found: _Found) -> _Found:
    """Multipliers of ‖w‖_p instead of Σ|w|^p/p."""
    share = goal.value(found.predictor) ** (goal.p - 1)
    return replace(found, dual=found.dual / share)


def _quasi(margins: Margins, goal: _Power) -> _Found:
    points = all_stationary(margins, goal.p)
    complete = points is not None
    points = local_minima(margins, goal.p) if points is None else points
    if not points:
        raise NotConvergedError(f"no stationary point of the ℓ{goal.p:g} margin was found")
    best: Stationary = points[0]
    ahead = [point for point in points if point.size(goal.p) <= best.size(goal.p) * (1 + 1e-9)]
    share = goal.p * goal.value(best.predictor) ** (goal.p - 1)
    lists = {
        "stationary": np.array([point.predictor for point in points]),
        "minimum": np.array([point.minimum for point in points]),
        "complete": complete,
    }
    error = _error_on_support(margins, best.predictor, best.dual)
    unique = len(ahead) == 1 if complete else None
    return _Found(best.predictor, best.intercept, best.dual / share, unique, error, lists=lists)


def _error_on_support(margins: Margins, w: Float, dual: Float) -> float:
    """The forward error of a vertex: of the margins that hold it."""
    support = np.flatnonzero(dual * np.abs(margins.rows).max(axis=1) > _NO_PULL)
    return vertex_error(margins.equations(support, 1e-6), w)
