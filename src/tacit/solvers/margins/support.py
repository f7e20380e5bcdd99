r"""Find the support vectors of a maximum-margin predictor.

    argmin Q(w)  subject to  z_n·w ≥ 1        (z_n = y_n x_n)

On its support vectors, the samples with margin 1, this is the interpolation problem of `tacit.limit` with all
targets 1 (`constraints` treats an intercept), and is solved as such. This module finds the support by
exchanges: samples with a negative multiplier leave, samples with a margin below 1 enter. If the exchanges
cycle, the solution is followed from a larger scale, at which it is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.equations import ANY, Equations
from tacit.errors import InconsistentDataError, NotConvergedError
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.rounding import EPS, TINY
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.ends import vertex_error
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.separable import minimize_separable
from tacit.solvers.interpolation.solution import Assess, Assessed, MarginSolution, Solution, unknown_error
from tacit.solvers.kkt import stationarity
from tacit.solvers.margins.constraints import Margins

_EXCHANGES = 60  # exchanges after which the supports are taken to cycle
_SHORT = 1e-11  # shortfall from margin 1 at which a sample is violated
_TIED = 1e-9  # shortfall that may be round-off of the predictor, if the exchanges cycle
_ROUNDING = 16 * EPS  # round-off of a margin, relative to its terms
NEGLIGIBLE = 1e-12  # contributions ν_n|z_n|, relative to the largest, that are round-off
_SHORTEST = 1e-3  # step in the logarithm of the scale below which the continuation gives up
_KERNEL = 1e4  # scale, relative to the predictor, at which the support is that of the ℓ2 margin
_TOL, _LOOSE_TOL = 1e-10, 1e-6  # tolerance of the equations on a candidate support, and on a known one


@dataclass(frozen=True, eq=False)
class Held(Assessed):
    """A predictor, its intercept (0 if there is none), multipliers of all samples, and support vectors."""

    predictor: Float
    intercept: float
    dual: Float
    support: Index
    settled: bool
    assess: Assess


@quiet
def hold(margins: Margins, solve: Callable[[Equations], Solution], guess: Index) -> Held | None:
    """The maximum-margin predictor, from an initial guess of its support; None if the exchanges cycle.

    solve: minimizes the potential subject to equations. If the classes nearly touch, ties below the round-off
    of the predictor can make the exchanges cycle; then the predictor with the smallest shortfall is returned,
    if that may be round-off.
    """
    support, one_by_one = guess, False
    seen: set[bytes] = set()
    nearest, gap = None, _TIED
    for _ in range(_EXCHANGES):
        try:
            equations = margins.equations(support, _TOL)
        except InconsistentDataError:
            break
        solution = solve(equations)
        dual = margins.dual(equations, solution.nu, support)
        b = margins.intercept(solution.predictor, support)
        values = margins.at(solution.predictor, b)
        wrong = support[dual[support] < 0]
        short = np.setdiff1d(_short(margins, solution.predictor, b, values), support)
        if not len(wrong):
            holding = support[dual[support] > 0]
            held = Held(solution.predictor, b, dual, holding, solution.settled, solution.assess)
            if not len(short):
                return held
            if 1 - values.min() < gap:
                nearest, gap = held, 1 - values.min()
        key = support.tobytes()
        one_by_one, seen = one_by_one or key in seen, seen | {key}
        support = _exchanged(support, wrong, short, dual, values, margins.coordinates, one_by_one)
    return nearest


def _short(margins: Margins, w: Float, b: float, values: Float) -> Index:
    """Samples whose margin is below 1 by more than its round-off."""
    short = np.flatnonzero(values < 1 - _SHORT)
    if not len(short):
        return short
    return short[values[short] < 1 - _ROUNDING * margins.terms(w, b, short)]


def _exchanged(
    support: Index, wrong: Index, short: Index, dual: Float, margins: Float, most: int, one_by_one: bool
) -> Index:
    """The support without samples that have a negative multiplier, with those whose margin is too small."""
    if one_by_one and len(wrong):
        return np.setdiff1d(support, wrong[[dual[wrong].argmin()]])
    if one_by_one:
        return np.union1d(support, short[[margins[short].argmin()]])
    left = np.setdiff1d(support, wrong)
    entering = short[np.argsort(margins[short])][: max(most - len(left), 0)]
    return np.union1d(left, entering)


def minimizer_of(potential: Separable) -> Callable[[Equations], Solution]:
    """A function that minimizes the potential subject to equations."""
    return lambda equations: minimize_separable(equations, potential)


def hold_from(margins: Margins, potential: Separable, start: Held, shift: float) -> Held | None:
    """The maximum-margin predictor by continuation from one at a scale e^{−shift} times as large.

    Steps in the logarithm of the scale are halved if the support cannot be found.
    """
    done, step, here = 0.0, shift, start
    while done != shift:
        following = done + step if abs(done + step) < abs(shift) else shift
        found = hold(margins, minimizer_of(potential.shifted(following - shift)), here.support)
        if found is None:
            step /= 2
            if abs(step) < _SHORTEST:
                return None
            continue
        done, here = following, found
    return here


@quiet
def margin_residual(potential: Any, margins: Margins, w: Float, b: float, dual: Float) -> float:
    """The largest relative residual of stationarity, feasibility, complementarity and dual feasibility."""
    values = margins.at(w, b)
    size = float(np.abs(dual).max()) or 1.0
    slack = float(np.abs(dual * (values - 1)).max()) / size
    shortfall = max(0.0, float((1 - values).max()))
    negative = max(0.0, -float(dual.min())) / size
    balance = 0.0 if margins.labels is None else abs(float(margins.labels @ dual)) / size
    return max(stationarity(potential, margins.Z, w, dual), shortfall, slack, negative, balance)


def margin_solution(held: Held | None) -> MarginSolution:
    """The unique maximum-margin predictor; raises `NotConvergedError` if its support was not found."""
    if held is None:
        raise NotConvergedError(
            "the support vectors of the maximum margin could not be found, because nearly equal samples "
            "alternate in the support; drop near-duplicates"
        )
    return MarginSolution(held.predictor, held.intercept, held.dual, True, held.error, held.settled)


def error_on_support(margins: Margins, w: Float, dual: Float) -> float:
    """The forward error of a vertex, from the equations of its support vectors."""
    support = np.flatnonzero(dual * np.abs(margins.rows).max(axis=1) > NEGLIGIBLE)
    return vertex_error(margins.equations(support, _LOOSE_TOL), w)


def at_kernel_scale(margins: Margins, geometry: Separable, largest: float = 0.0) -> tuple[Held, float]:
    """The predictor at a scale at which the potential is quadratic, and the logarithm of that scale.

    There Q is Σ (w−w₀)²/(2W): an ℓ2 margin in the coordinates (w−w₀)/√W. The scale is at least `largest`.
    """
    origin = np.zeros(margins.Z.shape[1]) if geometry.origin is None else geometry.origin
    root, targets = np.sqrt(geometry.kernel_metric()), 1 - margins.Z @ origin
    rows = margins.in_units(root).nearly_free()
    support = least_norm_support(rows, targets / (np.abs(targets).max() or 1.0))
    held = margins.equations(support, ANY)
    w = origin + root * np.linalg.lstsq(held.X * root, held.y - held.X @ origin, rcond=None)[0]
    far = float(np.max(np.abs(w) * np.exp(-geometry.log_scale)))
    log_mu = math.log(max(largest, _KERNEL * far, TINY))
    found = hold(margins, minimizer_of(geometry.shifted(log_mu)), support)
    return (found or Held(w, 0.0, np.zeros(len(margins)), support, False, unknown_error)), log_mu
