"""Equations with one solution, whatever the potential: as many as there are features that the samples see."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.potentials import Potential
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error
from tacit.solvers.interpolation.solution import Solution, unknown

_PASSES = 2  # the second takes away what rounding has left


def only_solution(equations: Equations, potential: Potential, start: Float) -> Solution | None:
    """w with X w = y, and ν with Xᵀν = ∇Q(w); None where there are several such w.

    Features that are 0 in all samples stay where they start. No Newton method comes here where slopes of
    features differ by more than pairs of floats hold, as those of deep networks with a profile do.
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
    if not (np.isfinite(w).all() and np.isfinite(nu).all()):  # floats cannot hold the answer
        return Solution(start.copy(), Pair.of(np.zeros_like(nu)), 1, False, unknown)

    def assess() -> float:
        weights = np.where(equations.X.any(axis=0), 1.0, 0.0)
        return forward_error(equations, diagonal_move(equations, weights, w, 1.0), w, 0.0, 0.0)

    return Solution(w, Pair.of(nu), 1, True, assess)
