r"""Minimize the potential of an untied network of several layers subject to X w = y.

    find the places of all blocks and ν with  X w = y  and  ∇Q(w) = Xᵀν

by Newton's method on both at once, the gaps between Xᵀν and the slopes of the blocks being carried along
(`newton` does the same for tied networks). Targets grow from those of the start, where the answer is known,
until they are those of the data: multiplying layers by c is the same as dividing targets by c^L. Where slopes
come so close to their ends that floats cannot tell them apart the solution no longer changes, and is scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.normal import newton_direction
from tacit.numerics.pairs import Pair
from tacit.potentials.arrays import quiet
from tacit.potentials.layered import Layered, Place
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.newton import residual
from tacit.solvers.interpolation.only import only_solution
from tacit.solvers.interpolation.solution import Solution, none, unknown

_KERNEL = 25.0  # log of how far below the first nonlinearity all is linear, to all digits
_FIRST, _STRIDE, _SHORTEST = 1.0, 4.0, 0.05  # steps in the logarithm of the targets
_SHARPEST = math.log(1e11)  # of slopes over their distance to their ends that are still told apart
_TRIED = 25  # steps of Newton at one target
_SETTLED, _STALLED, _PATIENCE = 1e-13, 1e-9, 3  # relative sizes of last steps, and idle ones
_FREE, _CLOSED = 1e-15, 1e-11  # changes of w that X w = y does not see, and gaps that are closed, relative
_LARGE, _ROUNDED = 1e-4, 1e-11  # relative size of coordinates that take up rounding, and of that
_MET = 1e-12  # relative size of a step of w after which X w = y is met to rounding
_SMALL = 1e-9  # relative size of coordinates that keep their slope where the rest is scaled


@dataclass(frozen=True, eq=False)
class State:
    """Where all blocks are, ν, and the gaps of both blocks between Xᵀν and their slopes."""

    place: Place
    nu: Float
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
        return State((zero, zero), np.zeros(len(self.rest)), (zero, zero))

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

    def step(self, equations: Equations, state: State, met: bool) -> tuple[State, float]:
        """One of Newton's method, and the relative size of the change of w that it asked for.

        met: X w = y is met to rounding, which decides nothing then but would drive ν about where few
        coordinates are large: the step closes gaps alone.
        """
        rise, shares = self.rise(state), self._gives(state)
        give = shares[0] + shares[1]
        gap = (shares[0] * state.gaps[0] + shares[1] * state.gaps[1]) / give
        rho = np.zeros_like(state.nu) if met else residual(equations, rise)
        direction, change = newton_direction(self.X, give, rho, gap)
        size = float(np.abs(give * change).sum() / np.abs(rise).sum()) if rise.any() else math.inf
        places, gaps = [], []
        for block, t, own in zip(self.potential.blocks, state.place, state.gaps, strict=True):
            asked = change - gap + own
            after = block.stepped(t, block.side * asked / self.weight)
            places.append(after)
            gaps.append(block.alive * asked - self.weight * block.side * block.slope(after, t))
        return State((places[0], places[1]), state.nu + direction, (gaps[0], gaps[1])), size

    def solve(self, level: float, state: State) -> tuple[State, int, bool]:
        """Newton's method at one target."""
        equations, smallest, idle = self.at(level), math.inf, 0
        for step in range(1, _TRIED + 1):
            state, size = self.step(equations, state, smallest < _MET)
            if not math.isfinite(size) and step > 1:
                return state, step, False
            idle = idle + 1 if size > 0.9 * smallest else 0
            smallest = min(smallest, size)
            stalled = size < _STALLED and idle > _PATIENCE
            if size < _SETTLED or stalled:
                closed = self._closed(state)
                settled = self._meets(closed)
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

    def _meets(self, state: State) -> bool:
        """Are all slopes those of their blocks, to eleven digits of the largest?"""
        largest = float(np.abs(self.X.T @ state.nu).max())
        return max(float(np.abs(gap).max()) for gap in state.gaps) <= _CLOSED * largest

    def grown(self, state: State, by: float) -> State:
        """The state from which to look for that of targets e^by times as large: large w grow with them."""
        rise = self.potential.rise(state.place)
        large = np.abs(self.unit * rise) > _SMALL * np.abs(self.unit * rise).max()
        place, _ = self.potential.placed(np.where(large, math.exp(by), 1.0) * rise)
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
        fall, rise = self.potential.room
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
    first, power = problem.first(), potential.depth / (potential.depth - 2)
    goal = math.log(problem.size) - problem.log_scale
    last = min(max(goal, first - _KERNEL), first + power * _SHARPEST)
    state, steps, settled = _follow(problem, min(first, last), last)
    share = problem.size * math.exp(-last)  # of w in units of the data
    rise = problem.rise(state)
    w, nu = problem.origin + share * rise, math.exp(problem.log_weight) * state.nu
    if goal > last:
        w, nu = _scaled(problem, np.abs(rise) > _SMALL * np.abs(rise).max(), w, nu)
    elif goal < last:
        nu = nu * math.exp(goal - last)
    w = _feasible(equations, w)
    if not np.isfinite(w).all():  # floats cannot hold the answer
        return Solution(origin.copy(), Pair.of(np.zeros_like(equations.y)), steps, False, unknown)

    def assess() -> float:
        give = problem.give(state) * share / math.exp(problem.log_weight)
        gap = math.exp(problem.log_weight) * _gap(problem, state)
        moved = diagonal_move(equations, give, w, equations.X.T @ nu)
        return forward_error(equations, moved, w, gap, slope_rounding(equations, nu))

    return Solution(w, Pair.of(nu), steps, settled, assess)


def _scaled(problem: Problem, large: Float, w: Float, nu: Float) -> tuple[Float, Float]:
    """Large coordinates as they are, multipliers with their slopes, and the others by the slopes of these."""
    slopes = problem.X.T @ nu
    goal = problem.potential.gradient(w)
    nu = nu + np.linalg.lstsq(problem.X[:, large].T, (goal - slopes)[large], rcond=None)[0]
    others = problem.potential.mirror(problem.X.T @ nu)
    before = problem.potential.mirror(slopes)
    others = np.where(np.isfinite(others), others, before)
    return np.where(large, w, np.where(np.isfinite(others), others, problem.origin)), nu


def _gap(problem: Problem, state: State) -> Float:
    """What is left between Xᵀν and the slopes, of both blocks the larger."""
    first, second = state.gaps
    return np.where(np.abs(first) > np.abs(second), first, second)


def _follow(problem: Problem, level: float, last: float) -> tuple[State, int, bool]:
    """Newton's method at ever larger targets, in steps that are halved where it does not settle."""
    state, taken, settled = problem.solve(level, problem.begin())
    step = _STRIDE
    while settled and level < last:
        after = min(level + step, last)
        found, steps, done = problem.solve(after, problem.grown(state, after - level))
        taken += steps
        if done:
            state, level, step = found, after, 2 * step
            continue
        step = (after - level) / 4
        settled = step >= _SHORTEST
    return state, taken, settled


def _feasible(equations: Equations, w: Float) -> Float:
    """What rounding left of y − Xw taken away, by coordinates so large that their slopes do not notice."""
    size = np.abs(w) / np.abs(w).max()
    size = np.where(size > _LARGE, size, 0.0)
    rho = equations.y - equations.X @ w
    correction = size * newton_direction(equations.X, size, rho, np.zeros_like(w))[1]
    smaller = np.linalg.norm(rho - equations.X @ correction) < np.linalg.norm(rho)
    return w + correction if smaller and (np.abs(correction) <= _ROUNDED * np.abs(w)).all() else w
