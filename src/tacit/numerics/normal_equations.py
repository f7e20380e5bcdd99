r"""The normal equations of a Newton step, (X W Xᵀ) dν = ρ − X W r, for weights W of any spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve, lapack, qr, solve_triangular

from tacit.numerics.rounding import Float

_BLOCK = 1 << 22  # entries of X that a weighted product may copy at once
_TRUSTED = 1e-13  # a Cholesky factor of the scaled normal matrix worse than this is not used for steps
_HEAVY = 1e-6  # relative √W from which slopes are taken from the factor Q


class Factor(Protocol):
    """X W Xᵀ, factorized."""

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        """dν with (X W Xᵀ) dν = ρ − X W r, and the change Xᵀdν + r of the slopes."""
        ...


def factorize(X: Float, W: Float, careful: bool = False) -> Factor:
    """By Cholesky; or, where that is asked for or with weights spread over more than sixteen decades, where
    the small ones vanish from the normal matrix, by QR of √W Xᵀ with rows sorted by size and pivoted
    columns, which is stable row by row (Cox and Higham 1998).
    """
    if not len(X):
        return _OfNothing()
    if careful:
        return _ByRows(X, W)
    factor, scale, rcond = _scaled_cholesky(weighted_gram(X, W))
    return _ByRows(X, W) if factor is None or rcond <= _TRUSTED else _ByCholesky(X, W, factor, scale)


def newton_direction(X: Float, W: Float, rho: Float, r: Float) -> tuple[Float, Float]:
    """dν with (X W Xᵀ) dν = ρ − X W r, and the change Xᵀdν + r of the slopes."""
    return factorize(X, W).direction(rho, r)


class _OfNothing:
    """Without equations no slope changes."""

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        return rho, r


class _ByCholesky:
    def __init__(self, X: Float, W: Float, factor: Float, scale: Float):
        self.X, self.W, self.factor, self.scale = X, W, factor, scale

    def direction(self, rho: Float, r: Float) -> tuple[Float, Float]:
        target = self.scale * (rho - self.X @ (self.W * r))
        found = self.scale * cho_solve((self.factor, True), target, check_finite=False)
        return found, self.X.T @ found + r


class _ByRows:
    def __init__(self, X: Float, W: Float):
        self.X, self.root = X, np.sqrt(np.maximum(W, W.max() * 1e-290))
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
        # Xᵀdν would cancel where W is large: there the factor Q gives √W(Xᵀdν + r) itself.
        change = self.X.T @ found + r
        scaled = np.empty_like(r)
        scaled[order] = self.Q @ coefficients + gap[order]
        heavy = root > _HEAVY * root.max()
        change[heavy] = scaled[heavy] / root[heavy]
        return found, change


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


def condition(X: Float) -> float:
    """An estimate of the reciprocal condition number of X Xᵀ, scaled to unit diagonal; 0 if not definite."""
    return _scaled_cholesky(weighted_gram(X, np.ones(X.shape[1])))[2]


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
