r"""The maximum margin in the ℓ∞ norm.

    argmin t   subject to   Z w ≥ 1,   −t ≤ w_j ≤ t

is a linear program, to which sign descent and Adam with ε = 0 tend. Its multipliers ν ≥ 0 satisfy ‖Zᵀν‖₁ = 1,
with [Zᵀν]_j·w_j = t·|[Zᵀν]_j|: the slope is 0 where |w_j| < t, and has the sign of w_j elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.numerics.linear_program import solved_program
from tacit.numerics.rounding import EPS
from tacit.solvers.interpolation.solution import MarginSolution
from tacit.solvers.margins.constraints import Margins

_AT_BOUND = 1e-7  # relative distance of |w_j| from t, or of a margin from 1, that counts as touching
_POSITIVE = 1e-9  # relative size of multipliers above which they are positive
_FEASIBLE = 1e-11  # violation of a constraint by the polished solution that is round-off


def maximize_margin(margins: Margins) -> MarginSolution:
    """The solution of the linear program, its basis solved again to round-off."""
    Z = margins.rows  # with a column for the intercept, which is not bounded by t
    samples, columns = Z.shape
    bounded = np.arange(columns) < margins.Z.shape[1]
    unit = float(np.abs(Z).max())
    rows = Z / unit
    box = np.eye(columns)[bounded]
    program = solved_program(
        np.append(np.zeros(columns), 1.0),
        "the linear program of the ℓ∞ margin failed",
        A_ub=np.vstack(
            [np.column_stack([-rows, np.zeros(samples)]), *(_within(sign * box) for sign in (1, -1))]
        ),
        b_ub=np.concatenate([-np.ones(samples), np.zeros(2 * len(box))]),
        bounds=[(None, None)] * columns + [(0, None)],
    )
    w, nu = program.x[:-1], np.maximum(-program.ineqlin.marginals[:samples], 0.0)
    w, nu, unique, error = _polished(rows, bounded, w, float(program.x[-1]), nu)
    b = 0.0 if margins.labels is None else float(w[-1]) / unit * margins.unit
    return MarginSolution(w[bounded] / unit, b, nu / unit, unique, error)


def _within(box: Float) -> Float:
    """Rows of box·w − t ≤ 0."""
    return np.column_stack([box, -np.ones(len(box))])


def _polished(
    Z: Float, bounded: NDArray[np.bool_], w: Float, t: float, nu: Float
) -> tuple[Float, Float, bool | None, float]:
    """Solution and multipliers from the equations of touching constraints, uniqueness, and an error estimate.

    The unknowns are t and the coordinates inside the bounds; the equations, the margins that are 1.
    """
    edge = bounded & (np.abs(w) >= t * (1 - _AT_BOUND))
    inside = np.flatnonzero(~edge)
    tight = np.flatnonzero(nu > _POSITIVE * nu.max())
    signs = np.where(edge, np.sign(w), 0.0)
    basis = np.column_stack([Z[tight] @ signs, Z[np.ix_(tight, inside)]])
    sizes = np.linalg.svd(basis, compute_uv=False)
    square = basis.shape[0] == basis.shape[1]
    if not square or sizes[-1] <= EPS * sizes[0]:
        return w, nu, None, float(np.inf) if sizes[-1] <= EPS * sizes[0] else 4 * EPS * sizes[0] / sizes[-1]
    values = _solved(basis, np.ones(len(tight)))
    exact, multipliers = signs * values[0], np.zeros_like(nu)
    exact[inside] = values[1:]
    multipliers[tight] = _solved(basis.T, np.eye(len(tight))[0])
    slopes = Z.T @ multipliers
    feasible = (Z @ exact).min() >= 1 - _FEASIBLE and np.abs(exact[bounded]).max() <= values[0] * (
        1 + _FEASIBLE
    )
    optimal = multipliers.min() >= 0 and (slopes * signs)[edge].min() >= -_FEASIBLE * np.abs(slopes).max()
    if not (feasible and optimal):
        return w, nu, None, 4 * EPS * sizes[0] / sizes[-1]
    strict = bool((slopes * signs)[edge].min() > _POSITIVE * np.abs(slopes).max())
    return exact, multipliers, True if strict else None, 4 * EPS * sizes[0] / sizes[-1]


def _solved(A: Float, b: Float) -> Float:
    """The solution of a square system, with one step of iterative refinement."""
    found = np.linalg.solve(A, b)
    return np.asarray(found + np.linalg.solve(A, b - A @ found))
