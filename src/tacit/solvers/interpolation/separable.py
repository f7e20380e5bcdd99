"""Minimize a separable potential subject to X w = y: the solver's strategy, from data to solution."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials import rapidity
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import solve_at_scale
from tacit.solvers.interpolation.rich import End, finished, rich, warm
from tacit.solvers.interpolation.solution import Solution, none, unknown
from tacit.solvers.interpolation.unique import only_solution

_KERNEL = -25.0  # log of w/m below which the solution is that of the kernel, to all digits
_NEAR = 4.0  # log of w/m up to which Newton needs no path


@quiet
def minimize_separable(equations: Equations, potential: Separable, near: Float | None = None) -> Solution:
    """argmin Q(w) subject to X w = y for the potential of a diagonal network.

    near: rapidities close to those of the solution, which save most of the way.
    """
    equations, potential, columns = balanced(equations, potential)
    start = np.zeros_like(columns) if potential.origin is None else potential.origin
    only = only_solution(equations, potential, start)
    if only is not None:
        return replace(only, predictor=only.predictor / columns)
    close = None if near is None else _from_near(equations, potential, near, columns)
    if close is not None:
        return close
    kernel = kernel_solution(equations, potential)
    largest = float(np.maximum(np.abs(kernel), np.abs(start)).max())
    if largest == 0 or len(equations.y) == 0 or not np.linalg.norm(equations.y) < np.inf:
        zero = not np.any(equations.y)  # else floats cannot hold the answer, or its square
        return Solution(
            start / columns, Pair.of(np.zeros_like(equations.y)), 0, zero, none if zero else unknown
        )
    unit = 2.0 ** math.frexp(largest)[1]
    equations = equations.in_units_of(unit)
    potential = potential.in_units_of(unit)
    kernel, start = kernel / unit, np.abs(start) / unit
    height = float(np.max(rapidity.log_abs(np, np.maximum(np.abs(kernel), start)) - potential.log_scale))
    excess = max(_KERNEL - height, 0.0)
    potential = potential.shifted(-excess)
    end = (_kernel if height <= _NEAR else rich)(equations, potential, kernel)
    nu = end.nu if excess == 0 else Pair.of(end.nu.value * np.exp(-excess))
    return Solution(end.w * unit / columns, nu, end.steps + 2, end.settled, end.assess)


def _from_near(equations: Equations, potential: Separable, near: Float, columns: Float) -> Solution | None:
    """The solution from rapidities close to its own, in balanced variables; None if they are not."""
    largest = float(np.abs(potential.predictor(near)).max())
    if not (0 < largest < math.inf and len(equations.y)):
        return None
    unit = 2.0 ** math.frexp(largest)[1]
    end = warm(equations.in_units_of(unit), potential.in_units_of(unit), near)
    if end is None:
        return None
    return Solution(end.w * unit / columns, end.nu, end.steps + 1, end.settled, end.assess)


def _kernel(equations: Equations, potential: Separable, kernel: Float) -> End:
    """Large scales: Newton alone."""
    state, taken, settled = solve_at_scale(equations, potential, kernel)
    return finished(equations, potential, potential.predictor(state.u), state.nu, taken, settled)


def balanced(equations: Equations, potential: Separable) -> tuple[Equations, Separable, Float]:
    """The problem in variables columns·w, with columns of X of one size, if theirs are very different."""
    columns = np.sqrt(np.einsum("nd,nd->d", equations.X, equations.X))
    columns[columns == 0] = 1.0
    if columns.max() < 1e3 * columns.min():
        return equations, potential, np.ones_like(columns)
    columns = np.exp2(np.round(np.log2(columns)))  # powers of 2 round nothing
    return equations.with_columns(1 / columns), potential.in_units_of(1 / columns), columns


def kernel_solution(equations: Equations, potential: Separable) -> Float:
    """Where the flow ends at infinite scale: the solution nearest to the start in the tangent metric."""
    W = potential.kernel_metric()
    start = np.zeros_like(W) if potential.origin is None else potential.origin
    w, rho = start.copy(), equations.y - equations.X @ start
    for _ in range(2):  # the second pass, where one is needed, removes the rounding of the first
        if np.linalg.norm(rho) <= 1e-14 * np.linalg.norm(equations.y):
            break
        w = w + W * newton_direction(equations.X, W, rho, np.zeros_like(W))[1]
        rho = equations.y - equations.X @ w
    return w
