r"""A stiff integrator for matrix factorizations under the square loss, for every scale of their start.

The stacked weights W = [U; V] obey W' = Ā(p) W, with Ā(p) = Σ pₙĀₙ the lift of the pulls p = −∂L/∂f, and the
outputs are f = ½⟨Āₙ, W Wᵀ⟩: the lifted matrix M̄ = W Wᵀ obeys an autonomous equation (Woodworth et al. 2020,
Section 6). Integrated is neither M̄ nor W but log M̄, as `Polar` tells: from small weights some directions grow
by e^{27} while others shrink as much, and may grow back, and in floats M̄ loses these at once and W soon.
Only weights of less than full rank, which may rest short of the data, are taken as they are.

Within a step the pulls at the nodes of a collocation method are the only unknowns. Given these, W follows
from a linear system, in the frame that moves with the pull at the beginning: on plateaus, where that is
constant, steps are as long as the growth allows. For Newton's method one eigendecomposition of the tangent
kernel ⟨ĀₙW, ĀₘW⟩ serves every step length. Errors are measured as those of log W, by ∫‖Ā(δp)‖dt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tacit.data.arrays import Float
from tacit.flows.steps.radau import ROUNDING, STAGES, TOP, A, C
from tacit.flows.steps.radau_output_space import PulledFlow, Stages, System

_NEAR = 1.0  # ∫‖Ā‖ up to which no direction of W is so much smaller than another that floats lose it
_FULL = 1e-8  # of the largest singular value of the weights at the start


class Lift(Protocol):
    """What the flow asks of the measurements of a lifted matrix.

    rows: those of U, where W = [U; V]; None for W alone. reach: the largest ‖Ā(p)‖ at ‖p‖ = 1.
    """

    rows: int | None
    reach: float

    def lift(self, pulls: Float) -> Float:
        """Ā(p) = Σ pₙĀₙ, over leading axes."""
        ...

    def read(self, W: Float) -> Float:
        """½⟨Āₙ, W Wᵀ⟩, over leading axes."""
        ...

    def kernel(self, W: Float) -> Float:
        """⟨ĀₙW, ĀₘW⟩."""
        ...

    def size(self, W: Float) -> Float:
        """Sums of absolute values that the outputs are made of."""
        ...


@dataclass(frozen=True, eq=False)
class _Stages(Stages):
    """Pulls at the nodes of a step and, in the moving frame, the rates of the directions there."""

    rates: Float  # (s, m, k)


class LiftedFlow(PulledFlow[_Stages]):
    """The flow from weights W.

    lift: the measurements. y: their targets. factor: of the loss, factor·‖y − f‖². flat: puts weights into
    one array.
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
        self.way = 0.0  # ∫‖Ā‖dt

    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f."""
        return 2 * self.factor * (self.targets - outputs)

    def equations(self) -> _System:
        """That of the weights which the flow has reached."""
        start = self.weights
        W = self.first + self.moved
        pull = self.pull(self.lift.read(W))
        growth, frame = eigen(self.lift.lift(pull), self.lift.rows)
        values, turn = np.linalg.eigh(2 * self.factor * self.lift.kernel(W))
        sizes = self.lift.size(W) + np.abs(self.targets)
        noise = float(ROUNDING * 2 * self.factor * np.linalg.norm(sizes))
        kernel = np.maximum(values, 0.0), turn, noise
        return _System(self, pull, 1.0, *kernel, start, W, start.inner, growth, frame)

    def moves(self, system: _System, stages: _Stages) -> Callable[[float], Float]:
        """Displacements of all weights from the start, flat."""
        origin, flat, self.way = self.moved, self.flat, system.way(stages)
        if self.way < _NEAR or not self.full:
            self.moved = origin + system.displacement(stages, 1.0)
            self.weights = Polar.of(self.first + self.moved, self.lift.rows)
        else:
            self.weights = self.weights.times(system.moved(stages, 1.0))
            self.moved = self.weights.W - self.first
        end = self.moved
        return lambda part: flat(end if part == 1 else origin + system.displacement(stages, part))


def _has_full_rank(W: Float) -> bool:
    """Do the weights span all rows? Those that do not can rest while a pull remains, and exp(H) cannot."""
    sizes = np.linalg.svd(W, compute_uv=False)
    return W.shape[1] >= W.shape[0] and bool(sizes[-1] > _FULL * sizes[0])


@dataclass(frozen=True, eq=False)
class _System(System[LiftedFlow, _Stages]):
    """The equations of a step from some weights, for any length: pᵢ = −∂L/∂f at the node i."""

    start: Polar
    W: Float
    inner: Float  # exp(h) Eᵀ R W₀
    growth: Float  # eigenvalues of Ā at the beginning, with its eigenvectors
    frame: Float

    @property
    def speed(self) -> float:
        """‖Ā‖."""
        return float(np.abs(self.growth).max())

    def stages(self, h: float, pulls: Float) -> tuple[_Stages, Float]:
        """The rates that these pulls make, and the outputs at the nodes."""
        m = len(self.growth)
        turned = self.frame.T @ self.flow.lift.lift(pulls - self.pull) @ self.frame
        ahead = np.exp(h * C[:, None] * self.growth)  # of the frame, at the nodes
        driven = turned * (ahead[:, None, :] / ahead[:, :, None])
        start = self.frame.T @ self.start.E
        blocks = np.eye(STAGES * m) - h * np.einsum("ij,jab->iajb", A, driven).reshape(STAGES * m, -1)
        Y = np.linalg.solve(blocks, np.tile(start, (STAGES, 1))).reshape(STAGES, m, -1)
        rates = driven @ Y
        changed = np.expm1(h * C[:, None] * self.growth)[:, :, None] * Y + h * np.tensordot(A, rates, 1)
        return _Stages(h, pulls, rates), self.flow.lift.read(self.W + self.frame @ (changed @ self.inner))

    def moved(self, stages: _Stages, fraction: float) -> Float:
        """Ψ·E at a fraction of the step."""
        return self.start.E + self._change_of(stages, fraction)

    def displacement(self, stages: _Stages, fraction: float) -> Float:
        """What is added to W at a fraction of the step."""
        return np.asarray(self._change_of(stages, fraction) @ self.inner)

    def _change_of(self, stages: _Stages, fraction: float) -> Float:
        """(Ψ − I)·E."""
        driven = np.tensordot(stages.weights(fraction), stages.rates, 1)
        inside = self.frame.T @ self.start.E + driven
        return self.frame @ (np.expm1(stages.h * fraction * self.growth)[:, None] * inside + driven)

    def error(self, stages: _Stages) -> float:
        """That of the pulls, and the last divided difference of the rates."""
        rates = np.concatenate([np.zeros_like(stages.rates[:1]), stages.rates])
        told = max(
            float(np.linalg.norm(np.tensordot(TOP, rates, 1))) - self.flow.lift.reach * self.noise, 0.0
        )
        return max(super().error(stages), stages.h * told / min(1.0, self.way(stages)))

    def way(self, stages: _Stages) -> float:
        """∫‖Ā‖dt up to the end of the step."""
        norms = np.linalg.norm(self.flow.lift.lift(stages.pulls), axis=(1, 2))
        return self.flow.way + float(stages.h * A[-1] @ norms)

    def change(self, stages: _Stages, pulls: Float) -> float:
        """What pulls change of log W over the step, relative to how far it has come, at most to 1."""
        return float(stages.h * np.linalg.norm(self.flow.lift.lift(pulls)) / min(1.0, self.way(stages)))


@dataclass(frozen=True, eq=False)
class Polar:
    """W = exp(H) R W₀ with H symmetric, of eigenvalues h and -vectors E, and R orthogonal.


    W' = Ā W with Ā symmetric makes a propagator Φ = exp(H) R, with H symmetric and R orthogonal; of U Vᵀ,
    where Ā = [0 G; Gᵀ 0], it has ΦᵀJΦ = J with J = diag(I, −I), so that H = [0 K; Kᵀ 0] and every direction
    that grows by e^κ has another one that shrinks by e^κ. Floats that hold W know the second up to the
    rounding of the first, 1e-16·e^{2κ} of it; H knows both. From W₀W₀ᵀ = s²·I it is log M̄ itself,
    M̄ = s² exp(2H).

    rows: those of U, where W = [U; V]: there H = [0 K; Kᵀ 0] and R has blocks, too; None for W alone.
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

    def times(self, moved: Float) -> Polar:
        """The factors of Ψ W, from Ψ E."""
        Z, sizes, turn = graded_svd(moved * np.exp(self.h))
        R = Z @ (turn.T @ (self.E.T @ self.R))
        H = (Z * np.log(sizes)) @ Z.T
        d = self.rows
        if d is None:
            R = _orthogonal(R)
        else:
            R = scipy.linalg.block_diag(_orthogonal(R[:d, :d]), _orthogonal(R[d:, d:]))
        h, E = eigen(H, d)
        return Polar(E, h, R, self.first, d)


