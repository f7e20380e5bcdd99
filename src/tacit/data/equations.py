"""The constraints X w = y, preconditioned for a Newton method: independent rows of moderate size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.independence import Combinations, combine
from tacit.data.units import Spread
from tacit.errors import InconsistentDataError
from tacit.numerics.double_double import Pair, product
from tacit.numerics.normal_equations import condition
from tacit.numerics.rounding import EPS, ROUNDOFF, quiet

_Value = TypeVar("_Value")
ANY = 1e300  # tolerance with which no targets count as inconsistent
# Reciprocal condition number of X Xᵀ (scaled to unit diagonal) above which a solve in double precision loses
# at most five digits; below it, rows are combined in double-double arithmetic.
_WELL_CONDITIONED = 1e-5
_UNSCALED = (1e-3, 1e3)  # range of the largest entries of rows within which rows are not rescaled
_SIZE = 64  # entries of each kind that a memory keeps
_CLOSE = 3.0  # largest distance in log scale at which a solution is a useful start for Newton's method
_DISTINCT = 0.01  # least distance of two starts: extrapolation from closer ones would amplify round-off


class Memory:
    """A cache that drops its oldest entries; copies and pickles of it are empty."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.solved: dict[Any, dict[float, Float]] = {}

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()

    def once(self, key: Any, make: Callable[[], _Value]) -> _Value:
        """Return the value for this key, calling `make` if it is not cached."""
        if key not in self.known:
            self.known[key] = make()
            if len(self.known) > _SIZE:
                del self.known[next(iter(self.known))]
        found: _Value = self.known[key]
        return found

    def near(self, key: Any, level: float) -> list[tuple[float, Float]]:
        """Up to four solutions of the same problem at distinct scales close to `level`, nearest first."""
        solved, chosen = self.solved.get(key, {}), list[float]()
        for other in sorted(solved, key=lambda each: abs(each - level)):
            if abs(other - level) > _CLOSE or len(chosen) == 4:
                break
            if all(abs(other - each) >= _DISTINCT for each in chosen):
                chosen.append(other)
        return [(each, solved[each]) for each in chosen]

    def keep(self, key: Any, level: float, solution: Float) -> None:
        """Store the solution at this level."""
        levels = self.solved.setdefault(key, {})
        levels[level] = solution
        if len(levels) > _SIZE:
            del levels[next(iter(levels))]


def name_of(*arrays: Any) -> tuple[Any, ...]:
    """A hashable key for arrays and numbers."""
    return tuple(np.asarray(each).tobytes() if np.ndim(each) else each for each in arrays)


