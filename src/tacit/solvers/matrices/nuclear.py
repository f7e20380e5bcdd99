r"""The least nuclear norm under linear measurements, with the multipliers that prove it.

    min ‖M‖_* subject to ⟨X_n, M⟩ = y_n    =    max y·ν subject to ‖Σ ν_n X_n‖ ≤ 1 (operator norm)

First the interior path of the dual, with the barrier −τ Σ log(1 − s²) on the singular values s of Σ ν_n X_n:
this is a Schatten potential of its own, q*' = 2τs/(1 − s²), and its matrix misses the least norm by less
than τ for every singular value. Then Newton's method on the face that the path has found, of rank r: with
M = P K Rᵀ, the singular vectors of slope 1, the conditions

    ⟨X_n, M⟩ = y_n,   sym(PᵀGR) = I,   the parts of G = Σ ν_n X_n between rows of P and others vanish

have a Jacobian of the same divided differences, σᵢ/(1 ∓ ηⱼ) towards a direction of slope η_j < 1, none on
the face itself, where the norm is linear in K. Positive semidefinite matrices of least trace, the rich end of
W Wᵀ, are found in the same way: Σ ν_n X_n ⪯ I, with the barrier −τ Σ log(1 − λ) on its eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.numerics.spectra import Frame
from tacit.potentials.arrays import quiet
from tacit.potentials.base import Potential
from tacit.potentials.spectral import MatrixPotential
from tacit.solvers.interpolation.accuracy import forward_error, slope_rounding
from tacit.solvers.interpolation.solution import Solution, no_error
from tacit.solvers.matrices import schatten
from tacit.solvers.matrices.measurements import Measurements

METHOD = "interior path of the dual, and Newton's method on the face; gap by the multipliers"
_TAU = (1e-5, 1e-7, 1e-9, 1e-11)  # of the barrier, relative to M: the next where one shows no face
_PROVED = 1e-12  # relative gap that is rounding
_SETTLED = 1e-8  # relative gap of a solution
_STEPS = 12
_EPS = float(np.finfo(np.float64).eps)
_Point = tuple[float, Float, Float]  # of the path: τ, the singular values of M, ν


def interpolate(potential: MatrixPotential, problem: Measurements) -> Solution:
    """argmin ‖M‖_* subject to the measurements."""
    return least_nuclear(problem)


def multipliers(
    potential: MatrixPotential, problem: Measurements, matrix: Float
) -> tuple[Float, float, float]:
    """The ν of a solution, which proves or refutes any other; stationarity, and relative error.

    The norm grows at least as the square of the distance from solutions that are single: where M is none of
    the solution found, the root of what it misses stands for its error.
    """
    found = least_nuclear(problem)
    nu = found.nu.value
    kkt = potential.stationarity(matrix, problem.adjoint(nu))
    size = float(np.linalg.norm(matrix)) or 1.0
    return nu, kkt, min(float(np.linalg.norm(matrix.ravel() - found.predictor)) / size, math.sqrt(kkt))


@dataclass(frozen=True, eq=False)
class _Barrier(Potential):
    """q with (q')⁻¹(s) = 2τs/(1 − s²): the conjugate of −τ log(1 − s²), depth ∞ of the diagonal networks."""

    log_scale: float

    def _parts(self, w: Float) -> tuple[float, Float, Float]:
        """τ, the slope s, and 1 − s²."""
        tau = float(np.exp(self.log_scale))
        total = tau + np.hypot(tau, w)
        return tau, w / total, 2 * tau / total

    def value(self, w: Float) -> Float:
        tau, s, slack = self._parts(w)
        return np.asarray(np.sum(w * s + tau * np.log(slack)))

    def gradient(self, w: Float) -> Float:
        return self._parts(w)[1]

    def mirror(self, z: Float) -> Float:
        inside = np.abs(z) < 1
        s = np.where(inside, z, 0.0)
        return np.where(inside, 2 * np.exp(self.log_scale) * s / ((1 - s) * (1 + s)), np.nan)

    def hessian(self, w: Float) -> Float:
        tau, s, slack = self._parts(w)
        return slack**2 / (2 * tau * (1 + s * s))

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        return replace(self, log_scale=self.log_scale + shift)


@dataclass(frozen=True, eq=False)
class _PositiveBarrier(Potential):
    """q with (q')⁻¹(s) = τ/(1 − s): the conjugate of −τ log(1 − s), for w > 0."""

    log_scale: float

    def value(self, w: Float) -> Float:
        tau = np.exp(self.log_scale)
        return np.asarray(np.sum(w - tau - tau * np.log(w / tau)))

    def gradient(self, w: Float) -> Float:
        return 1 - np.exp(self.log_scale) / w

    def mirror(self, z: Float) -> Float:
        return np.where(z < 1, np.exp(self.log_scale) / np.where(z < 1, 1 - z, 1.0), np.nan)

    def hessian(self, w: Float) -> Float:
        return np.exp(self.log_scale) / w**2

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        return replace(self, log_scale=self.log_scale + shift)


class _Smoothed(MatrixPotential):
    """The barrier on singular values, or eigenvalues."""

    def __init__(self, tau: float, positive: bool):
        self.eigenvalues = positive
        self.potential = (_PositiveBarrier if positive else _Barrier)(float(np.log(tau)))


@quiet
def least_nuclear(problem: Measurements) -> Solution:
    """argmin ‖M‖_* subject to the measurements, positive ones where M is symmetric; the predictor is flat.

    Multipliers keep ‖Σ ν_n X_n‖ ≤ 1, or Σ ν_n X_n ⪯ I.
    """
    X, y = problem.equations.X, problem.equations.y
    if not y.any():
        return Solution(np.zeros(X.shape[1]), Pair.of(np.zeros(len(y))), 0, True, no_error)
    size = float(np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0].reshape(problem.shape), 2))
    before: _Point | None = None
    steps, found = 0, []
    for tau in _TAU:
        known = None if before is None else (math.log(before[0] / tau), before[2])
        path = schatten.interpolate(_Smoothed(tau * size, problem.symmetric), problem, known)
        M, nu = path.predictor.reshape(problem.shape), path.nu.value
        here = (tau, np.linalg.svd(M)[1], nu)
        faces = _polished(problem, M, nu, _rank(problem, here, before))
        before = here
        steps += path.iterations + len(faces)
        found += [(*_judged(problem, M, nu), path.assess)]
        found += [(*_judged(problem, face.matrix, face.nu), face.error) for face in faces]
        gap, M, nu, assess = min(found, key=lambda each: each[0])
        if gap <= _PROVED:
            break
    return Solution(M.ravel(), Pair.of(nu), steps, bool(gap <= _SETTLED), assess)


