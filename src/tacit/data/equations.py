"""The constraints X w = y, made fit for a Newton method: independent rows, sane sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.independence import Combinations, combine
from tacit.data.memory import Memory
from tacit.data.units import Spread
from tacit.errors import InconsistentDataError
from tacit.numerics.double_double import Pair, product
from tacit.numerics.normal_equations import condition
from tacit.numerics.rounding import EPS, quiet

_ROUNDOFF = EPS / 2
ANY = 1e300  # a tolerance that refuses no targets
_WELL_CONDITIONED = 1e-5  # condition estimate of X Xᵀ from which on samples are taken as they are
_SANE_ROWS = (1e-3, 1e3)  # sizes of rows that need no scaling


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers as they came, but for powers of 2, and what their columns are divided by."""

    numbers: Float
    spread: Spread | None = None

    @classmethod
    def of(cls, X: Float, spread: Spread | None) -> Exact:
        """X in units of the spread of its features."""
        return cls(X if spread is None else X / spread.unit, spread)

    @property
    def value(self) -> Float:
        """In floats."""
        return self.divided(self.numbers)

    def divided(self, rows: Float) -> Float:
        """Combinations of the rows of the numbers, as combinations of samples."""
        return rows if self.spread is None else rows / self.spread.rounded

    def slopes(self, nu: Pair, columns: Any) -> Pair:
        """Xᵀν in twice the digits of floats, some columns of it."""
        found = product(self.numbers[:, columns].T, nu)
        return found if self.spread is None else found.over(self.spread.share(columns))

    def taken(self, rows: Index, scale: Float) -> Exact:
        """Some rows, divided by powers of 2."""
        if len(rows) == len(self.numbers) and (scale == 1).all():
            return self
        return replace(self, numbers=self.numbers[rows] / scale[:, None])

    def with_columns(self, factor: Float) -> Exact:
        """With columns times powers of 2."""
        return replace(self, numbers=self.numbers * factor)

    def terms(self, w: Float) -> Float:
        """|X||w|."""
        return np.asarray(np.abs(self.numbers) @ self.divided(np.abs(w)))

    def slope_terms(self, nu: Float) -> Float:
        """|X|ᵀ|ν|."""
        return self.divided(np.abs(self.numbers).T @ np.abs(nu))


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations X w = y with rows that are independent and of ordinary size, and the way back to the samples.

    samples: the rows that they were made from, exactly, but for powers of 2; T: X = T·samples where they are
    combinations of them. targets: y of the samples. rows: which of the original samples these are, row_scale:
    the powers of 2 they were divided by, count: how many original ones there are. near: do samples nearly
    depend on each other, so that products with X in floats lose digits? units: of the unknowns, powers of 2
    by which w is to be multiplied to be that of the original equations.
    """

    X: Float
    y: Float
    row_norms: Float
    samples: Exact
    targets: Float
    rows: Index
    row_scale: Float
    count: int
    T: Pair | None = None
    near: bool = False
    units: Float | float = 1.0

    @classmethod
    def of(cls, X: Float, y: Float) -> Equations:
        """Of samples that are fit for a Newton method as they are."""
        return cls(X, y, _norms(X), Exact(X), y, np.arange(len(y)), np.ones(len(y)), len(y))

    def multipliers(self, nu: Pair) -> Pair:
        """Those of the samples."""
        return nu if self.T is None else product(self.T.T, nu)

    def slopes(self, nu: Pair, columns: Any = slice(None)) -> Pair:
        """Xᵀν in twice the digits of floats, or some columns of it."""
        return self.samples.slopes(self.multipliers(nu), columns)

    def rounded_slopes(self, nu: Pair) -> Float:
        """Xᵀν, right to the rounding of floats."""
        return self.slopes(nu).value if self.near else self.X.T @ nu.value

    @quiet
    def dual(self, nu: Pair) -> Float:
        """Multipliers of all original samples, rounded to floats: those left out get 0."""
        full = np.zeros(self.count)
        full[self.rows] = self.multipliers(nu).value / self.row_scale
        return full

    @quiet
    def doubt(self, w: Float) -> Float:
        """By how much y − Xw changes at the most if X and y change in their last bits."""
        rounding = _ROUNDOFF * (self.samples.terms(w) + np.abs(self.targets))
        return rounding if self.T is None else np.asarray(np.abs(self.T.high) @ rounding)

    @quiet
    def slope_doubt(self, nu: Pair) -> Float:
        """By how much Xᵀν changes at the most if X changes in its last bits."""
        return np.asarray(_ROUNDOFF * (self.samples.slope_terms(self.multipliers(nu).high)))

    @property
    def metrics(self) -> list[Float | float]:
        """What w is to be multiplied by to be that of the samples, and that of features before they were
        divided by their spread."""
        spread = self.samples.spread
        return [self.units] if spread is None else [self.units, self.units / spread.value]

    def with_columns(self, factor: Float) -> Equations:
        """For the unknowns w/factor, powers of 2."""
        X, samples = self.X * factor, self.samples.with_columns(factor)
        return replace(self, X=X, row_norms=_norms(X), samples=samples, units=self.units * factor)

    def turned(self, B: Float) -> Equations:
        """For the unknowns B⁻¹w, B a matrix."""
        X = self.X @ B
        return replace(self, X=X, row_norms=_norms(X), samples=Exact(self.samples.value @ B))

    def met_by(self, vector: Float) -> Equations:
        """With the targets that a vector meets."""
        return replace(self, y=self.X @ vector, targets=self.samples.value @ vector)

    def in_units_of(self, unit: float) -> Equations:
        """For the unknowns w/unit, a power of 2."""
        return replace(self, y=self.y / unit, targets=self.targets / unit, units=self.units * unit)


@dataclass(frozen=True, eq=False)
class Samples:
    """The left side of X w = y, or of X w + b = y with b free; spread: what the features are divided by."""

    X: Float
    intercept: bool = False
    spread: Spread | None = None
    memory: Memory = field(
        default_factory=Memory, init=False, repr=False
    )  # of this X: replace() gives a new one

    def equations(self, y: Float, tol: float) -> Equations:
        """Made fit for a Newton method; `InconsistentDataError` where they have no solution."""
        return self.memory.once(("equations", y.tobytes(), tol), lambda: self._made(y, tol))

    def _made(self, y: Float, tol: float) -> Equations:
        make = _differences if self.intercept else _scaled
        return make(Exact.of(self.X, self.spread), y, tol)

    @quiet
    def fittable(self, Y: Float) -> Float:
        """What least squares fits of Y, (N,) or (N, m): Y without the combinations of samples that X annuls.

        Those are the ones that `equations` finds, so that there is a solution for what is left.
        """
        count, X = len(self.X), Exact.of(self.X, self.spread).numbers
        rows, scale = (np.arange(count), np.ones(count)) if self.intercept else _scales(X)
        if not len(rows):
            return np.zeros_like(Y)
        among = _apart(count) if self.intercept else None
        found = combine(X[rows] / scale[:, None], scale, among).vanishing.value / scale
        dead = np.eye(count)[np.delete(np.arange(count), rows)]
        annulled = np.vstack([dead, np.zeros((len(found), count))])
        annulled[len(dead) :, rows] = found / np.linalg.norm(found, axis=1)[:, None]
        basis = np.linalg.qr(annulled.T)[0]
        fitted = Y
        for _ in range(2):  # the second takes away what rounding leaves of large parts
            fitted = fitted - basis @ (basis.T @ fitted)
        rounding = count * EPS * np.abs(Y).max(axis=0)
        return np.where(np.abs(fitted) <= rounding, 0.0, fitted)


def prepare(X: Float, y: Float, tol: float) -> Equations:
    """Those of samples as they are."""
    return _scaled(Exact(X), y, tol)


@quiet
def _scaled(exact: Exact, y: Float, tol: float) -> Equations:
    """Scale the rows, combine those that are nearly dependent, and refuse equations without a solution."""
    X = exact.value
    rows, scale = _scales(X)
    if np.delete(y, rows).any():
        _refuse(X, y)
    samples, targets = exact.taken(rows, scale), y[rows] / scale
    scaled = X if samples is exact else samples.value
    if _well_conditioned(scaled):
        return Equations(scaled, targets, _norms(scaled), samples, targets, rows, scale, len(y))
    found = combine(samples.numbers, scale)
    if not _implied(found.vanishing, targets, tol):
        _refuse(X, y)
    return _combined(found, Equations(scaled, targets, _norms(scaled), samples, targets, rows, scale, len(y)))


@quiet
def _differences(exact: Exact, y: Float, tol: float) -> Equations:
    """The equations of X w + b = y for w alone, b being free: those of all combinations in which b cancels.

    Differences of samples leave it out, and have all the digits that they need where they are well
    conditioned. Samples that are affine combinations of others, which is a matter of the last bits of the
    samples and not of their differences, are found by `combine`.
    """
    count, X = len(y), exact.numbers
    differences, targets = exact.divided(X[1:] - X[:1]), y[1:] - y[:1]
    plain = Equations(
        differences, targets, _norms(differences), exact, y, np.arange(count), np.ones(count), count,
        T=Pair.of(_apart(count)),
    )  # fmt: skip
    if _well_conditioned(differences):
        return plain
    found = combine(X, np.ones(count), _apart(count))
    if not _implied(found.vanishing, y, tol):
        _refuse(X - X.mean(axis=0), y - y.mean())
    return _combined(found, plain)


def _combined(found: Combinations, equations: Equations) -> Equations:
    """These combinations of the samples, instead of the samples or their differences."""
    rows, targets = equations.samples.divided(found.rows), product(found.T, equations.targets).value
    return replace(equations, X=rows, y=targets, row_norms=_norms(rows), T=found.T, near=True)


def _norms(X: Float) -> Float:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", X, X)))


def _apart(count: int) -> Float:
    """The differences of all others from the first."""
    return np.column_stack([-np.ones(count - 1), np.eye(count - 1)])


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
