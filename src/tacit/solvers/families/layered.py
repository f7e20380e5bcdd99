r"""Potentials of untied diagonal networks with several layers.

`minimize_layered` solves

    find the positions of all blocks and ν with  X w = y  and  ∇Q(w) = Xᵀν

by Newton's method on both, updating the gaps between Xᵀν and the slopes of the blocks along with them
(`newton` does the same for tied networks). The method follows a path of growing targets, from those of the
initial predictor, where the solution is known, to y (dividing targets by c^L is the same as multiplying
layers by c). The distances of slopes to their ends decide how tied features share their predictor. When these
fall below the round-off of the slopes, ν is kept in double-double arithmetic and the gaps are recomputed at
each step from the distances. When they fall below that precision too, the solution no longer changes with the
targets except by a factor, and is scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.numerics.double_double import Pair
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials.arrays import quiet
from tacit.potentials.layered import Layered, Place
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.families.quadratic import diagonal_error_estimate
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.newton import residual
from tacit.solvers.interpolation.rich import least_change
from tacit.solvers.interpolation.separable import only_solution
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution, no_error, unknown_error
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import Held, hold, margin_solution

METHOD = "Newton's method with growing targets"
# The path, in the logarithm of the targets.
_KERNEL_LEVEL = 25.0  # distance below the first nonlinearity at which the problem is linear to round-off
_STRIDE, _SHORTEST = 4.0, 0.05  # first and shortest step
# Largest log of (slope)/(its distance to the end) that is resolved in floats and in double-double arithmetic.
_SHARPEST, _SHARPEST_PAIRS = math.log(1e7), math.log(1e20)
_NEAR_END = 1e-2  # distance to an end, relative to the initial one, below which gaps are computed from it
# Convergence, by the relative change of w in a step (see `newton`).
_MAX_STEPS = 25  # Newton steps at one target
_TOL, _STALLED, _PROGRESS, _PATIENCE = 1e-13, 1e-9, 0.9, 3
_CLOSED = 1e-11  # gap, relative to the largest slope, at which the dual equations are satisfied
_MET = 1e-12  # relative step of w after which X w = y holds up to round-off
# Sizes of coordinates and their changes, relative to the largest coordinate.
_FREE = 1e-15  # changes of w below this do not affect X w = y
_UNSEEN = 1e-8  # steps of coordinates below this are round-off of the whole step
_LAGGING = 2.0  # growth from which on such a coordinate is set to the predictor of its slope at once
_SMALL = 1e-9  # coordinates below this keep their slope, not their predictor, when targets grow
_LARGE = 1e-4  # coordinates above this absorb the round-off of y − Xw
_INVISIBLE = 1e-11  # relative change of a coordinate that its slope does not notice


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y."""
    return minimize_layered(equations, potential)


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """Maximum margin by exchanges of support vectors, starting from those of the ℓ2 margin."""
    guess = least_norm_support(margins.nearly_free())
    held: Held | None = hold(margins, lambda equations: minimize_layered(equations, potential), guess)
    return margin_solution(held)


@quiet
def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """Error estimate from the residuals and the Hessian."""
    return diagonal_error_estimate(potential, equations, w, np.exp(potential.log_inverse_hessian(w)))


@quiet
def inverse_hessian(potential: Any, w: Float) -> Float:
    """The diagonal of (∇²Q)⁻¹, up to a factor."""
    return _relative(potential.log_inverse_hessian(w))


