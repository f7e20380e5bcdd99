r"""Minimize a separable potential at scales well below the predictor: interior path, then Newton's method.

Above depth 2 the slopes approach the ends ±weight of their domain to within slack = (w/m)^{−1/p}. The slacks
decide how nearly equal features share their predictor, through differences of slopes far below round-off, so
Newton's method uses double-double arithmetic there. At scales whose slacks are too small even for that, the
scale is raised until they are representable: the solution no longer depends on the scale, except on a face of
ℓ1 minimizers, which has its own solver (`optimal_face`).
"""

from __future__ import annotations

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
from tacit.solvers.interpolation.accuracy import diagonal_error, diagonal_move, diagonal_step
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import (
    State,
    close_gaps,
    exact_gap,
    gaps_closed,
    iterate,
    move,
    rapidity_at,
    residual,
)
from tacit.solvers.interpolation.optimal_face import choose_on_face
from tacit.solvers.interpolation.solution import Solution

# Sizes of coordinates, relative to the largest.
_SMALL = 1e-9  # smaller ones take over their slope from the interior path, larger ones their predictor
_BELOW_ROUNDING = 1e-13  # below this X w = y carries no information about a coordinate
_NEGLIGIBLE = 1e-15  # the same, for coordinates that are kept when the scale is lowered in the end
_ON_VERTEX = 1e-5  # coordinates that solve the equations where Newton's method has failed
_CORRECTED = 1e-4  # coordinates that absorb the round-off of y − Xw
# Relative residuals and changes.
_UNRESOLVED = 1e-11  # ‖y − Xw‖ that degenerate data may leave
_CANCELLED = 1e-3  # part of ‖X‖·‖w‖ that y counts as at least, in relative residuals
_INVISIBLE = 1e-11  # change of w that its slope does not notice (slopes are smooth in log w)
_SLOPE_ROUNDING = 1e-13  # relative error of slopes that is round-off
_DEPENDENT = 1e-12  # relative singular value below which large coordinates are dependent
_SHARP, _BLUNT = 1e-13, 1e-6  # relative size of a useful final step: smaller is round-off, larger a failure
_NEWTON_TOL = 1e-8  # relative Newton step after which the next one (quadratic convergence) is round-off
# Smallest log slacks: of the interior path in floats, on a face, and in double-double arithmetic.
_RESOLVED, _ON_FACE, _LAST = -26.0, -40.0, -52.0
_CLIPPED = 1e-12  # distance to ±1 to which slopes are clipped before they become rapidities
# Continuation in the log slack: first and shortest step, and Newton steps at each scale.
_STRIDE, _SHORTEST, _MAX_STEPS = 14.0, 0.1, 30
_DEPTH_TWO_STEPS, _DEEP_STEPS = 30, 60  # Newton steps after the interior path
_REFINEMENTS = 3  # passes in which multipliers are fitted to given slopes


def minimize_rich(equations: Equations, potential: Separable, kernel: Float) -> Solution:
    """The minimizer at small scales, starting from the kernel solution."""
    solve = _depth_two if potential.power == np.inf else _deep
    return solve(equations, potential, kernel)


def warm_start(equations: Equations, potential: Separable, near: Float) -> Solution | None:
    """The minimizer of depth 2 from nearby rapidities; None if Newton's method does not converge from them.

    Deeper potentials are not warm-started: most of their time goes into the last digits in any case.
    """
    if potential.power != np.inf:
        return None
    slopes = potential.slope(near)
    begun = State(near, Pair.of(np.zeros_like(equations.y)), potential.offset - slopes)
    state, taken, settled = iterate(equations, potential, begun, tol=_NEWTON_TOL)
    w = potential.predictor(state.u)
    if not (settled and _misfit(equations, w) < _UNRESOLVED):
        return None
    return refined(equations, potential, w, state.nu, taken, True)


def _depth_two(equations: Equations, potential: Separable, kernel: Float) -> Solution:
    inside, taken = barrier.follow(equations, potential, kernel)
    begun = _newton_state(equations, potential, inside)
    state, steps, settled = iterate(equations, potential, begun, steps=_DEPTH_TWO_STEPS)
    w = potential.predictor(state.u)
    if settled and _misfit(equations, w) < _UNRESOLVED:
        return refined(equations, potential, w, state.nu, taken + steps, True)
    return _vertex_solution(equations, potential, inside, taken + steps)


