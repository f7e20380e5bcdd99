r"""Minimize an ℓp norm, 1 < p < 2, subject to X w = y.

    argmin Σ |w_j|^p/p   subject to   X w = y

has w = |s|^{q−1} sign(s) with s = Xᵀν and 1/p + 1/q = 1, where ν maximizes y·ν − Σ|s_j|^q/q. This dual is
smooth and concave, but ill-conditioned for p near 1 (q → ∞). Newton's method from ν = 0 would fail; q is
therefore increased from 2, where the problem is linear, in small steps.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.solvers.interpolation.accuracy import diagonal_error
from tacit.solvers.interpolation.solution import Solution

_GROWTH = 1.5  # factor by which q − 1 grows in one step
_MAX_STEPS = 100  # Newton steps at each q
_TOL = 1e-13  # relative change of w at which Newton's method has converged
_STALLED = 1e-10  # relative change that is accepted if _TOL is not reached
_LEAST = 1e-9  # slope, relative to the largest, that counts as 0 (and would make the Hessian singular)
_BISECTIONS = 30  # of a step length
# A step is shortened if the dual's derivative at its end is below minus this part of that at its beginning.
_OVERSHOT = 0.5


def minimize_power(equations: Equations, p: float) -> Solution:
    """The solution of minimum ℓp norm; its multipliers are those of Σ|w|^p/p."""
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution.unmoved(np.zeros(X.shape[1]), 0)
    goal = 1 / (p - 1)  # q − 1
    power, total, settled = 1.0, 0, True
    nu, slope = newton_direction(X, np.ones(X.shape[1]), y, np.zeros(X.shape[1]))
    while power < goal:
        following = min(_GROWTH * power, goal)
        nu, slope = _carried(X, slope, power, following)
        nu, slope, steps, settled = _maximize(X, y, nu, slope, following)
        power, total = following, total + steps
    w = _predictor(slope, goal)

    def assess() -> float:
        return diagonal_error(equations, _stiffness(slope, goal), w, slope, 0.0, nu)

    return Solution(w, Pair.of(nu), total, settled, assess)


def _predictor(slope: Float, power: float) -> Float:
    return np.sign(slope) * np.abs(slope) ** power


def _stiffness(slope: Float, power: float) -> Float:
    """dw/ds, bounded below: it would vanish with a slope and make X W Xᵀ singular."""
    return power * np.maximum(np.abs(slope), _LEAST * np.abs(slope).max()) ** (power - 1)


def _carried(X: Float, slope: Float, power: float, following: float) -> tuple[Float, Float]:
    """The initial ν at the next power, whose slopes are closest to those of the same w, and these slopes."""
    size = np.abs(slope).max()
    target = np.sign(slope) * size ** (power / following) * (np.abs(slope) / size) ** (power / following)
    heavy = np.sqrt(np.abs(slope / size) ** max(power - 1, 0.0))
    nu = np.asarray(np.linalg.lstsq((X * heavy).T, heavy * target, rcond=None)[0])
    return nu, X.T @ nu


def _maximize(X: Float, y: Float, nu: Float, slope: Float, power: float) -> tuple[Float, Float, int, bool]:
    """Newton's method on the dual, with a line search.

    The slopes are updated along with ν; recomputing them from ν would lose digits of w.
    """
    change = math.inf
    for taken in range(1, _MAX_STEPS + 1):
        w = _predictor(slope, power)
        W = _stiffness(slope, power)
        step, turn = newton_direction(X, W, y - X @ w, np.zeros_like(w))
        change = float(np.abs(W * turn).max() / np.abs(w).max())
        length = _length(slope, turn, float(y @ step), power)
        nu, slope = nu + length * step, slope + length * turn
        if change <= _TOL:
            return nu, slope, taken, True
    return nu, slope, _MAX_STEPS, change <= _STALLED


def _length(slope: Float, change: Float, gain: float, power: float) -> float:
    """The step length, at most 1, at which the derivative of the dual along the step changes sign."""

    def derivative(t: float) -> float:
        return gain - float(_predictor(slope + t * change, power) @ change)

    if not math.isfinite(derivative(1.0)) or derivative(1.0) < -_OVERSHOT * abs(derivative(0.0)):
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if derivative(middle) > 0 else (low, middle)
        return max(low, high / 2)
    return 1.0