def eigen(H: Float, rows: int | None) -> tuple[Float, Float]:
    """Eigenvalues and -vectors of H; of [0 K; Kᵀ 0] those from K, ±κ and 0, which come in pairs exactly."""
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
    """G = Z diag(s) Tᵀ, every s to the last digits where G has columns of any sizes, block by block.

    What rounding adds to entries that are 0, between modes that never meet, would grow with them.
    """
    m = len(G)
    pattern = np.zeros((2 * m, 2 * m), dtype=bool)
    pattern[:m, m:] = G != 0
    count, label = connected_components(csr_array(pattern), directed=False)
    if count == 1:
        return _jacobi_svd(G)
    Z, turn, sizes = np.zeros((m, m)), np.zeros((m, m)), np.zeros(m)
    for block in range(count):
        rows, columns = np.flatnonzero(label[:m] == block), np.flatnonzero(label[m:] == block)
        Z[np.ix_(rows, columns)], sizes[columns], turn[np.ix_(columns, columns)] = _jacobi_svd(
            G[np.ix_(rows, columns)]
        )
    return Z, sizes, turn


def _jacobi_svd(G: Float) -> tuple[Float, Float, Float]:
    """By Jacobi's method.

    Drmač and Veselić, New fast and accurate Jacobi SVD algorithm, SIAM J. Matrix Anal. Appl. 29 (2008).
    """
    scaled = G / np.abs(G).max()
    sizes, Z, turn, work, _, info = scipy.linalg.lapack.dgejsv(scaled, joba=2, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError("Jacobi's method did not converge")
    return Z, sizes * (work[0] / work[1]) * np.abs(G).max(), turn
