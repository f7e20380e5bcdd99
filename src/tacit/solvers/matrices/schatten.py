r"""The minimizer of a potential of the spectrum under linear measurements: Newton's method on multipliers.

    argmin Σ q(σ(M)) subject to ⟨X_n, M⟩ = y_n    ⟺    M = P (q')⁻¹(s) Rᵀ,  Σ ν_n X_n = P s Rᵀ,
    ν = argmin Σ q*(s) − y·ν

The dual is smooth and convex. In the frame (P, R) the derivative of M is diagonal, of divided differences of
(q')⁻¹ (`numerics.spectra`), so that a step is one for vectors, of d₁d₂ coordinates. Small scales are reached
along a path from a large one, where the problem is linear; ν is nearly a polynomial in their logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.spectra import Frame, divided
from tacit.potentials.arrays import quiet
from tacit.potentials.spectral import MatrixPotential
from tacit.solvers.interpolation.accuracy import forward_error, slope_rounding
from tacit.solvers.interpolation.solution import Solution, no_error
from tacit.solvers.matrices.measurements import Measurements

METHOD = "Newton's method on the multipliers, along a path of scales"
_EPS = float(np.finfo(np.float64).eps)
_STEPS, _HALVINGS, _POINTS = 100, 60, 400
_DESCENT = 1e-4  # of what a step of Newton promises (Armijo)
_NEXT = 1e-2  # relative residual from which the next point of the path is tried
_SETTLED = 1e-9  # relative size of the last step
_SMALL, _STALLED = 1e-5, 4  # relative size of steps that are rounding, if so many leave the residual
_SHORT, _LONG = 3, 6  # steps of Newton at a point, below which the path goes faster and above which slower
_CORRECTIONS, _NEARBY = 2, 1e-3  # last changes of M, and how large they may be, relative to it
_LIGHT = 1e-290  # relative weight that stands for none
_LOST, _NEAREST = 0.1, 1e-3  # relative residual at which a point is missed; and no nearer one is tried
_KNOWN = 3  # points of the path that the next is extrapolated from


@dataclass(frozen=True, eq=False)
class Place:
    """Multipliers, and the matrix that they make of a potential q of numbers."""

    q: Any
    nu: Float
    frame: Frame
    spectrum: Float
    dual: float

    @classmethod
    def at(cls, q: Any, problem: Measurements, nu: Float) -> Place:
        """The place of these multipliers; the dual function is not finite beyond the domain of slopes."""
        slope = problem.adjoint(nu)
        if not np.isfinite(slope).all():
            return cls(q, nu, Frame.of(np.zeros(problem.shape), problem.symmetric), nu, np.inf)
        frame = Frame.of(slope, problem.symmetric)
        spectrum = np.asarray(q.mirror(frame.values), dtype=float)
        dual = float(frame.values @ spectrum - q.value(spectrum) - problem.equations.y @ nu)
        return cls(q, nu, frame, spectrum, dual if np.isfinite(spectrum).all() else np.inf)

    @cached_property
    def matrix(self) -> Float:
        """M."""
        return self.frame.with_spectrum(self.spectrum)

    @cached_property
    def inverse_hessian(self) -> Float:
        """(∇²Q)⁻¹ at M, in the frame: divided differences of the mirror map."""
        return inverse_stiffness(self.q, self.frame)

    def step(self, problem: Measurements, residual: Float) -> tuple[Float, Float]:
        """dν with the Hessian of the dual, and the change of M that it makes to first order."""
        rows = self.frame.coordinates(problem.stack)
        nu, slope = newton_direction(rows, self.inverse_hessian, residual, np.zeros(rows.shape[1]))
        return nu, self.frame.matrix(self.inverse_hessian * slope)


def inverse_stiffness(q: Any, frame: Frame) -> Float:
    """Divided differences of (q')⁻¹ over the spectrum of a slope."""
    return divided(q.mirror, lambda z: 1 / q.hessian(q.mirror(z)), *frame.couples)


@quiet
def interpolate(
    potential: MatrixPotential, problem: Measurements, known: tuple[float, Float] | None = None
) -> Solution:
    """argmin Q(M) subject to the measurements; the predictor is flat.

    known: multipliers at a larger scale, and the logarithm of how much larger it is.
    """
    y, q = problem.equations.y, potential.potential
    if len(y) == 0:
        start = np.diag(q.start(problem.shape[0])) if problem.symmetric else np.zeros(problem.shape)
        return Solution(start.ravel(), Pair.of(y), 0, True, no_error)
    place, steps = _along(q, problem) if known is None else _onwards(q, problem, *known)
    place, moved, more = converge(place, problem, _SETTLED)
    matrix, lost = _corrected(place, problem)
    settled = bool(min(moved, lost) <= _SETTLED or not y.any())

    def assess() -> float:
        move = problem.move(place.frame, place.inverse_hessian)
        rounding = slope_rounding(problem.equations, place.nu) + _EPS * np.abs(place.frame.values).max()
        return lost + forward_error(problem.equations, move, matrix.ravel(), 0.0, rounding)

    return Solution(matrix.ravel(), Pair.of(place.nu), steps + more, settled, assess)


def _corrected(place: Place, problem: Measurements) -> tuple[Float, float]:
    """M with what the rounding of slopes left of its measurements made up, and how much that was."""
    matrix, lost, size = place.matrix, 0.0, float(np.linalg.norm(place.matrix)) or 1.0
    for _ in range(_CORRECTIONS):
        change = place.step(problem, problem.residual(matrix))[1]
        moved = float(np.linalg.norm(change)) / size
        lost = max(lost, moved)
        if not moved <= _NEARBY:
            break
        matrix = matrix + change
    return matrix, lost


@quiet
def multipliers(
    potential: MatrixPotential, problem: Measurements, matrix: Float
) -> tuple[Float, float, float]:
    """The best ν found for a matrix, the stationarity that it leaves, and an estimate of the error."""
    q, frame, y = potential.potential, Frame.of(matrix, potential.eigenvalues), problem.equations.y
    target = np.zeros(len(frame.couples[0]))
    target[: len(frame.values)] = q.gradient(frame.values)
    W = 1 / divided(q.gradient, q.hessian, *frame.couples)
    if not (np.isfinite(target).all() and np.isfinite(W).all() and W.max() > 0):
        return np.zeros(len(y)), math.inf, math.inf
    rows = frame.coordinates(problem.stack)
    tries = []
    for root in (np.sqrt(W / W.max()), np.ones_like(W)):  # as Newton's method weighs, and all alike
        nu = np.linalg.lstsq((rows * root).T, root * target, rcond=None)[0]
        tries.append((potential.stationarity(matrix, problem.adjoint(nu)), nu))
    kkt, nu = min(tries, key=lambda each: each[0])
    slope = problem.adjoint(nu)
    gap = slope - potential.nearest_slope(matrix, slope)
    move = problem.move(frame, np.maximum(W, _LIGHT * W.max()))
    rounding = slope_rounding(problem.equations, nu)
    return nu, kkt, forward_error(problem.equations, move, matrix.ravel(), gap.ravel(), rounding)


def converge(place: Place, problem: Measurements, enough: float) -> tuple[Place, float, int]:
    """Newton's method with a search along every step, until it moves M by less than this or no further."""
    moved, best, stalled = np.inf, np.inf, 0
    for steps in range(_STEPS):
        residual = problem.residual(place.matrix)
        left = float(np.linalg.norm(residual))
        if (np.abs(residual) <= 4 * problem.rounding(place.matrix)).all():
            return place, min(moved, enough), steps
        best, stalled = (left, 0) if left < best / 2 else (best, stalled + 1)
        if stalled and (moved <= enough or (stalled >= _STALLED and moved <= _SMALL)):
            return place, moved, steps
        step = place.step(problem, residual)[0]
        ahead = _searched(place, problem, step, float(residual @ step))
        if ahead is None:
            return place, moved, steps
        size = float(np.linalg.norm(ahead.matrix)) or 1.0
        moved = float(np.linalg.norm(ahead.matrix - place.matrix)) / size
        place = ahead
        if moved <= enough and enough > _SETTLED:
            return place, moved, steps
    return place, moved, _STEPS


def _searched(place: Place, problem: Measurements, step: Float, promised: float) -> Place | None:
    """The longest of halved steps that lowers the dual function enough, or to rounding; None if none does."""
    length, terms = 1.0, float(np.abs(problem.equations.y * place.nu).sum())
    noise = 8 * _EPS * (abs(place.dual) + terms)
    for _ in range(_HALVINGS):
        ahead = Place.at(place.q, problem, place.nu + length * step)
        if place.dual - ahead.dual + noise >= _DESCENT * length * promised:
            return ahead
        length /= 2
    return None


def _along(q: Any, problem: Measurements) -> tuple[Place, int]:
    """A place near the solution: from a scale at which it is linear, where q has a scale."""
    still = Place.at(q, problem, np.zeros(len(problem.equations.y)))
    target = still.step(problem, problem.residual(still.matrix))[1] + still.matrix
    reach = float(np.linalg.norm(target, 2))
    here = float(np.abs(q.mirror(np.ones(1) / 2)).max())  # size at which q' is ½
    level = np.log(reach / here) if reach > 0 and here > 0 else 0.0
    if q.shifted(0.0) is None or not level > 0:
        return still, 0
    return _onwards(q, problem, level, still.nu)


def _onwards(q: Any, problem: Measurements, level: float, nu: Float) -> tuple[Place, int]:
    """From multipliers at a scale e^level times as large, to points that are nearer where one is missed.

    Next to the edge of the domain of slopes, which is curved, Newton's method creeps.
    """
    known: list[tuple[float, Float]] = [(level, nu)]
    pace, total, size = 1.0, 0, float(np.linalg.norm(problem.equations.y))
    place = Place.at(q, problem, nu)
    for _ in range(_POINTS):
        place = Place.at(q.shifted(level), problem, _extrapolated(known, level))
        if not np.isfinite(place.dual):
            place = Place.at(q.shifted(level), problem, known[-1][1])
        place, _, steps = converge(place, problem, _NEXT)
        total += steps
        last, left = known[-1][0], float(np.linalg.norm(problem.residual(place.matrix)))
        if left > _LOST * size and last - level > _NEAREST:
            pace = (last - level) / 4
            level = last - pace
            continue
        known = [*(each for each in known[1 - _KNOWN :] if each[0] > level), (level, place.nu)]
        if level == 0:
            break
        pace *= 2.0 if steps <= _SHORT else 0.5 if steps > _LONG else 1.0
        level = max(level - pace, 0.0)
    return Place.at(q, problem, place.nu), total


def _extrapolated(known: list[tuple[float, Float]], level: float) -> Float:
    """The polynomial through the points that are known."""
    powers = np.vander([at - level for at, _ in known], increasing=True)
    return np.asarray(np.linalg.inv(powers)[0] @ np.array([nu for _, nu in known]))