def _deep(equations: Equations, potential: Separable, kernel: Float) -> Solution:
    here, final = (_with_slack_above(potential, level) for level in (_RESOLVED, _LAST))
    inside, taken = barrier.follow(equations, here, kernel)
    begun = _newton_state(equations, here, inside)
    state, steps, settled = iterate(equations, here, begun, steps=_DEEP_STEPS, exact=True)
    taken += steps
    if potential is not here or not settled:
        found = _on_face(equations, potential, here, state if settled else begun, taken)
        if found is not None:
            return found
    if settled and final is not here:
        state, steps, settled = _descend(equations, here, final, state)
        taken += steps
        if settled and final is not potential:
            found = _on_face(equations, potential, final, state, taken)
            if found is not None:
                return found
    if settled:
        state = _sharpened(equations, final, state)
        w, change = final.predictor(state.u), 0.0
        if final is not potential:
            determined, change = _determined(equations, final, state.u)
            w = _at_scale(equations, potential, final, state.u, determined)
        w = exactly_feasible(equations, w)
        if _misfit(equations, w) < _UNRESOLVED:
            u, nu = state.u, state.nu
            return Solution(w, nu, taken, True, lambda: change + _error(equations, final, u, nu))
    return _vertex_solution(equations, potential, inside, taken)


def _vertex_solution(
    equations: Equations, potential: Separable, inside: barrier.Interior, taken: int
) -> Solution:
    """The solution on the large coordinates of the interior path, if Newton's method has failed."""
    w, nu = _from_large(equations, potential, inside.predictor, inside.nu)
    return refined(equations, potential, w, nu, taken, _misfit(equations, w) < 10 * _UNRESOLVED)


def _sharpened(equations: Equations, potential: Separable, state: State) -> State:
    """One more step, with full relative accuracy in the changes of large coordinates, if it is useful.

    If few coordinates are large, the round-off in y − Xw would move ν arbitrarily; then the step is repeated
    with a residual of 0.
    """
    w, gap = potential.predictor(state.u), exact_gap(equations, potential, state.u, state.nu)
    step = diagonal_step(equations, potential.inverse_hessian(state.u), w, potential.weight)
    rho = residual(equations, w)
    for target in (rho, np.zeros_like(rho)):
        nu, change, moved = step(target, gap)
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
    """Continuation to a smaller scale; steps that fail to converge are halved."""
    here, step, taken = above, _STRIDE * above.power, 0
    while here is not below:
        left = float((here.log_scale - below.log_scale).max())
        after = below if left <= step else here.shifted(-step)
        found, steps, settled = iterate(
            equations, after, _lowered(here, after, state), steps=_MAX_STEPS, exact=True
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
) -> Solution | None:
    """The minimizer on a face of ℓ1 minimizers; None if the large coordinates do not form one."""
    at = _with_slack_above(potential, _ON_FACE)
    choice = choose_on_face(equations, at, here.predictor(state.u), state.u, state.nu)
    if choice is None:
        return None
    w = _at_scale(equations, potential, at, at.rapidity(choice.w), choice.face)
    w = exactly_feasible(equations, w)
    settled = choice.settled and _misfit(equations, w) < 10 * _UNRESOLVED
    return Solution(w, choice.nu, taken + choice.steps, settled, choice.assess)


def _error(equations: Equations, potential: Separable, u: Float, nu: Pair) -> float:
    """The forward error."""
    gap = exact_gap(equations, potential, u, nu)
    W, w = potential.inverse_hessian(u), potential.predictor(u)
    return diagonal_error(equations, W, w, potential.weight, gap, nu)


