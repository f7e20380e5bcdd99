r"""Minimize a separable potential at scales well below the predictor: the interior path, then Newton.

Above depth 2 slopes come within slack = (w/m)^{−1/p} of the ends ±weight of their domain, and it is the
slacks that tell how nearly equal features share their predictor: differences of slopes far below the
rounding of a float. There Newton works on pairs of floats. Where slacks are so small that pairs cannot hold
them either, the scale is lifted to where they can: the solution no longer changes with it, except on a face
of ℓ1 minimizers, which has a solver of its own (`face`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import factorize, newton_direction
from tacit.potentials import rapidity
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation import barrier
from tacit.solvers.interpolation.accuracy import diagonal_move, diagonal_step, forward_error, slope_rounding
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import (
    State,
    close_gaps,
    exact_gap,
    gaps_closed,
    move,
    polish,
    rapidity_at,
    residual,
)
from tacit.solvers.interpolation.optimal_face import choose_on_face
from tacit.solvers.interpolation.solution import Assess

_SMALL = 1e-9  # relative size of coordinates that take their slope, not their predictor, from the path
_BELOW_ROUNDING = 1e-13  # relative size at which X w = y says nothing about a coordinate
_UNRESOLVED = 1e-11  # relative residual that degenerate data may leave
_NEGLIGIBLE = 1e-15  # the same where the scale is lowered in the end
_DEPENDENT = 1e-12  # relative size of what large coordinates do not determine
_RESOLVED, _ON_FACE, _LAST = -26.0, -40.0, -52.0  # log slacks: of the path, on a face, and in pairs of floats
_SHARP, _BLUNT = 1e-13, 1e-6  # relative size of a last step that is worth taking, and that is none
_SQUARED = 1e-8  # relative size of a step of Newton after which the next one would be rounding
_REFINED = 3  # passes in which multipliers are fitted to given slopes
_STRIDE, _SHORTEST, _TRIED = 14.0, 0.1, 30  # steps in the log slack, and steps of Newton in each


@dataclass(frozen=True, eq=False)
class End:
    """Predictor, multipliers, steps taken, whether they settled, and what estimates the forward error."""

    w: Float
    nu: Pair
    steps: int
    settled: bool
    assess: Assess


def rich(equations: Equations, potential: Separable, kernel: Float) -> End:
    """The minimizer at small scales, from the kernel solution."""
    solve = _depth_two if potential.power == np.inf else _deep
    return solve(equations, potential, kernel)


def warm(equations: Equations, potential: Separable, near: Float) -> End | None:
    """The minimizer of depth 2 from rapidities close by; None where Newton does not lead there at once."""
    if potential.power != np.inf:  # most of whose time goes into the last digits, wherever one begins
        return None
    slopes = potential.slope(near)
    begun = State(near, Pair.of(np.zeros_like(equations.y)), potential.offset - slopes)
    state, taken, settled = polish(equations, potential, begun, small=_SQUARED)
    w = potential.predictor(state.u)
    if not (settled and _misfit(equations, w) < _UNRESOLVED):
        return None
    return finished(equations, potential, w, state.nu, taken, True)


def _depth_two(equations: Equations, potential: Separable, kernel: Float) -> End:
    inside, taken = barrier.follow(equations, potential, kernel)
    begun = _newton_state(equations, potential, inside)
    state, steps, settled = polish(equations, potential, begun, steps=30)
    w = potential.predictor(state.u)
    if settled and _misfit(equations, w) < _UNRESOLVED:
        return finished(equations, potential, w, state.nu, taken + steps, True)
    w, nu = _from_large(equations, potential, inside.predictor, inside.nu)
    return finished(equations, potential, w, nu, taken + steps, _misfit(equations, w) < 10 * _UNRESOLVED)


def _deep(equations: Equations, potential: Separable, kernel: Float) -> End:
    here, final = (_not_below(potential, level) for level in (_RESOLVED, _LAST))
    inside, taken = barrier.follow(equations, here, kernel)
    begun = _newton_state(equations, here, inside)
    state, steps, settled = polish(equations, here, begun, steps=60, exact=True)
    taken += steps
    if potential is not here or not settled:
        end = _on_face(equations, potential, here, state if settled else begun, taken)
        if end is not None:
            return end
    if settled and final is not here:
        state, steps, settled = _descend(equations, here, final, state)
        taken += steps
        end = (
            _on_face(equations, potential, final, state, taken)
            if settled and final is not potential
            else None
        )
        if end is not None:
            return end
    if settled:
        state = _sharpened(equations, final, state)
        w, change = final.predictor(state.u), 0.0
        if final is not potential:
            needed, change = _needed(equations, final, state.u)
            w = _at_scale(equations, potential, final, state.u, needed)
        w = _exactly_feasible(equations, w)
        if _misfit(equations, w) < _UNRESOLVED:
            u, nu = state.u, state.nu
            return End(w, nu, taken, True, lambda: change + _error(equations, final, u, nu))
    w, nu = _from_large(equations, potential, inside.predictor, inside.nu)
    return finished(equations, potential, w, nu, taken, _misfit(equations, w) < 10 * _UNRESOLVED)


def _sharpened(equations: Equations, potential: Separable, state: State) -> State:
    """One more step, in which changes of large coordinates have all digits, where there is one to take.

    Where few coordinates are large, what rounding has left of y − Xw would drive ν about: then without it.
    """
    w, gap = potential.predictor(state.u), exact_gap(equations, potential, state.u, state.nu)
    step = diagonal_step(equations, potential.inverse_hessian(state.u), w, potential.weight)
    rho = residual(equations, w)
    for left in (rho, np.zeros_like(rho)):
        nu, change, moved = step(left, gap)
        if not _SHARP < np.linalg.norm(moved) / np.linalg.norm(w) < _BLUNT:
            return state
        u, nu = move(state.u, change / potential.weight, potential.power)[0], state.nu + nu
        better = close_gaps(potential, State(u, nu, exact_gap(equations, potential, u, nu)))
        if gaps_closed(potential, better):
            return better
    return state


def _descend(
    equations: Equations, above: Separable, below: Separable, state: State
) -> tuple[State, int, bool]:
    """Newton at ever smaller scales, in steps that are halved where it does not settle."""
    here, step, taken = above, _STRIDE * above.power, 0
    while here is not below:
        left = float((here.log_scale - below.log_scale).max())
        after = below if left <= step else here.shifted(-step)
        found, steps, settled = polish(
            equations, after, _lowered(here, after, state), steps=_TRIED, exact=True
        )
        taken += steps
        if settled:
            here, state, step = after, found, 2 * step
            continue
        step = min(step, left) / 2
        if step < _SHORTEST * above.power:
            return state, taken, False
    return state, taken, True


def _on_face(
    equations: Equations, potential: Separable, here: Separable, state: State, taken: int
) -> End | None:
    """The choice on a face of ℓ1 minimizers, if the large coordinates make one."""
    at = _not_below(potential, _ON_FACE)
    choice = choose_on_face(equations, at, here.predictor(state.u), state.u, state.nu)
    if choice is None:
        return None
    w = _at_scale(equations, potential, at, at.rapidity(choice.w), choice.face)
    w = _exactly_feasible(equations, w)
    settled = choice.settled and _misfit(equations, w) < 10 * _UNRESOLVED
    return End(w, choice.nu, taken + choice.steps, settled, choice.assess)


def _error(equations: Equations, potential: Separable, u: Float, nu: Pair) -> float:
    """The forward error."""
    gap = exact_gap(equations, potential, u, nu)
    w = potential.predictor(u)
    moved = diagonal_move(equations, potential.inverse_hessian(u), w, potential.weight)
    return forward_error(equations, moved, w, gap, slope_rounding(equations, nu))


@quiet
def multipliers_at(equations: Equations, potential: Separable, w: Float) -> End:
    """A given predictor, with the multipliers nearest to its slopes in the metric of the potential."""
    at = _not_below(potential, _ON_FACE)
    large = np.abs(w) > _SMALL * np.abs(w).max()
    u = np.where(large, at.rapidity(w), potential.rapidity(w))
    W = at.inverse_hessian(u)
    factor = factorize(equations.X, W / W.max(), careful=potential.power != np.inf)
    nu, none = Pair.of(np.zeros_like(equations.y)), np.zeros_like(equations.y)
    for _ in range(_REFINED):
        nu = nu + factor.direction(none, exact_gap(equations, at, u, nu))[0]
    return End(w, nu, _REFINED, True, lambda: _error(equations, at, u, nu))


def finished(
    equations: Equations, potential: Separable, w: Float, nu: Pair, taken: int, settled: bool
) -> End:
    """Rounding taken away, and what is left of it estimated."""
    w = _exactly_feasible(equations, w)
    multipliers = _refitted(equations, potential, w, nu.value)
    w = _following_slopes(equations, potential, w, multipliers)
    u = potential.rapidity(w)

    def assess() -> float:
        slopes = equations.X.T @ multipliers
        gap = slopes + potential.offset - potential.slope(u)
        moved = diagonal_move(equations, potential.inverse_hessian(u), w, slopes)
        return forward_error(equations, moved, w, gap, slope_rounding(equations, multipliers))

    return End(w, Pair.of(multipliers), taken, settled, assess)


def _not_below(potential: Separable, log_slack: float) -> Separable:
    """The potential itself; or, where slacks 1 − |s| of order-one coordinates would be below e^log_slack
    (finite powers), with scales lifted to where they are not."""
    if potential.power == np.inf:
        return potential
    lift = log_slack * potential.power - float(potential.log_scale.max())
    return potential.shifted(lift) if lift > 0 else potential


def _lowered(before: Separable, after: Separable, state: State) -> State:
    """The state at smaller scales: large coordinates keep their predictor, small ones their slope."""
    w = before.predictor(state.u)
    large = np.abs(w) > _SMALL * np.abs(w).max()
    u = np.where(large, after.rapidity(w), state.u)
    moved = np.sign(u) * rapidity.slope_between(np, np.abs(state.u), np.abs(u), before.power)
    return State(u, state.nu, state.gap - before.weight * moved)


def _misfit(equations: Equations, w: Float) -> float:
    """‖y − Xw‖ relative to y, or to the terms of Xw where these are larger and cancel."""
    size = max(np.linalg.norm(equations.y), 1e-3 * np.linalg.norm(equations.row_norms) * np.linalg.norm(w))
    return float(np.linalg.norm(equations.y - equations.X @ w) / size)


def _newton_state(equations: Equations, potential: Separable, inside: barrier.Interior) -> State:
    """Large coordinates take their predictor, small ones their slope; the gap is what then differs."""
    slope = (equations.X.T @ inside.nu + potential.offset) / potential.weight
    w = inside.predictor
    bound = np.inf if potential.power == np.inf else 1 - 1e-12
    by_slope = rapidity.rapidity_of_slope(np, np.clip(slope, -bound, bound), potential.power)
    u = np.where(np.abs(w) > _SMALL * np.abs(w).max(), potential.rapidity(w), by_slope)
    return State(u, Pair.of(inside.nu), potential.weight * (slope - rapidity.slope(np, u, potential.power)))


def _from_large(equations: Equations, potential: Separable, w: Float, nu: Float) -> tuple[Float, Pair]:
    """A predictor whose large coordinates alone solve the equations, and multipliers with their slopes.

    The other coordinates follow their slopes Xᵀν. Where sparse data without noise make the solution
    degenerate, this is all that is left to determine.
    """
    X = equations.X
    face = np.flatnonzero(np.abs(w) > 1e-5 * np.abs(w).max())
    root = np.sqrt(np.abs(w[face]))  # large coordinates give most, so that equal columns keep their shares
    exact = np.zeros_like(w)
    rho = equations.y - X[:, face] @ w[face]
    exact[face] = w[face] + root * np.linalg.lstsq(X[:, face] * root, rho, rcond=None)[0]
    slope = rapidity.slope(np, potential.rapidity(exact), potential.power)
    goal = potential.weight * slope - potential.offset
    nu = nu + np.linalg.lstsq(X[:, face].T, (goal - X.T @ nu)[face], rcond=None)[0]
    others = potential.predictor(rapidity_at(potential, equations.slopes(Pair.of(nu))))
    others = np.where(np.isfinite(others), others, w)
    return np.where(exact != 0, exact, others), Pair.of(nu)


def _needed(equations: Equations, here: Separable, u: Float) -> tuple[NDArray[np.bool_], float]:
    """Which coordinates the equations need, whatever the scale; and how much these still change with it.

    They keep their predictor as the scale falls, others their slope, and thus vanish with the scale: which
    does what shows in the derivative of w by the logarithm of the scale.
    """
    w = here.predictor(u)
    moved = diagonal_move(equations, here.inverse_hessian(u), w, here.weight)
    kept = moved(equations.X @ w, np.zeros_like(w))
    size = np.abs(w)
    needed = (np.abs(kept - w) < 0.5 * size) & (size > _NEGLIGIBLE * size.max())
    return needed, float(here.power * np.linalg.norm((kept - w)[needed]) / np.linalg.norm(w))


def _at_scale(
    equations: Equations, potential: Separable, here: Separable, u: Float, needed: NDArray[np.bool_]
) -> Float:
    """The predictor at a smaller scale than that where its rapidities were found.

    Coordinates that are needed keep their predictor, others their slope; the first then give back what the
    others have lost.
    """
    w = np.where(needed, here.predictor(u), potential.predictor(u))
    return w + least_change(equations.X, np.where(needed, np.abs(w), 0.0), residual(equations, w))


def least_change(X: Float, W: Float, rho: Float) -> Float:
    """The least dw, in the metric 1/W, with X dw = ρ; or nearly so, where these coordinates cannot."""
    used = np.flatnonzero(W)
    if len(used) > 2 * len(rho):
        return W * newton_direction(X, W, rho, np.zeros_like(W))[1]
    change, root = np.zeros_like(W), np.sqrt(W[used])
    change[used] = root * lstsq(X[:, used] * root, rho, cond=_DEPENDENT, lapack_driver="gelsy")[0]
    return change


def _exactly_feasible(equations: Equations, w: Float) -> Float:
    """Remove what rounding left of y − Xw by moving large coordinates by less than their slope can tell."""
    size = np.abs(w) / np.abs(w).max()
    rho = equations.y - equations.X @ w
    correction = least_change(equations.X, np.where(size > 1e-4, size, 0.0), rho)
    better = w + correction
    smaller = np.linalg.norm(equations.y - equations.X @ better) < np.linalg.norm(rho)
    return better if smaller and np.all(np.abs(correction) <= 1e-11 * np.abs(w)) else w


def _refitted(equations: Equations, potential: Separable, w: Float, nu: Float) -> Float:
    """Multipliers fitted once more to ∇Q(w), if rounding has driven them away from it."""
    u = potential.rapidity(w)
    goal = potential.slope(u) - potential.offset
    known = np.abs(w) > _BELOW_ROUNDING * np.abs(w).max()
    gap = np.where(known, equations.X.T @ nu - goal, 0.0)
    if np.abs(gap).max() <= 1e-13 * np.abs(goal).max():
        return nu
    better = nu + newton_direction(equations.X, potential.inverse_hessian(u), np.zeros_like(nu), gap)[0]
    left = np.where(known, equations.X.T @ better - goal, 0.0)
    return better if np.abs(left).max() < np.abs(gap).max() else nu


def _following_slopes(equations: Equations, potential: Separable, w: Float, nu: Float) -> Float:
    """Coordinates that the equations do not see take the w of their slope Xᵀν, if that is small too."""
    slope = (equations.X.T @ nu + potential.offset) / potential.weight
    others = potential.predictor(rapidity.rapidity_of_slope(np, slope, potential.power))
    limit = _BELOW_ROUNDING * np.abs(w).max()
    return np.where((np.abs(w) <= limit) & (np.abs(others) <= limit), others, w)
