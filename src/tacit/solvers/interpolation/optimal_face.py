r"""Which of many ℓ1 minimizers: depth above 2 at scales where slopes are ±1 to all their digits.

Where the ℓ1 problem has a face S of solutions, the limit is picked by the slacks 1 − |s| alone, which may be
far below the rounding of s:

    Xᵀν = weight·sign(w)·(1 − slack(w/m))  on S.

If Xᵀν₀ = weight·sign(w) on S, then ν = ν₀ + δ with Xᵀδ = −weight·sign(w)·slack, an equation between small
numbers that is solved to full relative accuracy. (As m → 0 it says: maximize Σ weight·m^{1/p}|w|^{2/D} on S.)
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
from tacit.solvers.interpolation.newton import State, polish, rapidity_at
from tacit.solvers.interpolation.solution import Assess

_ON_FACE = 1e-7  # relative size of the coordinates that make the face
_SLACK = 1e-4  # largest slack at which this is needed
_REFINED = 4  # corrections of the multipliers at which slopes are at their ends, the last to verify them
_EXACT = 1e-26  # by how much slopes may differ from them: rounding in pairs of floats
_ROUNDS = 3  # in which the small coordinates off the face follow


@dataclass(frozen=True, eq=False)
class Choice:
    """The solution chosen on a face; settled is False where there is a face but no choice could be made."""

    w: Float
    nu: Pair
    steps: int
    settled: bool
    assess: Assess
    face: NDArray[np.bool_]


def choose_on_face(equations: Equations, potential: Separable, w: Float, u: Float, nu: Pair) -> Choice | None:
    """The limit on the face of ℓ1 minimizers that the large coordinates of w make; None if it is a point.

    u: rapidities whose slopes the small coordinates have. nu: multipliers, right to rounding.
    """
    face = np.abs(w) > _ON_FACE * np.abs(w).max()
    slack = rapidity.slack(np, np.abs(potential.rapidity(w)), potential.power)
    if slack[face].min() > _SLACK:
        return None
    X, sign = equations.X[:, face], np.sign(w[face])
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    left = left[:, sizes > 1e-12 * sizes[0]]  # all that the face can say about y
    if face.sum() <= left.shape[1]:
        return None
    part = Separable(potential.power, potential.log_scale[face], potential.weight[face])
    vertex, missing = nu, np.zeros(0)
    for _ in range(_REFINED):
        missing = (equations.slopes(vertex, face) - part.weight * sign).value
        vertex = vertex - np.linalg.lstsq(X.T, missing, rcond=None)[0]
    if np.abs(missing).max() > _EXACT * part.weight.max():
        return None  # not a face after all: the slopes are not all at their ends
    rows = left.T @ X
    w, total, settled, delta = w.copy(), 0, True, np.zeros(left.shape[1])
    for _ in range(_ROUNDS):
        w[~face] = potential.predictor(u)[~face]
        target = left.T @ (equations.y - equations.X[:, ~face] @ w[~face])
        inner = Equations.of(rows, target)
        state, steps, settled = polish(inner, part, _anchored(rows, part, part.rapidity(w[face])), steps=30)
        w[face], delta, total = part.predictor(state.u), state.nu.value, total + steps
        nu = vertex + left @ delta
        u = np.where(face, u, rapidity_at(potential, equations.slopes(nu)))
        if not (settled and np.isfinite(u).all()):
            return Choice(w, vertex, total, False, lambda: np.inf, face)

    def assess() -> float:
        on_face = diagonal_move(inner, part.inverse_hessian(state.u), w[face], part.weight)

        def move(rho: Float, g: Float) -> Float:
            return _on(face, on_face(left.T @ rho, g[face]))

        return forward_error(equations, move, w, _on(face, state.gap), slope_rounding(equations, nu))

    return Choice(w, nu, total, True, assess, face)


def _on(face: NDArray[np.bool_], values: Float) -> Float:
    """These values on the face, and 0 off it."""
    full = np.zeros(len(face))
    full[face] = values
    return full


def _anchored(X: Float, potential: Separable, u: Float) -> State:
    """δ that comes closest to Xᵀδ = −weight·sign·slack, and the gap that is left: no rounding of order 1."""
    pull = potential.weight * np.sign(u) * rapidity.slack(np, np.abs(u), potential.power)
    W = potential.inverse_hessian(u)
    delta, gap = newton_direction(X, W / W.max(), np.zeros(X.shape[0]), pull)
    return State(u, Pair.of(delta), gap)