@quiet
def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Minimizers of a weighted ℓ2 distance from w(0), and of an ℓ1 norm weighted by the bounds of slopes."""
    start = potential.start(len(w))
    first, last = (_relative(potential.log_inverse_hessian(at)) for at in (start, w))
    rho = equations.y - equations.X @ start
    kernel = start + first * newton_direction(equations.X, first, rho, np.zeros_like(w))[1]
    weights = np.array([np.broadcast_to(each, w.shape) for each in potential.ends])
    below, above = weights / weights.max()
    weight = below if (below == above).all() else np.array([below, above])
    return Ends(kernel, cached_l1(equations, weight, memory).predictor, (first, last))


def _relative(logs: Float) -> Float:
    return np.exp(logs - logs.max())


@dataclass(frozen=True, eq=False)
class State:
    """An iterate: positions of all blocks, ν, and the gaps Xᵀν − slope of the plus and the minus blocks."""

    place: Place
    nu: Pair
    gaps: tuple[Float, Float]


class Problem:
    """X w = y with w in units of the largest predictor scale, and Q in the corresponding units."""

    def __init__(self, equations: Equations, potential: Layered):
        self.potential, self.X, features = potential, equations.X, equations.X.shape[1]
        scale, weight = (np.broadcast_to(e, (features,)) for e in (potential.log_scale, potential.log_weight))
        self.log_scale, self.log_weight = float(scale.max()), float(weight.min())
        self.unit = np.exp(scale - self.log_scale)
        self.weight = np.exp(weight - self.log_weight)
        self.origin = potential.start(features)
        rest = equations.y - self.X @ self.origin
        self.size = float(np.abs(rest).max()) or 1.0
        self.rest = rest / self.size
        self.base = (
            self.X @ (np.exp(-self.log_scale) * self.origin) if self.origin.any() else np.zeros_like(rest)
        )
        self.equations = equations

    def initial_state(self) -> State:
        """The state at the initial predictor."""
        zero = np.zeros(self.X.shape[1])
        return State((zero, zero), Pair.of(np.zeros(len(self.rest))), (zero, zero))

    def at(self, level: float) -> Equations:
        """The equations for w − w(0), with their right-hand side normalized and multiplied by e^level."""
        return replace(self.equations, y=np.exp(level) * self.rest)

    def rise(self, state: State) -> Float:
        """w − w(0)."""
        return self.unit * self.potential.rise(state.place)

    def _block_hessians(self, state: State) -> list[Float]:
        """dβ/d∇Q of both blocks."""
        blocks = zip(self.potential.blocks, state.place, strict=True)
        return [self.unit * block.gain(t) / self.weight for block, t in blocks]

    def inverse_hessian(self, state: State) -> Float:
        """dw/d∇Q."""
        return np.asarray(sum(self._block_hessians(state)))

    def gap(self, state: State) -> Float:
        """Xᵀν − ∇Q to first order: the mean of the gaps of both blocks, weighted by dβ/d∇Q."""
        first, second = self._block_hessians(state)
        return np.asarray((first * state.gaps[0] + second * state.gaps[1]) / (first + second))

    def step(self, equations: Equations, state: State, met: bool) -> tuple[State, float]:
        """The state after one Newton step, and the relative size of the linearized change of w.

        met: X w = y holds up to round-off. Then the step only closes the gaps: with few large coordinates,
        round-off in y − Xw would move ν arbitrarily.
        """
        rise, W = self.rise(state), self.inverse_hessian(state)
        gap = self.gap(state)
        rho = np.zeros_like(equations.y) if met else residual(equations, rise)
        direction, change = newton_direction(self.X, W, rho, gap)
        size = float(np.abs(W * change).sum() / np.abs(rise).sum()) if rise.any() else math.inf
        places, gaps = [], []
        for block, t, own in zip(self.potential.blocks, state.place, state.gaps, strict=True):
            slope_change = change - gap + own
            after = block.newton_update(t, block.side * slope_change / self.weight)
            places.append(after)
            gaps.append(block.alive * slope_change - self.weight * block.side * block.slope(after, t))
        return State((places[0], places[1]), state.nu + direction, (gaps[0], gaps[1])), size

    @cached_property
    def _ends(self) -> list[tuple[Float, Float]]:
        """How far the slopes of both blocks can decrease and increase from initialization.

        Computed once for each distinct block: vectorized sums may round equal blocks differently, depending
        on their position in the array, and tied features must have bitwise equal ends.
        """
        layers = np.vstack([layer for block in self.potential.blocks for layer in (block.least, block.mu)])
        _, first, inverse = np.unique(layers, axis=1, return_index=True, return_inverse=True)
        count, ends = layers.shape[1], []
        for block in self.potential.blocks:
            fall, rise = block.restricted_to(first, count).distance_to_ends(np.zeros(first.shape))
            ends.append((fall[inverse.ravel()], rise[inverse.ravel()]))
        return ends

    def exact(self, state: State) -> State:
        """The state with its gaps recomputed, from the distances to the ends for slopes near them."""
        slopes, gaps = self.equations.slopes(state.nu), []
        for block, t, ends in zip(self.potential.blocks, state.place, self._ends, strict=True):
            fall, rise = block.distance_to_ends(t)
            unit = block.side * self.weight
            gap = slopes.value - unit * block.slope(t)
            for left, end in ((rise, unit * ends[1]), (fall, -unit * ends[0])):
                near = left < _NEAR_END * np.abs(end / self.weight)
                gap = np.where(near, (slopes - end).value + np.sign(end) * self.weight * left, gap)
            gaps.append(block.alive * gap)
        return replace(state, gaps=(gaps[0], gaps[1]))

    def solve(self, level: float, state: State, exact: bool = False) -> tuple[State, int, bool]:
        """Newton's method at one target; exact: recompute the gaps at each step."""
        equations, smallest, idle = self.at(level), math.inf, 0
        for step in range(1, _MAX_STEPS + 1):
            state = self.exact(state) if exact else state
            state, size = self.step(equations, state, smallest < _MET)
            if not math.isfinite(size) and step > 1:
                return state, step, False
            idle = idle + 1 if size > _PROGRESS * smallest else 0
            smallest = min(smallest, size)
            stalled = size < _STALLED and idle > _PATIENCE
            if size < _TOL or stalled:
                closed = self._close_gaps(state)
                settled = self._gaps_closed(closed)
                if settled and exact:
                    caught_up, lag = self._caught_up(self.exact(closed))
                    if lag and step < _MAX_STEPS:
                        state, smallest, idle = caught_up, math.inf, 0
                        continue
                    settled = not lag
                if settled or stalled:
                    return closed, step, settled
        return state, _MAX_STEPS, False

    def _close_gaps(self, state: State) -> State:
        """Move blocks whose gap amounts to less than round-off in w to the slope Xᵀν."""
        largest, places, gaps = np.abs(self.rise(state)).max(), [], []
        for block, t, gap in zip(self.potential.blocks, state.place, state.gaps, strict=True):
            after = block.moved(t, block.side * gap / self.weight)
            change = self.unit * (block.rise(after) - block.rise(t))
            free = np.abs(change) <= _FREE * largest
            places.append(np.where(free, after, t))
            gaps.append(np.where(free, 0.0, gap))
        return State((places[0], places[1]), state.nu, (gaps[0], gaps[1]))

    def _caught_up(self, state: State) -> tuple[State, bool]:
        """The state with small coordinates moved to their slopes Xᵀν, and whether any of them was far away.

        Newton's method lets such a coordinate grow by a constant factor per step, invisibly in X w.
        """
        rise, slopes = self.rise(state), [self.weight * block.side for block in self.potential.blocks]
        blocks = zip(self.potential.blocks, state.place, state.gaps, slopes, strict=True)
        places = [block.moved(t, gap / slope) for block, t, gap, slope in blocks]
        target, largest = self.unit * self.potential.rise((places[0], places[1])), np.abs(rise).max()
        lag = (np.abs(rise) <= _UNSEEN * largest) & ~(
            np.abs(target) <= np.maximum(_LAGGING * np.abs(rise), _FREE * largest)
        )
        near = lag & np.isfinite(target)
        places = [np.where(near, after, t) for after, t in zip(places, state.place, strict=True)]
        return replace(state, place=(places[0], places[1])), bool(lag.any())

    def _gaps_closed(self, state: State) -> bool:
        """Whether the largest gap is negligible beside the largest slope."""
        largest = float(np.abs(self.X.T @ state.nu.value).max())
        return max(float(np.abs(gap).max()) for gap in state.gaps) <= _CLOSED * largest

    def grown(self, state: State, by: float) -> State:
        """The initial state for targets e^by times as large: large w grow with them, small ones stay."""
        rise = self.potential.rise(state.place)
        large = np.abs(self.unit * rise) > _SMALL * np.abs(self.unit * rise).max()
        place, _ = self.potential.at_rise(np.where(large, math.exp(by), 1.0) * rise)
        places = [np.where(large, there, here) for there, here in zip(place, state.place, strict=True)]
        gaps = []
        for block, before, after, gap in zip(
            self.potential.blocks, state.place, places, state.gaps, strict=True
        ):
            gaps.append(gap - self.weight * block.side * block.slope(after, before))
        return State((places[0], places[1]), state.nu, (gaps[0], gaps[1]))

    def first_level(self) -> float:
        """The level at which, in the linearization, the first slope is half way to its end."""
        W = self.inverse_hessian(self.initial_state())
        slopes = newton_direction(self.X, W, self.rest, np.zeros_like(W))[1] / self.weight
        fall, rise = self.potential.slope_range
        ratio = np.abs(slopes) / np.where(slopes > 0, rise, fall)
        return -math.log(2 * float(ratio.max()))


