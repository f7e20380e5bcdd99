"""Problems with a unique interpolating solution: as many equations as features that are not identically 0."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.potentials import Potential
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error
from tacit.solvers.interpolation.solution import Solution, unknown_error

_PASSES = 2  # the second pass removes the round-off of the first


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
        return Solution(start.copy(), Pair.of(np.zeros_like(nu)), 1, False, unknown_error)

    def assess() -> float:
        weights = np.where(equations.X.any(axis=0), 1.0, 0.0)
        return forward_error(equations, diagonal_move(equations, weights, w, 1.0), w, 0.0, 0.0)

    return Solution(w, Pair.of(nu), 1, True, assess)
