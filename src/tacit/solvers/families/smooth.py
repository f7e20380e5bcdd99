r"""Smooth potentials given by value, gradient, mirror map and Hessian: Newton's method on the multipliers.

    argmin Q(w) subject to X w = y    ⟺    w = (∇Q)⁻¹(Xᵀν),  ν = argmin Q*(Xᵀν) − y·ν

The dual is smooth and convex, with gradient X w − y and Hessian X (∇²Q)⁻¹ Xᵀ; Q*(z) = z·w − Q(w).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.numerics.double_double import Pair
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.solvers.families.quadratic import error_estimate as error_estimate
from tacit.solvers.interpolation.solution import MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import hold, margin_solution

METHOD = "Newton's method on the multipliers"
_MAX_STEPS, _MAX_HALVINGS = 200, 60  # Newton steps, and halvings of one of them
_ARMIJO = 1e-4  # part of the predicted decrease that a step must achieve
_NOISE = 8  # round-off of the dual function, in units of `potential.rounding` times its terms
_TOL = 1e-9  # relative change of w in the last step
_CORRECTIONS, _MAX_CORRECTION = 2, 1e-3  # final corrections of w, and their largest relative size
# The search gives up after this many steps in a row that are shorter than _SHORT because the domain of the
# mirror map ends there: then the limit, if any, lies outside it.
_SHORT, _MAX_SHORT = 0.1, 6
_AT_ROUNDOFF = 4.0  # multiple of its round-off below which a residual cannot be improved


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Multipliers, the predictor w = (∇Q)⁻¹(Xᵀν), and the value of the dual function."""

    nu: Float
    w: Float
    dual: float

    @classmethod
    def at(cls, potential: Potential, equations: Equations, nu: Float) -> _Iterate:
        """The iterate at ν."""
        slope = equations.X.T @ nu
        w = np.asarray(potential.mirror(slope), dtype=float)
        return cls(nu, w, float(slope @ w - potential.value(w) - equations.y @ nu))

    @property
    def inside(self) -> bool:
        """Whether the mirror map is finite at Xᵀν."""
        return bool(np.isfinite(self.dual) and np.isfinite(self.w).all())


def interpolate(potential: Potential, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y."""
    return minimize(potential, equations)


@quiet
def minimize(potential: Potential, equations: Equations, nu: Float | None = None) -> Solution:
    """argmin Q(w) subject to X w = y by Newton's method with line search; nu: initial multipliers."""
    X, y = equations.X, equations.y
    here = _Iterate.at(potential, equations, np.zeros(len(y)) if nu is None else nu)
    moved, steps, short_steps = np.inf, 0, 0
    for steps in range(_MAX_STEPS if len(y) else 0):  # noqa: B007
        residual = y - X @ here.w
        rounding = potential.rounding * (np.abs(X) @ np.abs(here.w) + np.abs(y))
        if moved <= _TOL and (np.abs(residual) <= _AT_ROUNDOFF * rounding).all():
            break
        step = _newton(potential, X, here.w, residual)[0]
        at = partial(_Iterate.at, potential, equations)
        ahead, at_boundary = line_search(at, here, step, float(residual @ step), potential.rounding, y)
        short_steps = short_steps + 1 if at_boundary else 0
        if ahead is None or short_steps > _MAX_SHORT:
            break
        size = float(np.linalg.norm(ahead.w)) or 1.0
        moved, here = float(np.linalg.norm(ahead.w - here.w)) / size, ahead
    w = here.w
    for _ in range(_CORRECTIONS if len(y) else 0):  # w itself is corrected: Xᵀν has round-off
        change = _newton(potential, X, w, y - X @ w)[1]
        size = float(np.linalg.norm(change)) / (float(np.linalg.norm(w)) or 1.0)
        if not size <= _MAX_CORRECTION:
            break
        w, moved = w + change, min(moved, size)
    settled = bool(moved <= _TOL or not y.any())
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


def line_search(
    at: Callable[[Float], Any], here: Any, step: Float, decrease: float, rounding: float, y: Float
) -> tuple[Any, bool]:
    """The first of repeatedly halved steps that satisfies the Armijo condition up to round-off, or None.

    Also whether the step is short because it would otherwise leave the domain of the mirror map. at: maps
    multipliers to an iterate, with the attributes nu, dual (the dual function) and inside (the domain).
    decrease: the predicted decrease of the dual function.
    """
    length, outside = 1.0, False
    noise = _NOISE * rounding * (abs(here.dual) + float(np.abs(y * here.nu).sum()))
    for _ in range(_MAX_HALVINGS):
        ahead = at(here.nu + length * step)
        if ahead.inside and here.dual - ahead.dual + noise >= _ARMIJO * length * decrease:
            return ahead, outside and length < _SHORT
        outside = outside or not ahead.inside
        length /= 2
    return None, outside


def maximize_margin(potential: Potential, margins: Margins) -> MarginSolution:
    """Maximum margin by exchanges, starting from the support of the ℓ2 margin."""
    guess = least_norm_support(margins.nearly_free())
    return margin_solution(hold(margins, partial(minimize, potential), guess))


def inverse_hessian(potential: Potential, w: Float) -> Float:
    """1/∇²Q, or 1/(its diagonal) if it is a matrix."""
    H = np.asarray(potential.hessian(w), dtype=float)
    return 1 / (np.diag(H) if H.ndim == 2 else H)


ends = None  # such a potential has no scale
