"""Minimize a separable potential subject to X w = y: the solver's strategy, from data to solution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.data import Float
from tacit.limits import barrier
from tacit.limits.equations import Equations, newton_direction
from tacit.limits.face import choose_on_face
from tacit.limits.newton import Separable, State, polish, solve_at_scale
from tacit.potentials import rapidity
from tacit.potentials.arrays import quiet

_KERNEL = -25.0  # log of w/m below which the solution is that of the kernel, to all digits
_NEAR = 4.0  # log of w/m up to which Newton needs no path
_SMALL = 1e-9  # relative size of coordinates that take their slope, not their predictor, from the path
_NEGLIGIBLE = 1e-15  # the same at the end
_BELOW_ROUNDING = 1e-13  # relative size at which X w = y says nothing about a coordinate
_UNRESOLVED = 1e-11  # relative residual that degenerate data may leave
_RESOLVED = -26.0  # log slack that the path resolves
_CONSTANT = -40.0  # log slack below which the solution no longer changes with the scale


@dataclass(frozen=True, eq=False)
class Solution:
    """Predictor and multipliers, with the number of factorizations spent and whether the method settled."""

    predictor: Float
    nu: Float
    iterations: int
    settled: bool


@quiet
def minimize_separable(equations: Equations, potential: Separable) -> Solution:
    """argmin Q(w) subject to X w = y for the potential of a diagonal network."""
    equations, potential, columns = _balanced(equations, potential)
    start = np.zeros_like(columns) if potential.origin is None else potential.origin
    kernel = kernel_solution(equations, potential)
    unit = float(np.maximum(np.abs(kernel), np.abs(start)).max())
    if unit == 0 or len(equations.y) == 0:
        return Solution(start / columns, np.zeros_like(equations.y), 0, True)
    equations = replace(equations, y=equations.y / unit)
    potential = potential.in_units_of(unit)
    kernel, start = kernel / unit, np.abs(start) / unit
    height = float(np.max(rapidity.log_abs(np, np.maximum(np.abs(kernel), start)) - potential.log_scale))
    excess = max(_KERNEL - height, 0.0)
    potential = potential.shifted(-excess)
    if height <= _NEAR:
        state, taken, settled = solve_at_scale(equations, potential, kernel)
        w, nu = potential.predictor(state.u), state.nu
    else:
        w, nu, taken, settled = _rich(equations, potential, kernel)
    w = _exactly_feasible(equations, w)
    nu = _refitted(equations, potential, w, nu)
    w = _following_slopes(equations, potential, w, nu)
    nu = nu * np.exp(-excess)
    return Solution(w * unit / columns, nu, taken + 1, settled)


def _balanced(equations: Equations, potential: Separable) -> tuple[Equations, Separable, Float]:
    """The problem in variables columns·w, with columns of X of one size, if theirs are very different."""
    columns = np.sqrt(np.einsum("nd,nd->d", equations.X, equations.X))
    columns[columns == 0] = 1.0
    if columns.max() < 1e3 * columns.min():
        return equations, potential, np.ones_like(columns)
    X = equations.X / columns
    norms = np.sqrt(np.einsum("nd,nd->n", X, X))
    return replace(equations, X=X, row_norms=norms), potential.in_units_of(1 / columns), columns


def kernel_solution(equations: Equations, potential: Separable) -> Float:
    """Where the flow ends at infinite scale: the solution nearest to the start in the tangent metric."""
    W = np.exp(potential.log_scale - potential.log_scale.max()) / potential.weight
    W = W / W.max()
    start = np.zeros_like(W) if potential.origin is None else potential.origin
    w, rho = start.copy(), equations.y - equations.X @ start
    for _ in range(2):  # the second pass, where one is needed, removes the rounding of the first
        if np.linalg.norm(rho) <= 1e-14 * np.linalg.norm(equations.y):
            break
        w = w + W * newton_direction(equations.X, W, rho, np.zeros_like(W))[1]
        rho = equations.y - equations.X @ w
    return w


def _rich(equations: Equations, potential: Separable, kernel: Float) -> tuple[Float, Float, int, bool]:
    """Small scales: the interior path, then Newton; predictor, multipliers, steps, whether it settled."""
    resolved, final = _not_below(potential, _RESOLVED), _not_below(potential, _CONSTANT)
    inside, taken = barrier.follow(equations, resolved, kernel)
    begun = _newton_state(equations, resolved, inside)
    state, steps, settled = polish(equations, resolved, begun, steps=30)
    taken += steps
    if potential.power != np.inf and potential.origin is None:
        base = state if settled else begun
        choice = choose_on_face(equations, final, resolved.predictor(base.u), base.u, base.nu)
        if choice is not None:
            w = _at_scale(potential, choice.w, final.rapidity(choice.w))
            fits = _misfit(equations, w) < 10 * _UNRESOLVED
            return w, choice.nu, taken + choice.steps, choice.settled and fits
    if settled and final is not resolved:
        state, steps, settled = polish(equations, final, _lowered(resolved, final, state), steps=20)
        taken += steps
    w = _at_scale(potential, final.predictor(state.u), state.u)
    if settled and _misfit(equations, w) < _UNRESOLVED:
        return w, state.nu, taken, True
    w, nu = _from_large(equations, potential, inside.predictor, inside.nu)
    return w, nu, taken, _misfit(equations, w) < 10 * _UNRESOLVED


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
    return State(u, inside.nu, potential.weight * (slope - rapidity.slope(np, u, potential.power)))


def _from_large(equations: Equations, potential: Separable, w: Float, nu: Float) -> tuple[Float, Float]:
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
    slope = (X.T @ nu + potential.offset) / potential.weight
    others = potential.predictor(rapidity.rapidity_of_slope(np, slope, potential.power))
    others = np.where(np.isfinite(others), others, w)
    return np.where(exact != 0, exact, others), nu


def _at_scale(potential: Separable, w: Float, u: Float) -> Float:
    """w where it is worth its digits; elsewhere the predictor whose slope is that of rapidity u."""
    large = np.abs(w) > _NEGLIGIBLE * np.abs(w).max()
    return np.where(large, w, potential.predictor(u))


def _exactly_feasible(equations: Equations, w: Float) -> Float:
    """Remove what rounding left of y − Xw by moving large coordinates by less than their slope can tell."""
    size = np.abs(w) / np.abs(w).max()
    W = np.where(size > 1e-4, size, 0.0)
    rho = equations.y - equations.X @ w
    correction = W * newton_direction(equations.X, W, rho, np.zeros_like(w))[1]
    better = w + correction
    smaller = np.linalg.norm(equations.y - equations.X @ better) < np.linalg.norm(rho)
    return better if smaller and np.all(np.abs(correction) <= 1e-11 * np.abs(w)) else w


def _refitted(equations: Equations, potential: Separable, w: Float, nu: Float) -> Float:
    """Multipliers fitted once more to ∇Q(w), if rounding has driven them away from it."""
    u = potential.rapidity(w)
    goal = potential.weight * rapidity.slope(np, u, potential.power) - potential.offset
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
