r"""A stiff integrator for matrix factorizations under the square loss, for every scale of their start.

The stacked weights W = [U; V] obey W' = Ā(p) W, with Ā(p) = Σ pₙĀₙ the lift of the pulls p = −∂L/∂f, and the
outputs are f = ½⟨Āₙ, W Wᵀ⟩: the lifted matrix M̄ = W Wᵀ obeys an autonomous equation (Woodworth et al. 2020,
Section 6). Integrated is neither M̄ nor W but log M̄, as `polar` tells: from small weights some directions grow
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

from tacit.data.arrays import Float
from tacit.flows.steps.polar import Polar, eigen
from tacit.flows.steps.pulls import PulledFlow, Stages, System
from tacit.flows.steps.radau import ROUNDING, STAGES, TOP, A, C

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
    """The flow from weights W, with the steps of a solver of SciPy.

    lift: the measurements. y: their targets. factor: of the loss, factor·‖y − f‖². flat: puts weights into
    one array.
    """

    def __init__(
        self, W: Float, lift: Lift, y: Float, factor: float, rtol: float, flat: Callable[[Float], Float]
    ):
        super().__init__(rtol)
        self.lift, self.targets, self.factor, self.flat = lift, y, factor, flat
        self.first, self.moved, self.weights = W, np.zeros_like(W), Polar.of(W, lift.rows)
        self.full = _has_full_rank(W)
        self.way = 0.0  # ∫‖Ā‖dt
        self.taken: _System | None = None

    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f."""
        return 2 * self.factor * (self.targets - outputs)

    def system(self) -> _System:
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

    def accept(self, system: _System, stages: _Stages) -> None:
        """Go to the end of the step."""
        self.taken, self.origin, self.way = system, self.moved, system.way(stages)
        if self.way < _NEAR or not self.full:
            self.moved = self.origin + system.displacement(stages, 1.0)
            self.weights = Polar.of(self.first + self.moved, self.lift.rows)
        else:
            self.weights = self.weights.times(system.moved(stages, 1.0))
            self.moved = self.weights.W - self.first

    @property
    def y(self) -> Float:
        """Displacements of all weights from the start, flat."""
        return self.flat(self.moved)

    def dense_output(self) -> Any:
        """Displacements of all weights from the start, flat, at times of the last step."""
        system, stages, before, origin = self.taken, self.last, self.before, self.origin
        assert system is not None and stages is not None

        def displaced(clock: float) -> Float:
            return self.flat(origin + system.displacement(stages, (clock - before) / stages.h))

        return displaced


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
