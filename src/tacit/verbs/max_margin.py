"""The predictor of largest margin, in a norm or a potential."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, check_labelled, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.prepared import design_of
from tacit.errors import InputError, NotConvergedError
from tacit.models.model import Model
from tacit.numerics.nonnegative import least_norm_support
from tacit.potentials import L1, Potential
from tacit.potentials.arrays import quiet
from tacit.results.limit import ERROR_TOLERANCE
from tacit.results.margin import KKT_TOLERANCE, Margin
from tacit.show.progress import progress
from tacit.solvers.families import family_of, l1
from tacit.solvers.families.quadratic import maximize_margin_in
from tacit.solvers.interpolation.geometry import potential_of
from tacit.solvers.interpolation.solution import MarginSolution
from tacit.solvers.margins import linf
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.power import minimize_power
from tacit.solvers.margins.quasi_norm import Stationary, all_stationary, local_minima
from tacit.solvers.margins.support import NEGLIGIBLE, error_on_support, hold, margin_residual, margin_solution

_NORM = "norm"  # the family of ℓp norms, which have margins but no limits
# Steps of log(p − 1) in the continuation from p = 2: the largest, and the one below which it is given up.
_LARGEST_STEP, _SMALLEST_STEP = 0.5, 1e-4
# Two stationary points of a quasi-norm whose sizes differ by less, relative to them, are equally good.
_TIE = 1e-9
_EQUAL = 1e-10  # relative distance from the largest entry that is round-off of a linear program


def max_margin(
    X: Inputs,
    y: ArrayLike,
    norm: str | float | Model | Potential,
    *,
    intercept: bool = False,
    standardize: bool = False,
) -> Margin:
    """Compute the predictor of largest margin: argmin norm(w) subject to y_n x_n·w ≥ 1.

    With a potential Q_μ instead of the norm, it is a point of `margin_path` (Moroshko et al. 2020, Section
    4).

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes: −1 and +1, or any two names or whole numbers; the first in sorted order stands for −1.
        All labels may be +1 if the rows of X are y_n·x_n, as the papers write them.
    norm : "l1" | "l2" | "linf" | float, or a Potential or Model
        A number p with 0 < p ≤ 2 stands for ‖w‖_p, "linf" for max |w_j|, to whose margin sign descent and
        Adam with ε = 0 tend. For p < 1 the problem is not convex: with up to three
        features and no intercept, all stationary points are found; otherwise, the best local minimum from
        several starting points.
    intercept : bool, optional
        Take margins of x_n·w + b, with an unpenalized intercept b.
    standardize : bool, optional
        Apply the norm to the weights of features divided by their standard deviation. Predictor and intercept
        belong to the original features.

    Returns
    -------
    Margin
        The predictor with its multipliers, support and certificate.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If no linear predictor classifies all samples correctly; its `combination` is the proof.
    NoPotentialError
        If norm is a model for which no potential is known.
    NotConvergedError
        If no stationary point was found.

    See Also
    --------
    margin_path : Maximum-margin predictors for all scales between ℓ2 and ℓ1.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[2, 1], [-1, -2]], [1, -1]
    >>> tacit.max_margin(X, y, "l2").predictor.round(4).tolist()
    [0.3333, 0.3333]
    >>> tacit.max_margin(X, y, "l2").support.tolist()
    [0, 1]
    """
    begun = time.perf_counter()
    names = feature_names(X)
    checked, y = check_labelled(X, y)
    goal, y = _objective(norm, checked.shape[1]), kept(y)
    design = design_of(X, checked, intercept, standardize)
    margins, units = Margins.of(design, y), design.units(y)
    found = _widest(goal, margins)
    w, dual = found.predictor, found.dual
    terms = dual * np.abs(margins.rows).max(axis=1)  # sizes of ν_n y_n x_n
    dual = np.where(terms > NEGLIGIBLE * terms.max(), dual, 0.0)
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
        converged=bool(found.settled and kkt <= KKT_TOLERANCE and found.error <= ERROR_TOLERANCE),
        norm=getattr(goal, "name", type(goal).__name__),
        seconds=time.perf_counter() - begun,
        X=design.X,
        y=y,
        intercept=float(found.intercept - units.center @ units.predictor(w)),
        units=units,
        features=names,
        **lists,
    )


@dataclass(frozen=True)
class _Power(Potential):
    """The norm ‖w‖_p; a quasi-norm for p < 1."""

    p: float
    family = _NORM

    @property
    def name(self) -> str:
        return f"l{self.p:.6g}"

    def value(self, w: Float) -> float:
        size = np.abs(w).max()
        return float(size * ((np.abs(w) / size) ** self.p).sum() ** (1 / self.p)) if size > 0 else 0.0

    def gradient(self, w: Float) -> Float:
        """sign(w)·(|w|/‖w‖_p)^{p−1}, for w ≠ 0."""
        return np.sign(w) * (np.abs(w) / self.value(w)) ** (self.p - 1)

    @quiet
    def subdifferential(self, w: Float) -> tuple[Float, Float]:
        """Lower and upper ends: at zeros of w, ±1 for ℓ1 and ±∞ for a quasi-norm.

        For p > 1, zero stands for all numbers below the smallest float, whose slopes are not small if p is
        near 1.
        """
        smooth = np.where(w == 0, 0.0, self.gradient(w))
        smallest = np.finfo(float).tiny / (self.value(w) or 1.0)
        edge = math.inf if self.p < 1 else smallest ** (self.p - 1)
        return np.where(w == 0, -edge, smooth), np.where(w == 0, edge, smooth)


@dataclass(frozen=True)
class _Largest(Potential):
    """The norm max |w_j|. Its subdifferential at w: slopes of the signs of w on the largest, with sum 1."""

    family, name, p, aim_is_box = _NORM, "linf", math.inf, False

    def value(self, w: Float) -> float:
        return float(np.abs(w).max(initial=0.0))

    def gradient(self, w: Float) -> Float:
        """The centre of the subdifferential."""
        largest = self._largest(w)
        return np.asarray(np.where(largest, np.sign(w), 0.0) / largest.sum())

    def nearest_slope(self, w: Float, slope: Float) -> Float:
        """The projection of a slope on the subdifferential, a simplex (Held et al. 1974)."""
        largest = np.flatnonzero(self._largest(w))
        signs = np.sign(w[largest])
        parts = np.sort(signs * slope[largest])[::-1]
        levels = (np.cumsum(parts) - 1) / np.arange(1, len(parts) + 1)
        level = levels[np.flatnonzero(parts > levels)[-1]]
        nearest = np.zeros_like(w)
        nearest[largest] = signs * np.maximum(signs * slope[largest] - level, 0.0)
        return nearest

    def _largest(self, w: Float) -> Any:
        return np.abs(w) >= self.value(w) * (1 - _EQUAL)


def _objective(norm: Any, features: int) -> Any:
    """Validate the norm or potential."""
    if isinstance(norm, str) and norm in ("l1", "l2"):
        return _Power(float(norm[1]))
    if isinstance(norm, str) and norm == "linf":
        return _Largest()
    if isinstance(norm, str | bool) or norm is None:
        raise InputError(
            f'norm must be "l1", "l2", "linf", a number p with 0 < p ≤ 2, or a potential, got {norm!r}'
        )
    if isinstance(norm, int | float | np.number):
        p = float(as_floats(norm, "norm", ndim=(0,)))
        if not 1e-3 <= p <= 2:
            raise InputError(f"the p of an ℓp norm must lie between 0.001 and 2, got {p:g}")
        return _Power(p)
    return potential_of(norm, features)


def _widest(goal: Any, margins: Margins) -> MarginSolution:
    """Solve by the method for this norm, or by that of the potential's family."""
    if goal.family != _NORM:
        return family_of(goal).maximize_margin(goal, margins)
    if goal.p == math.inf:
        return linf.maximize_margin(margins)
    if goal.p < 1:
        return _quasi_norm(margins, goal)
    if goal.p == 1:
        return l1.maximize_margin(L1(), margins)
    found = (
        maximize_margin_in(np.ones(margins.Z.shape[1]), margins) if goal.p == 2 else _power(margins, goal.p)
    )
    share = goal.value(found.predictor) ** (goal.p - 1)  # the solvers minimize Σ|w|^p/p, not ‖w‖_p
    return replace(found, dual=found.dual / share)


