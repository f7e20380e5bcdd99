r"""Select among many ℓ1 minimizers: depth above 2 at scales at which slopes round to ±1.

If the minimizers of the ℓ1 norm form a face with support S, the limit is determined by the slacks 1 − |s|,
which may be far below the round-off of s:

    Xᵀν = weight·sign(w)·(1 − slack(w/m))  on S.

Let Xᵀν₀ = weight·sign(w) on S. Then ν = ν₀ + δ with Xᵀδ = −weight·sign(w)·slack, an equation between small
numbers that can be solved to full relative accuracy. (As m → 0 it becomes: maximize Σ
weight·m^{1/p}|w|^{2/D} on the face.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials import rapidity
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.newton import State, iterate, rapidity_at
from tacit.solvers.interpolation.solution import Assess

_ON_FACE = 1e-7  # size, relative to the largest, of the coordinates in S
_SLACK = 1e-4  # smallest slack on S up to which this method is needed
_DEPENDENT = 1e-12  # relative singular value below which rows of X are dependent on S
_REFINEMENTS = 4  # corrections of ν₀; the last one only measures the error
_EXACT = 1e-26  # relative error of the slopes at ν₀ that is round-off of double-double arithmetic
_ROUNDS = 3  # alternations between the face and the small coordinates outside it
_MAX_STEPS = 30  # Newton steps in each


@dataclass(frozen=True, eq=False)
class Choice:
    """The minimizer on a face; settled is False if there is a face but the iteration failed."""

    w: Float
    nu: Pair
    steps: int
    settled: bool
    assess: Assess
    face: NDArray[np.bool_]


def choose_on_face(equations: Equations, potential: Separable, w: Float, u: Float, nu: Pair) -> Choice | None:
    """The minimizer on the face of ℓ1 minimizers with the support of w; None if the face is a single point.

    u: rapidities, from which the small coordinates take their slopes. nu: multipliers, to round-off.
    """
    face = np.abs(w) > _ON_FACE * np.abs(w).max()
    slack = rapidity.slack(np, np.abs(potential.rapidity(w)), potential.power)
    if slack[face].min() > _SLACK:
        return None
    X, sign = equations.X[:, face], np.sign(w[face])
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    left = left[:, sizes > _DEPENDENT * sizes[0]]  # the range of X restricted to S
    if face.sum() <= left.shape[1]:
        return None
    part = Separable(potential.power, potential.log_scale[face], potential.weight[face])
    vertex, missing = nu, np.zeros(0)
    for _ in range(_REFINEMENTS):
        missing = (equations.slopes(vertex, face) - part.weight * sign).value
        vertex = vertex - np.linalg.lstsq(X.T, missing, rcond=None)[0]
    if np.abs(missing).max() > _EXACT * part.weight.max():
        return None  # not a face: some slopes are not at ±weight
    rows = left.T @ X
    w, total, settled, delta = w.copy(), 0, True, np.zeros(left.shape[1])
    for _ in range(_ROUNDS):
        w[~face] = potential.predictor(u)[~face]
        target = left.T @ (equations.y - equations.X[:, ~face] @ w[~face])
        inner = Equations.of(rows, target)
        begun = _initial_state(rows, part, part.rapidity(w[face]))
        state, steps, settled = iterate(inner, part, begun, steps=_MAX_STEPS)
        w[face], delta, total = part.predictor(state.u), state.nu.value, total + steps
        nu = vertex + left @ delta
        u = np.where(face, u, rapidity_at(potential, equations.slopes(nu)))
        if not (settled and np.isfinite(u).all()):
            return Choice(w, vertex, total, False, lambda: np.inf, face)

    def assess() -> float:
        on_face = diagonal_move(inner, part.inverse_hessian(state.u), w[face], part.weight)

        def move(rho: Float, g: Float) -> Float:
            return _embedded(face, on_face(left.T @ rho, g[face]))

        gap = _embedded(face, state.gap)
        return forward_error(equations, move, w, gap, slope_rounding(equations, nu))

    return Choice(w, nu, total, True, assess, face)


def _embedded(face: NDArray[np.bool_], values: Float) -> Float:
    """The values on the face, and 0 elsewhere."""
    full = np.zeros(len(face))
    full[face] = values
    return full


def _initial_state(X: Float, potential: Separable, u: Float) -> State:
    """The δ closest to Xᵀδ = −weight·sign·slack and the remaining gap, without terms of order 1."""
    slack = potential.weight * np.sign(u) * rapidity.slack(np, np.abs(u), potential.power)
    W = potential.inverse_hessian(u)
    delta, gap = newton_direction(X, W / W.max(), np.zeros(X.shape[0]), slack)
    return State(u, Pair.of(delta), gap)