@quiet
def error_at(equations: Equations, potential: Separable, w: Float) -> float:
    """Estimated relative distance of a predictor from the minimizer.

    Its multipliers are those nearest to its slopes in the metric of the potential.
    """
    at = _with_slack_above(potential, _ON_FACE)
    large = np.abs(w) > _SMALL * np.abs(w).max()
    u = np.where(large, at.rapidity(w), potential.rapidity(w))
    W = at.inverse_hessian(u)
    factor = factorize(equations.X, W / W.max(), careful=potential.power != np.inf)
    nu, zero = Pair.of(np.zeros_like(equations.y)), np.zeros_like(equations.y)
    for _ in range(_REFINEMENTS):
        nu = nu + factor.direction(zero, exact_gap(equations, at, u, nu))[0]
    return _error(equations, at, u, nu)


def refined(
    equations: Equations, potential: Separable, w: Float, nu: Pair, taken: int, settled: bool
) -> Solution:
    """The solution with its round-off removed as far as possible, and an estimate of the remaining error."""
    w = exactly_feasible(equations, w)
    multipliers = _refitted(equations, potential, w, nu.value)
    w = _following_slopes(equations, potential, w, multipliers)
    u = potential.rapidity(w)

    def assess() -> float:
        slopes = equations.X.T @ multipliers
        gap = slopes + potential.offset - potential.slope(u)
        return diagonal_error(equations, potential.inverse_hessian(u), w, slopes, gap, multipliers)

    return Solution(w, Pair.of(multipliers), taken, settled, assess)


def _with_slack_above(potential: Separable, log_slack: float) -> Separable:
    """The potential, with scales raised so that slacks of coordinates of order one are at least e^log_slack.

    At depth 2 (infinite power) there are no slacks, and the potential is returned unchanged.
    """
    if potential.power == np.inf:
        return potential
    lift = log_slack * potential.power - float(potential.log_scale.max())
    return potential.shifted(lift) if lift > 0 else potential


def _lowered(before: Separable, after: Separable, state: State) -> State:
    """The initial state at smaller scales: large coordinates keep their predictor, small ones their slope."""
    w = before.predictor(state.u)
    large = np.abs(w) > _SMALL * np.abs(w).max()
    u = np.where(large, after.rapidity(w), state.u)
    moved = np.sign(u) * rapidity.slope_between(np, np.abs(state.u), np.abs(u), before.power)
    return State(u, state.nu, state.gap - before.weight * moved)


def _misfit(equations: Equations, w: Float) -> float:
    """‖y − Xw‖ relative to ‖y‖, or to the terms of Xw if these are much larger and cancel."""
    terms = _CANCELLED * np.linalg.norm(equations.row_norms) * np.linalg.norm(w)
    return float(np.linalg.norm(equations.y - equations.X @ w) / max(np.linalg.norm(equations.y), terms))


def _newton_state(equations: Equations, potential: Separable, inside: barrier.Interior) -> State:
    """The initial state: large coordinates take the predictor of `inside`, small ones its slope."""
    slope = (equations.X.T @ inside.nu + potential.offset) / potential.weight
    w = inside.predictor
    bound = np.inf if potential.power == np.inf else 1 - _CLIPPED
    by_slope = rapidity.rapidity_of_slope(np, np.clip(slope, -bound, bound), potential.power)
    u = np.where(np.abs(w) > _SMALL * np.abs(w).max(), potential.rapidity(w), by_slope)
    return State(u, Pair.of(inside.nu), potential.weight * (slope - rapidity.slope(np, u, potential.power)))


def _from_large(equations: Equations, potential: Separable, w: Float, nu: Float) -> tuple[Float, Pair]:
    """A predictor whose large coordinates alone solve the equations, and multipliers with their slopes.

    The other coordinates follow from their slopes Xᵀν. If the solution is degenerate (sparse data without
    noise), this is all that the data determine.
    """
    X = equations.X
    face = np.flatnonzero(np.abs(w) > _ON_VERTEX * np.abs(w).max())
    root = np.sqrt(np.abs(w[face]))  # weighting by w keeps the shares of equal columns
    exact = np.zeros_like(w)
    rho = equations.y - X[:, face] @ w[face]
    exact[face] = w[face] + root * np.linalg.lstsq(X[:, face] * root, rho, rcond=None)[0]
    slope = rapidity.slope(np, potential.rapidity(exact), potential.power)
    goal = potential.weight * slope - potential.offset
    nu = nu + np.linalg.lstsq(X[:, face].T, (goal - X.T @ nu)[face], rcond=None)[0]
    others = potential.predictor(rapidity_at(potential, equations.slopes(Pair.of(nu))))
    others = np.where(np.isfinite(others), others, w)
    return np.where(exact != 0, exact, others), Pair.of(nu)


