r"""Interpolation in the norm of a kernel, given as a matrix.

    argmin ½ wᵀBw   subject to   X w = y

has B w = Xᵀν. With B = LLᵀ and v = Lᵀw that is the shortest v with (L⁻¹Xᵀ)ᵀv = y, and B is never inverted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tacit.data import Float
from tacit.limits.equations import Equations
from tacit.limits.separable import Solution

Long = NDArray[np.longdouble]
_PASSES = 3
_SETTLED = 1e-9  # relative size of the last correction
_BLOCK = 1 << 20  # entries of a matrix that are taken to more digits at once


class _Factors:
    """B = LLᵀ and L⁻¹Xᵀ = QR."""

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


def least_in_metric(equations: Equations, metric: Float) -> Solution:
    """The solution of least ½ wᵀBw, B the metric; what rounding has left is taken away in longer floats.

    A condition number of κ costs κ·1e-16 of a solution in floats; where the machine has longer ones the
    residual is computed in them, and that is given back.
    """
    X, y = equations.X, equations.y
    if len(y) == 0:
        return Solution(np.zeros(X.shape[1]), y, 0, True)
    factors = _Factors(metric, X)
    first, multipliers = factors.solve(np.zeros(X.shape[1]), y)
    w, nu = first.astype(np.longdouble), multipliers.astype(np.longdouble)
    moved = np.inf
    for _ in range(_PASSES):
        slope = _product(X.T, nu) - _product(metric, w)
        change, more = factors.solve(slope.astype(np.float64), (y - _product(X, w)).astype(np.float64))
        w, nu, moved = w + change, nu + more, float(np.linalg.norm(change))
    settled = moved <= _SETTLED * float(np.linalg.norm(w.astype(np.float64)))
    return Solution(w.astype(np.float64), nu.astype(np.float64), 1 + _PASSES, settled)


def _product(A: Float, v: Long) -> Long:
    """A v in the longest floats there are, some rows of A at a time."""
    blocks = np.array_split(A, max(1, A.size // _BLOCK))
    return np.concatenate([block.astype(np.longdouble) @ v for block in blocks])
