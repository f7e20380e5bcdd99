r"""Minimize a potential of the spectrum under linear measurements, by Newton's method on the multipliers.

    argmin Σ q(σ(M)) subject to ⟨X_n, M⟩ = y_n    ⟺    M = P (q')⁻¹(s) Rᵀ,  Σ ν_n X_n = P s Rᵀ,
    ν = argmin Σ q*(s) − y·ν

The dual is smooth and convex. In the frame (P, R) the derivative of M is diagonal, with divided differences
of (q')⁻¹ as entries (`numerics.spectra`), so a Newton step is that of a vector problem with d₁d₂ coordinates.
Started directly at a small scale, Newton's method would leave the domain of the mirror map; small scales are
reached by continuation from a large one, at which the problem is linear. Along it ν is nearly a polynomial
in the logarithm of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import EPS
from tacit.numerics.spectra import Frame, divided
from tacit.potentials.arrays import quiet
from tacit.potentials.spectral import MatrixPotential
from tacit.solvers.families.separable import extrapolate
from tacit.solvers.families.smooth import line_search
from tacit.solvers.interpolation.accuracy import forward_error, slope_rounding
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.matrices.measurements import Measurements

METHOD = "Newton's method on the multipliers, along a path of scales"
_STEPS, _POINTS = 100, 400  # largest number of Newton steps at a point, and of points on the path
_AT_ROUNDOFF = 4  # multiple of its round-off below which a residual cannot be improved
_NEXT = 1e-2  # relative step at which the path goes on to its next point
_SETTLED = 1e-9  # relative step at which Newton's method has converged
# This many steps smaller than _SMALL that do not reduce the residual are round-off.
_SMALL, _STALLED = 1e-5, 4
_SHORT, _LONG = 3, 6  # Newton steps at a point below (above) which the steps of the path are doubled (halved)
_CORRECTIONS, _MAX_CORRECTION = 2, 1e-3  # final corrections of M, and their largest relative size
_LIGHT = 1e-290  # relative weight in place of 0
_LOST = 0.1  # relative residual at which a point of the path has not been reached
_SHORTEST = 1e-3  # shortest step of the path, in the logarithm of the scale
_KNOWN = 3  # points of the path from which the next is extrapolated


@dataclass(frozen=True, eq=False)
class Place:
    """Multipliers ν and the matrix M = (∇Q)⁻¹(Σ ν_n X_n) for a scalar potential q."""

    q: Any
    nu: Float
    frame: Frame
    spectrum: Float
    dual: float

    @classmethod
    def at(cls, q: Any, problem: Measurements, nu: Float) -> Place:
        """The place at ν; outside the domain of the mirror map its dual function is ∞."""
        slope = problem.adjoint(nu)
        if not np.isfinite(slope).all():
            return cls(q, nu, Frame.of(np.zeros(problem.shape), problem.symmetric), nu, np.inf)
        frame = Frame.of(slope, problem.symmetric)
        spectrum = np.asarray(q.mirror(frame.values), dtype=float)
        dual = float(frame.values @ spectrum - q.value(spectrum) - problem.equations.y @ nu)
        return cls(q, nu, frame, spectrum, dual if np.isfinite(spectrum).all() else np.inf)

    @property
    def inside(self) -> bool:
        """Whether Σ ν_n X_n is in the domain of the mirror map."""
        return bool(np.isfinite(self.dual))

    @cached_property
    def matrix(self) -> Float:
        """M."""
        return self.frame.with_spectrum(self.spectrum)

    @cached_property
    def inverse_hessian(self) -> Float:
        """(∇²Q)⁻¹ at M, in the frame: divided differences of the mirror map."""
        return inverse_stiffness(self.q, self.frame)

    def step(self, problem: Measurements, residual: Float) -> tuple[Float, Float]:
        """The Newton step dν of the dual problem, and the first-order change of M."""
        rows = self.frame.coordinates(problem.stack)
        nu, slope = newton_direction(rows, self.inverse_hessian, residual, np.zeros(rows.shape[1]))
        return nu, self.frame.matrix(self.inverse_hessian * slope)


def inverse_stiffness(q: Any, frame: Frame) -> Float:
    """Divided differences of (q')⁻¹ over the spectrum of a gradient."""
    return divided(q.mirror, lambda z: 1 / q.hessian(q.mirror(z)), *frame.couples)


@quiet
def interpolate(
    potential: MatrixPotential, problem: Measurements, known: tuple[float, Float] | None = None
) -> Solution:
    """argmin Q(M) subject to the measurements; the predictor is flattened.

    known: (log of the ratio of scales, multipliers) of the solution at a larger scale.
    """
    y, q = problem.equations.y, potential.potential
    if len(y) == 0:
        start = np.diag(q.start(problem.shape[0])) if problem.symmetric else np.zeros(problem.shape)
        return Solution.unmoved(start.ravel(), 0)
    place, steps = _from_linear_scale(q, problem) if known is None else _continue(q, problem, *known)
    place, moved, more = converge(place, problem, _SETTLED)
    matrix, lost = _corrected(place, problem)
    settled = bool(min(moved, lost) <= _SETTLED or not y.any())

    def assess() -> float:
        move = problem.move(place.frame, place.inverse_hessian)
        rounding = slope_rounding(problem.equations, place.nu) + EPS * np.abs(place.frame.values).max()
        return lost + forward_error(problem.equations, move, matrix.ravel(), 0.0, rounding)

    return Solution(matrix.ravel(), Pair.of(place.nu), steps + more, settled, assess)


def _corrected(place: Place, problem: Measurements) -> tuple[Float, float]:
    """M with the residual due to the round-off of slopes removed, and the relative size of the correction."""
    matrix, lost, size = place.matrix, 0.0, float(np.linalg.norm(place.matrix)) or 1.0
    for _ in range(_CORRECTIONS):
        change = place.step(problem, problem.residual(matrix))[1]
        moved = float(np.linalg.norm(change)) / size
        lost = max(lost, moved)
        if not moved <= _MAX_CORRECTION:
            break
        matrix = matrix + change
    return matrix, lost


@quiet
def multipliers(
    potential: MatrixPotential, problem: Measurements, matrix: Float
) -> tuple[Float, float, float]:
    """The best multipliers found for a matrix, their stationarity residual, and an error estimate."""
    q, frame, y = potential.potential, Frame.of(matrix, potential.eigenvalues), problem.equations.y
    target = np.zeros(len(frame.couples[0]))
    target[: len(frame.values)] = q.gradient(frame.values)
    W = 1 / divided(q.gradient, q.hessian, *frame.couples)
    if not (np.isfinite(target).all() and np.isfinite(W).all() and W.max() > 0):
        return np.zeros(len(y)), math.inf, math.inf
    rows = frame.coordinates(problem.stack)
    tries = []
    for root in (np.sqrt(W / W.max()), np.ones_like(W)):  # with the weights of Newton's method, and without
        nu = np.linalg.lstsq((rows * root).T, root * target, rcond=None)[0]
        tries.append((potential.stationarity(matrix, problem.adjoint(nu)), nu))
    kkt, nu = min(tries, key=lambda each: each[0])
    slope = problem.adjoint(nu)
    gap = slope - potential.nearest_slope(matrix, slope)
    move = problem.move(frame, np.maximum(W, _LIGHT * W.max()))
    rounding = slope_rounding(problem.equations, nu)
    return nu, kkt, forward_error(problem.equations, move, matrix.ravel(), gap.ravel(), rounding)


def converge(place: Place, problem: Measurements, enough: float) -> tuple[Place, float, int]:
    """Newton's method with line search, until a step changes M by less than `enough` or makes no progress."""
    moved, best, stalled = np.inf, np.inf, 0
    for steps in range(_STEPS):
        residual = problem.residual(place.matrix)
        left = float(np.linalg.norm(residual))
        if (np.abs(residual) <= _AT_ROUNDOFF * problem.rounding(place.matrix)).all():
            return place, min(moved, enough), steps
        best, stalled = (left, 0) if left < best / 2 else (best, stalled + 1)
        if stalled and (moved <= enough or (stalled >= _STALLED and moved <= _SMALL)):
            return place, moved, steps
        step = place.step(problem, residual)[0]
        at = partial(Place.at, place.q, problem)
        ahead, _ = line_search(at, place, step, float(residual @ step), EPS, problem.equations.y)
        if ahead is None:
            return place, moved, steps
        size = float(np.linalg.norm(ahead.matrix)) or 1.0
        moved = float(np.linalg.norm(ahead.matrix - place.matrix)) / size
        place = ahead
        if moved <= enough and enough > _SETTLED:
            return place, moved, steps
    return place, moved, _STEPS


def _from_linear_scale(q: Any, problem: Measurements) -> tuple[Place, int]:
    """A place near the solution, by continuation from a scale at which q is quadratic (if q has a scale)."""
    still = Place.at(q, problem, np.zeros(len(problem.equations.y)))
    target = still.step(problem, problem.residual(still.matrix))[1] + still.matrix
    reach = float(np.linalg.norm(target, 2))
    here = float(np.abs(q.mirror(np.ones(1) / 2)).max())  # size at which q' is ½
    level = np.log(reach / here) if reach > 0 and here > 0 else 0.0
    if q.shifted(0.0) is None or not level > 0:
        return still, 0
    return _continue(q, problem, level, still.nu)


def _continue(q: Any, problem: Measurements, level: float, nu: Float) -> tuple[Place, int]:
    """Continuation from multipliers at a scale e^level times as large; failed steps are shortened.

    Next to the (curved) boundary of the domain of the mirror map Newton's method makes only short steps, so
    that a point may be missed even though its iterations do not diverge.
    """
    known: list[tuple[float, Float]] = [(level, nu)]
    stride, total, size = 1.0, 0, float(np.linalg.norm(problem.equations.y))
    place = Place.at(q, problem, nu)
    for _ in range(_POINTS):
        place = Place.at(q.shifted(level), problem, extrapolate(known, level))
        if not np.isfinite(place.dual):
            place = Place.at(q.shifted(level), problem, known[-1][1])
        place, _, steps = converge(place, problem, _NEXT)
        total += steps
        last, left = known[-1][0], float(np.linalg.norm(problem.residual(place.matrix)))
        if left > _LOST * size and last - level > _SHORTEST:
            stride = (last - level) / 4
            level = last - stride
            continue
        known = [*(each for each in known[1 - _KNOWN :] if each[0] > level), (level, place.nu)]
        if level == 0:
            break
        stride *= 2.0 if steps <= _SHORT else 0.5 if steps > _LONG else 1.0
        level = max(level - stride, 0.0)
    return Place.at(q, problem, place.nu), total
