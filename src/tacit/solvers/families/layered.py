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
from tacit.potentials.layered import Layered
from tacit.solvers.families import separable
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.families.quadratic import diagonal_error_estimate
from tacit.solvers.interpolation.accuracy import diagonal_error
from tacit.solvers.interpolation.newton import residual
from tacit.solvers.interpolation.rich import correction, exactly_feasible
from tacit.solvers.interpolation.separable import only_solution
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
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
_LAGGING = 2.0  # growth above which such a coordinate is immediately set to the predictor of its slope
_SMALL = 1e-9  # coordinates below this keep their slope, not their predictor, when targets grow


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y.

    Equal layers have the potential of tied weights, whose solver works from strongly biased starts at small
    scales, such as the end of another limit; the path of growing targets does not settle on a third of these.
    """
    if potential.tied is not None:
        return separable.interpolate(potential.tied, equations, memory)
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

    place: Float  # (2, d)
    nu: Pair
    gaps: Float  # (2, d)


class LayeredProblem:
    """X w = y with w in units of the largest predictor scale, and Q in the corresponding units."""

    def __init__(self, equations: Equations, potential: Layered):
        self.potential, self.blocks = potential, potential.blocks
        self.X, features = equations.X, equations.X.shape[1]
        scale, weight = (np.broadcast_to(e, (features,)) for e in (potential.log_scale, potential.log_weight))
        self.log_scale, self.log_weight = float(scale.max()), float(weight.min())
        self.unit = np.exp(scale - self.log_scale)
        self.weight = np.exp(weight - self.log_weight)
        self.side = self.blocks.side * self.weight
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
        zero = np.zeros((2, self.X.shape[1]))
        return State(zero, Pair.of(np.zeros(len(self.rest))), zero)

    def at(self, level: float) -> Equations:
        """The equations for w − w(0), with their right-hand side normalized and multiplied by e^level."""
        return replace(self.equations, y=np.exp(level) * self.rest)

    def rise(self, state: State) -> Float:
        """w − w(0)."""
        return self.unit * self.potential.rise(state.place)

    def _block_hessians(self, state: State) -> Float:
        """dβ/d∇Q of both blocks."""
        return self.unit * self.blocks.gain(state.place) / self.weight

    def inverse_hessian(self, state: State) -> Float:
        """dw/d∇Q."""
        return np.asarray(self._block_hessians(state).sum(axis=0))

    def gap(self, state: State) -> Float:
        """Xᵀν − ∇Q to first order: the mean of the gaps of both blocks, weighted by dβ/d∇Q."""
        parts = self._block_hessians(state)
        return np.asarray((parts * state.gaps).sum(axis=0) / parts.sum(axis=0))

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
        slope_change = change - gap + state.gaps
        place = self.blocks.newton_update(state.place, slope_change / self.side)
        gaps = self.blocks.alive * slope_change - self.side * self.blocks.slope(place, state.place)
        return State(place, state.nu + direction, gaps), size

    @cached_property
    def _ends(self) -> tuple[Float, Float]:
        """The distances by which the slopes of both blocks can decrease and increase from initialization.

        Computed once for each distinct block: vectorized sums may round equal blocks differently, depending
        on their position in the array, and tied features must have bitwise equal ends.
        """
        shape = self.blocks.least.shape
        layers = np.concatenate([self.blocks.least[None], self.blocks.mu]).reshape(-1, self.blocks.least.size)
        _, first, inverse = np.unique(layers, axis=1, return_index=True, return_inverse=True)
        distinct = self.blocks[..., *np.unravel_index(first, shape)]
        fall, rise = distinct.distance_to_ends(np.zeros(first.shape))
        return fall[inverse].reshape(shape), rise[inverse].reshape(shape)

    def exact(self, state: State) -> State:
        """The state with its gaps recomputed, from the distances to the ends for slopes near them."""
        slopes = self.equations.slopes(state.nu)
        gaps = slopes.value - self.side * self.blocks.slope(state.place)
        fall, rise = self.blocks.distance_to_ends(state.place)
        for left, end in ((rise, self.side * self._ends[1]), (fall, -self.side * self._ends[0])):
            near = left < _NEAR_END * np.abs(end / self.weight)
            gaps = np.where(near, (slopes - end).value + np.sign(end) * self.weight * left, gaps)
        return replace(state, gaps=self.blocks.alive * gaps)

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
        after = self.blocks.moved(state.place, state.gaps / self.side)
        change = self.unit * (self.blocks.rise(after) - self.blocks.rise(state.place))
        free = np.abs(change) <= _FREE * np.abs(self.rise(state)).max()
        return State(np.where(free, after, state.place), state.nu, np.where(free, 0.0, state.gaps))

    def _caught_up(self, state: State) -> tuple[State, bool]:
        """The state with small coordinates moved to their slopes Xᵀν, and whether any of them was far away.

        Newton's method lets such a coordinate grow by a constant factor per step, invisibly in X w.
        """
        rise, after = self.rise(state), self.blocks.moved(state.place, state.gaps / self.side)
        target, largest = self.unit * self.potential.rise(after), np.abs(rise).max()
        lag = (np.abs(rise) <= _UNSEEN * largest) & ~(
            np.abs(target) <= np.maximum(_LAGGING * np.abs(rise), _FREE * largest)
        )
        near = lag & np.isfinite(target)
        return replace(state, place=np.where(near, after, state.place)), bool(lag.any())

    def _gaps_closed(self, state: State) -> bool:
        """Whether the largest gap is negligible beside the largest slope."""
        largest = float(np.abs(self.X.T @ state.nu.value).max())
        return float(np.abs(state.gaps).max()) <= _CLOSED * largest

    def grown(self, state: State, by: float) -> State:
        """The initial state for targets e^by times as large: large w grow with them, small ones stay."""
        rise = self.potential.rise(state.place)
        large = np.abs(self.unit * rise) > _SMALL * np.abs(self.unit * rise).max()
        grown, _ = self.potential.at_rise(np.where(large, math.exp(by), 1.0) * rise)
        place = np.where(large, grown, state.place)
        return State(place, state.nu, state.gaps - self.side * self.blocks.slope(place, state.place))

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
        return Solution.unmoved(origin, len(equations.y))
    only = only_solution(equations, potential, origin)
    if only is not None:
        return only
    problem = LayeredProblem(equations, potential)
    goal = math.log(problem.size) - problem.log_scale
    point = _solve_along_path(problem, goal)
    state, level = point.state, point.level
    unit_of_w = problem.size * math.exp(-level)
    w, nu = problem.origin + unit_of_w * problem.rise(state), state.nu
    if goal > level:
        w, nu = _scaled(problem, state, w, goal - level)
    unit = math.exp(problem.log_weight + min(goal - level, 0.0))
    w = exactly_feasible(equations, w)
    if not np.isfinite(w).all():  # the solution overflows
        return Solution.unmoved(origin, len(equations.y), settled=False)

    def assess() -> float:
        exact = problem.exact(state)
        large = np.abs(w) > _SMALL * np.abs(w).max()
        W = problem.inverse_hessian(exact) * unit_of_w * np.where(large, math.exp(point.unresolved), 1.0)
        slopes = equations.slopes(exact.nu).value
        return diagonal_error(equations, W, w, slopes, problem.gap(exact), exact.nu)

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


def _solve_along_path(problem: LayeredProblem, goal: float) -> PathPoint:
    """The path point at the targets, or at the largest ones at which slopes are resolved.

    Computed in double precision as long as that converges, then in double-double arithmetic.
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


def _follow(problem: LayeredProblem, point: PathPoint, last: float, exact: bool = False) -> PathPoint:
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


def _scaled(problem: LayeredProblem, state: State, w: Float, by: float) -> tuple[Float, Pair]:
    """Extrapolate to targets e^by times as large as those of the state.

    Large coordinates scale with the targets (w is already scaled), multipliers follow from their slopes, and
    the other coordinates from these multipliers.
    """
    grown = problem.grown(state, by)
    large = np.abs(problem.rise(state)) > _SMALL * np.abs(problem.rise(state)).max()
    # Both blocks have the same slope; its change is accurate in the block that is closest to its end.
    first, second = grown.gaps - state.gaps
    change = -np.where(np.abs(first) < np.abs(second), first, second)
    moved = np.linalg.lstsq(problem.X[:, large].T, change[large], rcond=None)[0]
    place = problem.potential.moved(state.place, problem.X.T @ moved / problem.weight)
    others = math.exp(problem.log_scale) * problem.unit * problem.potential.rise(place)
    others = problem.origin + np.where(np.isfinite(others), others, 0.0)
    w = np.where(large, w, others)
    return w + correction(problem.equations, w), state.nu + moved