def _judged(problem: Measurements, M: Float, nu: Float) -> tuple[float, Float, Float]:
    """What is missing from a proof, relative: of the norm, or of the measurements; with M and ν scaled."""
    slopes = Frame.of(problem.adjoint(nu), problem.symmetric).values
    nu = nu / max(1.0, float(slopes.max()))
    norm, bound = float(np.linalg.norm(M, "nuc")), float(problem.equations.y @ nu)
    left = float(np.linalg.norm(problem.residual(M)) / np.linalg.norm(problem.equations.y))
    return max(abs(norm - bound) / (norm or 1.0), left), M, nu


@dataclass(frozen=True, eq=False)
class _Face:
    """A matrix of rank r with multipliers, in the frame of both, and the linear equations of a step."""

    problem: Measurements
    matrix: Float
    nu: Float
    rank: int

    def frame(self) -> tuple[Frame, Float, Float]:
        """Singular vectors of M, then those of the slope between the others; σ and slopes of each."""
        slope, r = self.problem.adjoint(self.nu), self.rank
        if self.problem.symmetric:
            sigma, left = _largest_first(self.matrix)
            eta, P = _largest_first(left[:, r:].T @ slope @ left[:, r:])
            left = np.hstack([left[:, :r], left[:, r:] @ P])
            slopes = np.concatenate([np.ones(r), np.minimum(eta, 1.0)])
            return Frame(left, slopes, left, True), np.where(np.arange(len(eta) + r) < r, sigma, 0.0), slopes
        left, sigma, right = np.linalg.svd(self.matrix)
        P, eta, R = np.linalg.svd(left[:, r:].T @ slope @ right[r:].T)
        left, right = np.hstack([left[:, :r], left[:, r:] @ P]), np.vstack([right[:r], R @ right[r:]])
        slopes = np.concatenate([np.ones(r), np.minimum(eta, 1.0)])
        return Frame(left, slopes, right.T, False), np.where(np.arange(len(slopes)) < r, sigma, 0.0), slopes

    def system(self) -> tuple[Callable[[Float, Float], tuple[Float, Float]], Frame]:
        """(ρ, g) ↦ dν and the change of M, by the pseudo-inverse of the equations of the face."""
        frame, sigma, slopes = self.frame()
        rows = frame.coordinates(self.problem.stack)
        (a, b), size = frame.couples, len(slopes)
        i, j = np.triu_indices(size, 1)
        parts = [sigma, sigma[i] - sigma[j]]
        if not frame.symmetric:
            parts += [sigma[i] + sigma[j], np.repeat(sigma, len(frame.left) + len(frame.right) - 2 * size)]
        change = np.concatenate(parts)
        index = np.concatenate([np.arange(size), j])
        free = np.zeros(len(a), dtype=bool)
        free[: len(index)] = index < self.rank  # j > i: both on the face
        W = np.where(free | (change == 0), 0.0, change / np.where(a - b > 0, a - b, _EPS))
        F = rows[:, free]
        G = (rows * W) @ rows.T
        unit = float(np.trace(G)) / len(G) or 1.0  # so that both kinds of unknowns are of one size
        root = np.sqrt(unit)
        inverse = np.linalg.pinv(
            np.block([[G, root * F], [root * F.T, np.zeros((F.shape[1],) * 2)]]), rcond=1e-13, hermitian=True
        )

        def solve(rho: Float, g: Float) -> tuple[Float, Float]:
            gap = frame.coordinates(g.reshape(self.problem.shape))
            found = inverse @ np.concatenate([rho - rows @ (W * gap), -root * gap[free]])
            nu = found[: len(G)]
            moved = W * (rows.T @ nu + gap)
            moved[free] = root * found[len(G) :]
            return nu, frame.matrix(moved)

        return solve, frame

    def gap(self, frame: Frame) -> Float:
        """Σ ν_n X_n without the part that the face leaves free, and without I on it."""
        r, slope = self.rank, self.problem.adjoint(self.nu)
        P, R = frame.left, frame.right
        inner = P[:, r:] @ (P[:, r:].T @ slope @ R[:, r:]) @ R[:, r:].T
        return np.asarray(slope - inner - P[:, :r] @ R[:, :r].T)

    def step(self) -> _Face:
        """The next of Newton's method, back to rank r."""
        solve, frame = self.system()
        nu, change = solve(self.problem.residual(self.matrix), self.gap(frame))
        return replace(self, matrix=_of_rank(self.matrix + change, self.rank), nu=self.nu + nu)

    @quiet
    def error(self) -> float:
        """The relative forward error, from the next step and the last bits of the data."""
        solve, frame = self.system()
        rounding = slope_rounding(self.problem.equations, self.nu)
        return forward_error(
            self.problem.equations,
            lambda rho, g: solve(rho, g)[1].ravel(),
            self.matrix.ravel(),
            self.gap(frame).ravel(),
            rounding,
        )


