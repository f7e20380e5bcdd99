r"""Dual Newton for separable potentials, in rapidities.

    find (u, ν) with  X w(u) = y  and  ∇Q(w(u)) = Xᵀν,      w = m·2cosh^p(u/p) sinh(u)

Both equations are unknowns of their own, and the gap r = Xᵀν − ∇Q is carried along. Where slopes come close
to the ends ±1 of their domain what counts is their distance to them: there ν is a pair of floats, and the
gap is computed from slacks in twice the digits (`exact_gap`). A Newton step solves (X W Xᵀ) dν = y − Xw −
XWr with W = dw/d∇Q. Then coordinates that grow move linearly in w, where the first equation is linear, and
those that shrink move linearly in the slope, where the second is: neither way can overshoot its exponential.
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

_SETTLED = 1e-13  # relative size of a step after which none is needed
_STALLED = 1e-9  # and one below which idling is rounding
_PATIENCE = 3  # steps without progress
_NEAR_END = 1e-2  # slack below which slopes are computed in pairs of floats
_UNSEEN = 1e-8  # relative size of coordinates whose steps look like rounding
_FAR_OFF = 1e-4  # and one that rounding in pairs of floats does not make of them
_LAGGING = 2.0  # growth that the slope of such a coordinate asks for, from which on it is set to its place
_FREE = 1e-15  # changes of w this small, relative to the largest coordinate, are not seen by X w = y


@dataclass(frozen=True, eq=False)
class State:
    """Where the iteration stands; `gap` is Xᵀν + offset − weight·slope(u)."""

    u: Float
    nu: Pair
    gap: Float


def newton_step(equations: Equations, potential: Separable, state: State) -> tuple[State, float]:
    """One step, and the relative size of the change of w that it asked for."""
    X = equations.X
    w, W = potential.predictor(state.u), potential.inverse_hessian(state.u)
    rho = residual(equations, w)
    direction, change = newton_direction(X, W, rho, state.gap)
    u, moved = move(state.u, change / potential.weight, potential.power)
    size = float(np.abs(W * change).sum() / np.abs(w).sum())
    return State(u, state.nu + direction, change - potential.weight * moved), size


def residual(equations: Equations, w: Float) -> Float:
    """y − Xw, and 0 where it is below its own rounding and thus no information."""
    rho = equations.y - equations.X @ w
    return np.where(np.abs(rho) < _rounding(equations, w), 0.0, rho)


def _rounding(equations: Equations, w: Float) -> Float:
    size = np.abs(w)
    large = np.flatnonzero(size > 1e-6 * size.max())
    if 4 * len(large) > len(w):
        return 2 * EPS * (equations.row_norms * np.linalg.norm(w) + np.abs(equations.y))
    rest = np.linalg.norm(np.where(size > 1e-6 * size.max(), 0.0, w))
    products = np.abs(equations.X[:, large]) @ size[large] + equations.row_norms * rest
    return 2 * EPS * (products + np.abs(equations.y))


def move(u: Float, delta: Float, power: float) -> tuple[Float, Float]:
    """Rapidities after the slopes were asked to change by delta, and by how much they really changed."""
    sign = np.where(u != 0, np.sign(u), np.where(delta >= 0, 1.0, -1.0))
    size, ask = np.abs(u), sign * delta
    slope = rapidity.slope(np, size, power)
    new, moved = np.empty_like(u), np.empty_like(u)

    grow = ask > 0
    new[grow] = _grow(size[grow], ask[grow], power)
    moved[grow] = rapidity.slope_between(np, size[grow], new[grow], power)

    shrink = ~grow & (-ask <= slope)
    new[shrink] = np.maximum(_shift(size[shrink], ask[shrink], power), 0.0)
    moved[shrink] = ask[shrink]

    cross = ~(grow | shrink)  # through zero, and on linearly in w from there
    at_zero = 2.0 if power == math.inf else 2 * power
    new[cross] = -rapidity.rapidity_of_log(np, np.log(-at_zero * (ask + slope)[cross]), power)
    moved[cross] = -slope[cross] + rapidity.slope(np, new[cross], power)
    return sign * new, sign * moved


def _grow(u: Float, ask: Float, power: float) -> Float:
    """Linearly in w, by as much as its rate of change and the asked change of slope make."""
    log_w = rapidity.log_predictor(np, u, power)
    level = np.logaddexp(log_w, rapidity.log_stiffness(np, u, power) + np.log(ask))
    return np.maximum(rapidity.rapidity_of_log(np, level, power), u)


def _shift(u: Float, ask: Float, power: float) -> Float:
    """The rapidity whose slope is larger by `ask` (any sign); ∞ where there is none."""
    if power == math.inf:
        return u + ask
    v = u / power
    near = (v < 0.5) & (ask < 0.3)
    close = np.arctanh(np.where(near, np.tanh(v) + ask, 0.0))
    slack = np.where(near, 1.0, rapidity.slack(np, u, power) - ask)
    inside = slack > 0
    far = 0.5 * np.log(np.maximum(2 - slack, 1e-300) / np.where(inside, slack, 1.0))
    return power * np.where(near, close, np.where(inside, far, np.inf))


def exact_gap(equations: Equations, potential: Separable, u: Float, nu: Pair) -> Float:
    """Xᵀν + offset − weight·slope(u), with the digits of the slack where slopes are near the ends ±1."""
    gap = equations.rounded_slopes(nu) - potential.slope(u)
    if potential.power == math.inf:
        return gap + potential.offset
    slack = rapidity.slack(np, np.abs(u), potential.power)
    near = np.flatnonzero(slack < _NEAR_END)
    end = potential.weight[near] * np.sign(u[near])
    gap[near] = (equations.slopes(nu, near) - end).value + end * slack[near]
    return gap + potential.offset


def rapidity_at(potential: Separable, slopes: Pair) -> Float:
    """u whose slope is (Xᵀν + offset)/weight, from its slack where it is near an end; NaN beyond the ends."""
    s = (slopes.value + potential.offset) / potential.weight
    if potential.power == math.inf:
        return s
    sign = np.where(s < 0, -1.0, 1.0)
    slack = -sign * ((slopes - potential.weight * sign).value + potential.offset) / potential.weight
    inside = slack > 0
    far = 0.5 * np.log((2 - slack) / np.where(inside, slack, 1.0))
    near = rapidity.rapidity_of_slope(np, np.where(np.abs(s) > 0.5, 0.0, s), potential.power)
    return np.where(np.abs(s) > 0.5, np.where(inside, sign * potential.power * far, np.nan), near)


def polish(
    equations: Equations,
    potential: Separable,
    state: State,
    steps: int = 60,
    exact: bool = False,
    small: float = _SETTLED,
) -> tuple[State, int, bool]:
    """Newton to the end at one scale: the state, the steps taken, and whether it settled.

    exact: compute the gap anew in each step, in pairs of floats. small: relative size of the last step.
    """
    smallest, idle = math.inf, 0
    for step in range(1, steps + 1):
        if exact:
            state = replace(state, gap=exact_gap(equations, potential, state.u, state.nu))
        state, size = newton_step(equations, potential, state)
        if not math.isfinite(size):
            return state, step, False
        idle = idle + 1 if size > 0.9 * smallest else 0
        smallest = min(smallest, size)
        stalled = size < _STALLED and idle > _PATIENCE
        if size < small or stalled:
            closed = close_gaps(potential, state)
            settled = gaps_closed(potential, closed)
            if exact and settled:
                exactly = replace(closed, gap=exact_gap(equations, potential, closed.u, closed.nu))
                caught_up = _caught_up(potential, exactly)
                if caught_up is not None and step < steps:
                    state, smallest, idle = caught_up, math.inf, 0
                    continue
                settled = not _elsewhere(potential, exactly)
            if settled or stalled:
                return closed, step, settled
    return state, steps, False


def close_gaps(potential: Separable, state: State) -> State:
    """Let coordinates whose gap is worth less than rounding in w take the slope that Xᵀν gives them.

    Their part in X w = y is below its rounding, so this is free; and it is what makes tiny coordinates
    stationary, where the data (sparse and without noise, say) determine them only to rounding.
    """
    w, W = potential.predictor(state.u), potential.inverse_hessian(state.u)
    new = _without_gaps(potential, state)
    free = np.isfinite(new) & (W * np.abs(state.gap) <= _FREE * np.abs(w).max())
    free &= np.abs(potential.predictor(new) - w) <= 10 * _FREE * np.abs(w).max()
    return State(np.where(free, new, state.u), state.nu, np.where(free, 0.0, state.gap))


def _without_gaps(potential: Separable, state: State) -> Float:
    """The rapidities whose slopes are those of Xᵀν; ±∞ where there are none."""
    size, sign = np.abs(state.u), np.where(state.u < 0, -1.0, 1.0)
    ask = sign * state.gap / potential.weight
    slope = rapidity.slope(np, size, potential.power)
    across = rapidity.rapidity_of_slope(np, np.minimum(slope + ask, 0.0), potential.power)
    return sign * np.where(ask < -slope, across, _shift(size, np.maximum(ask, -slope), potential.power))


def _caught_up(potential: Separable, state: State) -> State | None:
    """Small coordinates at the predictor to which their slopes Xᵀν belong; None if all of them are there.

    Newton's method lets such a coordinate grow by a factor in each step, none of which is seen in X w: its
    steps have long become rounding when it is still smaller than it should be by orders of magnitude.
    """
    size, new = np.abs(potential.predictor(state.u)), _without_gaps(potential, state)
    asked, largest = np.abs(potential.predictor(new)), size.max()
    lagging = (size <= _UNSEEN * largest) & (asked <= _FAR_OFF * largest)
    lagging &= asked > np.maximum(_LAGGING * size, _FREE * largest)
    if not lagging.any():
        return None
    return State(np.where(lagging, new, state.u), state.nu, np.where(lagging, 0.0, state.gap))


def _elsewhere(potential: Separable, state: State) -> bool:
    """Does the slope Xᵀν of a small coordinate belong to a large one?

    Near the ends of slopes a gap far below their rounding may do so: where equal features share a predictor,
    a small coordinate grows by a factor in each step, and stands still as seen from the largest.
    """
    size = np.abs(potential.predictor(state.u))
    asked = np.abs(potential.predictor(_without_gaps(potential, state)))
    settled = (size > _UNSEEN * size.max()) | (asked <= _FAR_OFF * size.max())
    return not bool(settled.all())


def gaps_closed(potential: Separable, state: State) -> bool:
    """Are all slopes those of their coordinates, to eleven digits of the largest?"""
    gradient = potential.slope(np.abs(state.u))
    return bool(np.abs(state.gap).max() <= 1e-11 * gradient.max())


def solve_at_scale(equations: Equations, potential: Separable, start: Float) -> tuple[State, int, bool]:
    """Newton at one scale from the predictor `start`: enough in the kernel regime."""
    u = potential.rapidity(start)
    nu, gap = nearest_dual(equations, potential, u)
    return polish(equations, potential, State(u, Pair.of(nu), gap))


def nearest_dual(equations: Equations, potential: Separable, u: Float) -> tuple[Float, Float]:
    """The ν whose Xᵀν comes closest to ∇Q at u, and the gap that is left."""
    gradient = potential.slope(u) - potential.offset
    W = potential.inverse_hessian(u)
    W = W / W.max()
    return newton_direction(equations.X, W, np.zeros_like(equations.y), -gradient)