def _determined(equations: Equations, here: Separable, u: Float) -> tuple[NDArray[np.bool_], float]:
    """The coordinates that the equations determine at any scale, and how much they still change with it.

    As the scale falls these keep their predictor, while the others keep their slope and vanish. The
    derivative of w with respect to the logarithm of the scale tells them apart.
    """
    w = here.predictor(u)
    moved = diagonal_move(equations, here.inverse_hessian(u), w, here.weight)
    kept = moved(equations.X @ w, np.zeros_like(w))
    size = np.abs(w)
    determined = (np.abs(kept - w) < 0.5 * size) & (size > _NEGLIGIBLE * size.max())
    return determined, float(here.power * np.linalg.norm((kept - w)[determined]) / np.linalg.norm(w))


def _at_scale(
    equations: Equations, potential: Separable, here: Separable, u: Float, determined: NDArray[np.bool_]
) -> Float:
    """The predictor at a smaller scale than the one (`here`) at which its rapidities were computed.

    Coordinates that the equations determine keep their predictor, the others their slope; the former then
    compensate the change of the latter in X w = y.
    """
    w = np.where(determined, here.predictor(u), potential.predictor(u))
    return w + least_change(equations.X, np.where(determined, np.abs(w), 0.0), residual(equations, w))


def least_change(X: Float, W: Float, rho: Float) -> Float:
    """The smallest dw in the metric 1/W with X dw = ρ; in the least-squares sense if there is none."""
    used = np.flatnonzero(W)
    if len(used) > 2 * len(rho):
        return W * newton_direction(X, W, rho, np.zeros_like(W))[1]
    change, root = np.zeros_like(W), np.sqrt(W[used])
    change[used] = root * lstsq(X[:, used] * root, rho, cond=_DEPENDENT, lapack_driver="gelsy")[0]
    return change


def correction(equations: Equations, w: Float) -> Float:
    """The change of large coordinates that removes y − Xw."""
    rho = equations.y - equations.X @ w
    if not np.isfinite(rho).all():  # overflow: the result is reported as not converged
        return np.zeros_like(w)
    size = np.abs(w) / np.abs(w).max()
    return least_change(equations.X, np.where(size > _CORRECTED, size, 0.0), rho)


def exactly_feasible(equations: Equations, w: Float) -> Float:
    """Remove the round-off in y − Xw by changes of large coordinates that do not affect their slopes."""
    change = correction(equations, w)
    better = w + change
    left, rest = (np.linalg.norm(equations.y - equations.X @ each) for each in (w, better))
    return better if rest < left and np.all(np.abs(change) <= _INVISIBLE * np.abs(w)) else w


def _refitted(equations: Equations, potential: Separable, w: Float, nu: Float) -> Float:
    """Multipliers fitted once more to ∇Q(w), if round-off has moved them away from it."""
    u = potential.rapidity(w)
    goal = potential.slope(u) - potential.offset
    known = np.abs(w) > _BELOW_ROUNDING * np.abs(w).max()
    gap = np.where(known, equations.X.T @ nu - goal, 0.0)
    if np.abs(gap).max() <= _SLOPE_ROUNDING * np.abs(goal).max():
        return nu
    better = nu + newton_direction(equations.X, potential.inverse_hessian(u), np.zeros_like(nu), gap)[0]
    left = np.where(known, equations.X.T @ better - goal, 0.0)
    return better if np.abs(left).max() < np.abs(gap).max() else nu


def _following_slopes(equations: Equations, potential: Separable, w: Float, nu: Float) -> Float:
    """The predictor with coordinates below round-off of X w = y recomputed from their slopes Xᵀν."""
    slope = (equations.X.T @ nu + potential.offset) / potential.weight
    others = potential.predictor(rapidity.rapidity_of_slope(np, slope, potential.power))
    limit = _BELOW_ROUNDING * np.abs(w).max()
    return np.where((np.abs(w) <= limit) & (np.abs(others) <= limit), others, w)
