"""The constraints X w = y, made fit for a Newton method: independent rows, sane sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from tacit.data import Float, Index
from tacit.errors import InconsistentDataError
from tacit.limits.independence import combine
from tacit.limits.normal import condition
from tacit.numerics.pairs import Pair, product
from tacit.potentials.arrays import quiet

_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
ANY = 1e300  # a tolerance that refuses no targets
_WELL_CONDITIONED = 1e-5  # condition estimate of X Xᵀ from which on samples are taken as they are
_SANE_ROWS = (1e-3, 1e3)  # sizes of rows that need no scaling


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations X w = y with rows that are independent and of ordinary size, and the way back to the samples.

    samples: the rows that they were made from, exactly, but for powers of 2; T: X = T·samples where they had
    to be combined. targets: y of the samples. rows: which of the original samples these are, row_scale: the
    powers of 2 they were divided by, count: how many original ones there are. units: of the unknowns, powers
    of 2 by which w is to be multiplied to be that of the original equations.
    """

    X: Float
    y: Float
    row_norms: Float
    samples: Float
    targets: Float
    rows: Index
    row_scale: Float
    count: int
    T: Pair | None = None
    units: Float | float = 1.0

    def multipliers(self, nu: Pair) -> Pair:
        """Those of the samples."""
        return nu if self.T is None else product(self.T.T, nu)

    def slopes(self, nu: Pair, columns: Any = slice(None)) -> Pair:
        """Xᵀν in twice the digits of floats, or some columns of it."""
        return product(self.samples[:, columns].T, self.multipliers(nu))

    def rounded_slopes(self, nu: Pair) -> Float:
        """Xᵀν, right to the rounding of floats."""
        return self.X.T @ nu.value if self.T is None else self.slopes(nu).value

    @quiet
    def dual(self, nu: Pair) -> Float:
        """Multipliers of all original samples, rounded to floats: those left out get 0."""
        full = np.zeros(self.count)
        full[self.rows] = self.multipliers(nu).value / self.row_scale
        return full

    @quiet
    def doubt(self, w: Float) -> Float:
        """By how much y − Xw changes at the most if X and y change in their last bits."""
        rounding = _ROUNDOFF * (np.abs(self.samples) @ np.abs(w) + np.abs(self.targets))
        return rounding if self.T is None else np.asarray(np.abs(self.T.high) @ rounding)

    def with_columns(self, factor: Float) -> Equations:
        """For the unknowns w/factor, powers of 2."""
        X = self.X * factor
        norms = np.sqrt(np.einsum("nd,nd->n", X, X))
        return replace(self, X=X, row_norms=norms, samples=self.samples * factor, units=self.units * factor)

    def met_by(self, vector: Float) -> Equations:
        """With the targets that a vector meets."""
        return replace(self, y=self.X @ vector, targets=self.samples @ vector)

    def in_units_of(self, unit: float) -> Equations:
        """For the unknowns w/unit, a power of 2."""
        return replace(self, y=self.y / unit, targets=self.targets / unit, units=self.units * unit)


@quiet
def prepare(X: Float, y: Float, tol: float) -> Equations:
    """Scale the rows, combine those that are nearly dependent, and refuse equations without a solution."""
    rows, scale = _scales(X)
    if np.delete(y, rows).any():
        _refuse(X, y)
    scaled = X if len(rows) == len(y) and (scale == 1).all() else X[rows] / scale[:, None]
    target = y[rows] / scale
    if _well_conditioned(scaled):
        norms = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
        return Equations(scaled, target, norms, scaled, target, rows, scale, len(y))
    found = combine(scaled, scale)
    if not _implied(found.vanishing, target, tol):
        _refuse(X, y)
    norms = np.sqrt(np.einsum("nd,nd->n", found.rows, found.rows))
    targets = product(found.T, target).value
    return Equations(found.rows, targets, norms, scaled, target, rows, scale, len(y), found.T)


@quiet
def fittable(X: Float, Y: Float) -> Float:
    """What least squares fits of Y, (N,) or (N, m): Y without the combinations of samples that X annuls.

    Those are the ones that `prepare` finds, so that it has a solution for what is left.
    """
    rows, scale = _scales(X)
    vanishing = combine(X[rows] / scale[:, None], scale).vanishing.value / scale
    annulled = np.eye(len(X))[np.delete(np.arange(len(X)), rows)]
    annulled = np.vstack([annulled, np.zeros((len(vanishing), len(X)))])
    annulled[len(annulled) - len(vanishing) :, rows] = vanishing / np.linalg.norm(vanishing, axis=1)[:, None]
    basis = np.linalg.qr(annulled.T)[0]
    for _ in range(2):  # the second takes away what rounding leaves of large parts
        Y = Y - basis @ (basis.T @ Y)
    return Y


def _scales(X: Float) -> tuple[Index, Float]:
    """The rows that are not zero, and the powers of 2 to divide them by: ones where their sizes are sane."""
    sizes = np.maximum(X.max(axis=1), -X.min(axis=1))
    rows = np.flatnonzero(sizes > 0)
    sizes = sizes[rows]
    if not sizes.size or (sizes.min() >= _SANE_ROWS[0] and sizes.max() <= _SANE_ROWS[1]):
        return rows, np.ones(len(rows))
    return rows, np.exp2(np.clip(np.round(np.log2(sizes)), -1000, 1000))


def _well_conditioned(X: Float) -> bool:
    """Is the Gram matrix, after scaling, safely positive definite?"""
    if X.shape[0] > X.shape[1]:
        return False
    if X.shape[0] == 0:
        return True
    return condition(X) > _WELL_CONDITIONED


def _implied(vanishing: Pair, y: Float, tol: float) -> bool:
    """Do combinations that X annuls annul y too?"""
    misfit = np.abs(product(vanishing, y).value)
    size = np.abs(vanishing.high).max(axis=1, initial=0.0) * np.linalg.norm(y)
    return bool((misfit <= max(tol, 1e-12) * size).all())


def _refuse(X: Float, y: Float) -> NoReturn:
    w, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    residual = float(np.linalg.norm(X @ w - y) / np.linalg.norm(y))
    raise InconsistentDataError(
        f"X w = y has no solution: the best w leaves {residual:.2g} of ‖y‖ unexplained (X has rank {rank} "
        f"for {len(y)} samples). Gradient flow ends at least squares then, of several such w at that of "
        "least Q: least_squares=True (--least-squares) gives it; or use fewer samples or more features",
        residual,
    )
