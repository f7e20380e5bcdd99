r"""The flow of a diagonal network as the scale of its initialization goes to 0: from saddle to saddle.

With slopes s and predictor b, both 0 at τ = 0, and the negative gradient u = Xᵀ(y − Xb),

    ds/dτ = u,    |s_j| ≤ θ_j,    b_j s_j ≥ 0,    b_j = 0 where |s_j| < θ_j,    u_j = 0 where b_j ≠ 0.

The weights of coordinate j leave 0 when |s_j| arrives at its threshold θ_j (Pesme and Flammarion 2023).
Between these times b is constant; at each of them it jumps to the minimizer of ‖Xb − y‖² among the b with b_j
s_j ≥ 0 where |s_j| = θ_j, and b_j = 0 elsewhere. Every jump lowers ‖Xb − y‖, so that the path is finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.errors import NotConvergedError
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.rounding import EPS, quiet
from tacit.solvers.interpolation.face_selection import select

Mask = NDArray[np.bool_]
_TIE = 1e-12  # relative difference of jump times, or of slopes from their thresholds, that is round-off
_PULL = 64 * EPS  # gradients up to this size, relative to the terms of their sums, are round-off
_VANISHING = 1e-13  # size |b_j|‖x_j‖, relative to the largest, of coordinates that are round-off
_DEPENDENT = 1e-12  # relative singular value below which columns are dependent
_CORRECTIONS = 2  # repetitions of least squares; the second removes the round-off of the first
_JUMPS, _JUMPS_PER_COLUMN = 1000, 100  # after which the computation is aborted


@dataclass(frozen=True, eq=False)
class Jump:
    """The path right after a jump: time τ, slopes s, predictor b, and negative gradient u, 0 where it is
    round-off."""

    time: float
    slopes: Float
    predictor: Float
    pull: Float


@dataclass(frozen=True, eq=False)
class _Problem:
    X: Float
    y: Float
    thresholds: Float
    depth: float
    prior: Float  # tolerance of the entropy that decides ties at depth 2

    def pull(self, b: Float) -> Float:
        """Xᵀ(y − Xb), exactly 0 where it is round-off."""
        u = self.X.T @ (self.y - self.X @ b)
        lengths = np.sqrt(np.einsum("nd,nd->d", self.X, self.X))
        terms = np.linalg.norm(self.y) + np.linalg.norm(np.abs(self.X) @ np.abs(b))
        return np.where(np.abs(u) <= _PULL * lengths * terms, 0.0, u)


@quiet
def follow(X: Float, y: Float, thresholds: Float, depth: float, prior: Float) -> list[Jump]:
    """All jumps, from τ = 0 to the least-squares solution."""
    problem = _Problem(X, y, thresholds, depth, prior)
    zero = np.zeros(X.shape[1])
    here, jumps = Jump(0.0, zero, zero, problem.pull(zero)), list[Jump]()
    touching = zero.astype(bool)
    while here.pull.any():
        if len(jumps) > _JUMPS + _JUMPS_PER_COLUMN * X.shape[1]:
            raise NotConvergedError(
                f"the saddle path is incomplete after {len(jumps):,} jumps; nearly equal features can "
                "cause this: remove near-duplicates"
            )
        time, slopes, entering = _next_time(here, thresholds)
        touching = entering | (touching & (here.pull == 0))
        b = _after_jump(problem, np.sign(slopes), touching)
        here = Jump(time, slopes, b, problem.pull(b))
        jumps.append(here)
    return jumps


def _next_time(here: Jump, thresholds: Float) -> tuple[float, Float, Mask]:
    """The next time at which slopes arrive at thresholds, all slopes at that time, and which ones arrive."""
    moving = here.pull != 0
    way = np.where(moving, np.sign(here.pull) * thresholds - here.slopes, 1.0)
    waiting = np.where(moving, way / np.where(moving, here.pull, 1.0), np.inf)
    step = float(waiting.min())
    entering = waiting <= step + _TIE * (here.time + step)
    slopes = here.slopes + step * here.pull
    slopes = np.where(entering, np.sign(here.pull) * thresholds, slopes)
    return here.time + step, np.clip(slopes, -thresholds, thresholds), entering


def _after_jump(problem: _Problem, signs: Float, touching: Mask) -> Float:
    """argmin ‖Xb − y‖² subject to b_j·sign_j ≥ 0 where `touching`, and b_j = 0 elsewhere.

    If there are several, for example because features are equal, the one that small scales select.
    """
    X, y = problem.X, problem.y
    places = np.flatnonzero(touching)
    columns = X[:, places] * signs[places]
    v = _least_squares(columns, y)
    b = np.zeros(X.shape[1])
    b[places] = signs[places] * v
    free = np.flatnonzero(problem.pull(b)[places] == 0)
    if not _independent(columns[:, free]):
        chosen = select(columns[:, free], columns @ v, problem.depth, problem.prior[places[free]])
        b[places[free]] = signs[places[free]] * chosen.v
    return b


def _least_squares(A: Float, y: Float) -> Float:
    """argmin ‖A v − y‖ subject to v ≥ 0, solved to round-off on its support."""
    lengths = np.sqrt(np.einsum("nd,nd->d", A, A))
    v, _ = nonnegative_least_squares(A, y)
    while True:
        support = np.flatnonzero(v * lengths > _VANISHING * (v * lengths).max(initial=0.0))
        exact = np.zeros_like(v)
        for _ in range(_CORRECTIONS):
            exact[support] += np.linalg.lstsq(A[:, support], y - A @ exact, rcond=None)[0]
        if (exact[support] * lengths[support] > _VANISHING * (exact * lengths).max(initial=0.0)).all():
            return exact
        v = np.maximum(exact, 0.0)  # a coordinate that vanishes, up to round-off


def _independent(A: Float) -> bool:
    if A.shape[1] > A.shape[0]:
        return False
    lengths = np.sqrt(np.einsum("nd,nd->d", A, A))
    sizes = np.linalg.svd(A / lengths, compute_uv=False)
    return bool(sizes.min(initial=1.0) > _DEPENDENT * sizes.max(initial=1.0))
