r"""Minimize the potential of an untied network of several layers subject to X w = y.

    find the places of all blocks and ν with  X w = y  and  ∇Q(w) = Xᵀν

by Newton's method on both at once, the gaps between Xᵀν and the slopes of the blocks being carried along
(`newton` does the same for tied networks). Targets grow from those of the start, where the answer is known,
until they are those of the data: multiplying layers by c is the same as dividing targets by c^L. Where slopes
come so close to their ends that floats cannot tell them apart, ν is a pair of floats and gaps are computed
anew in each step, from distances to the ends: they decide how features that are tied share their predictor.
Where pairs cannot tell them apart either the solution no longer changes, and is scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials.arrays import quiet
from tacit.potentials.layered import Layered, Place
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.newton import residual
from tacit.solvers.interpolation.rich import least_change
from tacit.solvers.interpolation.solution import Solution, none, unknown
from tacit.solvers.interpolation.unique import only_solution

_KERNEL = 25.0  # log of how far below the first nonlinearity all is linear, to all digits
_FIRST, _STRIDE, _SHORTEST = 1.0, 4.0, 0.05  # steps in the logarithm of the targets
_SHARPEST = math.log(1e7)  # of slopes over their distance to their ends that floats still tell apart
_SHARPEST_PAIRS = math.log(1e20)  # and pairs of floats
_NEAR_END = 1e-2  # distances to an end, relative to that of the start, from which slopes are told
_TRIED = 25  # steps of Newton at one target
_SETTLED, _STALLED, _PATIENCE = 1e-13, 1e-9, 3  # relative sizes of last steps, and idle ones
_FREE, _CLOSED = 1e-15, 1e-11  # changes of w that X w = y does not see, and gaps that are closed, relative
_LARGE, _ROUNDED = 1e-4, 1e-11  # relative size of coordinates that take up rounding, and of that
_MET = 1e-12  # relative size of a step of w after which X w = y is met to rounding
_UNSEEN = 1e-8  # relative size of coordinates whose steps look like rounding
_LAGGING = 2.0  # growth that the slope of such a coordinate asks for, from which on it is set to its place
_SMALL = 1e-9  # relative size of coordinates that keep their slope where the rest is scaled


@dataclass(frozen=True, eq=False)
class State:
    """Where all blocks are, ν, and the gaps of both blocks between Xᵀν and their slopes."""

    place: Place
    nu: Pair
    gaps: tuple[Float, Float]


class Problem:
    """Equations X w = y for w in units of the largest predictor scale, Q in units that go with it."""

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

    def begin(self) -> State:
        """At the start of the flow."""
        zero = np.zeros(self.X.shape[1])
        return State((zero, zero), Pair.of(np.zeros(len(self.rest))), (zero, zero))

    def at(self, level: float) -> Equations:
        """The equations for targets e^level of the way, of w less that of the start."""
        return replace(self.equations, y=np.exp(level) * self.rest)

    def rise(self, state: State) -> Float:
        """w less that of the start."""
        return self.unit * self.potential.rise(state.place)

    def _gives(self, state: State) -> list[Float]:
        """dw/d∇Q of both blocks."""
        blocks = zip(self.potential.blocks, state.place, strict=True)
        return [self.unit * block.gain(t) / self.weight for block, t in blocks]

    def give(self, state: State) -> Float:
        """dw/d∇Q."""
        return np.asarray(sum(self._gives(state)))

    def gap(self, state: State) -> Float:
        """What is left between Xᵀν and ∇Q, to first order."""
        first, second = self._gives(state)
        return np.asarray((first * state.gaps[0] + second * state.gaps[1]) / (first + second))

    def step(self, equations: Equations, state: State, met: bool) -> tuple[State, float]:
        """One of Newton's method, and the relative size of the change of w that it asked for.

        met: X w = y is met to rounding, which decides nothing then but would drive ν about where few
        coordinates are large: the step closes gaps alone.
        """
        rise, shares = self.rise(state), self._gives(state)
        give = shares[0] + shares[1]
        gap = self.gap(state)
        rho = np.zeros_like(equations.y) if met else residual(equations, rise)
        direction, change = newton_direction(self.X, give, rho, gap)
        size = float(np.abs(give * change).sum() / np.abs(rise).sum()) if rise.any() else math.inf
        places, gaps = [], []
        for block, t, own in zip(self.potential.blocks, state.place, state.gaps, strict=True):
            asked = change - gap + own
            after = block.newton_update(t, block.side * asked / self.weight)
            places.append(after)
            gaps.append(block.alive * asked - self.weight * block.side * block.slope(after, t))
        return State((places[0], places[1]), state.nu + direction, (gaps[0], gaps[1])), size

    @cached_property
    def _ends(self) -> list[tuple[Float, Float]]:
        """How far the slopes of both blocks can fall and rise from the start: equal ones equally.

        Sums over many coordinates at once may round that of one by its place among them.
        """
        layers = np.vstack([layer for block in self.potential.blocks for layer in (block.least, block.mu)])
        _, one, of = np.unique(layers, axis=1, return_index=True, return_inverse=True)
        count, ends = layers.shape[1], []
        for block in self.potential.blocks:
            fall, rise = block.restricted_to(one, count).distance_to_ends(np.zeros(one.shape))
            ends.append((fall[of.ravel()], rise[of.ravel()]))
        return ends

    def exact(self, state: State) -> State:
        """The gaps computed anew, from distances to the ends where slopes are near one."""
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
        """Newton's method at one target; exact: with gaps that are computed anew in each step."""
        equations, smallest, idle = self.at(level), math.inf, 0
        for step in range(1, _TRIED + 1):
            state = self.exact(state) if exact else state
            state, size = self.step(equations, state, smallest < _MET)
            if not math.isfinite(size) and step > 1:
                return state, step, False
            idle = idle + 1 if size > 0.9 * smallest else 0
            smallest = min(smallest, size)
            stalled = size < _STALLED and idle > _PATIENCE
            if size < _SETTLED or stalled:
                closed = self._closed(state)
                settled = self._meets(closed)
                if settled and exact:
                    caught_up, lag = self._caught_up(self.exact(closed))
                    if lag and step < _TRIED:
                        state, smallest, idle = caught_up, math.inf, 0
                        continue
                    settled = not lag
                if settled or stalled:
                    return closed, step, settled
        return state, _TRIED, False

    def _closed(self, state: State) -> State:
        """Blocks whose gap is worth less than rounding in w take the slope that Xᵀν gives them."""
        largest, places, gaps = np.abs(self.rise(state)).max(), [], []
        for block, t, gap in zip(self.potential.blocks, state.place, state.gaps, strict=True):
            after = block.moved(t, block.side * gap / self.weight)
            change = self.unit * (block.rise(after) - block.rise(t))
            free = np.abs(change) <= _FREE * largest
            places.append(np.where(free, after, t))
            gaps.append(np.where(free, 0.0, gap))
        return State((places[0], places[1]), state.nu, (gaps[0], gaps[1]))

    def _caught_up(self, state: State) -> tuple[State, bool]:
        """Small coordinates where their slopes Xᵀν belong, and whether any of them was not there.

        Newton's method lets such a coordinate grow by a factor in each step, none of which is seen in X w.
        """
        rise, slopes = self.rise(state), [self.weight * block.side for block in self.potential.blocks]
        blocks = zip(self.potential.blocks, state.place, state.gaps, slopes, strict=True)
        places = [block.moved(t, gap / slope) for block, t, gap, slope in blocks]
        asked, largest = self.unit * self.potential.rise((places[0], places[1])), np.abs(rise).max()
        lag = (np.abs(rise) <= _UNSEEN * largest) & ~(
            np.abs(asked) <= np.maximum(_LAGGING * np.abs(rise), _FREE * largest)
        )
        near = lag & np.isfinite(asked)
        places = [np.where(near, after, t) for after, t in zip(places, state.place, strict=True)]
        return replace(state, place=(places[0], places[1])), bool(lag.any())

    def _meets(self, state: State) -> bool:
        """Are all slopes those of their blocks, to eleven digits of the largest?"""
        largest = float(np.abs(self.X.T @ state.nu.value).max())
        return max(float(np.abs(gap).max()) for gap in state.gaps) <= _CLOSED * largest

    def grown(self, state: State, by: float) -> State:
        """The state from which to look for that of targets e^by times as large: large w grow with them."""
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

    def first(self) -> float:
        """The level at which the first slope has come half of the way to its end, if all were linear."""
        give = self.give(self.begin())
        slopes = newton_direction(self.X, give, self.rest, np.zeros_like(give))[1] / self.weight
        fall, rise = self.potential.slope_range
        ratio = np.abs(slopes) / np.where(slopes > 0, rise, fall)
        return -math.log(2 * float(ratio.max()))


