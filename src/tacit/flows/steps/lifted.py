r"""A stiff integrator for matrix factorizations with the square loss, for any scale of the initial weights.

The stacked weights W = [U; V] obey W' = Ā(p) W, where Ā(p) = Σ pₙĀₙ is the lift of the scaled residuals p =
−∂L/∂f, and the outputs are f = ½⟨Āₙ, W Wᵀ⟩: the lifted matrix M̄ = W Wᵀ obeys an autonomous equation
(Woodworth et al. 2020, Section 6). The integrator works with log M̄ (`Polar`), because from small weights
some directions grow by e^{27} while others shrink by as much and may grow back; in double precision M̄ loses
the small directions at once, and W soon. Only weights without full rank, which may come to rest before
fitting the data, are used directly.

Within a step the residuals p at the nodes of a collocation method are the only unknowns. Given these, W
follows from a linear system, in the frame that moves with the initial residual: on plateaus, where p is
constant, steps are as long as the growth allows. One eigendecomposition of the tangent kernel ⟨ĀₙW, ĀₘW⟩
serves Newton's method for every step size. Errors are measured in log W, by ∫‖Ā(δp)‖dt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tacit.data.arrays import Float
from tacit.flows.steps.radau import ROUNDING, STAGES, TOP, A, C
from tacit.flows.steps.radau_output_space import OutputSpaceFlow, Stages, System
from tacit.models.factors import Lift

_NEAR = 1.0  # ∫‖Ā‖dt up to which W itself is accurate, since its directions have similar sizes
_FULL = 1e-8  # smallest singular value of the initial weights, relative to the largest, for full rank


@dataclass(frozen=True, eq=False)
class _Stages(Stages):
    """Residuals at the nodes of a step and, in the moving frame, the rates of the directions there."""

    rates: Float  # (s, m, k)


class LiftedFlow(OutputSpaceFlow[_Stages]):
    """The flow from weights W.

    lift: measurements. y: targets. factor: the loss is factor·‖y − f‖². flat: makes one array of the weights.
    """

    def __init__(
        self,
        W: Float,
        lift: Lift,
        y: Float,
        factor: float,
        rtol: float,
        flat: Callable[[Float], Float],
        state: Callable[[float, Float], Any],
    ):
        super().__init__(rtol, state)
        self.lift, self.targets, self.factor, self.flat = lift, y, factor, flat
        self.first, self.moved, self.weights = W, np.zeros_like(W), Polar.of(W, lift.rows)
        self.full = _has_full_rank(W)
        self.growth = 0.0  # ∫‖Ā‖dt

    def residual(self, outputs: Float) -> Float:
        """−∂L/∂f."""
        return 2 * self.factor * (self.targets - outputs)

    def equations(self) -> _System:
        """The equations at the current weights."""
        start = self.weights
        W = self.first + self.moved
        residual = self.residual(self.lift.read(W))
        growth, frame = eigen(self.lift.lift(residual), self.lift.rows)
        values, vectors = np.linalg.eigh(2 * self.factor * self.lift.kernel(W))
        sizes = self.lift.size(W) + np.abs(self.targets)
        noise = float(ROUNDING * 2 * self.factor * np.linalg.norm(sizes))
        kernel = np.maximum(values, 0.0), vectors, noise
        return _System(self, residual, 1.0, *kernel, start, W, start.inner, growth, frame)

    def moves(self, system: _System, stages: _Stages) -> Callable[[float], Float]:
        """Go to the end of the step; return the displacement of all weights at fractions of it, flat."""
        origin, flat, self.growth = self.moved, self.flat, system.total_growth(stages)
        if self.growth < _NEAR or not self.full:
            self.moved = origin + system.displacement(stages, 1.0)
            self.weights = Polar.of(self.first + self.moved, self.lift.rows)
        else:
            self.weights = self.weights.propagated(system.propagator(stages))
            self.moved = self.weights.W - self.first
        end = self.moved
        return lambda fraction: flat(end if fraction == 1 else origin + system.displacement(stages, fraction))


def _has_full_rank(W: Float) -> bool:
    """Whether the weights have full row rank. Otherwise W can rest with a nonzero residual, but exp(H)
    cannot."""
    sizes = np.linalg.svd(W, compute_uv=False)
    return W.shape[1] >= W.shape[0] and bool(sizes[-1] > _FULL * sizes[0])


@dataclass(frozen=True, eq=False)
class _System(System[LiftedFlow, _Stages]):
    """The equations of a step for any length: pᵢ = −∂L/∂f at node i."""

    start: Polar
    W: Float
    inner: Float  # exp(h) Eᵀ R W₀
    growth: Float  # eigenvalues of Ā at the beginning
    frame: Float  # its eigenvectors

    @property
    def speed(self) -> float:
        """‖Ā‖."""
        return float(np.abs(self.growth).max())

    def stages(self, h: float, residuals: Float) -> tuple[_Stages, Float]:
        """The rates for these residuals, and the outputs at the nodes."""
        m = len(self.growth)
        rotated = self.frame.T @ self.flow.lift.lift(residuals - self.start_residual) @ self.frame
        factors = np.exp(h * C[:, None] * self.growth)  # growth of the frame at the nodes
        driven = rotated * (factors[:, None, :] / factors[:, :, None])
        start = self.frame.T @ self.start.E
        blocks = np.eye(STAGES * m) - h * np.einsum("ij,jab->iajb", A, driven).reshape(STAGES * m, -1)
        Y = np.linalg.solve(blocks, np.tile(start, (STAGES, 1))).reshape(STAGES, m, -1)
        rates = driven @ Y
        changed = np.expm1(h * C[:, None] * self.growth)[:, :, None] * Y + h * np.tensordot(A, rates, 1)
        return _Stages(h, residuals, rates), self.flow.lift.read(self.W + self.frame @ (changed @ self.inner))

    def propagator(self, stages: _Stages) -> Float:
        """Ψ·E at the end of the step, where W = Ψ·W(0)."""
        return self.start.E + self._change_of(stages, 1.0)

    def displacement(self, stages: _Stages, fraction: float) -> Float:
        """The increment of W at a fraction of the step."""
        return np.asarray(self._change_of(stages, fraction) @ self.inner)

    def _change_of(self, stages: _Stages, fraction: float) -> Float:
        """(Ψ − I)·E."""
        driven = np.tensordot(stages.weights(fraction), stages.rates, 1)
        inside = self.frame.T @ self.start.E + driven
        return self.frame @ (np.expm1(stages.h * fraction * self.growth)[:, None] * inside + driven)

    def error(self, stages: _Stages) -> float:
        """The larger of the errors of the residuals and of the rates."""
        rates = np.concatenate([np.zeros_like(stages.rates[:1]), stages.rates])
        top = float(np.linalg.norm(np.tensordot(TOP, rates, 1)))
        significant = max(top - self.flow.lift.reach * self.noise, 0.0)
        return max(super().error(stages), stages.h * significant / min(1.0, self.total_growth(stages)))

    def total_growth(self, stages: _Stages) -> float:
        """∫‖Ā‖dt from the start to the end of the step."""
        norms = np.linalg.norm(self.flow.lift.lift(stages.residuals), axis=(1, 2))
        return self.flow.growth + float(stages.h * A[-1] @ norms)

    def change(self, stages: _Stages, residuals: Float) -> float:
        """Change of log W due to these residuals over the step, relative to min(1, ∫‖Ā‖dt)."""
        size = np.linalg.norm(self.flow.lift.lift(residuals))
        return float(stages.h * size / min(1.0, self.total_growth(stages)))


@dataclass(frozen=True, eq=False)
class Polar:
    """W = exp(H) R W₀ with R orthogonal and H symmetric, with eigenvalues h and eigenvectors E.

    The propagator of W' = Ā W with symmetric Ā has this polar form. For U Vᵀ, where Ā = [0 G; Gᵀ 0], the
    propagator Φ satisfies ΦᵀJΦ = J with J = diag(I, −I), so that H = [0 K; Kᵀ 0], and for every direction
    that grows by e^κ another one shrinks by e^κ. Stored in W, the latter has a relative error of 1e-16·e^{2κ}
    from the round-off of the former; H represents both accurately. If W₀W₀ᵀ = s²·I then M̄ = s² exp(2H).

    rows: number of rows of U if W = [U; V], where H = [0 K; Kᵀ 0] and R is block diagonal; None for a single
    factor.
    """

    E: Float
    h: Float
    R: Float
    first: Float  # W₀
    rows: int | None

    @classmethod
    def of(cls, W: Float, rows: int | None) -> Polar:
        """The start, H = 0."""
        m = len(W)
        return cls(np.eye(m), np.zeros(m), np.eye(m), W, rows)

    @property
    def inner(self) -> Float:
        """exp(h) Eᵀ R W₀."""
        return np.asarray(np.exp(self.h)[:, None] * (self.E.T @ (self.R @ self.first)))

    @property
    def W(self) -> Float:
        """The weights."""
        return np.asarray(self.E @ self.inner)

    def propagated(self, PsiE: Float) -> Polar:
        """The polar form of Ψ W, given Ψ E."""
        Z, sizes, T = graded_svd(PsiE * np.exp(self.h))
        R = Z @ (T.T @ (self.E.T @ self.R))
        H = (Z * np.log(sizes)) @ Z.T
        d = self.rows
        if d is None:
            R = _orthogonal(R)
        else:
            R = scipy.linalg.block_diag(_orthogonal(R[:d, :d]), _orthogonal(R[d:, d:]))
        h, E = eigen(H, d)
        return Polar(E, h, R, self.first, d)


def eigen(H: Float, rows: int | None) -> tuple[Float, Float]:
    """Eigenvalues and eigenvectors of H; for [0 K; Kᵀ 0] from the SVD of K, so that ±κ are exact pairs."""
    if rows is None:
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        return values, vectors
    P, kappa, Q = np.linalg.svd(H[:rows, rows:])
    n = len(kappa)
    above, below = P[:, :n] / np.sqrt(2), Q[:n].T / np.sqrt(2)
    pairs = np.block([[above, above], [below, -below]])
    rest = scipy.linalg.block_diag(P[:, n:], Q[n:].T)
    return np.concatenate([kappa, -kappa, np.zeros(len(H) - 2 * n)]), np.hstack([pairs, rest])


def _orthogonal(R: Float) -> Float:
    """The nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(R)
    return np.asarray(left @ right)


