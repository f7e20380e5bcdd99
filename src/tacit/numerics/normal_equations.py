r"""The normal equations of a Newton step, (X W Xᵀ) dν = ρ − X W r, for weights W of widely different size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, lapack, qr, solve_triangular

from tacit.numerics.rounding import Float

_BLOCK = 1 << 22  # entries of X that a weighted product copies at once, to bound memory
_TRUSTED = 1e-13  # reciprocal condition number up to which QR is used: Cholesky would lose 13 digits
_HEAVY = 1e-6  # √W relative to the largest above which slopes are computed from Q, since Xᵀdν cancels there
_MIN_WEIGHT = 1e-290  # of the largest weight: keeps √W and its reciprocal finite


def factorize(X: Float, W: Float, careful: bool = False) -> Factor:
    """Factorize X W Xᵀ by Cholesky, or by QR if `careful` or if the matrix is too ill-conditioned.

    The method `direction` of the result maps ρ and r to dν with (X W Xᵀ) dν = ρ − X W r, and to the change
    Xᵀdν + r of the slopes.

    When the weights span more than sixteen decades, the small ones are lost in the normal matrix. QR of √W Xᵀ
    with rows sorted by size and column pivoting is row-wise stable (Cox and Higham 1998).
    """
    if not len(X):
        return _NoEquations()
    if careful:
        return _RowwiseQR(X, W)
    factor, scale, rcond = _scaled_cholesky(weighted_gram(X, W))
    return _RowwiseQR(X, W) if factor is None or rcond <= _TRUSTED else _Cholesky(X, W, factor, scale)


def newton_direction(X: Float, W: Float, rho: Float, r: Float) -> tuple[Float, Float]:
    """dν with (X W Xᵀ) dν = ρ − X W r, and the change Xᵀdν + r of the slopes."""
    return factorize(X, W).direction(rho, r)


class _NoEquations:
    """Without equations, slopes change by r alone."""

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        return rho, r


class _Cholesky:
    def __init__(self, X: Float, W: Float, factor: Float, scale: Float):
        self.X, self.W, self.factor, self.scale = X, W, factor, scale

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        target = self.scale * (rho - self.X @ (self.W * r))
        found = self.scale * cho_solve((self.factor, True), target, check_finite=False)
        return found, self.X.T @ found + r


class _RowwiseQR:
    def __init__(self, X: Float, W: Float):
        self.X, self.root = X, np.sqrt(np.maximum(W, W.max() * _MIN_WEIGHT))
        sizes = np.maximum(X.max(axis=0), -X.min(axis=0)) * self.root
        self.usable = bool(np.isfinite(sizes).all())
        if not self.usable:
            return
        self.order = np.argsort(-sizes)
        B = X[:, self.order]
        B *= self.root[self.order]
        self.Q, self.R, self.pivots = qr(
            B.T, mode="economic", pivoting=True, overwrite_a=True, check_finite=False
        )
        diagonal = np.diag(self.R)
        self.R[np.diag_indices_from(self.R)] = np.where(diagonal == 0, 1e-300, diagonal)

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        root, order = self.root, self.order if self.usable else np.arange(len(r))
        gap = root * r
        if not (self.usable and np.isfinite(gap).all() and np.isfinite(rho).all()):
            return np.full_like(rho, np.nan), np.full_like(r, np.nan)
        along = solve_triangular(self.R, rho[self.pivots], trans="T", check_finite=False)
        coefficients = along - self.Q.T @ gap[order]
        found = np.empty_like(rho)
        found[self.pivots] = solve_triangular(self.R, coefficients, check_finite=False)
        # Xᵀdν + r cancels where W is large; there √W(Xᵀdν + r) is computed from the factor Q instead.
        change = self.X.T @ found + r
        scaled = np.empty_like(r)
        scaled[order] = self.Q @ coefficients + gap[order]
        heavy = root > _HEAVY * root.max()
        change[heavy] = scaled[heavy] / root[heavy]
        return found, change


Factor = _NoEquations | _Cholesky | _RowwiseQR


def weighted_gram(X: Float, W: Float) -> Float:
    """X diag(W) Xᵀ for W ≥ 0, in blocks, so that a large X is not copied."""
    samples, features = X.shape
    root = np.sqrt(W)  # the symmetric product B Bᵀ costs half of a general one
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


def condition(X: Float) -> float:
    """An estimate of the reciprocal condition number of X Xᵀ, scaled to unit diagonal; 0 if not definite."""
    return _scaled_cholesky(weighted_gram(X, np.ones(X.shape[1])))[2]


def factorize_roughly(X: Float, W: Float) -> Callable[[Float, Float], Float]:
    """Solver (ρ, r) ↦ dν of (X W Xᵀ) dν = ρ − X W r, regularized until Cholesky succeeds."""
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