@quiet
def minimize_layered(equations: Equations, potential: Layered) -> Solution:
    """argmin Q(w) subject to X w = y."""
    origin = potential.start(equations.X.shape[1])
    if np.array_equal(equations.X @ origin, equations.y):  # or there are no equations
        return Solution(origin.copy(), Pair.of(np.zeros_like(equations.y)), 0, True, none)
    only = only_solution(equations, potential, origin)
    if only is not None:
        return only
    problem = Problem(equations, potential)
    goal = math.log(problem.size) - problem.log_scale
    reached = _reached(problem, goal)
    state, level = reached.state, reached.level
    share = problem.size * math.exp(-level)  # of w in units of the data
    w, nu = problem.origin + share * problem.rise(state), state.nu
    if goal > level:
        w, nu = _scaled(problem, state, w, goal - level)
    unit = math.exp(problem.log_weight + min(goal - level, 0.0))
    w = _feasible(equations, w)
    if not np.isfinite(w).all():  # floats cannot hold the answer
        return Solution(origin.copy(), Pair.of(np.zeros_like(equations.y)), reached.steps, False, unknown)

    def assess() -> float:
        exact = problem.exact(state)
        large = np.abs(w) > _SMALL * np.abs(w).max()
        give = problem.give(exact) * share * np.where(large, math.exp(reached.left), 1.0)
        slopes = equations.slopes(exact.nu).value
        moved = diagonal_move(equations, give, w, slopes)
        return forward_error(equations, moved, w, problem.gap(exact), slope_rounding(equations, exact.nu))

    return Solution(w, Pair(unit * nu.high, unit * nu.low), reached.steps, reached.settled, assess)