@dataclass(frozen=True, eq=False)
class Exact:
    """The exact data up to powers of 2, and the standard deviations that divide its columns."""

    numbers: Float
    spread: Spread | None = None

    @classmethod
    def of(cls, X: Float, spread: Spread | None) -> Exact:
        """X with columns divided by the standard deviations in `spread`."""
        return cls(X if spread is None else X / spread.unit, spread)

    @property
    def value(self) -> Float:
        """The matrix in double precision."""
        return self.divided(self.numbers)

    def divided(self, rows: Float) -> Float:
        """Divide combinations of the rows of `numbers` by the standard deviations."""
        return rows if self.spread is None else rows / self.spread.rounded

    def slopes(self, nu: Pair, columns: Any) -> Pair:
        """Xᵀν in double-double arithmetic, for some columns."""
        found = product(self.numbers[:, columns].T, nu)
        return found if self.spread is None else found.over(self.spread.share(columns))

    def taken(self, rows: Index, scale: Float) -> Exact:
        """Select rows and divide them by powers of 2."""
        if len(rows) == len(self.numbers) and (scale == 1).all():
            return self
        return replace(self, numbers=self.numbers[rows] / scale[:, None])

    def with_columns(self, factor: Float) -> Exact:
        """Multiply the columns by powers of 2."""
        return replace(self, numbers=self.numbers * factor)

    def terms(self, w: Float) -> Float:
        """|X||w|."""
        return np.asarray(np.abs(self.numbers) @ self.divided(np.abs(w)))

    def slope_terms(self, nu: Float) -> Float:
        """|X|ᵀ|ν|."""
        return self.divided(np.abs(self.numbers).T @ np.abs(nu))


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations X w = y with independent rows of moderate size, and the map back to the original samples.

    samples: the rows from which X was made, exact up to powers of 2. T: if not None, X = T·samples. targets:
    y of the samples. rows: indices of these samples among the original ones. row_scale: powers of 2 by which
    they were divided. count: number of original samples. near: whether samples are nearly dependent, so that
    products with X in double precision lose digits. units: powers of 2 by which the unknowns must be
    multiplied to solve the original equations.
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
        """Wrap well-conditioned samples unchanged."""
        return cls(X, y, _norms(X), Exact(X), y, np.arange(len(y)), np.ones(len(y)), len(y))

    def multipliers(self, nu: Pair) -> Pair:
        """Map multipliers of the equations to multipliers of the samples."""
        return nu if self.T is None else product(self.T.T, nu)

    def slopes(self, nu: Pair, columns: Any = slice(None)) -> Pair:
        """Xᵀν in double-double arithmetic, for all or some columns."""
        return self.samples.slopes(self.multipliers(nu), columns)

    def rounded_slopes(self, nu: Pair) -> Float:
        """Xᵀν, accurate to double precision."""
        return self.slopes(nu).value if self.near else self.X.T @ nu.value

    @quiet
    def dual(self, nu: Pair) -> Float:
        """Multipliers of all original samples in double precision; 0 for samples that are not used."""
        full = np.zeros(self.count)
        full[self.rows] = self.multipliers(nu).value / self.row_scale
        return full

    @quiet
    def uncertainty(self, w: Float) -> Float:
        """Bound on the change of y − Xw when X and y change by half a unit in the last place."""
        rounding = ROUNDOFF * (self.samples.terms(w) + np.abs(self.targets))
        return rounding if self.T is None else np.asarray(np.abs(self.T.high) @ rounding)

    @quiet
    def slope_doubt(self, nu: Pair) -> Float:
        """Bound on the change of Xᵀν when X changes by half a unit in the last place."""
        return np.asarray(ROUNDOFF * (self.samples.slope_terms(self.multipliers(nu).high)))

    @property
    def metrics(self) -> list[Float | float]:
        """Factors that map w to the predictor of the samples and, if standardized, of original features."""
        spread = self.samples.spread
        return [self.units] if spread is None else [self.units, self.units / spread.value]

    def with_columns(self, factor: Float) -> Equations:
        """The equations for the unknowns w/factor; factor: powers of 2."""
        X, samples = self.X * factor, self.samples.with_columns(factor)
        return replace(self, X=X, row_norms=_norms(X), samples=samples, units=self.units * factor)

    def turned(self, B: Float) -> Equations:
        """The equations for the unknowns B⁻¹w, with a matrix B."""
        X = self.X @ B
        return replace(self, X=X, row_norms=_norms(X), samples=Exact(self.samples.value @ B))

    def met_by(self, vector: Float) -> Equations:
        """The equations with y = X·vector."""
        return replace(self, y=self.X @ vector, targets=self.samples.value @ vector)

    def in_units_of(self, unit: float) -> Equations:
        """The equations for the unknowns w/unit; unit: a power of 2."""
        return replace(self, y=self.y / unit, targets=self.targets / unit, units=self.units * unit)


@dataclass(frozen=True, eq=False)
class Samples:
    """The left-hand side of X w = y, or of X w + b = y with free b; spread divides the features."""

    X: Float
    intercept: bool = False
    spread: Spread | None = None
    memory: Memory = field(default_factory=Memory, init=False, repr=False)  # replace() makes a new one

    def equations(self, y: Float, tol: float) -> Equations:
        """Precondition for a Newton method; raise `InconsistentDataError` if there is no solution."""
        make = _differences if self.intercept else _scaled
        key = ("equations", y.tobytes(), tol)
        return self.memory.once(key, lambda: make(Exact.of(self.X, self.spread), y, tol))

    @quiet
    def fittable(self, Y: Float) -> Float:
        """Project Y, (N,) or (N, m), onto the range of X: the values fitted by least squares.

        The left null space is the one that `equations` finds, so `equations` accepts the result.
        """
        count, X = len(self.X), Exact.of(self.X, self.spread).numbers
        rows, scale = (np.arange(count), np.ones(count)) if self.intercept else _scales(X)
        if not len(rows):
            return np.zeros_like(Y)
        among = _difference_matrix(count) if self.intercept else None
        found = combine(X[rows] / scale[:, None], scale, among).vanishing.value / scale
        zero_rows = np.eye(count)[np.delete(np.arange(count), rows)]
        annulled = np.vstack([zero_rows, np.zeros((len(found), count))])
        annulled[len(zero_rows) :, rows] = found / np.linalg.norm(found, axis=1)[:, None]
        basis = np.linalg.qr(annulled.T)[0]
        fitted = Y
        for _ in range(2):  # the second pass removes round-off left by large components
            fitted = fitted - basis @ (basis.T @ fitted)
        rounding = count * EPS * np.abs(Y).max(axis=0)
        return np.where(np.abs(fitted) <= rounding, 0.0, fitted)


