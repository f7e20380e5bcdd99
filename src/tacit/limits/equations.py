"""The constraints X w = y, made fit for a Newton method: independent rows, sane sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack, qr, solve_triangular

from tacit.data import Float, Index
from tacit.errors import InconsistentDataError

_BLOCK = 1 << 22  # entries of X that a weighted product may copy at once
_TRUSTED = 1e-13  # a Cholesky factor of the scaled normal matrix worse than this is not used for steps
_FULL_RANK = 1e-11
_INDEPENDENT = 1e-12
_SANE_ROWS = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class Equations:
    """Rows of X w = y that are linearly independent and of ordinary size, and the way back."""

    X: Float
    y: Float
    row_norms: Float
    rows: Index  # which of the original samples they are
    row_scale: Float
    samples: int

    def dual(self, nu: Float) -> Float:
        """Multipliers of all original samples: those left out get 0."""
        full = np.zeros(self.samples)
        full[self.rows] = nu / self.row_scale
        return full


def prepare(X: Float, y: Float, tol: float) -> Equations:
    """Scale the rows, drop dependent ones, and refuse equations without a solution."""
    sizes = np.maximum(X.max(axis=1), -X.min(axis=1))
    scale = np.ones(len(y))
    live = sizes > 0
    spread = sizes[live]
    if spread.size and (spread.min() < _SANE_ROWS[0] or spread.max() > _SANE_ROWS[1]):
        scale[live] = np.exp2(np.round(np.log2(spread)))
    rows = np.flatnonzero(live)
    _refuse_inconsistent(
        np.abs(y[~live]).max(initial=0.0) / max(np.abs(y).max(), 1e-300), tol, len(rows), len(y)
    )
    scaled = X if live.all() and (scale == 1).all() else X[rows] / scale[rows, None]
    target = y[rows] / scale[rows]
    if not _full_rank(scaled):
        kept = _independent_rows(scaled, target, tol)
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


def _independent_rows(X: Float, y: Float, tol: float) -> Index:
    """Indices of a largest set of independent rows, by QR with pivoting on equilibrated columns."""
    columns = np.sqrt(np.einsum("nd,nd->d", X, X))
    balanced = X / np.where(columns > 0, columns, 1.0)
    lengths = np.sqrt(np.einsum("nd,nd->n", balanced, balanced))
    R, pivots = qr((balanced / lengths[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > _INDEPENDENT * diagonal[0]).sum())
    lower, target = R[:rank].T, (y / lengths)[pivots]
    fitted = lower @ np.linalg.lstsq(lower, target, rcond=None)[0]
    missing = np.linalg.norm((target - fitted) * lengths[pivots])
    residual = float(missing) / max(float(np.linalg.norm(y)), 1e-300)
    _refuse_inconsistent(residual, tol, rank, len(y))
    return np.sort(pivots[:rank])


def _refuse_inconsistent(residual: float, tol: float, rank: int, samples: int) -> None:
    if residual > max(tol, 1e-12):
        raise InconsistentDataError(
            f"X w = y has no solution: the best w leaves {residual:.2g} of ‖y‖ unexplained (X has rank "
            f"{rank} for {samples} samples); use fewer samples or more features, or correct those that "
            "contradict each other",
            float(residual),
        )


def weighted_gram(X: Float, W: Float) -> Float:
    """X diag(W) Xᵀ without copying all of a large X."""
    samples, features = X.shape
    step = max(1, _BLOCK // max(samples, 1))
    if features <= step:
        return (X * W) @ X.T
    total = np.zeros((samples, samples))
    for start in range(0, features, step):
        block = X[:, start : start + step]
        total += (block * W[start : start + step]) @ block.T
    return total


def _scaled_cholesky(A: Float) -> tuple[Float | None, Float, float]:
    """Cholesky factor of A scaled to unit diagonal, the scaling, and a condition estimate."""
    diagonal = np.diag(A)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    B = A * scale[:, None] * scale
    factor, info = lapack.dpotrf(B, lower=1)
    if info != 0 or not np.isfinite(factor[-1, -1]):
        return None, scale, 0.0
    rcond, _ = lapack.dpocon(factor, np.abs(B).sum(axis=0).max(), uplo="L")
    return factor, scale, float(rcond)


def factorize(X: Float, W: Float) -> Callable[[Float, Float], Float]:
    """Solver (ρ, r) ↦ x of (X W Xᵀ) x = ρ − X W r: Cholesky, or row-sorted QR where that is not safe.

    With weights spread over more than sixteen decades the small ones vanish from the normal matrix. QR
    of √W Xᵀ with rows sorted by size and pivoted columns is stable row by row (Cox and Higham 1998).
    """
    factor, scale, rcond = _scaled_cholesky(weighted_gram(X, W))
    if factor is None or rcond <= _TRUSTED:
        return _factorize_by_rows(X, W)

    def solve(rho: Float, r: Float) -> Float:
        return scale * cho_solve((factor, True), scale * (rho - X @ (W * r)), check_finite=False)

    return solve


def _factorize_by_rows(X: Float, W: Float) -> Callable[[Float, Float], Float]:
    root = np.sqrt(np.maximum(W, W.max() * 1e-290))
    B = (X * root).T
    if not np.isfinite(B).all():
        return lambda rho, r: np.full_like(rho, np.nan)
    order = np.argsort(-np.abs(B).max(axis=1))
    Q, R, pivots = qr(B[order], mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
    diagonal = np.diag(R)
    R[np.diag_indices_from(R)] = np.where(diagonal == 0, 1e-300, diagonal)

    def solve(rho: Float, r: Float) -> Float:
        target = solve_triangular(R, rho[pivots], trans="T", check_finite=False)
        x = solve_triangular(R, target - Q.T @ (root * r)[order], check_finite=False)
        solution = np.empty_like(x)
        solution[pivots] = x
        return solution

    return solve


def factorize_roughly(X: Float, W: Float) -> Callable[[Float, Float], Float]:
    """The same by Cholesky alone, giving up directions that are lost in rounding instead of failing."""
    A = weighted_gram(X, W)
    diagonal = np.diag(A)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    B = A * scale[:, None] * scale
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


def newton_direction(X: Float, W: Float, rho: Float, r: Float) -> Float:
    """dν with (X W Xᵀ) dν = ρ − X W r."""
    return factorize(X, W)(rho, r)