def graded_svd(G: Float) -> tuple[Float, Float, Float]:
    """G = Z diag(s) Tᵀ with high relative accuracy of every s for columns of any scale, block by block.

    Round-off in zero entries between decoupled blocks would be amplified with the modes, so blocks are kept
    apart.
    """
    m = len(G)
    pattern = np.zeros((2 * m, 2 * m), dtype=bool)
    pattern[:m, m:] = G != 0
    count, label = connected_components(csr_array(pattern), directed=False)
    if count == 1:
        return _jacobi_svd(G)
    Z, T, sizes = np.zeros((m, m)), np.zeros((m, m)), np.zeros(m)
    for block in range(count):
        rows, columns = np.flatnonzero(label[:m] == block), np.flatnonzero(label[m:] == block)
        place = np.ix_(rows, columns)
        Z[place], sizes[columns], T[np.ix_(columns, columns)] = _jacobi_svd(G[place])
    return Z, sizes, T


def _jacobi_svd(G: Float) -> tuple[Float, Float, Float]:
    """Singular value decomposition by Jacobi's method.

    Drmač and Veselić, New fast and accurate Jacobi SVD algorithm, SIAM J. Matrix Anal. Appl. 29 (2008).
    """
    scaled = G / np.abs(G).max()
    sizes, Z, T, work, _, info = scipy.linalg.lapack.dgejsv(scaled, joba=2, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError("Jacobi's method did not converge")
    return Z, sizes * (work[0] / work[1]) * np.abs(G).max(), T
