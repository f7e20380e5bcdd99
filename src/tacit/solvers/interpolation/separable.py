"""Minimize a separable potential subject to X w = y: units, scaling and choice of the method."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials import Potential, rapidity
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import solve_at_scale
from tacit.solvers.interpolation.rich import minimize_rich, refined, warm_start
from tacit.solvers.interpolation.solution import Solution

# log(w/m) below which the solution equals the kernel solution to round-off: Q is quadratic up to a relative
# term of order (w/m)², and e^{−50} < 2^{−52}.
_KERNEL_LEVEL = -25.0
# log(w/m) up to which Newton's method converges from the kernel solution; above it needs the interior path.
_NEWTON_LEVEL = 4.0
_EQUAL_COLUMNS = 1e3  # ratio of column norms up to which columns are left as they are
_PASSES = 2  # the second pass removes the round-off of the first


@quiet
def minimize_separable(equations: Equations, potential: Separable, near: Float | None = None) -> Solution:
    """argmin Q(w) subject to X w = y for the potential of a diagonal network.

    near: rapidities close to those of the solution, for a warm start.
    """
    equations, potential, columns = balanced(equations, potential)
    start = np.zeros_like(columns) if potential.origin is None else potential.origin
    only = only_solution(equations, potential, start)
    if only is not None:
        return replace(only, predictor=only.predictor / columns)
    close = None if near is None else _warm_start(equations, potential, near, columns)
    if close is not None:
        return close
    kernel = kernel_solution(equations, potential)
    largest = float(np.maximum(np.abs(kernel), np.abs(start)).max())
    if largest == 0 or len(equations.y) == 0 or not np.linalg.norm(equations.y) < np.inf:
        zero = not np.any(equations.y)  # otherwise the solution, or its square, overflows
        return Solution.unmoved(start / columns, len(equations.y), settled=zero)
    unit = 2.0 ** math.frexp(largest)[1]
    equations = equations.in_units_of(unit)
    potential = potential.in_units_of(unit)
    kernel, start = kernel / unit, np.abs(start) / unit
    height = float(np.max(rapidity.log_abs(np, np.maximum(np.abs(kernel), start)) - potential.log_scale))
    # At scales far above the predictor w/m would underflow; there the solution no longer depends on m.
    excess = max(_KERNEL_LEVEL - height, 0.0)
    potential = potential.shifted(-excess)
    found = (_newton if height <= _NEWTON_LEVEL else minimize_rich)(equations, potential, kernel)
    nu = found.nu if excess == 0 else Pair.of(found.nu.value * np.exp(-excess))
    return replace(found, predictor=found.predictor * unit / columns, nu=nu, iterations=found.iterations + 2)


def _warm_start(equations: Equations, potential: Separable, near: Float, columns: Float) -> Solution | None:
    """The solution from rapidities close to its own, in balanced variables; None if Newton's method fails."""
    largest = float(np.abs(potential.predictor(near)).max())
    if not (0 < largest < math.inf and len(equations.y)):
        return None
    unit = 2.0 ** math.frexp(largest)[1]
    found = warm_start(equations.in_units_of(unit), potential.in_units_of(unit), near)
    if found is None:
        return None
    return replace(found, predictor=found.predictor * unit / columns, iterations=found.iterations + 1)


def _newton(equations: Equations, potential: Separable, kernel: Float) -> Solution:
    """The minimizer at large scales, by Newton's method from the kernel solution."""
    state, taken, settled = solve_at_scale(equations, potential, kernel)
    return refined(equations, potential, potential.predictor(state.u), state.nu, taken, settled)


def balanced(equations: Equations, potential: Separable) -> tuple[Equations, Separable, Float]:
    """The problem in the variables columns·w, with columns of X of similar norm; and `columns`.

    Without it, columns of very different size make X W Xᵀ ill-conditioned.
    """
    columns = np.sqrt(np.einsum("nd,nd->d", equations.X, equations.X))
    columns[columns == 0] = 1.0
    if columns.max() < _EQUAL_COLUMNS * columns.min():
        return equations, potential, np.ones_like(columns)
    columns = np.exp2(np.round(np.log2(columns)))  # scaling by powers of 2 is exact
    return equations.with_columns(1 / columns), potential.in_units_of(1 / columns), columns


def kernel_solution(equations: Equations, potential: Separable) -> Float:
    """The limit at infinite scale: the solution nearest to initialization in the tangent metric."""
    W = potential.kernel_metric()
    start = np.zeros_like(W) if potential.origin is None else potential.origin
    w, rho = start.copy(), equations.y - equations.X @ start
    for _ in range(2):  # the second pass, if needed, removes the round-off of the first
        if np.linalg.norm(rho) <= 1e-14 * np.linalg.norm(equations.y):
            break
        w = w + W * newton_direction(equations.X, W, rho, np.zeros_like(W))[1]
        rho = equations.y - equations.X @ w
    return w


def only_solution(equations: Equations, potential: Potential, start: Float) -> Solution | None:
    """The w with X w = y and the ν with Xᵀν = ∇Q(w); None if w is not unique.

    Features that are 0 in all samples keep their initial value. Solving directly also covers problems in
    which Newton's method fails because the slopes of the features differ by more than the digits of
    double-double arithmetic, as in deep networks with a profile.
    """
    seen = np.flatnonzero(equations.X.any(axis=0))
    if len(seen) != len(equations.y):
        return None
    Q, R = qr(equations.X[:, seen])
    w, nu = start.copy(), np.zeros_like(equations.y)
    for _ in range(_PASSES):
        w[seen] += solve_triangular(R, Q.T @ (equations.y - equations.X @ w), check_finite=False)
    slopes = potential.gradient(w)[seen]
    for _ in range(_PASSES):
        rest = slopes - equations.X[:, seen].T @ nu
        nu += Q @ solve_triangular(R, rest, trans="T", check_finite=False)
    if not (np.isfinite(w).all() and np.isfinite(nu).all()):  # the solution overflows
        return Solution.unmoved(start, len(nu), settled=False)

    def assess() -> float:
        weights = np.where(equations.X.any(axis=0), 1.0, 0.0)
        return forward_error(equations, diagonal_move(equations, weights, w, 1.0), w, 0.0, 0.0)

    return Solution(w, Pair.of(nu), 1, True, assess)
