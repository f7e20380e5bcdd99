"""High-precision limits on nearly equal samples and features, and their uncertainty for float64 data.

The floating-point data are taken as exact. Nothing here uses Tacit's solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from mpmath import mp, mpf
from oracles import _ball, _middle, _times, _zeta, exact_limit

EPS = 2.0**-53  # every float may be the rounded value of a number with this relative difference
_DIGITS = 110  # digits in addition to those for a small scale: rows may differ by 1e-16, which XWXᵀ squares
_CERTAIN = 1e-30  # largest relative KKT residual and correction of a result that is returned


@dataclass(frozen=True)
class Geometry:
    """∇Q(w) = weight·h_D⁻¹(w/m): Woodworth et al. 2020, Theorems 1 and 3; Azulay et al. 2021, Theorem 1."""

    depth: float = 2
    scale: float = 1.0
    shape: float | None = None  # of UntiedDiagonal; its scale is that of the product of the layers

    @property
    def weight(self) -> float:
        return 1.0 if self.shape is None else 0.5

    def log_scale(self) -> Any:
        """log m, from the exact value of the given float: m = scale^D, or √k/4 = scale(1+s²)/(1−s²)."""
        if self.shape is None:
            return mpf(self.depth) * mp.log(mpf(self.scale))
        s = mpf(self.shape)
        return mp.log(mpf(self.scale) * (1 + s * s) / (1 - s * s))

    def digits(self) -> int:
        with mp.workdps(30):
            lost = max(0, int(-self.log_scale() / mp.log(10)))
        return _DIGITS + (1 if self.depth == 2 else 3) * lost

    def at(self, w: Any) -> tuple[np.ndarray, np.ndarray]:
        """∇Q and 1/Q'' at w, arrays of arb, from the papers' h_D as printed."""
        m = _ball(mp.exp(self.log_scale()))
        pairs = [_inverse_and_slope(_ball(v) / m, self.depth) for v in w]
        gradient, spread = (_middle(np.array(each, object)) for each in zip(*pairs, strict=True))
        return gradient * arb(self.weight), spread * (m / self.weight)


def _inverse_and_slope(x: arb, depth: float) -> tuple[arb, arb]:
    """s with h_D(s) = x, and h_D'(s): Newton's method in full precision, from twenty digits."""
    if depth == 2:
        return (x / 2).asinh(), (x * x + 4).sqrt()
    with mp.workdps(20):
        s = _ball(_zeta(mpf(x.mid().str(25, radius=False)), depth, mp.dps)).tanh().mid()
    p = arb(depth) / (arb(depth) - 2)
    for _ in range(6):  # 20 digits, doubled six times
        slope = p * ((1 - s) ** (-p - 1) + (1 + s) ** (-p - 1))
        s = (s - ((1 - s) ** -p - (1 + s) ** -p - x) / slope).mid()
    return s, slope


def independent_rows(X: Any, y: Any) -> list[int]:
    """Independent samples of which all others are combinations, in exact rational arithmetic.

    Raises ArithmeticError if the targets contradict such a combination, so that Xw = y has no solution.
    """
    rows = [[fmpq(*v.as_integer_ratio()) for v in row] for row in np.column_stack([X, y]).tolist()]
    transposed = fmpq_mat([list(column) for column in zip(*rows, strict=True)])
    reduced, rank = fmpq_mat([row[:-1] for row in rows]).transpose().rref()
    if transposed.rank() > rank:
        raise ArithmeticError("these data have no solution: equal samples have different targets")
    return [next(j for j in range(len(rows)) if reduced[i, j] != 0) for i in range(rank)]


@dataclass(frozen=True)
class Truth:
    """The limit in multiprecision, and its first-order change A·r − P·g (see `truth`)."""

    predictor: Any  # (d,) of mpf
    dual: Any  # (r,) of arb, for the samples `rows`
    rows: list[int]
    residual: Any  # the limit of this problem is known to this relative accuracy
    onto: arb_mat  # A = WXᵀ(XWXᵀ)⁻¹
    along: arb_mat  # P = W − AXW

    @property
    def floats(self) -> np.ndarray:
        return np.array([float(v) for v in self.predictor])