def prepare(X: Float, y: Float, tol: float) -> Equations:
    """Precondition X w = y without intercept or standardization."""
    return _scaled(Exact(X), y, tol)


@quiet
def _scaled(exact: Exact, y: Float, tol: float) -> Equations:
    """Scale the rows, combine nearly dependent ones, and raise if the equations have no solution."""
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
    """Eliminate the free intercept b from X w + b = y by taking differences of samples.

    Differences computed in double precision are accurate enough if they are well conditioned. The last bits
    of the samples, which their rounded differences do not contain, decide whether a sample is an affine
    combination of others; `combine` therefore uses the samples themselves, in double-double arithmetic.
    """
    count, X = len(y), exact.numbers
    differences, targets = exact.divided(X[1:] - X[:1]), y[1:] - y[:1]
    plain = Equations(
        differences, targets, _norms(differences), exact, y, np.arange(count), np.ones(count), count,
        T=Pair.of(_difference_matrix(count)),
    )  # fmt: skip
    if _well_conditioned(differences):
        return plain
    found = combine(X, np.ones(count), _difference_matrix(count))
    if not _implied(found.vanishing, y, tol):
        _refuse(X - X.mean(axis=0), y - y.mean())
    return _combined(found, plain)


def _combined(found: Combinations, equations: Equations) -> Equations:
    """Replace the samples, or their differences, by these combinations."""
    rows, targets = equations.samples.divided(found.rows), product(found.T, equations.targets).value
    return replace(equations, X=rows, y=targets, row_norms=_norms(rows), T=found.T, near=True)


def _norms(X: Float) -> Float:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", X, X)))


def _difference_matrix(count: int) -> Float:
    """The matrix that subtracts the first sample from each of the others."""
    return np.column_stack([-np.ones(count - 1), np.eye(count - 1)])


def _scales(X: Float) -> tuple[Index, Float]:
    """Indices of nonzero rows, and powers of 2 to divide them by (1 for sizes within `_UNSCALED`)."""
    sizes = np.maximum(X.max(axis=1), -X.min(axis=1))
    rows = np.flatnonzero(sizes > 0)
    sizes = sizes[rows]
    if not sizes.size or (sizes.min() >= _UNSCALED[0] and sizes.max() <= _UNSCALED[1]):
        return rows, np.ones(len(rows))
    return rows, np.exp2(np.clip(np.round(np.log2(sizes)), -1000, 1000))


def _well_conditioned(X: Float) -> bool:
    """Whether the Gram matrix, scaled to unit diagonal, is safely positive definite."""
    samples, features = X.shape
    return samples <= features and (samples == 0 or condition(X) > _WELL_CONDITIONED)


def _implied(vanishing: Pair, y: Float, tol: float) -> bool:
    """Whether the combinations that vanish on X also vanish on y."""
    misfit = np.abs(product(vanishing, y).value)
    size = np.abs(vanishing.high).max(axis=1, initial=0.0) * np.linalg.norm(y)
    return bool((misfit <= max(tol, 1e-12) * size).all())


def _refuse(X: Float, y: Float) -> NoReturn:
    w, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    residual = float(np.linalg.norm(X @ w - y) / np.linalg.norm(y))
    raise InconsistentDataError(
        f"X w = y has no solution: least squares leaves a relative residual of {residual:.2g} (X has rank "
        f"{rank} for {len(y)} samples). Use least_squares=True (--least-squares) for the least-squares "
        "solution of least Q, where gradient flow then ends; or use fewer samples or more features",
        residual,
    )
