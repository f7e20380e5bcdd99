r"""The maximum margin in the ℓ1 norm, with all solutions if there are several.

    argmin Σ weight_j |w_j|   subject to   Z w ≥ 1

is a linear program. For any optimal multipliers ν with s = Zᵀν, its solutions form the face of the w with
Z w ≥ 1, equality if ν_n > 0, w_j = 0 if |s_j| < weight_j, and the sign of s_j otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tacit.data.arrays import Float, Index
from tacit.errors import NotConvergedError
from tacit.numerics.linear_program import TIGHT, solved_program
from tacit.numerics.rounding import TINY
from tacit.solvers.margins.constraints import Margins

_TIE = 1e-9  # relative distance of a slope from its bound, or of a coordinate from 0, that is round-off
_TIGHT_MARGIN = 1e-7  # distance of a margin from 1 up to which it belongs to the basis of a rough solution
_FEASIBLE = 1e-12  # violation of a constraint, relative to its terms, that is round-off
_IMPROVED = 1e-6  # largest relative change from a rough solution to one with the same basis
_EXTENT = 1e-7  # relative extent below which the set of solutions is a point, and singular values are 0
_DECIMALS = 12  # to which vertices are rounded before duplicates are removed
_LISTED = 5  # dimension of a face up to which all its vertices are computed
_LOST = (
    "the ℓ1 margin is lost in rounding: the sizes of samples or features differ too much, or the classes "
    "nearly touch; rescale the features, or drop near-duplicates with opposite labels"
)


@dataclass(frozen=True, eq=False)
class Vertex:
    """A vertex solution of the linear program, and its multipliers."""

    predictor: Float
    dual: Float
    intercept: float = 0.0


def least_l1_margin(margins: Margins, weight: Float) -> Vertex:
    """A vertex of the set of solutions, with the basis of the simplex method solved to round-off.

    An intercept is treated as one more coordinate with weight 0.
    """
    Z, weight = margins.rows, _with_intercept(margins, weight)
    sizes = np.abs(Z).max(axis=0)
    columns = np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))  # scaling by powers of 2 is exact
    balanced, cost = Z / columns, weight / columns
    rows = np.abs(balanced).max(axis=1)
    A = balanced / rows[:, None]
    unit, size = float(np.median(cost[cost > 0])), float(1 / rows.min())
    for options in (TIGHT, None):  # default tolerances suffice, since the basis is solved to round-off
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
    """The vertex with the same basis solved to round-off, if that is an improvement."""
    w, dual = rough.predictor, rough.dual
    used = np.flatnonzero((np.abs(w) > _TIE * np.abs(w).max()) | (weight == 0))
    tight = np.flatnonzero(Z @ w < 1 + _TIGHT_MARGIN)
    size = dual * np.abs(Z).max(axis=1)
    active = np.flatnonzero(size > _TIE * size.max())
    exact, multipliers = np.zeros_like(w), np.zeros_like(dual)
    exact[used], multipliers[active] = w[used], dual[active]
    basis, signed = Z[np.ix_(tight, used)], (weight * np.sign(w))[used]
    rows = Z[np.ix_(active, used)]
    for _ in range(2):  # least-squares corrections; the second removes the round-off of the first
        exact[used] += np.linalg.lstsq(basis, 1 - basis @ exact[used], rcond=None)[0]
        multipliers[active] += np.linalg.lstsq(rows.T, signed - rows.T @ multipliers[active], rcond=None)[0]
    close = np.abs(exact - w).max() < _IMPROVED * np.abs(w).max()
    if not ((Z @ exact).min() > 1 - _FEASIBLE and close):
        exact = _feasible(Z, w, used)
    # An intercept has weight 0: its slope is a sum of terms that cancel, with the round-off of these terms.
    terms = np.where(weight > 0, weight, np.abs(Z).T @ np.abs(multipliers))
    within = np.abs(Z.T @ multipliers) <= weight + _FEASIBLE * terms
    return Vertex(exact, multipliers if within.all() and multipliers.min() >= 0 else dual)


def _feasible(Z: Float, w: Float, used: Index) -> Float:
    """The given coordinates of w, scaled so that every margin is at least 1."""
    kept = np.zeros_like(w)
    kept[used] = w[used]
    smallest = float((Z @ kept).min())
    if not smallest > 0:
        raise NotConvergedError(_LOST)
    return kept / min(smallest, 1.0)


def solutions(margins: Margins, weight: Float, vertex: Vertex) -> tuple[bool, Float]:
    """Whether the solution is unique, and the vertices of the set of solutions (some, if it is large).

    The set is explored in random directions orthogonal to the span of the solutions found so far.
    """
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
        if max(reach) <= _EXTENT * np.linalg.norm(direction) * max(np.abs(points[0]).max(), TINY):
            break  # no solution outside the span, with probability one
        points += [end for end, r in zip(ends, reach, strict=True) if r > 0.0]
    if len(points) == 1:
        return True, vertex.predictor[None]
    return False, face.vertices(points)[:, : len(weight)]


@dataclass(frozen=True, eq=False)
class _Face:
    """The solutions w = Σ_{j in free} sign_j·v_j e_j, with equalities and inequalities on v.

    signed: which v must be nonnegative (all but that of an intercept).
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
        active = vertex.dual > _TIE * vertex.dual.max()
        rows = Z[:, free] * np.sign(slope[free])
        if len(free) == np.linalg.matrix_rank(rows[active]):
            free = free[:0]  # the equalities determine the solution
        sign = np.sign(slope[free])
        return cls(Z.shape[1], free.tolist(), sign, costly[free], rows[active], rows[~active])

    def embed(self, w: Float) -> Float:
        """The v of a predictor."""
        return self.sign * w[self.free]

    def predictors(self, points: Float) -> Float:
        """The predictors of several v."""
        full = np.zeros((len(points), self.features))
        full[:, self.free] = self.sign * points
        return full

    def extreme(self, direction: Float) -> Float:
        """The solution v that is extreme in a direction."""
        program = solved_program(
            -direction / np.abs(direction).max(),
            "the set of ℓ1 solutions could not be computed",
            A_eq=self.equal,
            b_eq=np.ones(len(self.equal)),
            A_ub=-self.above if len(self.above) else None,
            b_ub=-np.ones(len(self.above)) if len(self.above) else None,
            bounds=[(0, None) if each else (None, None) for each in self.signed],
        )
        return np.asarray(program.x)

    def vertices(self, points: list[Float]) -> Float:
        """All vertices of the face spanned by the points, as an intersection of half-spaces."""
        from scipy.spatial import HalfspaceIntersection, QhullError  # slow to import and rarely needed

        span, centre = _directions(points), np.mean(points, axis=0)
        known: Float = np.unique(np.round(np.array(points, dtype=float), _DECIMALS), axis=0)
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
            np.round(centre + found[np.isfinite(found).all(axis=1)] @ span, _DECIMALS), axis=0
        )
        return self.predictors(corners)


def _directions(points: list[Float]) -> Float:
    """An orthonormal basis of the differences of the points, as rows."""
    differences: Any = np.array(points[1:]).reshape(-1, len(points[0])) - points[0]
    if not len(differences):
        return np.zeros((0, len(points[0])))
    _, sizes, rows = np.linalg.svd(differences, full_matrices=False)
    return np.asarray(rows[sizes > _EXTENT * max(sizes[0], TINY)])


def _ends(points: Float, span: Float) -> Float:
    """The two end points of points on a line."""
    along = points @ span[0]
    ends: Index = np.array([along.argmin(), along.argmax()])
    return points[ends]
