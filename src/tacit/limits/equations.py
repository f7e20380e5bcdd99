"""The constraints X w = y, made fit for a Newton method: independent rows, sane sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from scipy.linalg import cho_solve, lapack, qr, solve_triangular

from tacit.data import Float, Index
from tacit.errors import InconsistentDataError
from tacit.potentials.arrays import quiet

_BLOCK = 1 << 22  # entries of X that a weighted product may copy at once
_TRUSTED = 1e-13  # a Cholesky factor of the scaled normal matrix worse than this is not used for steps
_HEAVY = 1e-6  # relative √W from which slopes are taken from the factor Q
_FULL_RANK = 1e-11  # condition estimate that leaves no doubt
_INDEPENDENT = 1e-12  # relative pivot of a row that is not a combination of others
_SANE_ROWS = (1e-3, 1e3)  # sizes of rows that need no scaling


@dataclass(frozen=True, eq=False)
class Equations:
    """Rows of X w = y that are linearly independent and of ordinary size, and the way back."""

    X: Float
    y: Float
    row_norms: Float
    rows: Index  # which of the original samples they are
    row_scale: Float
    samples: int

    @quiet
    def dual(self, nu: Float) -> Float:
        """Multipliers of all original samples: those left out get 0."""
        full = np.zeros(self.samples)
        full[self.rows] = nu / self.row_scale
        return full


@quiet
def prepare(X: Float, y: Float, tol: float) -> Equations:
    """Scale the rows, drop dependent ones, and refuse equations without a solution."""
    sizes = np.maximum(X.max(axis=1), -X.min(axis=1))
    live = sizes > 0
    if y[~live].any():
        _refuse(X, y)
    rows, scale = np.flatnonzero(live), np.ones(len(y))
    spread = sizes[live]
    if spread.size and (spread.min() < _SANE_ROWS[0] or spread.max() > _SANE_ROWS[1]):
        scale[live] = np.exp2(np.clip(np.round(np.log2(spread)), -1000, 1000))
    scaled = X if live.all() and (scale == 1).all() else X[rows] / scale[rows, None]
    target = y[rows] / scale[rows]
    if not _full_rank(scaled):
        kept, consistent = _independent_rows(scaled, target, tol)
        if not consistent:
            _refuse(X, y)
        rows, scaled, target = rows[kept], scaled[kept], target[kept]
    norms = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    return Equations(scaled, target, norms, rows, scale[rows], len(y))


def _full_rank(X: Float) -> bool:
    """Is the Gram matrix, after scaling, safely positive definite?"""
    if X.shape[0] > X.shape[1]:
        return False
    if X.shape[0] == 0:
        return True
    factor, _, rcond = _scaled_cholesky(weighted_gram(X, np.ones(X.shape[1])))
    return factor is not None and rcond > _FULL_RANK


def _independent_rows(X: Float, y: Float, tol: float) -> tuple[Index, bool]:
    """A largest set of independent rows, by QR with pivoting on equilibrated columns; do they imply y?"""
    columns = np.sqrt(np.einsum("nd,nd->d", X, X))
    balanced = X / np.where(columns > 0, columns, 1.0)
    lengths = np.sqrt(np.einsum("nd,nd->n", balanced, balanced))
    R, pivots = qr((balanced / lengths[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > _INDEPENDENT * diagonal[0]).sum())
    lower, target = R[:rank].T, (y / lengths)[pivots]
    fitted = lower @ np.linalg.lstsq(lower, target, rcond=None)[0]
    misfit = np.linalg.norm(target - fitted)
    consistent = rank == len(y) or misfit <= max(tol, 1e-12) * np.linalg.norm(target)
    return np.sort(pivots[:rank]), bool(consistent)


def _refuse(X: Float, y: Float) -> NoReturn:
    w, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    residual = float(np.linalg.norm(X @ w - y) / np.linalg.norm(y))
    raise InconsistentDataError(
        f"X w = y has no solution: the best w leaves {residual:.2g} of ‖y‖ unexplained (X has rank {rank} "
        f"for {len(y)} samples); use fewer samples or more features, or correct those that contradict",
        residual,
    )


def weighted_gram(X: Float, W: Float) -> Float:
    """X diag(W) Xᵀ for W ≥ 0, without copying all of a large X."""
    samples, features = X.shape
    root = np.sqrt(W)  # a product B Bᵀ costs half of a general one
    total = np.zeros((samples, samples))
    step = max(1, _BLOCK // max(samples, 1))
    for start in range(0, features, step):
        block = X[:, start : start + step] * root[start : start + step]
        total += block @ block.T
    return total


def _unit_diagonal(A: Float) -> tuple[Float, Float]:
    """A scaled to unit diagonal, and the scaling."""
    diagonal = np.diag(A)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return A * scale[:, None] * scale, scale


def _scaled_cholesky(A: Float) -> tuple[Float | None, Float, float]:
    """Cholesky factor of A scaled to unit diagonal, the scaling, and a condition estimate."""
    B, scale = _unit_diagonal(A)
    factor, info = lapack.dpotrf(B, lower=1)
    if info != 0 or not np.isfinite(factor[-1:, -1:]).all():
        return None, scale, 0.0
    rcond, _ = lapack.dpocon(factor, np.abs(B).sum(axis=0).max(), uplo="L")
    return factor, scale, float(rcond)


def newton_direction(X: Float, W: Float, rho: Float, r: Float) -> tuple[Float, Float]:
    """dν with (X W Xᵀ) dν = ρ − X W r, and the change Xᵀdν + r of the slopes.

    By Cholesky; or, with weights spread over more than sixteen decades, where the small ones vanish from
    the normal matrix, by QR of √W Xᵀ with rows sorted by size and pivoted columns, which is stable row by
    row (Cox and Higham 1998).
    """
    factor, scale, rcond = _scaled_cholesky(weighted_gram(X, W))
    if factor is None or rcond <= _TRUSTED:
        return _direction_by_rows(X, W, rho, r)
    direction = scale * cho_solve((factor, True), scale * (rho - X @ (W * r)), check_finite=False)
    return direction, X.T @ direction + r


def _direction_by_rows(X: Float, W: Float, rho: Float, r: Float) -> tuple[Float, Float]:
    root = np.sqrt(np.maximum(W, W.max() * 1e-290))
    gap, sizes = root * r, np.maximum(X.max(axis=0), -X.min(axis=0)) * root
    if not (np.isfinite(sizes).all() and np.isfinite(gap).all() and np.isfinite(rho).all()):
        return np.full_like(rho, np.nan), np.full_like(r, np.nan)
    order = np.argsort(-sizes)
    B = X[:, order]
    B *= root[order]
    Q, R, pivots = qr(B.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
    diagonal = np.diag(R)
    R[np.diag_indices_from(R)] = np.where(diagonal == 0, 1e-300, diagonal)
    coefficients = solve_triangular(R, rho[pivots], trans="T", check_finite=False) - Q.T @ gap[order]
    direction = np.empty_like(rho)
    direction[pivots] = solve_triangular(R, coefficients, check_finite=False)
    # Xᵀdν would cancel where W is large: there the factor Q gives √W(Xᵀdν + r) itself.
    change = X.T @ direction + r
    scaled = np.empty_like(r)
    scaled[order] = Q @ coefficients + gap[order]
    heavy = root > _HEAVY * root.max()
    change[heavy] = scaled[heavy] / root[heavy]
    return direction, change


def factorize_roughly(X: Float, W: Float) -> Callable[[Float, Float], Float]:
    """Solver (ρ, r) ↦ dν of (X W Xᵀ) dν = ρ − X W r, giving up directions that are lost in rounding."""
    B, scale = _unit_diagonal(weighted_gram(X, W))
    shift = 0.0
    for _ in range(12):
        factor, info = lapack.dpotrf(B, lower=1)
        if info == 0:
            break
        grown = max(100 * shift, 1e-14)
        B[np.diag_indices_from(B)] += grown - shift
        shift = grown

    def solve(rho: Float, r: Float) -> Float:
        return scale * cho_solve((factor, True), scale * (rho - X @ (W * r)), check_finite=False)

    return solve
