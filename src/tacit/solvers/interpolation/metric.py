r"""Interpolation in the norm of a kernel, given as a matrix B.

    argmin ½ wᵀBw   subject to   X w = y

has B w = Xᵀν. With B = LLᵀ and v = Lᵀw it is the minimum-norm v with (L⁻¹Xᵀ)ᵀv = y, so that B need not be
inverted.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair, product
from tacit.solvers.interpolation.accuracy import Move, forward_error
from tacit.solvers.interpolation.solution import Solution, no_error

_PASSES = 3  # of iterative refinement
_SETTLED = 1e-9  # relative size of the last correction at which the refinement has converged


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
        return Solution(np.zeros(X.shape[1]), Pair.of(y), 0, True, no_error)
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


def metric_move(metric: Float, X: Float) -> Move:
    """The map from residuals of X w = y and B w = Xᵀν to the change of w that removes them."""
    return _Factors(metric, X).move