@dataclass(frozen=True, eq=False)
class Reached:
    """The state at a level of targets, the steps that were taken, and whether the last of them settled.

    left: how much closer slopes come to their ends, in logarithms, at the last level that tells them apart.
    """

    level: float
    state: State
    steps: int
    settled: bool
    left: float = 0.0


def _reached(problem: Problem, goal: float) -> Reached:
    """The state at these targets, or at the last that tell slopes apart: first in floats, then in pairs.

    Where it does not settle in floats, pairs take over where it did last.
    """
    first, power = problem.first(), problem.potential.depth / (problem.potential.depth - 2)
    floats, pairs = (
        min(max(goal, first - _KERNEL), first + power * sharpest) for sharpest in (_SHARPEST, _SHARPEST_PAIRS)
    )
    begin = min(first, floats)
    reached = _follow(problem, Reached(begin, *problem.solve(begin, problem.begin())), floats)
    if reached.level == begin:
        return reached
    state, steps, settled = problem.solve(reached.level, reached.state, exact=True)
    if not settled:
        return replace(reached, left=(pairs - reached.level) / power)
    found = _follow(problem, Reached(reached.level, state, reached.steps + steps, True), pairs, exact=True)
    return replace(found, settled=found.level >= floats, left=(pairs - found.level) / power)


def _follow(problem: Problem, reached: Reached, last: float, exact: bool = False) -> Reached:
    """Newton's method at ever larger targets, in steps that are halved where it does not settle."""
    step = _STRIDE
    while reached.settled and reached.level < last:
        after = min(reached.level + step, last)
        grown = problem.grown(reached.state, after - reached.level)
        state, steps, done = problem.solve(after, grown, exact)
        steps += reached.steps
        if done:
            reached, step = Reached(after, state, steps, True), 2 * step
            continue
        step = (after - reached.level) / 4
        reached = replace(reached, steps=steps, settled=step >= _SHORTEST)
    return reached


def _scaled(problem: Problem, state: State, w: Float, by: float) -> tuple[Float, Pair]:
    """Large coordinates as they are, multipliers with their slopes, and the others by the slopes of these.

    by: how much larger targets are, in logarithms, than those at which this is the state.
    """
    grown = problem.grown(state, by)
    large = np.abs(problem.rise(state)) > _SMALL * np.abs(problem.rise(state)).max()
    # Both blocks have one slope: its change has all digits in the block that is nearest to an end.
    first, second = (after - before for after, before in zip(grown.gaps, state.gaps, strict=True))
    change = -np.where(np.abs(first) < np.abs(second), first, second)
    moved = np.linalg.lstsq(problem.X[:, large].T, change[large], rcond=None)[0]
    place = problem.potential.moved(state.place, problem.X.T @ moved / problem.weight)
    others = math.exp(problem.log_scale) * problem.unit * problem.potential.rise(place)
    others = problem.origin + np.where(np.isfinite(others), others, 0.0)
    w = np.where(large, w, others)
    return w + _correction(problem.equations, w), state.nu + moved


def _correction(equations: Equations, w: Float) -> Float:
    """What takes up what is left of y − Xw, in large coordinates."""
    rho = equations.y - equations.X @ w
    if not np.isfinite(rho).all():  # beyond the range of floats: the limit is in doubt, and says so
        return np.zeros_like(w)
    size = np.abs(w) / np.abs(w).max()
    return least_change(equations.X, np.where(size > _LARGE, size, 0.0), rho)


def _feasible(equations: Equations, w: Float) -> Float:
    """What rounding left of y − Xw taken away, by coordinates so large that their slopes do not notice."""
    rho, correction = equations.y - equations.X @ w, _correction(equations, w)
    smaller = np.linalg.norm(rho - equations.X @ correction) < np.linalg.norm(rho)
    return w + correction if smaller and (np.abs(correction) <= _ROUNDED * np.abs(w)).all() else w
