r"""Quadratic potentials ½ wᵀBw, half the squared norm of a kernel.

argmin ½ wᵀBw subject to X w = y has B w = Xᵀν. For a matrix B = LLᵀ, v = Lᵀw is the minimum-norm v with
(L⁻¹Xᵀ)ᵀv = y, so that B need not be inverted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.numerics.double_double import Pair, product
from tacit.numerics.nonnegative import least_norm_support
from tacit.potentials.arrays import quiet
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.interpolation.accuracy import diagonal_error, forward_error, slope_rounding
from tacit.solvers.interpolation.ends import least_quadratic
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.kkt import best_multipliers
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import hold, margin_solution

METHOD = "linear equations"
_PASSES = 3  # of iterative refinement
_SETTLED = 1e-9  # relative size of the last correction at which the refinement has converged


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin ½ wᵀBw subject to X w = y."""
    if np.ndim(potential.metric) == 2:
        return least_in_metric(equations, potential.metric)
    return least_quadratic(equations, inverse_hessian(potential, np.zeros(equations.X.shape[1])))


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """Maximum margin by exchanges, starting from the ℓ2 support in coordinates with B = I."""
    features, metric = margins.Z.shape[1], np.asarray(potential.metric, dtype=float)
    inverse = np.linalg.inv(metric) if metric.ndim == 2 else np.broadcast_to(1 / metric, (features,))
    return maximize_margin_in(inverse, margins)


def maximize_margin_in(inverse: Float, margins: Margins) -> MarginSolution:
    """The maximum margin in the norm of B, given B⁻¹ as a matrix or its diagonal."""
    half = np.asarray(np.linalg.cholesky(inverse) if inverse.ndim == 2 else np.sqrt(inverse), dtype=float)
    guess = least_norm_support(margins.in_units(half).nearly_free())
    return margin_solution(hold(margins, lambda equations: least_quadratic(equations, inverse), guess))


@quiet
def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """Error estimate from the residuals and the Hessian; shared with other potentials."""
    H = np.asarray(potential.hessian(w), dtype=float)
    if H.ndim == 1:
        return diagonal_error_estimate(potential, equations, w, 1 / H)
    nu = best_multipliers(potential, equations.X, w)
    gap, rounding = equations.X.T @ nu - potential.gradient(w), slope_rounding(equations, nu)
    return forward_error(equations, _Factors(H, equations.X).move, w, gap, rounding)


def diagonal_error_estimate(potential: Any, equations: Equations, w: Float, W: Float) -> float:
    """Error estimate from the residuals and a diagonal inverse Hessian W."""
    nu = best_multipliers(potential, equations.X, w)
    slopes = equations.X.T @ nu
    return diagonal_error(equations, W, w, slopes, slopes - potential.gradient(w), nu)


def inverse_hessian(potential: Any, w: Float) -> Float:
    """The diagonal 1/B; a constant if B is a matrix."""
    metric = np.asarray(potential.metric, dtype=float)
    return np.ones_like(w) if metric.ndim == 2 else np.broadcast_to(1 / metric, w.shape)


def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Minimizers of this norm itself, and of the ℓ1 norm."""
    flat = np.ones(len(w))
    kernel = interpolate(potential, equations, memory).predictor
    return Ends(kernel, cached_l1(equations, flat, memory).predictor, (flat, flat))


class _Factors:
    """The factorizations B = LLᵀ and L⁻¹Xᵀ = QR."""

    def __init__(self, metric: Float, X: Float):
        self.L = np.linalg.cholesky(metric)
        self.Q, self.R = np.linalg.qr(solve_triangular(self.L, X.T, lower=True))

    def solve(self, slope: Float, outputs: Float) -> tuple[Float, Float]:
        """w and ν with B w − Xᵀν = slope and X w = outputs."""
        pushed = solve_triangular(self.L, slope, lower=True)
        along = solve_triangular(self.R, outputs, trans="T")
        seen = self.Q.T @ pushed
        v = pushed + self.Q @ (along - seen)
        w = solve_triangular(self.L, v, lower=True, trans="T")
        return w, solve_triangular(self.R, along - seen)

    def move(self, rho: Float, g: Float) -> Float:
        """The w of `solve`."""
        return self.solve(g, rho)[0]


def least_in_metric(equations: Equations, metric: Float) -> Solution:
    """argmin ½ wᵀBw subject to X w = y, refined in double-double arithmetic.

    In floats the relative error would be κ·1e-16 for a condition number κ. Residuals in double-double
    arithmetic and corrections with the same factors remove it.
    """
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution.unmoved(np.zeros(X.shape[1]), 0)
    factors = _Factors(metric, X)
    w, nu, moved = Pair.of(np.zeros(X.shape[1])), Pair.of(np.zeros(len(y))), np.inf
    for _ in range(1 + _PASSES):
        slope = equations.slopes(nu) - product(metric, w)
        change, more = factors.solve(slope.value, (Pair.of(y) - product(X, w)).value)
        w, nu, moved = w + change, nu + more, float(np.linalg.norm(change))
    settled = moved <= _SETTLED * float(np.linalg.norm(w.value))

    def assess() -> float:
        return forward_error(equations, factors.move, w.value, 0.0, 0.0)

    return Solution(w.value, nu, 1 + _PASSES, settled, assess)