@quiet
def minimize_layered(equations: Equations, potential: Layered) -> Solution:
    """argmin Q(w) subject to X w = y."""
    origin = potential.start(equations.X.shape[1])
    if np.array_equal(equations.X @ origin, equations.y):  # or there are no equations
        return Solution(origin.copy(), Pair.of(np.zeros_like(equations.y)), 0, True, no_error)
    only = only_solution(equations, potential, origin)
    if only is not None:
        return only
    problem = Problem(equations, potential)
    goal = math.log(problem.size) - problem.log_scale
    point = _solve_along_path(problem, goal)
    state, level = point.state, point.level
    unit_of_w = problem.size * math.exp(-level)
    w, nu = problem.origin + unit_of_w * problem.rise(state), state.nu
    if goal > level:
        w, nu = _scaled(problem, state, w, goal - level)
    unit = math.exp(problem.log_weight + min(goal - level, 0.0))
    w = _feasible(equations, w)
    if not np.isfinite(w).all():  # the solution overflows
        return Solution(origin.copy(), Pair.of(np.zeros_like(equations.y)), point.steps, False, unknown_error)

    def assess() -> float:
        exact = problem.exact(state)
        large = np.abs(w) > _SMALL * np.abs(w).max()
        W = problem.inverse_hessian(exact) * unit_of_w * np.where(large, math.exp(point.unresolved), 1.0)
        slopes = equations.slopes(exact.nu).value
        moved = diagonal_move(equations, W, w, slopes)
        return forward_error(equations, moved, w, problem.gap(exact), slope_rounding(equations, exact.nu))

    return Solution(w, Pair(unit * nu.high, unit * nu.low), point.steps, point.settled, assess)


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A point of the path: level and state, the number of steps so far, and whether the last ones converged.

    unresolved: the log of the factor by which slopes would come closer to their ends at the last level that
    double-double arithmetic resolves.
    """

    level: float
    state: State
    steps: int
    settled: bool
    unresolved: float = 0.0


def _solve_along_path(problem: Problem, goal: float) -> PathPoint:
    """The path point at the targets, or at the largest ones at which slopes are resolved.

    First in floats; in double-double arithmetic from where floats no longer converge.
    """
    first, power = problem.first_level(), problem.potential.depth / (problem.potential.depth - 2)
    floats, pairs = (
        min(max(goal, first - _KERNEL_LEVEL), first + power * sharpest)
        for sharpest in (_SHARPEST, _SHARPEST_PAIRS)
    )
    begin = min(first, floats)
    point = _follow(problem, PathPoint(begin, *problem.solve(begin, problem.initial_state())), floats)
    if point.level == begin:
        return point
    state, steps, settled = problem.solve(point.level, point.state, exact=True)
    if not settled:
        return replace(point, unresolved=(pairs - point.level) / power)
    found = _follow(problem, PathPoint(point.level, state, point.steps + steps, True), pairs, exact=True)
    return replace(found, settled=found.level >= floats, unresolved=(pairs - found.level) / power)


def _follow(problem: Problem, point: PathPoint, last: float, exact: bool = False) -> PathPoint:
    """Newton's method at growing targets; steps that fail to converge are shortened."""
    step = _STRIDE
    while point.settled and point.level < last:
        after = min(point.level + step, last)
        grown = problem.grown(point.state, after - point.level)
        state, steps, done = problem.solve(after, grown, exact)
        steps += point.steps
        if done:
            point, step = PathPoint(after, state, steps, True), 2 * step
            continue
        step = (after - point.level) / 4
        point = replace(point, steps=steps, settled=step >= _SHORTEST)
    return point