def _power(margins: Margins, p: float) -> MarginSolution:
    """Continuation from p = 2 in steps of log(p − 1), halved if the next support is not found."""
    held = hold(margins, partial(minimize_power, p=2.0), least_norm_support(margins.nearly_free()))
    goal, here, step = math.log(p - 1), 0.0, _LARGEST_STEP
    while held is not None and here > goal:
        ahead = max(here - step, goal)
        closer = partial(minimize_power, p=p if ahead == goal else 1 + math.exp(ahead))
        found = hold(margins, closer, held.support)
        if found is not None:
            held, here, step = found, ahead, min(2 * step, _LARGEST_STEP)
            continue
        step /= 2
        if step < _SMALLEST_STEP:
            return margin_solution(None)
    return margin_solution(held)


def _quasi_norm(margins: Margins, goal: _Power) -> MarginSolution:
    """The best stationary point for p < 1, with the list of all that were found."""
    points = all_stationary(margins, goal.p)
    complete = points is not None
    points = local_minima(margins, goal.p, progress) if points is None else points
    if not points:
        raise NotConvergedError(
            f"no stationary point of the ℓ{goal.p:g} margin was found; for p ≥ 1 the problem is convex"
        )
    best: Stationary = points[0]
    equal = [point for point in points if point.size(goal.p) <= best.size(goal.p) * (1 + _TIE)]
    share = goal.p * goal.value(best.predictor) ** (goal.p - 1)
    lists = {
        "stationary": np.array([point.predictor for point in points]),
        "minimum": np.array([point.minimum for point in points]),
        "complete": complete,
    }
    error = error_on_support(margins, best.predictor, best.dual)
    unique = len(equal) == 1 if complete else None
    return MarginSolution(best.predictor, best.intercept, best.dual / share, unique, error, lists=lists)
