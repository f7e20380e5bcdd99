r"""Minimize the nuclear norm under linear measurements, with multipliers that certify the minimum.

    min ‖M‖_* subject to ⟨X_n, M⟩ = y_n    =    max y·ν subject to ‖Σ ν_n X_n‖ ≤ 1 (operator norm)

First follow the interior path of the dual, with the barrier −τ Σ log(1 − s²) on the singular values s of G =
Σ ν_n X_n. This is a Schatten potential with q*' = 2τs/(1 − s²), whose minimizer exceeds the minimum norm by
less than τ per singular value. Then apply Newton's method on the face that the path has identified, of rank
r. With M = P K Rᵀ, where P and R are the singular vectors of G with singular value 1, the conditions are

    ⟨X_n, M⟩ = y_n,   sym(PᵀGR) = I,   the blocks of G between P, R and their complements vanish.

Their Jacobian consists of divided differences σᵢ/(1 ∓ ηⱼ) towards directions with slope η_j < 1; on the face
itself, where the norm is linear in K, there is no curvature. Positive semidefinite matrices of minimum trace,
the rich limit of W Wᵀ, are computed in the same way, with Σ ν_n X_n ⪯ I and the barrier −τ Σ log(1 − λ) on
the eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.numerics.rounding import EPS
from tacit.numerics.spectra import Frame
from tacit.potentials.arrays import quiet
from tacit.potentials.base import Potential
from tacit.potentials.spectral import MatrixPotential
from tacit.solvers.interpolation.accuracy import forward_error, slope_rounding
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.matrices import schatten
from tacit.solvers.matrices.measurements import Measurements

METHOD = "interior path of the dual and Newton's method on the face; primal-dual gap by the multipliers"
_TAU = (1e-5, 1e-7, 1e-9, 1e-11)  # barrier parameters, relative to M: the next one if the rank is not clear
_PROVED = 1e-12  # relative primal-dual gap that is round-off
_SETTLED = 1e-8  # relative gap at which the method has converged
_MAX_STEPS = 12  # Newton steps on a face
_UNMOVED = 4 * EPS  # relative size of a Newton step that is round-off
_DEPENDENT = 1e-13  # relative eigenvalue below which the equations of a face are dependent
_Point = tuple[float, Float, Float]  # of the path: τ, the singular values of M, and ν


def interpolate(potential: MatrixPotential, problem: Measurements) -> Solution:
    """argmin ‖M‖_* subject to the measurements."""
    return least_nuclear(problem)


def multipliers(
    potential: MatrixPotential, problem: Measurements, matrix: Float
) -> tuple[Float, float, float]:
    """Multipliers that certify or refute a matrix, its stationarity residual, and an error estimate.

    The multipliers are those of the minimizer. The error is the distance from that minimizer or, if smaller
    (M may be another minimizer), the square root of the gap: around a unique minimizer the norm grows at
    least quadratically with the distance.
    """
    found = least_nuclear(problem)
    nu = found.nu.value
    kkt = potential.stationarity(matrix, problem.adjoint(nu))
    size = float(np.linalg.norm(matrix)) or 1.0
    return nu, kkt, min(float(np.linalg.norm(matrix.ravel() - found.predictor)) / size, math.sqrt(kkt))


@dataclass(frozen=True, eq=False)
class _LogBarrier(Potential):
    """A scalar potential whose conjugate is a logarithmic barrier; log_scale: log τ."""

    log_scale: float

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        return replace(self, log_scale=self.log_scale + shift)


class _Barrier(_LogBarrier):
    """q with (q')⁻¹(s) = 2τs/(1 − s²): the conjugate of −τ log(1 − s²), the limit of infinite depth."""

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


class _PositiveBarrier(_LogBarrier):
    """q with (q')⁻¹(s) = τ/(1 − s): the conjugate of −τ log(1 − s), for w > 0."""

    def value(self, w: Float) -> Float:
        tau = np.exp(self.log_scale)
        return np.asarray(np.sum(w - tau - tau * np.log(w / tau)))

    def gradient(self, w: Float) -> Float:
        return 1 - np.exp(self.log_scale) / w

    def mirror(self, z: Float) -> Float:
        return np.where(z < 1, np.exp(self.log_scale) / np.where(z < 1, 1 - z, 1.0), np.nan)

    def hessian(self, w: Float) -> Float:
        return np.exp(self.log_scale) / w**2


class _Smoothed(MatrixPotential):
    """The barrier potential of singular values, or of eigenvalues if `positive`."""

    def __init__(self, tau: float, positive: bool):
        self.eigenvalues = positive
        self.potential = (_PositiveBarrier if positive else _Barrier)(float(np.log(tau)))


@quiet
def least_nuclear(problem: Measurements) -> Solution:
    """argmin ‖M‖_* subject to the measurements (and M ⪰ 0 if symmetric); the predictor is flattened.

    The multipliers satisfy ‖Σ ν_n X_n‖ ≤ 1, or Σ ν_n X_n ⪯ I if symmetric.
    """
    X, y = problem.equations.X, problem.equations.y
    if not y.any():
        return Solution.unmoved(np.zeros(X.shape[1]), len(y))
    size = float(np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0].reshape(problem.shape), 2))
    before: _Point | None = None
    steps, found = 0, []
    for tau in _TAU:
        known = None if before is None else (math.log(before[0] / tau), before[2])
        path = schatten.interpolate(_Smoothed(tau * size, problem.symmetric), problem, known)
        M, nu = path.predictor.reshape(problem.shape), path.nu.value
        here = (tau, np.linalg.svd(M)[1], nu)
        faces = _newton_on_face(problem, M, nu, _rank(problem, here, before))
        before = here
        steps += path.iterations + len(faces)
        found += [(*_with_gap(problem, M, nu), path.assess)]
        found += [(*_with_gap(problem, face.matrix, face.nu), face.error) for face in faces]
        gap, M, nu, assess = min(found, key=lambda each: each[0])
        if gap <= _PROVED:
            break
    return Solution(M.ravel(), Pair.of(nu), steps, bool(gap <= _SETTLED), assess)