def truth(X: Any, y: Any, geometry: Geometry, rows: list[int] | None = None, start: Any = None) -> Truth:
    """argmin Q(w) subject to Xw = y.

    With W = ∇²Q(w)⁻¹, A = WXᵀ(XWXᵀ)⁻¹ and P = W − AXW, residuals r = y − Xw and g = ∇Q(w) − Xᵀν determine the
    error to first order: A·r − P·g. It is evaluated at the result with the printed formulas of Q. It and both
    residuals must be below 1e-30; otherwise ArithmeticError is raised. `rows` are passed if X is perturbed
    and no longer float64; a `start` only saves time.
    """
    rows = independent_rows(X, y) if rows is None else rows
    X, y, digits = np.asarray(X)[rows], np.asarray(y)[rows], geometry.digits()
    with mp.workdps(digits + 20), ctx.workdps(digits + 20):
        potential = {"depth": geometry.depth, "log_scale": geometry.log_scale(), "weight": geometry.weight}
        w = exact_limit(X, y, **potential, start=start, digits=digits)
        slope, spread = geometry.at(w)
        data, answer = arb_mat(X.tolist()), np.array([_ball(v) for v in w], object)
        weighed = arb_mat((np.array(data.tolist(), object) * spread).tolist())
        inverse = (weighed * data.transpose()).inv()
        onto = weighed.transpose() * inverse
        nu = _times(inverse, _times(weighed, slope))
        r = np.array([arb(v) for v in y.tolist()], object) - _times(data, answer)
        g = slope - _times(data.transpose(), nu)
        along = arb_mat(np.diag(spread).tolist()) - onto * weighed
        step = _times(onto, r) - _times(along, g)
        parts = ((r, np.asarray(y.tolist(), object)), (g, slope), (step, answer))
        residual = max(_upper(part) / _upper(whole) for part, whole in parts if _upper(whole) > 0)
        if not residual < _CERTAIN:
            raise ArithmeticError(f"the limit was found to {float(residual):.1e} only")
        return Truth(w, _middle(nu), rows, residual, onto, along)


def _upper(vector: Any) -> Any:
    return max(abs(arb(v)).upper() for v in vector)


def doubt(X: Any, y: Any, geometry: Geometry, exact: Truth) -> float:
    """The largest ‖δw‖₂/‖w‖₂, to first order, for relative changes of 2⁻⁵³ in all entries of X and y.

    δw = A(δy − δX w) + P δXᵀν, hence |δw| ≤ ε(|A|(|X||w| + |y|) + |P| |X|ᵀ|ν|). Samples that are exact
    combinations of others are not counted. Equal features are perturbed independently.
    """
    X, y = np.asarray(X, float)[exact.rows], np.asarray(y, float)[exact.rows]
    with mp.workdps(geometry.digits()), ctx.workdps(geometry.digits()):
        sizes = arb_mat(np.abs(X).tolist())
        w = np.array([_ball(abs(v)) for v in exact.predictor], object)
        rounding = _times(sizes, w) + np.array([arb(v) for v in np.abs(y).tolist()], object)
        pull = _times(sizes.transpose(), np.array([abs(v) for v in exact.dual], object))
        moves = _times(_absolute(exact.onto), rounding) + _times(_absolute(exact.along), pull)
        return EPS * float(_norm(moves) / _norm(w))


def _absolute(matrix: arb_mat) -> arb_mat:
    return arb_mat([[abs(v.mid()) for v in row] for row in matrix.tolist()])


def _norm(vector: Any) -> Any:
    return sum(v.mid() ** 2 for v in vector).sqrt()


def scattered(X: Any, rng: np.random.Generator) -> np.ndarray:
    """Signs (N, d + 1) for X and y at random."""
    return rng.choice([-1, 1], (len(X), np.shape(X)[1] + 1))


def tilted(X: Any, exact: Truth) -> np.ndarray:
    """The signs (N, d + 1) that favour features without weight in the solution and penalize the others.

    Near-ties are decided by Xᵀν; if depth and scale make Q almost a norm, its Hessian does not contain them.
    """
    w, nu = exact.floats, np.zeros(len(X))
    nu[exact.rows] = [float(v) for v in exact.dual]
    pull = np.where(np.abs(w) < 1e-3 * np.abs(w).max(), 1, -1) * np.where(w < 0, -1, 1)
    return np.column_stack(
        [np.where(np.asarray(X, float) * nu[:, None] < 0, -1, 1) * pull, np.zeros(len(X), int)]
    )


def moved(X: Any, y: Any, geometry: Geometry, exact: Truth, signs: np.ndarray) -> float:
    """‖δw‖₂/‖w‖₂ for relative changes of 2⁻⁵³ in all entries of X and y with these signs, by a second
    solution."""
    shift = np.frompyfunc(lambda v, sign: (arb(float(v)) * (1 + arb(EPS) * int(sign))).mid(), 2, 1)
    with ctx.workdps(60):
        data = shift(np.column_stack([X, y]), signs)
    other = truth(data[:, :-1], data[:, -1], geometry, exact.rows, exact.floats).predictor
    with mp.workdps(60):
        return float(mp.norm(other - exact.predictor) / mp.norm(exact.predictor))
