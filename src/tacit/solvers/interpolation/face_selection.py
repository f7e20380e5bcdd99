r"""The point of a polytope that small initialization scales select.

If several predictors are minimizers of the (weighted) ℓ1 norm, they form a polytope {σ∘v : A v = y, v ≥ 0}.
As the scale a of a diagonal network goes to 0, its potential is, up to a factor and to higher orders,

    depth 2:    ‖w‖₁ + (1/2|log a|)·Σ |w_j| (log|w_j| − 1 − 2 log p_j)
    depth D:    Σ p_j^{2−D}|w_j| − a^{D−2}·(D/2)·Σ |w_j|^{2/D}

so that the limit maximizes the entropy −Σ v log(v/p²) (Wind et al. 2023), or Σ v^{2/D} for any profile p.
Both have infinite slopes at v_j = 0: the member is unique, and positive wherever any member is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.numerics.linear_program import solved_program
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import quiet

_POSITIVE = 0.5  # of variables of the linear program that are 0 or 1 at its solution
_DEPENDENT = 1e-12  # relative singular value below which columns are dependent
_FRACTION = 0.95  # part of the way to the boundary that a step may go
_MAX_STEPS = 200
_SETTLED = 1e-13  # relative change of v that is round-off
_STALLED = 1e-8  # largest such change with which the iteration may end if it no longer decreases
_DECREASE = 1e-4  # of the predicted decrease, that a step must achieve


@dataclass(frozen=True, eq=False)
class Selected:
    """The member v, and on its support: φ', the residual `gap` of φ'(v) = Aᵀν, and 1/φ''.

    rows, targets: independent combinations of the equations on the support.
    """

    v: Float
    support: Index
    slopes: Float
    gap: Float
    inverse_hessian: Float
    rows: Float
    targets: Float
    steps: int
    settled: bool


def support_of(A: Float, y: Float) -> tuple[Index, Float]:
    """The entries at which some v ≥ 0 with A v = y is positive, and a v that is positive there.

    One linear program (Freund et al. 1985): maximize Σ t subject to A v = λy, t ≤ v, t ≤ 1 ≤ λ. Scaling by λ
    makes every v_j that can be positive at least 1, so that t is 0 or 1 at its solution.
    """
    sizes = np.abs(A).max(axis=0)
    sizes[sizes == 0] = 1.0
    unit, (samples, columns) = float(np.abs(y).max()) or 1.0, A.shape
    eye = np.eye(columns)
    program = solved_program(
        np.concatenate([np.zeros(columns + 1), -np.ones(columns)]),
        "the set of ℓ1 minimizers could not be computed",
        A_eq=np.column_stack([A / sizes, -y / unit, np.zeros((samples, columns))]),
        b_eq=np.zeros(samples),
        A_ub=np.hstack([-eye, np.zeros((columns, 1)), eye]),
        b_ub=np.zeros(columns),
        bounds=[(0, None)] * columns + [(1, None)] + [(0, 1)] * columns,
    )
    v, factor = program.x[:columns], program.x[columns]
    support = np.flatnonzero(program.x[columns + 1 :] > _POSITIVE)
    return support, (v * unit / sizes / factor)[support]


def independent_rows(A: Float, y: Float) -> tuple[Float, Float]:
    """The rows of A, and y, in an orthonormal basis of the range of A."""
    left, sizes, _ = np.linalg.svd(A, full_matrices=False)
    left = left[:, sizes > _DEPENDENT * sizes[0]]
    return left.T @ A, left.T @ y


@quiet
def select(A: Float, y: Float, depth: float, prior: Float) -> Selected:
    """Maximize −Σ v log(v/prior) (depth 2) or Σ v^{2/D} (depth D) subject to A v = y, v ≥ 0.

    Newton's method from a positive v, with the step length chosen by the decrease of the objective.
    """
    support, v = support_of(A, y)
    rows, targets = independent_rows(A[:, support], y)
    power, prior = 2 / depth, np.broadcast_to(prior, A.shape[1])[support]
    unit = float(v.max(initial=0.0)) or 1.0
    v, targets = v / unit, targets / unit
    change, best, steps = np.inf, np.inf, 0
    while steps < _MAX_STEPS:
        steps += 1
        slope, W = _derivatives(v, power, prior)
        _, direction = newton_direction(rows, W / W.max(), (targets - rows @ v) / W.max(), -slope)
        step = W * direction
        change = float(np.abs(step / v).max())
        length = _step_length(v, step, power, prior, slope)
        v = v + length * step
        if change <= _SETTLED or (change <= _STALLED and change >= best):
            break
        best = min(best, change)
    slope, W = _derivatives(v, power, prior)
    _, gap = newton_direction(rows, W / W.max(), np.zeros_like(targets), -slope)
    full = np.zeros(A.shape[1])
    full[support] = v * unit
    return Selected(full, support, slope, gap, W * unit, rows, targets * unit, steps, change <= _STALLED)


def _derivatives(v: Float, power: float, prior: Float) -> tuple[Float, Float]:
    """φ'(v) and 1/φ''(v) of φ = v log(v/prior) − v (power 1), or −v^power."""
    if power == 1:
        return np.log(v / prior), v
    return -power * v ** (power - 1), v ** (2 - power) / (power * (1 - power))


def _objective(v: Float, power: float, prior: Float) -> float:
    return float((v * (np.log(v / prior) - 1)).sum() if power == 1 else -(v**power).sum())


def _step_length(v: Float, step: Float, power: float, prior: Float, slope: Float) -> float:
    """The longest step that stays positive and lowers the objective; 1 near the solution."""
    length = min(1.0, _FRACTION / max(float((-step / v).max()), 1e-300))
    if length == 1.0 and np.abs(step / v).max() <= _FRACTION / 2:
        return 1.0
    here, predicted = _objective(v, power, prior), float(slope @ step)
    while length > _DECREASE and _objective(v + length * step, power, prior) > here + (
        _DECREASE * length * min(predicted, 0.0)
    ):
        length /= 2
    return length