def _with_gap(problem: Measurements, M: Float, nu: Float) -> tuple[float, Float, Float]:
    """The larger of the relative primal-dual gap and the relative residual; M; and ν, made feasible."""
    slopes = Frame.of(problem.adjoint(nu), problem.symmetric).values
    nu = nu / max(1.0, float(slopes.max()))
    norm, bound = float(np.linalg.norm(M, "nuc")), float(problem.equations.y @ nu)
    left = float(np.linalg.norm(problem.residual(M)) / np.linalg.norm(problem.equations.y))
    return max(abs(norm - bound) / (norm or 1.0), left), M, nu


@dataclass(frozen=True, eq=False)
class _Face:
    """A matrix of rank r with multipliers, and the linear equations of a Newton step on its face."""

    problem: Measurements
    matrix: Float
    nu: Float
    rank: int

    def frame(self) -> tuple[Frame, Float, Float]:
        """The singular vectors of M, completed by those of G on the complement; their σ and slopes."""
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
        """The Newton step (ρ, g) ↦ (dν, change of M), by a pseudo-inverse; and the frame."""
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
        W = np.where(free | (change == 0), 0.0, change / np.where(a - b > 0, a - b, EPS))
        F = rows[:, free]
        G = (rows * W) @ rows.T
        root = np.sqrt(float(np.trace(G)) / len(G) or 1.0)  # makes both kinds of unknowns of similar size
        matrix = np.block([[G, root * F], [root * F.T, np.zeros((F.shape[1],) * 2)]])
        inverse = np.linalg.pinv(matrix, rcond=_DEPENDENT, hermitian=True)

        def solve(rho: Float, g: Float) -> tuple[Float, Float]:
            gap = frame.coordinates(g.reshape(self.problem.shape))
            found = inverse @ np.concatenate([rho - rows @ (W * gap), -root * gap[free]])
            nu = found[: len(G)]
            moved = W * (rows.T @ nu + gap)
            moved[free] = root * found[len(G) :]
            return nu, frame.matrix(moved)

        return solve, frame

    def gap(self, frame: Frame) -> Float:
        """G without its part on the complement of the face, minus the identity on the face."""
        r, slope = self.rank, self.problem.adjoint(self.nu)
        P, R = frame.left, frame.right
        inner = P[:, r:] @ (P[:, r:].T @ slope @ R[:, r:]) @ R[:, r:].T
        return np.asarray(slope - inner - P[:, :r] @ R[:, :r].T)

    def step(self) -> _Face:
        """The result of a Newton step, truncated to rank r."""
        solve, frame = self.system()
        nu, change = solve(self.problem.residual(self.matrix), self.gap(frame))
        return replace(self, matrix=_of_rank(self.matrix + change, self.rank), nu=self.nu + nu)

    @quiet
    def error(self) -> float:
        """The relative forward error, from the next Newton step and the last bits of the data."""
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
    """The number of singular values σ that do not vanish with τ.

    On the path σ(1 − s) = τ, so either σ or 1 − s vanishes. A σ that has decreased by less than the root of
    the decrease of τ counts as nonzero; without a previous τ, a σ that is larger than its 1 − s.
    """
    tau, sigma, nu = here
    if before is not None:
        return int((sigma > before[1] * math.sqrt(tau / before[0])).sum())
    slopes = np.sort(Frame.of(problem.adjoint(nu), problem.symmetric).values)[::-1]
    return int((sigma / sigma[0] > 1 - slopes).sum())


def _newton_on_face(problem: Measurements, M: Float, nu: Float, rank: int) -> list[_Face]:
    """The iterates of Newton's method from a point of the path, on the face of matrices of this rank."""
    face = _Face(problem, _of_rank(M, rank), nu, rank)
    found: list[_Face] = []
    for _ in range(_MAX_STEPS):
        ahead = face.step()
        if not (np.isfinite(ahead.matrix).all() and np.isfinite(ahead.nu).all()):
            break
        found.append(ahead)
        moved = float(np.linalg.norm(ahead.matrix - face.matrix))
        if moved <= _UNMOVED * np.linalg.norm(ahead.matrix) or moved > np.linalg.norm(M):
            break
        face = ahead
    return found


def _of_rank(matrix: Float, rank: int) -> Float:
    """The nearest matrix of this rank."""
    left, sigma, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray((left[:, :rank] * sigma[:rank]) @ right[:rank])


def _largest_first(matrix: Float) -> tuple[Float, Float]:
    """Eigenvalues, in decreasing order, and eigenvectors of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix / 2 + matrix.T / 2)
    return values[::-1], vectors[:, ::-1]
