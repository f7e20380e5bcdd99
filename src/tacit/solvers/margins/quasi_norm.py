r"""Maximum margins in an ℓp quasi-norm, p < 1: not convex, many stationary points.

    argmin Σ |w_j|^p   subject to   Z w ≥ 1

A zero coordinate stays zero under any small change that lowers the sum, so that w is stationary if, on the
coordinates J that are not zero, ∇Σ|w|^p = Σ_{n in A} ν_n z_n with ν ≥ 0 on samples A of margin 1. The sum is
concave between zeros, so local minima have as many such samples as coordinates; with fewer the point is a
saddle.
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

_ENUMERATED = 3  # features, and
_SUPPORTING = 60  # samples that no other implies, up to which all stationary points are found
_STARTS = 24  # random directions to begin with
_LARGE, _FEW = 100_000, 4  # entries of X from which on there are fewer starts
_ROUNDS = 60  # of reweighting, at most
_SHORT = 1e-10  # of a margin: what solvers of linear programs leave


Progress = Callable[[Sequence[int], str], Iterable[int]]


def _in_silence(items: Sequence[int], label: str) -> Iterable[int]:
    return items


@dataclass(frozen=True, eq=False)
class Stationary:
    """A predictor, its multipliers (∇Σ|w|^p = Zᵀν where w ≠ 0), and whether nothing near is better."""

    predictor: Float
    intercept: float
    dual: Float
    minimum: bool

    def size(self, p: float) -> float:
        """Σ|w|^p, to order them by."""
        return float((np.abs(self.predictor) ** p).sum())


@quiet
def all_stationary(margins: Margins, p: float) -> list[Stationary] | None:
    """Every stationary point, best first; None where there are too many features or samples to list them.

    Beside an intercept they are not listed.
    """
    Z, features = margins.Z, margins.Z.shape[1]
    if features > _ENUMERATED or margins.labels is not None:
        return None
    needed = _needed(Z)
    if len(needed) > _SUPPORTING:
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


def _needed(Z: Float) -> Index:
    """Samples whose margin the others do not imply: z is no Σ c_n z_n of theirs with c ≥ 0, Σc ≥ 1."""
    kept = list(range(len(Z)))
    for k in range(len(Z)):
        others = [n for n in kept if n != k]
        if not others:
            break
        program = linprog(-np.ones(len(others)), A_eq=Z[others].T, b_eq=Z[k], method="highs")
        if program.x is not None and program.x.sum() >= 1 - 1e-12:
            kept = others
    return np.array(kept)


def _subsets(samples: int, most: int) -> Iterator[Index]:
    for count in range(1, most + 1):
        for active in combinations(range(samples), count):
            yield np.array(active)


def _points(A: Float, p: float) -> Iterator[Float]:
    """Candidates with A w = 1, no zeros: where the gradient of Σ|w|^p is a combination of the rows."""
    samples, features = A.shape
    if np.linalg.matrix_rank(A) < samples or not A.any(axis=0).all():
        return
    if samples == features:
        yield np.asarray(np.linalg.solve(A, np.ones(samples)), dtype=float)
    elif samples == 1:  # |w|^{p−1} sign(w) ∝ z in closed form
        way = np.sign(A[0]) * (np.abs(A[0]) / np.abs(A[0]).max()) ** (1 / (p - 1))
        yield way / (A[0] @ way)
    else:  # a line: concave between the zeros of the coordinates, so that each gap has one such point
        base = np.linalg.lstsq(A, np.ones(samples), rcond=None)[0]
        way = np.linalg.svd(A)[2][-1]
        moving = np.abs(way) > 1e-12
        zeros = np.unique(-base[moving] / way[moving])

        def slope(t: float) -> float:
            w = (base + t * way)[moving]
            return float((np.sign(w) * np.abs(w) ** (p - 1) * way[moving]).sum())

        for left, right in pairwise(zeros):
            gap = right - left
            inner = (left + 1e-9 * gap, right - 1e-9 * gap)
            if slope(inner[0]) > 0 > slope(inner[1]):
                yield base + crossing(slope, *inner, xtol=1e-15 * gap) * way


def _stationary(margins: Margins, p: float, columns: Index, part: Float, b: float) -> Stationary | None:
    """The point with these coordinates, if it is feasible and stationary."""
    largest = np.abs(part).max()
    if not np.isfinite(largest) or np.abs(part).min() < 1e-9 * largest:
        return None
    w = np.zeros(margins.Z.shape[1])
    w[columns] = part
    values = margins.at(w, b)
    tight = np.flatnonzero(np.abs(values - 1) < 1e-9)
    if values.min() < 1 - _SHORT or not len(tight):
        return None
    gradient = p * np.sign(part) * np.abs(part) ** (p - 1)
    rows = margins.taking(columns).rows[tight]
    gradient = np.append(gradient, np.zeros(rows.shape[1] - len(part)))  # 0 for an intercept
    weights, misfit = nonnegative_least_squares(rows.T, gradient)
    if misfit > 1e-8 * np.linalg.norm(gradient):
        return None
    dual = np.zeros(len(margins))
    dual[tight] = weights
    return Stationary(w, b, dual, _pinned(rows, gradient))


def _pinned(rows: Float, gradient: Float) -> bool:
    """Does every direction that keeps the margins lead up: is the gradient inside the cone of the rows?

    Along a direction that is level to first order the sum, concave, falls. Inside means Σ ν_n z_n with all
    ν_n > 0 and rows that span: maximize the least ν_n.
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
    return bool(program.x is not None and program.x[-1] > 1e-9 * np.abs(gradient).max())


def _known(point: Stationary, found: list[Stationary]) -> bool:
    near = 1e-7 * np.abs(point.predictor).max()
    return any(np.abs(point.predictor - other.predictor).max() < near for other in found)


@quiet
def local_minima(
    margins: Margins, p: float, seed: int = 0, starts: int | None = None, progress: Progress = _in_silence
) -> list[Stationary]:
    """Local minima by iterated ℓ1 margins with weights |w|^{p−1}, from several starts, best first.

    Each step lowers Σ|w|^p, which is concave between zeros, so that a fixed point comes after finitely many.
    The first start is the ℓ1 margin itself, the others have random weights.
    """
    rng = np.random.default_rng(seed)
    found: list[Stationary] = []
    features = margins.Z.shape[1]
    count = starts or (_STARTS if margins.Z.size <= _LARGE else _FEW)
    for k in progress(range(count), "local minima"):
        weights = rng.exponential(size=(1, features))[0] + 1e-3 if k else np.ones(features)
        point = _descended(margins, p, weights)
        if point is not None and not _known(point, found):
            found.append(point)
    return sorted(found, key=lambda point: point.size(p))


def _descended(margins: Margins, p: float, weights: Float) -> Stationary | None:
    """The fixed point of the iteration from these weights."""
    columns = np.arange(margins.Z.shape[1])
    for _ in range(_ROUNDS):
        vertex = least_l1_margin(margins.taking(columns), weights / weights.min())
        size = np.abs(vertex.predictor)
        kept = size > 1e-9 * size.max()
        same = len(kept) == kept.sum() and np.allclose(weights, size ** (p - 1), rtol=1e-9)
        columns, weights = columns[kept], size[kept] ** (p - 1)
        if same:
            break
    return _stationary(margins, p, columns, vertex.predictor[kept], vertex.intercept)
