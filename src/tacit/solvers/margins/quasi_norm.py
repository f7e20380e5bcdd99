r"""Maximum margins in an ℓp quasi-norm, p < 1: a nonconvex problem with many stationary points.

    argmin Σ |w_j|^p   subject to   Z w ≥ 1

The slope of |w|^p at 0 is infinite, so a zero coordinate stays zero under any small change that lowers the
sum. Hence w is stationary if, on its nonzero coordinates, ∇Σ|w|^p = Σ_{n in A} ν_n z_n with ν ≥ 0, where A
are the samples with margin 1. Between zeros the sum is concave, so local minima have as many such samples as
nonzero coordinates; with fewer the point is a saddle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.optimize import linprog

from tacit.data.arrays import Float, Index
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.roots import crossing
from tacit.potentials.arrays import quiet
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import least_l1_margin

# Numbers of features and of non-redundant samples up to which all stationary points are enumerated.
_MAX_FEATURES, _MAX_SAMPLES = 3, 60
_STARTS = 24  # starting points of the iteration
_LARGE, _FEW = 100_000, 4  # entries of X above which there are fewer of them
_ROUNDS = 60  # reweighted ℓ1 problems per starting point
_SHORT = 1e-10  # shortfall of a margin that solvers of linear programs leave
_IMPLIED = 1e-12  # relative error of the coefficients with which other samples imply one
_FLAT = 1e-12  # direction cosine below which a coordinate is constant on a line
_INSIDE = 1e-9  # relative distance from the ends of an interval, at which the gradient is infinite
_ZERO = 1e-9  # relative size below which a coordinate is 0
_TIGHT = 1e-9  # distance of a margin from 1 up to which its sample can be a support vector
_STATIONARY = 1e-8  # relative residual of the gradient at a stationary point
_POSITIVE = 1e-9  # smallest multiplier, relative to the gradient, that is not round-off
_SAME = 1e-7  # relative distance up to which two points are the same
_FIXED = 1e-9  # relative change of the weights at a fixed point of the iteration
_LEAST_WEIGHT = 1e-3  # added to random weights, whose ratios would otherwise be unbounded


Progress = Callable[[Sequence[int], str], Iterable[int]]


@dataclass(frozen=True, eq=False)
class Stationary:
    """A stationary point with its multipliers, ∇Σ|w|^p = Zᵀν where w ≠ 0; minimum: is it a local minimum?"""

    predictor: Float
    intercept: float
    dual: Float
    minimum: bool

    def size(self, p: float) -> float:
        """Σ|w|^p."""
        return float((np.abs(self.predictor) ** p).sum())


@quiet
def all_stationary(margins: Margins, p: float) -> list[Stationary] | None:
    """All stationary points, best first; None if there are too many features or samples, or an intercept."""
    Z, features = margins.Z, margins.Z.shape[1]
    if features > _MAX_FEATURES or margins.labels is not None:
        return None
    needed = _non_redundant(Z)
    if len(needed) > _MAX_SAMPLES:
        return None
    found: list[Stationary] = []
    for count in range(1, features + 1):
        for used in combinations(range(features), count):
            columns = np.array(used)
            for active in _subsets(len(needed), count):
                for part in _points(Z[np.ix_(needed[active], columns)], p):
                    point = _stationary(margins, p, columns, part, 0.0)
                    if point is not None and not _known(point, found):
                        found.append(point)
    return sorted(found, key=lambda point: point.size(p))


def _non_redundant(Z: Float) -> Index:
    """Samples whose constraint the others do not imply: z ≠ Σ c_n z_n with c ≥ 0 and Σc ≥ 1."""
    kept = list(range(len(Z)))
    for k in range(len(Z)):
        others = [n for n in kept if n != k]
        if not others:
            break
        program = linprog(-np.ones(len(others)), A_eq=Z[others].T, b_eq=Z[k], method="highs")
        if program.x is not None and program.x.sum() >= 1 - _IMPLIED:
            kept = others
    return np.array(kept)


def _subsets(samples: int, most: int) -> Iterator[Index]:
    for count in range(1, most + 1):
        for active in combinations(range(samples), count):
            yield np.array(active)


def _points(A: Float, p: float) -> Iterator[Float]:
    """Candidates: w without zeros, A w = 1, and ∇Σ|w|^p in the span of the rows of A."""
    samples, features = A.shape
    if np.linalg.matrix_rank(A) < samples or not A.any(axis=0).all():
        return
    if samples == features:
        yield np.asarray(np.linalg.solve(A, np.ones(samples)), dtype=float)
    elif samples == 1:  # |w|^{p−1} sign(w) ∝ z in closed form
        direction = np.sign(A[0]) * (np.abs(A[0]) / np.abs(A[0]).max()) ** (1 / (p - 1))
        yield direction / (A[0] @ direction)
    else:  # a line: Σ|w|^p is concave between zeros of coordinates, with one candidate in each interval
        base = np.linalg.lstsq(A, np.ones(samples), rcond=None)[0]
        direction = np.linalg.svd(A)[2][-1]
        moving = np.abs(direction) > _FLAT
        zeros = np.unique(-base[moving] / direction[moving])

        def slope(t: float) -> float:
            w = (base + t * direction)[moving]
            return float((np.sign(w) * np.abs(w) ** (p - 1) * direction[moving]).sum())

        for left, right in pairwise(zeros):
            gap = right - left
            inner = (left + _INSIDE * gap, right - _INSIDE * gap)
            if slope(inner[0]) > 0 > slope(inner[1]):
                yield base + crossing(slope, *inner, xtol=1e-15 * gap) * direction


def _stationary(margins: Margins, p: float, columns: Index, part: Float, b: float) -> Stationary | None:
    """The point with these nonzero coordinates; None if it is not feasible or not stationary."""
    largest = np.abs(part).max()
    if not np.isfinite(largest) or np.abs(part).min() < _ZERO * largest:
        return None
    w = np.zeros(margins.Z.shape[1])
    w[columns] = part
    values = margins.at(w, b)
    tight = np.flatnonzero(np.abs(values - 1) < _TIGHT)
    if values.min() < 1 - _SHORT or not len(tight):
        return None
    gradient = p * np.sign(part) * np.abs(part) ** (p - 1)
    rows = margins.taking(columns).rows[tight]
    gradient = np.append(gradient, np.zeros(rows.shape[1] - len(part)))  # 0 for an intercept
    weights, misfit = nonnegative_least_squares(rows.T, gradient)
    if misfit > _STATIONARY * np.linalg.norm(gradient):
        return None
    dual = np.zeros(len(margins))
    dual[tight] = weights
    return Stationary(w, b, dual, _is_minimum(rows, gradient))


def _is_minimum(rows: Float, gradient: Float) -> bool:
    """Whether the gradient is in the interior of the cone of the rows: all feasible directions ascend.

    In a direction with slope 0 the sum would decrease, since it is concave. The gradient is in the interior
    if the rows span and it is Σ ν_n z_n with all ν_n > 0; the linear program maximizes the smallest ν_n.
    """
    if np.linalg.matrix_rank(rows) < len(gradient):
        return False
    count = len(rows)
    program = linprog(
        np.append(np.zeros(count), -1.0),
        A_eq=np.column_stack([rows.T, np.zeros(len(gradient))]),
        b_eq=gradient,
        A_ub=np.column_stack([-np.eye(count), np.ones(count)]),
        b_ub=np.zeros(count),
        bounds=[(0, None)] * count + [(None, 1.0)],
        method="highs",
    )
    return bool(program.x is not None and program.x[-1] > _POSITIVE * np.abs(gradient).max())


def _known(point: Stationary, found: list[Stationary]) -> bool:
    near = _SAME * np.abs(point.predictor).max()
    return any(np.abs(point.predictor - other.predictor).max() < near for other in found)


@quiet
def local_minima(margins: Margins, p: float, progress: Progress) -> list[Stationary]:
    """Local minima by iteratively reweighted ℓ1 margins (weights |w|^{p−1}), from several starts, best first.

    Each step lowers Σ|w|^p, which is concave between zeros, so a fixed point is reached in finitely many
    steps. The first start is the ℓ1 margin itself, the others have random weights.
    """
    rng = np.random.default_rng(0)
    found: list[Stationary] = []
    features = margins.Z.shape[1]
    count = _STARTS if margins.Z.size <= _LARGE else _FEW
    for k in progress(range(count), "local minima"):
        weights = rng.exponential(size=(1, features))[0] + _LEAST_WEIGHT if k else np.ones(features)
        point = _fixed_point(margins, p, weights)
        if point is not None and not _known(point, found):
            found.append(point)
    return sorted(found, key=lambda point: point.size(p))


def _fixed_point(margins: Margins, p: float, weights: Float) -> Stationary | None:
    """The fixed point of the iteration started at these weights."""
    columns = np.arange(margins.Z.shape[1])
    for _ in range(_ROUNDS):
        vertex = least_l1_margin(margins.taking(columns), weights / weights.min())
        size = np.abs(vertex.predictor)
        kept = size > _ZERO * size.max()
        same = len(kept) == kept.sum() and np.allclose(weights, size ** (p - 1), rtol=_FIXED)
        columns, weights = columns[kept], size[kept] ** (p - 1)
        if same:
            break
    return _stationary(margins, p, columns, vertex.predictor[kept], vertex.intercept)