def _rank(problem: Measurements, here: _Point, before: _Point | None) -> int:
    """How many singular values do not vanish with τ: on the path σ(1 − s) = τ, and one of the factors stays.

    By how σ has changed since a larger τ; without one, the larger of the factors is taken for what stays.
    """
    tau, sigma, nu = here
    if before is not None:
        return int((sigma > before[1] * math.sqrt(tau / before[0])).sum())
    slopes = np.sort(Frame.of(problem.adjoint(nu), problem.symmetric).values)[::-1]
    return int((sigma / sigma[0] > 1 - slopes).sum())


def _polished(problem: Measurements, M: Float, nu: Float, rank: int) -> list[_Face]:
    """The steps of Newton's method from a point of the path, on the face of this rank."""
    face = _Face(problem, _of_rank(M, rank), nu, rank)
    found: list[_Face] = []
    for _ in range(_STEPS):
        ahead = face.step()
        if not (np.isfinite(ahead.matrix).all() and np.isfinite(ahead.nu).all()):
            break
        found.append(ahead)
        moved = float(np.linalg.norm(ahead.matrix - face.matrix))
        if moved <= 4 * _EPS * np.linalg.norm(ahead.matrix) or moved > np.linalg.norm(M):
            break
        face = ahead
    return found


def _of_rank(matrix: Float, rank: int) -> Float:
    """The nearest matrix of this rank."""
    left, sigma, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray((left[:, :rank] * sigma[:rank]) @ right[:rank])


def _largest_first(matrix: Float) -> tuple[Float, Float]:
    """Eigenvalues and vectors."""
    values, vectors = np.linalg.eigh(matrix / 2 + matrix.T / 2)
    return values[::-1], vectors[:, ::-1]
