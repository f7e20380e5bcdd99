r"""The maximum margin in the ℓ1 norm, and all of its solutions where there are several.

    argmin Σ weight_j |w_j|   subject to   Z w ≥ 1

is a linear program. Its solutions form a face: with any optimal multipliers ν and slopes s = Zᵀν they are the
w with Z w ≥ 1, equality where ν_n > 0, and w_j = 0 where |s_j| < weight_j, the sign of s_j elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tacit.data.arrays import Float, Index
from tacit.errors import NotConvergedError
from tacit.solvers.margins.constraints import Margins

_TIE = 1e-9  # relative: a slope this near its bound, a margin this near 1, a coordinate this near 0
_LISTED = 5  # dimension of a face up to which all its vertices are found
_TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_LOST = (
    "the ℓ1 margin is lost in rounding: the sizes of the samples or features differ too much, or the classes "
    "nearly touch; measure the features in units that suit them, or drop near-duplicates of opposite labels"
)


@dataclass(frozen=True, eq=False)
class Vertex:
    """A solution of the linear program at a vertex, and its multipliers."""

    predictor: Float
    dual: Float
    intercept: float = 0.0


def least_l1_margin(margins: Margins, weight: Float) -> Vertex:
    """A vertex of the solutions, solved to rounding on the basis that the simplex method found.

    An intercept is one more coordinate, of weight 0.
    """
    Z, weight = margins.rows, _with_intercept(margins, weight)
    sizes = np.abs(Z).max(axis=0)
    columns = np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))  # powers of 2 round nothing
    balanced, cost = Z / columns, weight / columns
    rows = np.abs(balanced).max(axis=1)
    A = balanced / rows[:, None]
    unit, size = float(np.median(cost[cost > 0])), float(1 / rows.min())
    for options in (_TIGHT, None):  # the vertex is solved to rounding in any case
        program = linprog(
            np.concatenate([cost, cost]) / unit,
            A_ub=-np.hstack([A, -A]),
            b_ub=-1 / rows / size,
            method="highs",
            options=options,
        )
        if program.status == 0:
            break
    if program.status != 0 or program.x is None:
        raise NotConvergedError(f"{_LOST} ({program.message})")
    plus, minus = np.split(program.x, 2)
    dual = np.maximum(-program.ineqlin.marginals, 0.0) * unit / rows
    found = polished(balanced, cost, Vertex((plus - minus) * size, dual))
    w = found.predictor / columns
    if margins.labels is None:
        return Vertex(w, found.dual)
    return Vertex(w[:-1], found.dual, float(w[-1]) * margins.unit)


def _with_intercept(margins: Margins, weight: Float) -> Float:
    return weight if margins.labels is None else np.append(weight, 0.0)


def polished(Z: Float, weight: Float, rough: Vertex) -> Vertex:
    """The same basis, with its equations solved to rounding, where that is an improvement."""
    w, dual = rough.predictor, rough.dual
    used = np.flatnonzero((np.abs(w) > _TIE * np.abs(w).max()) | (weight == 0))
    tight = np.flatnonzero(Z @ w < 1 + 1e-7)
    pull = dual * np.abs(Z).max(axis=1)
    pulling = np.flatnonzero(pull > _TIE * pull.max())
    exact, slopes = np.zeros_like(w), np.zeros_like(dual)
    exact[used], slopes[pulling] = w[used], dual[pulling]
    basis, signed = Z[np.ix_(tight, used)], (weight * np.sign(w))[used]
    rows = Z[np.ix_(pulling, used)]
    for _ in range(2):  # the least corrections, twice for their own rounding
        exact[used] += np.linalg.lstsq(basis, 1 - basis @ exact[used], rcond=None)[0]
        slopes[pulling] += np.linalg.lstsq(rows.T, signed - rows.T @ slopes[pulling], rcond=None)[0]
    if not ((Z @ exact).min() > 1 - 1e-12 and np.abs(exact - w).max() < 1e-6 * np.abs(w).max()):
        exact = _feasible(Z, w, used)
    room = np.where(weight > 0, weight, np.abs(Z).T @ np.abs(slopes))  # of a sum that is 0, to rounding
    within = np.abs(Z.T @ slopes) <= weight + 1e-12 * room
    return Vertex(exact, slopes if within.all() and slopes.min() >= 0 else dual)


def _feasible(Z: Float, w: Float, used: Index) -> Float:
    """These coordinates of w, made large enough for every margin to be 1."""
    kept = np.zeros_like(w)
    kept[used] = w[used]
    least = float((Z @ kept).min())
    if not least > 0:
        raise NotConvergedError(_LOST)
    return kept / min(least, 1.0)


def solutions(margins: Margins, weight: Float, vertex: Vertex) -> tuple[bool, Float]:
    """Is the solution the only one? And the vertices of all solutions (extreme points of a large face)."""
    face = _Face.of(margins.rows, _with_intercept(margins, weight), vertex)
    rng = np.random.default_rng(0)
    b = [] if margins.labels is None else [vertex.intercept / margins.unit]
    points = [face.embed(np.append(vertex.predictor, b))]
    while face.free:
        span = _directions(points)
        if len(span) == len(face.free):
            break
        direction = rng.standard_normal(len(face.free))
        direction -= span.T @ (span @ direction)
        ends = [face.extreme(sign * direction) for sign in (1.0, -1.0)]
        reach = [abs(float(direction @ (end - points[0]))) for end in ends]
        if max(reach) <= 1e-7 * np.linalg.norm(direction) * max(np.abs(points[0]).max(), 1e-300):
            break  # no solution off the span of those found, for a direction drawn at random
        points += [end for end, r in zip(ends, reach, strict=True) if r > 0.0]
    if len(points) == 1:
        return True, vertex.predictor[None]
    return False, face.vertices(points)[:, : len(weight)]


@dataclass(frozen=True, eq=False)
class _Face:
    """Solutions as w = Σ_{j in free} sign_j·v_j e_j, v ≥ 0, with equalities and inequalities on v.

    signed: which v these are; an intercept, the other one, may be negative.
    """

    features: int
    free: list[int]
    sign: Float
    signed: NDArray[np.bool_]
    equal: Float
    above: Float

    @classmethod
    def of(cls, Z: Float, weight: Float, vertex: Vertex) -> _Face:
        costly = weight > 0
        slope = np.where(costly, Z.T @ vertex.dual / np.where(costly, weight, 1.0), 1.0)
        free = np.flatnonzero(np.abs(slope) >= 1 - _TIE)
        pulling = vertex.dual > _TIE * vertex.dual.max()
        rows = Z[:, free] * np.sign(slope[free])
        if len(free) == np.linalg.matrix_rank(rows[pulling]):
            free = free[:0]  # the equations alone leave one solution
        sign = np.sign(slope[free])
        return cls(Z.shape[1], free.tolist(), sign, costly[free], rows[pulling], rows[~pulling])

    def embed(self, w: Float) -> Float:
        return self.sign * w[self.free]

    def predictors(self, points: Float) -> Float:
        full = np.zeros((len(points), self.features))
        full[:, self.free] = self.sign * points
        return full

    def extreme(self, direction: Float) -> Float:
        """The solution farthest in this direction."""
        program = linprog(
            -direction / np.abs(direction).max(),
            A_eq=self.equal,
            b_eq=np.ones(len(self.equal)),
            A_ub=-self.above if len(self.above) else None,
            b_ub=-np.ones(len(self.above)) if len(self.above) else None,
            bounds=[(0, None) if each else (None, None) for each in self.signed],
            method="highs",
            options=_TIGHT,
        )
        if program.status != 0 or program.x is None:
            raise NotConvergedError(f"the face of ℓ1 solutions could not be followed: {program.message}")
        return np.asarray(program.x)

    def vertices(self, points: list[Float]) -> Float:
        """All vertices of the face that the points span, by halfspaces in its own coordinates."""
        from scipy.spatial import HalfspaceIntersection, QhullError  # slow to import, and seldom needed

        span, centre = _directions(points), np.mean(points, axis=0)
        known: Float = np.unique(np.round(np.array(points, dtype=float), 12), axis=0)
        if not 1 < len(span) <= _LISTED:
            return self.predictors(_ends(known, span) if len(span) == 1 else known)
        rows = np.vstack([self.above @ span.T, span.T[self.signed]])
        offsets = np.concatenate([self.above @ centre - 1, centre[self.signed]])
        sizes = np.linalg.norm(rows, axis=1)
        live = sizes > _TIE * sizes.max()
        halfspaces = np.column_stack([-rows[live], -offsets[live]]) / sizes[live, None]
        try:
            found = HalfspaceIntersection(halfspaces, np.zeros(len(span))).intersections
        except QhullError:
            return self.predictors(known)
        corners: Float = np.unique(
            np.round(centre + found[np.isfinite(found).all(axis=1)] @ span, 12), axis=0
        )
        return self.predictors(corners)


def _directions(points: list[Float]) -> Float:
    """An orthonormal basis of the differences of the points, as rows."""
    differences: Any = np.array(points[1:]).reshape(-1, len(points[0])) - points[0]
    if not len(differences):
        return np.zeros((0, len(points[0])))
    _, sizes, rows = np.linalg.svd(differences, full_matrices=False)
    return np.asarray(rows[sizes > 1e-7 * max(sizes[0], 1e-300)])


def _ends(points: Float, span: Float) -> Float:
    along = points @ span[0]
    ends: Index = np.array([along.argmin(), along.argmax()])
    return points[ends]
