r"""Any smooth potential, by its value, gradient, mirror map and Hessian: Newton's method on multipliers.

    argmin Q(w) subject to X w = y    ⟺    w = (∇Q)⁻¹(Xᵀν),  ν = argmin Q*(Xᵀν) − y·ν

The dual is smooth and convex, with gradient X w − y and Hessian X (∇²Q)⁻¹ Xᵀ; Q*(z) = z·w − Q(w).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.data.memory import Memory
from tacit.numerics.double_double import Pair
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.metric import metric_move
from tacit.solvers.interpolation.solution import MarginSolution, Solution
from tacit.solvers.kkt import best_multipliers
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import found_by, hold

METHOD = "Newton's method on the multipliers"
_STEPS, _HALVINGS = 200, 60  # of Newton, and of one of its steps, at most
_DESCENT = 1e-4  # of what a step of Newton promises (Armijo)
_SETTLED = 1e-9  # relative size of the last step
_CORRECTIONS, _NEARBY = 2, 1e-3  # last changes of w, and how large they may be, relative to it
_CRAMPED, _TRIES = 0.1, 6  # steps that are shorter because Q ends there, and how many in a row are enough
_AT_REST = 4.0  # roundings of a residual below which no step can better it


@dataclass(frozen=True, eq=False)
class _Place:
    """Multipliers, the predictor that they make, and the dual function there."""

    nu: Float
    w: Float
    dual: float

    @classmethod
    def at(cls, potential: Potential, equations: Equations, nu: Float) -> _Place:
        slope = equations.X.T @ nu
        w = np.asarray(potential.mirror(slope), dtype=float)
        return cls(nu, w, float(slope @ w - potential.value(w) - equations.y @ nu))


def interpolate(potential: Potential, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y."""
    return minimize(potential, equations)


@quiet
def minimize(potential: Potential, equations: Equations, nu: Float | None = None) -> Solution:
    """The same, by Newton's method with a search along every step; nu: multipliers to start from."""
    X, y = equations.X, equations.y
    here = _Place.at(potential, equations, np.zeros(len(y)) if nu is None else nu)
    moved, steps, cramped = np.inf, 0, 0
    for steps in range(_STEPS if len(y) else 0):  # noqa: B007
        residual = y - X @ here.w
        rounding = potential.rounding * (np.abs(X) @ np.abs(here.w) + np.abs(y))
        if moved <= _SETTLED and (np.abs(residual) <= _AT_REST * rounding).all():
            break
        step = _newton(potential, X, here.w, residual)[0]
        ahead, at_the_edge = _searched(potential, equations, here, step, float(residual @ step))
        cramped = cramped + 1 if at_the_edge else 0
        if ahead is None or cramped > _TRIES:  # the limit lies beyond the edge, if anywhere
            break
        size = float(np.linalg.norm(ahead.w)) or 1.0
        moved, here = float(np.linalg.norm(ahead.w - here.w)) / size, ahead
    w = here.w
    for _ in range(_CORRECTIONS if len(y) else 0):  # beyond what the rounding of Xᵀν leaves of X w = y
        change = _newton(potential, X, w, y - X @ w)[1]
        size = float(np.linalg.norm(change)) / (float(np.linalg.norm(w)) or 1.0)
        if not size <= _NEARBY:
            break
        w, moved = w + change, min(moved, size)
    settled = bool(moved <= _SETTLED or not y.any())
    return Solution(w, Pair.of(here.nu), steps, settled, partial(error_estimate, potential, equations, w))


def _newton(potential: Potential, X: Float, w: Float, residual: Float) -> tuple[Float, Float]:
    """dν with X (∇²Q)⁻¹ Xᵀ dν = residual, and the change (∇²Q)⁻¹ Xᵀ dν of w."""
    H, still = np.asarray(potential.hessian(w), dtype=float), np.zeros_like(w)
    if H.ndim == 1:
        nu, slope = newton_direction(X, 1 / H, residual, still)
        return nu, slope / H
    half = np.linalg.cholesky(H)
    rows = solve_triangular(half, X.T, lower=True).T
    nu, slope = newton_direction(rows, np.ones_like(w), residual, still)
    return nu, np.asarray(solve_triangular(half, slope, lower=True, trans="T"))


def _searched(
    potential: Potential, equations: Equations, here: _Place, step: Float, promised: float
) -> tuple[_Place | None, bool]:
    """The longest of halved steps that lowers the dual function enough, or to rounding; None if none does.

    And whether it is short because no predictor has the slopes beyond.
    """
    length, outside = 1.0, False
    noise = 8 * potential.rounding * (abs(here.dual) + float(np.abs(equations.y * here.nu).sum()))
    for _ in range(_HALVINGS):
        ahead = _Place.at(potential, equations, here.nu + length * step)
        gained = here.dual - ahead.dual + noise
        inside = bool(np.isfinite(ahead.dual) and np.isfinite(ahead.w).all())
        if inside and gained >= _DESCENT * length * promised:
            return ahead, outside and length < _CRAMPED
        outside = outside or not inside
        length /= 2
    return None, outside


def maximize_margin(potential: Potential, margins: Margins) -> MarginSolution:
    """By exchanges, from the support of the ℓ2 margin."""
    guess = least_norm_support(margins.nearly_free())
    return found_by(hold(margins, partial(minimize, potential), guess))


@quiet
def error_estimate(potential: Potential, equations: Equations, w: Float) -> float:
    """From the residuals, through the Hessian."""
    H = np.asarray(potential.hessian(w), dtype=float)
    nu = best_multipliers(potential, equations.X, w)
    slopes, rounding = equations.X.T @ nu, slope_rounding(equations, nu)
    gap = slopes - potential.gradient(w)
    move = metric_move(H, equations.X) if H.ndim == 2 else diagonal_move(equations, 1 / H, w, slopes)
    return forward_error(equations, move, w, gap, rounding)


def inverse_hessian(potential: Potential, w: Float) -> Float:
    """1/∇²Q, or that of its diagonal."""
    H = np.asarray(potential.hessian(w), dtype=float)
    return 1 / (np.diag(H) if H.ndim == 2 else H)


ends = None  # nothing is known of a scale
