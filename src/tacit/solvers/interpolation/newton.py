r"""Primal-dual Newton's method for separable potentials, in rapidities.

    find (u, ν) with  X w(u) = y  and  ∇Q(w(u)) = Xᵀν,      w = m·2cosh^p(u/p) sinh(u)

u and ν are independent unknowns, and the gap r = Xᵀν − ∇Q is updated along with them. If slopes are close to
the ends ±1 of their domain, only their distance to the ends carries information: ν is then kept in
double-double arithmetic, and the gap is computed from slacks (`exact_gap`). A Newton step solves (X W Xᵀ) dν
= y − Xw − XWr with W = dw/d∇Q. Coordinates that grow then move linearly in w, in which the first equation is
linear; coordinates that shrink move linearly in the slope, in which the second is. Each is linear where the
other variable is exponential, so that no step overshoots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import EPS
from tacit.potentials import rapidity
from tacit.solvers.interpolation.geometry import Separable

# Convergence, by the relative change of w in a step.
_TOL = 1e-13  # converged
_STALLED = 1e-9  # below this, steps that no longer shrink are round-off
_PROGRESS = 0.9  # factor by which a step must be smaller than all before to count as progress
_PATIENCE = 3  # steps without progress after which the iteration has stalled
_CLOSED = 1e-11  # gap, relative to the largest slope, at which the dual equations are satisfied
# Sizes of coordinates and their changes, relative to the largest coordinate.
_FREE = 1e-15  # changes of w below this do not affect X w = y
_UNSEEN = 1e-8  # steps of coordinates below this are round-off of the whole step
_FAR_OFF = 1e-4  # a predictor above this, at a slope of such a coordinate, is more than round-off
_LAGGING = 2.0  # growth from which on such a coordinate is set to the predictor of its slope at once
_LARGE = 1e-6  # coordinates whose products with X are summed one by one in a bound on round-off
_NEAR_END = 1e-2  # slack below which gaps are computed in double-double arithmetic


@dataclass(frozen=True, eq=False)
class State:
    """An iterate: rapidities u, multipliers ν, and the gap Xᵀν + offset − weight·slope(u)."""

    u: Float
    nu: Pair
    gap: Float


def newton_step(equations: Equations, potential: Separable, state: State) -> tuple[State, float]:
    """The state after one step, and the relative size of the linearized change of w."""
    X = equations.X
    w, W = potential.predictor(state.u), potential.inverse_hessian(state.u)
    rho = residual(equations, w)
    direction, change = newton_direction(X, W, rho, state.gap)
    u, moved = move(state.u, change / potential.weight, potential.power)
    size = float(np.abs(W * change).sum() / np.abs(w).sum())
    return State(u, state.nu + direction, change - potential.weight * moved), size


def residual(equations: Equations, w: Float) -> Float:
    """y − Xw, with entries below their own round-off set to 0."""
    rho = equations.y - equations.X @ w
    return np.where(np.abs(rho) < _rounding(equations, w), 0.0, rho)


def _rounding(equations: Equations, w: Float) -> Float:
    """A bound on the round-off of y − Xw: sharper, but slower, for few large coordinates."""
    size = np.abs(w)
    is_large = size > _LARGE * size.max()
    large = np.flatnonzero(is_large)
    if 4 * len(large) > len(w):
        return 2 * EPS * (equations.row_norms * np.linalg.norm(w) + np.abs(equations.y))
    rest = np.linalg.norm(np.where(is_large, 0.0, w))
    products = np.abs(equations.X[:, large]) @ size[large] + equations.row_norms * rest
    return 2 * EPS * (products + np.abs(equations.y))


def move(u: Float, delta: Float, power: float) -> tuple[Float, Float]:
    """Rapidities after a step in which the slopes change by delta to first order, and their actual change."""
    sign = np.where(u != 0, np.sign(u), np.where(delta >= 0, 1.0, -1.0))
    size, change = np.abs(u), sign * delta
    slope = rapidity.slope(np, size, power)
    new, moved = np.empty_like(u), np.empty_like(u)

    grow = change > 0
    new[grow] = _grow(size[grow], change[grow], power)
    moved[grow] = rapidity.slope_between(np, size[grow], new[grow], power)

    shrink = ~grow & (-change <= slope)
    new[shrink] = np.maximum(_shift(size[shrink], change[shrink], power), 0.0)
    moved[shrink] = change[shrink]

    cross = ~(grow | shrink)  # through zero, and from there linearly in w
    at_zero = 2.0 if power == math.inf else 2 * power
    new[cross] = -rapidity.rapidity_of_log(np, np.log(-at_zero * (change + slope)[cross]), power)
    moved[cross] = -slope[cross] + rapidity.slope(np, new[cross], power)
    return sign * new, sign * moved


def _grow(u: Float, change: Float, power: float) -> Float:
    """The rapidity after a linear step in w, of length dw/ds times the change of slope."""
    log_w = rapidity.log_predictor(np, u, power)
    level = np.logaddexp(log_w, rapidity.log_stiffness(np, u, power) + np.log(change))
    return np.maximum(rapidity.rapidity_of_log(np, level, power), u)


def _shift(u: Float, change: Float, power: float) -> Float:
    """The rapidity whose slope is larger by `change` (any sign); ∞ if there is none."""
    if power == math.inf:
        return u + change
    v = u / power
    near = (v < 0.5) & (change < 0.3)  # slopes far from 1; closer ones are computed from their slack
    close = np.arctanh(np.where(near, np.tanh(v) + change, 0.0))
    slack = np.where(near, 1.0, rapidity.slack(np, u, power) - change)
    inside = slack > 0
    far = 0.5 * np.log(np.maximum(2 - slack, 1e-300) / np.where(inside, slack, 1.0))
    return power * np.where(near, close, np.where(inside, far, np.inf))


def exact_gap(equations: Equations, potential: Separable, u: Float, nu: Pair) -> Float:
    """Xᵀν + offset − weight·slope(u), computed from slacks for slopes near the ends ±1."""
    gap = equations.rounded_slopes(nu) - potential.slope(u)
    if potential.power == math.inf:
        return gap + potential.offset
    slack = rapidity.slack(np, np.abs(u), potential.power)
    near = np.flatnonzero(slack < _NEAR_END)
    end = potential.weight[near] * np.sign(u[near])
    gap[near] = (equations.slopes(nu, near) - end).value + end * slack[near]
    return gap + potential.offset


def rapidity_at(potential: Separable, slopes: Pair) -> Float:
    """Rapidities with slopes (Xᵀν + offset)/weight, from slacks near the ends ±1; NaN beyond them."""
    s = (slopes.value + potential.offset) / potential.weight
    if potential.power == math.inf:
        return s
    sign = np.where(s < 0, -1.0, 1.0)
    slack = -sign * ((slopes - potential.weight * sign).value + potential.offset) / potential.weight
    inside = slack > 0
    far = 0.5 * np.log((2 - slack) / np.where(inside, slack, 1.0))
    near = rapidity.rapidity_of_slope(np, np.where(np.abs(s) > 0.5, 0.0, s), potential.power)
    return np.where(np.abs(s) > 0.5, np.where(inside, sign * potential.power * far, np.nan), near)


def iterate(
    equations: Equations,
    potential: Separable,
    state: State,
    steps: int = 60,
    exact: bool = False,
    tol: float = _TOL,
) -> tuple[State, int, bool]:
    """Newton's method at one scale: the final state, the number of steps, and whether it converged.

    exact: recompute the gap at each step, in double-double arithmetic. tol: relative size of the last step.
    """
    smallest, idle = math.inf, 0
    for step in range(1, steps + 1):
        if exact:
            state = replace(state, gap=exact_gap(equations, potential, state.u, state.nu))
        state, size = newton_step(equations, potential, state)
        if not math.isfinite(size):
            return state, step, False
        idle = idle + 1 if size > _PROGRESS * smallest else 0
        smallest = min(smallest, size)
        stalled = size < _STALLED and idle > _PATIENCE
        if size < tol or stalled:
            closed = close_gaps(potential, state)
            settled = gaps_closed(potential, closed)
            if exact and settled:
                exactly = replace(closed, gap=exact_gap(equations, potential, closed.u, closed.nu))
                caught_up = _caught_up(potential, exactly)
                if caught_up is not None and step < steps:
                    state, smallest, idle = caught_up, math.inf, 0
                    continue
                settled = not _misplaced(potential, exactly)
            if settled or stalled:
                return closed, step, settled
    return state, steps, False


def close_gaps(potential: Separable, state: State) -> State:
    """Set coordinates whose gap amounts to less than round-off in w to the rapidity of their slope Xᵀν.

    This changes X w by less than its round-off, and it makes tiny coordinates stationary that the data
    determine only up to round-off (for example sparse data without noise).
    """
    w, W = potential.predictor(state.u), potential.inverse_hessian(state.u)
    new = _without_gaps(potential, state)
    free = np.isfinite(new) & (W * np.abs(state.gap) <= _FREE * np.abs(w).max())
    free &= np.abs(potential.predictor(new) - w) <= 10 * _FREE * np.abs(w).max()
    return State(np.where(free, new, state.u), state.nu, np.where(free, 0.0, state.gap))


def _without_gaps(potential: Separable, state: State) -> Float:
    """The rapidities whose slopes are Xᵀν; ±∞ if there are none."""
    size, sign = np.abs(state.u), np.where(state.u < 0, -1.0, 1.0)
    change = sign * state.gap / potential.weight
    slope = rapidity.slope(np, size, potential.power)
    across = rapidity.rapidity_of_slope(np, np.minimum(slope + change, 0.0), potential.power)
    shifted = _shift(size, np.maximum(change, -slope), potential.power)
    return sign * np.where(change < -slope, across, shifted)


def _caught_up(potential: Separable, state: State) -> State | None:
    """The state with small coordinates set to the predictor of their slopes Xᵀν; None if they already are.

    Newton's method lets such a coordinate grow by a constant factor per step. These steps are invisible in X
    w: they count as round-off while the coordinate is still too small by orders of magnitude.
    """
    size, new = np.abs(potential.predictor(state.u)), _without_gaps(potential, state)
    target, largest = np.abs(potential.predictor(new)), size.max()
    lagging = (size <= _UNSEEN * largest) & (target <= _FAR_OFF * largest)
    lagging &= target > np.maximum(_LAGGING * size, _FREE * largest)
    if not lagging.any():
        return None
    return State(np.where(lagging, new, state.u), state.nu, np.where(lagging, 0.0, state.gap))


def _misplaced(potential: Separable, state: State) -> bool:
    """Whether the slope Xᵀν of some small coordinate belongs to a large predictor.

    Near the ends ±1 of the slopes this happens with gaps far below the round-off of slopes: if equal features
    share a predictor, a small coordinate grows by a factor per step, invisibly beside the largest.
    """
    size = np.abs(potential.predictor(state.u))
    target = np.abs(potential.predictor(_without_gaps(potential, state)))
    settled = (size > _UNSEEN * size.max()) | (target <= _FAR_OFF * size.max())
    return not bool(settled.all())


def gaps_closed(potential: Separable, state: State) -> bool:
    """Whether the largest gap is negligible beside the largest slope."""
    gradient = potential.slope(np.abs(state.u))
    return bool(np.abs(state.gap).max() <= _CLOSED * gradient.max())


def solve_at_scale(equations: Equations, potential: Separable, start: Float) -> tuple[State, int, bool]:
    """Newton's method from the predictor `start`, without continuation: sufficient in the kernel regime."""
    u = potential.rapidity(start)
    nu, gap = nearest_dual(equations, potential, u)
    return iterate(equations, potential, State(u, Pair.of(nu), gap))


def nearest_dual(equations: Equations, potential: Separable, u: Float) -> tuple[Float, Float]:
    """The ν with Xᵀν closest to ∇Q at u, and the remaining gap."""
    gradient = potential.slope(u) - potential.offset
    W = potential.inverse_hessian(u)
    W = W / W.max()
    return newton_direction(equations.X, W, np.zeros_like(equations.y), -gradient)
