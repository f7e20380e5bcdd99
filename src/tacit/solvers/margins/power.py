r"""Equations and margins in an ℓp norm, 1 < p < 2.

    argmin Σ |w_j|^p/p   subject to   X w = y

has w = |s|^{q−1} sign(s) at slopes s = Xᵀν, 1/p + 1/q = 1, and ν maximizes y·ν − Σ|s_j|^q/q: smooth and
concave, but stiff as p falls to 1 (q grows without bound). So q is raised from 2, where the answer is known,
in steps that Newton's method with a line search can follow.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.solution import Solution, no_error

_GROWTH = 1.5  # of q − 1 in one step
_STEPS = 100  # of Newton, at most
_SETTLED = 1e-13  # relative change of w in the last step
_STALLED = 1e-10  # the same where rounding lets it fall no further
_LEAST = 1e-9  # slope, relative to the largest, that counts as zero


def minimize_power(equations: Equations, p: float) -> Solution:
    """The solution of least ℓp norm; its multipliers are those of Σ|w|^p/p."""
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution(np.zeros(X.shape[1]), Pair.of(y), 0, True, no_error)
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
        move = diagonal_move(equations, _stiffness(slope, goal), w, slope)
        return forward_error(equations, move, w, 0.0, slope_rounding(equations, nu))

    return Solution(w, Pair.of(nu), total, settled, assess)


def _predictor(slope: Float, power: float) -> Float:
    return np.sign(slope) * np.abs(slope) ** power


def _stiffness(slope: Float, power: float) -> Float:
    """dw/ds; where a slope vanishes so would this, and nothing would determine what belongs to it."""
    return power * np.maximum(np.abs(slope), _LEAST * np.abs(slope).max()) ** (power - 1)


def _carried(X: Float, slope: Float, power: float, following: float) -> tuple[Float, Float]:
    """For another power: the ν whose slopes come nearest to those of the same predictor, and these slopes."""
    size = np.abs(slope).max()
    target = np.sign(slope) * size ** (power / following) * (np.abs(slope) / size) ** (power / following)
    heavy = np.sqrt(np.abs(slope / size) ** max(power - 1, 0.0))
    nu = np.asarray(np.linalg.lstsq((X * heavy).T, heavy * target, rcond=None)[0])
    return nu, X.T @ nu


def _maximize(X: Float, y: Float, nu: Float, slope: Float, power: float) -> tuple[Float, Float, int, bool]:
    """Newton on the dual, each step as far as the dual still rises.

    The slopes are carried along with ν and not recomputed from it, which would cost digits of w.
    """
    change = math.inf
    for taken in range(1, _STEPS + 1):
        w = _predictor(slope, power)
        W = _stiffness(slope, power)
        step, turn = newton_direction(X, W, y - X @ w, np.zeros_like(w))
        change = float(np.abs(W * turn).max() / np.abs(w).max())
        length = _length(slope, turn, float(y @ step), power)
        nu, slope = nu + length * step, slope + length * turn
        if change <= _SETTLED:
            return nu, slope, taken, True
    return nu, slope, _STEPS, change <= _STALLED


def _length(slope: Float, change: Float, gain: float, power: float) -> float:
    """The step, at most 1, at which the dual stops rising along it (its derivative changes sign)."""

    def rise(t: float) -> float:
        return gain - float(_predictor(slope + t * change, power) @ change)

    if not math.isfinite(rise(1.0)) or rise(1.0) < -0.5 * abs(rise(0.0)):
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if rise(middle) > 0 else (low, middle)
        return max(low, high / 2)
    return 1.0
