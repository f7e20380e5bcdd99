r"""Interior-point method for the potentials of diagonal networks, at any scale and depth.

With w = w₊ − w₋ the problems of Theorems 1 and 3 of Woodworth et al. 2020 are

    min Σ weight·[F(w₊) + F(w₋)]   subject to   X(w₊ − w₋) = y,       F'(w) = k(w/m),
    k(v) = log v (depth 2),     k(v) = 1 − v^{−1/p},  p = D/(D−2)  (depth D),

which for small m are nearly the linear program of the ℓ1 norm. Their optimality conditions with multipliers
a± of w± > 0,

    k(w±/m) ∓ s − a± = 0,    weight·s = Xᵀν + offset,    a± w± = μ → 0,

are solved by Mehrotra's predictor-corrector method. Without the barrier μ, the curvature of F changes by
orders of magnitude within one Newton step; with it, the number of steps hardly depends on m. In the end a±
vanishes for coordinates that matter; those below round-off keep a± > 0, and their w follows from s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.errors import InputError
from tacit.numerics.normal_equations import factorize_roughly
from tacit.numerics.rounding import TINY
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import residual

_SIGNS = np.array([[1.0], [-1.0]])
_FRACTION = 0.99  # part of the way to the boundary that a step may go
_MAX_STEPS = 100
# Newton's method takes over when the mean a·w, relative to the slopes, and the error of the other conditions
# are below these. Only the mean must be small: a·w = 0 is not part of Newton's equations.
_PRODUCT, _MISFIT = 1e-13, 1e-2
_COUNTED = 1e-6  # relative size of coordinates that count in that error
_INITIAL_PART = 0.5  # initial w± in excess of the kernel solution, relative to its mean size
_INITIAL_MULTIPLIER = 0.1  # smallest initial multiplier, relative to the largest slope


@dataclass(frozen=True, eq=False)
class Interior:
    """Parts w± of the predictor, their multipliers a±, and the multipliers ν of the equations."""

    w: Float  # (2, d)
    a: Float  # (2, d)
    nu: Float

    @property
    def predictor(self) -> Float:
        """w₊ − w₋."""
        return self.w[0] - self.w[1]


def _slope_and_curvature(potential: Separable, w: Float) -> tuple[Float, Float]:
    """k(w/m) and w·dk/dw."""
    level = np.log(w) - potential.log_scale
    if potential.power == math.inf:
        return level, np.ones_like(level)
    slack = np.exp(-level / potential.power)
    return 1 - slack, slack / potential.power


def start(equations: Equations, potential: Separable, kernel: Float) -> Interior:
    """An interior starting point: parts of the size of the kernel solution, and ν = 0."""
    w = np.maximum(_SIGNS * kernel, 0.0) + _INITIAL_PART * np.abs(kernel).mean()
    slope, _ = _slope_and_curvature(potential, w)
    a = slope - _SIGNS * (potential.offset / potential.weight)
    a = np.maximum(a, _INITIAL_MULTIPLIER * np.abs(slope).max())
    return Interior(w, a, np.zeros_like(equations.y))


def step(equations: Equations, potential: Separable, state: Interior) -> tuple[Interior, float, float]:
    """The state after one predictor-corrector step, and the relative products and misfit before it."""
    X, w, a = equations.X, state.w, state.a
    rho = residual(equations, w[0] - w[1])
    own, curvature = _slope_and_curvature(potential, w)
    misfit = own - _SIGNS * (X.T @ state.nu + potential.offset) / potential.weight - a
    W = w / (curvature + a)
    total = W.sum(axis=0)
    solve = factorize_roughly(X, total / potential.weight)

    def direction(products: Float) -> tuple[Float, Float, Float]:
        """dν, dw, da that to first order set a·w to `products` and the misfits to 0."""
        change = products / w - a - misfit  # of the slopes of w±, at fixed ν
        gap = potential.weight * (_SIGNS * W * change).sum(axis=0) / total
        d_nu = solve(rho, gap)
        d_w = W * (_SIGNS * (X.T @ d_nu) / potential.weight + change)
        return d_nu, d_w, products / w - a - a * d_w / w

    mean = max(float(np.mean(w * a)), TINY)
    _, d_w, d_a = direction(np.zeros_like(w))
    ahead = float(np.mean((w + _length(w, d_w) * d_w) * (a + _length(a, d_a) * d_a)))
    d_nu, d_w, d_a = direction(mean * (ahead / mean) ** 3 - d_w * d_a)
    primal, dual = _length(w, d_w), _length(a, d_a)
    moved = Interior(w + primal * d_w, a + dual * d_a, state.nu + dual * d_nu)
    scale, counts = np.abs(own).max(), w > _COUNTED * w.max()
    error = max(
        float(np.linalg.norm(rho) / np.linalg.norm(equations.y)),
        float(np.abs(misfit[counts] / curvature[counts]).max()),
    )
    return moved, mean / scale, error


def _length(x: Float, dx: Float) -> float:
    """The longest step length, at most 1, that keeps x positive."""
    return min(1.0, _FRACTION / max(-float((dx / x).min()), TINY))


def follow(equations: Equations, potential: Separable, kernel: Float) -> tuple[Interior, int]:
    """Follow the interior path until Newton's method can take over; the final state and number of steps."""
    state = start(equations, potential, kernel)
    if not (np.isfinite(state.w).all() and np.isfinite(state.a).all()):
        raise InputError(
            "the features differ in size by more than floats can hold; divide each column of X by its size"
        )
    for taken in range(1, _MAX_STEPS + 1):
        state, product, error = step(equations, potential, state)
        arrived = product < _PRODUCT and error < _MISFIT
        if arrived or not np.isfinite(state.w).all():
            return state, taken
    return state, _MAX_STEPS