def _scaled(problem: Problem, state: State, w: Float, by: float) -> tuple[Float, Pair]:
    """Extrapolate to targets e^by times as large as those of the state.

    Large coordinates scale with the targets (w is already scaled), multipliers follow from their slopes, and
    the other coordinates from these multipliers.
    """
    grown = problem.grown(state, by)
    large = np.abs(problem.rise(state)) > _SMALL * np.abs(problem.rise(state)).max()
    # Both blocks have the same slope; its change is accurate in the block that is closest to its end.
    first, second = (after - before for after, before in zip(grown.gaps, state.gaps, strict=True))
    change = -np.where(np.abs(first) < np.abs(second), first, second)
    moved = np.linalg.lstsq(problem.X[:, large].T, change[large], rcond=None)[0]
    place = problem.potential.moved(state.place, problem.X.T @ moved / problem.weight)
    others = math.exp(problem.log_scale) * problem.unit * problem.potential.rise(place)
    others = problem.origin + np.where(np.isfinite(others), others, 0.0)
    w = np.where(large, w, others)
    return w + _correction(problem.equations, w), state.nu + moved


def _correction(equations: Equations, w: Float) -> Float:
    """The change of large coordinates that removes y − Xw."""
    rho = equations.y - equations.X @ w
    if not np.isfinite(rho).all():  # overflow: the result is reported as not converged
        return np.zeros_like(w)
    size = np.abs(w) / np.abs(w).max()
    return least_change(equations.X, np.where(size > _LARGE, size, 0.0), rho)


def _feasible(equations: Equations, w: Float) -> Float:
    """Remove the round-off in y − Xw by changes of large coordinates that do not affect their slopes."""
    rho, correction = equations.y - equations.X @ w, _correction(equations, w)
    smaller = np.linalg.norm(rho - equations.X @ correction) < np.linalg.norm(rho)
    return w + correction if smaller and (np.abs(correction) <= _INVISIBLE * np.abs(w)).all() else w
