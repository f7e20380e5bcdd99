r"""The support of a maximum-margin predictor: the samples that hold it.

    argmin Q(w)  subject to  z_n·w ≥ 1        (z_n = y_n x_n)

On its support, the samples with margin 1, this is the problem of `tacit.limit` with every target 1 (`margins`
has what an intercept changes), and the solver of that problem serves; here the support is found. Exchange
whatever contradicts a guess (samples that pull the wrong way leave, samples with too small a margin enter),
and where that runs in circles come closer from a larger scale, where the answer is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.equations import Equations
from tacit.errors import InconsistentDataError, NotConvergedError
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.ends import vertex_error
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.separable import minimize_separable
from tacit.solvers.interpolation.solution import Assess, Assessed, MarginSolution, Solution
from tacit.solvers.kkt import stationarity
from tacit.solvers.margins.constraints import Margins

_EXCHANGES = 60  # of samples, at most: beyond, supports go in circles
_SHORT = 1e-11  # a margin this much below 1 is too small
_TIED = 1e-9  # and one this much below may be rounding of the predictor
_ROUNDING = 16 * EPS  # of the terms of a margin
NO_PULL = 1e-12  # pulls ν_n|z_n| this small, relative to the largest, are rounding
_SHORTEST = 1e-3  # step in the logarithm of the scale below which the search gives up


@dataclass(frozen=True, eq=False)
class Held(Assessed):
    """A predictor, its intercept (0 if there is none), the multipliers of all samples, those that hold it."""

    predictor: Float
    intercept: float
    dual: Float
    support: Index
    settled: bool
    assess: Assess


@quiet
def hold(margins: Margins, solve: Callable[[Equations], Solution], guess: Index) -> Held | None:
    """The maximum-margin predictor from a guess of its support; None if the exchanges do not end.

    solve: minimizes the potential subject to equations. Where classes nearly touch, ties finer than the
    rounding of the predictor make samples take turns for ever; then the predictor that falls least short.
    """
    support, one_by_one = guess, False
    seen: set[bytes] = set()
    nearest, gap = None, _TIED
    for _ in range(_EXCHANGES):
        try:
            equations = margins.equations(support, 1e-10)
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
    """Samples whose margin is below 1 by more than the rounding of its sum."""
    short = np.flatnonzero(values < 1 - _SHORT)
    if not len(short):
        return short
    return short[values[short] < 1 - _ROUNDING * margins.terms(w, b, short)]


def _exchanged(
    support: Index, wrong: Index, short: Index, dual: Float, margins: Float, most: int, one_by_one: bool
) -> Index:
    """The support without samples that pull the wrong way, and with those whose margin is too small."""
    if one_by_one and len(wrong):
        return np.setdiff1d(support, wrong[[dual[wrong].argmin()]])
    if one_by_one:
        return np.union1d(support, short[[margins[short].argmin()]])
    left = np.setdiff1d(support, wrong)
    entering = short[np.argsort(margins[short])][: max(most - len(left), 0)]
    return np.union1d(left, entering)


def minimizer_of(potential: Separable) -> Callable[[Equations], Solution]:
    """What minimizes this potential subject to equations."""
    return lambda equations: minimize_separable(equations, potential)


def hold_from(margins: Margins, potential: Separable, start: Held, shift: float) -> Held | None:
    """The predictor at this potential, from the one at a scale e^{−shift} times as large.

    In steps of the logarithm of the scale that are halved where the support cannot be found.
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
    """The worst of stationarity, shortfall of margins, and complementarity, all relative."""
    values = margins.at(w, b)
    size = float(np.abs(dual).max()) or 1.0
    slack = float(np.abs(dual * (values - 1)).max()) / size
    shortfall = max(0.0, float((1 - values).max()))
    negative = max(0.0, -float(dual.min())) / size
    balance = 0.0 if margins.labels is None else abs(float(margins.labels @ dual)) / size
    return max(stationarity(potential, margins.Z, w, dual), shortfall, slack, negative, balance)


def found_by(held: Held | None) -> MarginSolution:
    """The one predictor of largest margin; `NotConvergedError` if its support was not found."""
    if held is None:
        raise NotConvergedError(
            "the support vectors of the maximum margin could not be found: nearly equal samples take turns; "
            "drop near-duplicates"
        )
    return MarginSolution(held.predictor, held.intercept, held.dual, True, held.error, held.settled)


def error_on_support(margins: Margins, w: Float, dual: Float) -> float:
    """The forward error of a vertex: of the margins that hold it."""
    support = np.flatnonzero(dual * np.abs(margins.rows).max(axis=1) > NO_PULL)
    return vertex_error(margins.equations(support, 1e-6), w)
