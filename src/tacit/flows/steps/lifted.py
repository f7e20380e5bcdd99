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
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, ROUNDING, STAGES, TOP, A, C
from tacit.flows.steps.two_layers import broyden
from tacit.potentials.arrays import quiet

_ITERATIONS, _ATTEMPTS = 25, 200
_SETTLED = 1e-2  # of the tolerance, for the last step of Newton
_AWAY = 10.0  # growth of a step of Newton's method, over the least, at which it is given up
_LONGEST = 3.0  # ∫‖Ā‖ over a step
_NEAR = 1.0  # ∫‖Ā‖ up to which no direction of W is so much smaller than another that floats lose it
_FULL = 1e-8  # of the largest singular value of the weights at the start
_SMALLEST = 1e-290


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
class _Stages:
    """Pulls at the nodes of a step and, in the moving frame, the rates of the directions there."""

    h: float
    pulls: Float  # (s, N)
    rates: Float  # (s, m, k)


class LiftedFlow:
    """The flow from weights W, with the steps of a solver of SciPy.

    lift: the measurements. y: their targets. factor: of the loss, factor·‖y − f‖². flat: puts weights into
    one array.
    """

    def __init__(
        self, W: Float, lift: Lift, y: Float, factor: float, rtol: float, flat: Callable[[Float], Float]
    ):
        self.lift, self.targets, self.factor, self.rtol, self.flat = lift, y, factor, rtol, flat
        self.first, self.moved, self.weights = W, np.zeros_like(W), Polar.of(W, lift.rows)
        self.full = _has_full_rank(W)
        self.t, self.before, self.status = 0.0, 0.0, "running"
        self.way = 0.0  # ∫‖Ā‖dt
        self.h: float | None = None
        self.last: _Stages | None = None
        self.system: _System | None = None

    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f."""
        return 2 * self.factor * (self.targets - outputs)

    @quiet
    def step(self) -> str | None:
        """One step; a message if there is none."""
        system = _System.of(self)
        h = system.first_step() if self.h is None else min(self.h, system.longest())
        for _ in range(_ATTEMPTS):
            if not self.t + h > self.t:
                break
            stages = system.solve(h, self.last)
            error = np.inf if stages is None else system.error(stages) / self.rtol
            if stages is None or not error <= 1:
                h *= 0.25 if not np.isfinite(error) else max(0.1, 0.9 * error**ORDER)
                continue
            self._accept(system, stages)
            self.h = h * min(5.0, 0.9 * max(error, 1e-12) ** ORDER)
            return None
        self.status = "failed"
        return "no step is short enough"

    def _accept(self, system: _System, stages: _Stages) -> None:
        self.system, self.last, self.before, self.origin = system, stages, self.t, self.moved
        self.way = system.way(stages)
        self.t += stages.h
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
        system, stages, before, origin = self.system, self.last, self.before, self.origin
        assert system is not None and stages is not None

        def displaced(clock: float) -> Float:
            return self.flat(origin + system.displacement(stages, (clock - before) / stages.h))

        return displaced


def _has_full_rank(W: Float) -> bool:
    """Do the weights span all rows? Those that do not can rest while a pull remains, and exp(H) cannot."""
    sizes = np.linalg.svd(W, compute_uv=False)
    return W.shape[1] >= W.shape[0] and bool(sizes[-1] > _FULL * sizes[0])


@dataclass(frozen=True, eq=False)
class _System:
    """The equations of a step from some weights, for any length: pᵢ = −∂L/∂f at the node i."""

    flow: LiftedFlow
    start: Polar
    W: Float
    inner: Float  # exp(h) Eᵀ R W₀
    pull: Float
    growth: Float  # eigenvalues of Ā at the beginning, with its eigenvectors
    frame: Float
    values: Float  # of the tangent kernel times 2·factor, with its eigenvectors
    turn: Float
    noise: float  # of a pull

    @classmethod
    def of(cls, flow: LiftedFlow) -> _System:
        """That of the weights which the flow has reached."""
        start = flow.weights
        W = flow.first + flow.moved
        pull = flow.pull(flow.lift.read(W))
        growth, frame = eigen(flow.lift.lift(pull), flow.lift.rows)
        values, turn = np.linalg.eigh(2 * flow.factor * flow.lift.kernel(W))
        sizes = flow.lift.size(W) + np.abs(flow.targets)
        noise = float(ROUNDING * 2 * flow.factor * np.linalg.norm(sizes))
        return cls(flow, start, W, start.inner, pull, growth, frame, np.maximum(values, 0.0), turn, noise)

    def first_step(self) -> float:
        """A time in which neither the weights nor the residual change much."""
        return 1e-3 / max(float(np.abs(self.growth).max()), float(self.values.max()), _SMALLEST)

    def longest(self) -> float:
        """A step beyond which the weights that given pulls make, like exp(h‖Ā‖), are no way to find them."""
        return _LONGEST / max(float(np.abs(self.growth).max()), _SMALLEST)

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
        weights: Float = stages.h * (fraction ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        driven = np.tensordot(weights, stages.rates, 1)
        inside = self.frame.T @ self.start.E + driven
        return self.frame @ (np.expm1(stages.h * fraction * self.growth)[:, None] * inside + driven)

    def solve(self, h: float, last: _Stages | None) -> _Stages | None:
        """Simplified Newton, with the tangent kernel at the beginning; None if it does not settle."""
        pulls, change = self._guess(h, last), np.inf
        inverse = np.linalg.inv(np.eye(STAGES) + h * self.values[:, None, None] * A)
        taken: list[Float] = []
        for _ in range(_ITERATIONS):
            stages, outputs = self.stages(h, pulls)
            wrong = (self.flow.pull(outputs) - pulls) @ self.turn
            step = broyden(np.einsum("nij,jn->in", inverse, wrong), taken)
            taken.append(step)
            pulls = pulls + step @ self.turn.T
            now = self._change(stages, np.abs(step).max(axis=0))
            if not np.isfinite(now) or now > _AWAY * change:
                return None
            if now <= _SETTLED * self.flow.rtol:
                return self.stages(h, pulls)[0]
            change = min(now, change)
        return None

    def _guess(self, h: float, last: _Stages | None) -> Float:
        """The pulls of the last step's polynomial, or those at the beginning, damped as linear flows are."""
        if last is None or h > 3 * last.h:
            decay = 1 / (1 + h * C[:, None] * self.values)
            return np.asarray((self.pull @ self.turn * decay) @ self.turn.T)
        return np.vander(1 + C * h / last.h, STAGES, increasing=True) @ LAGRANGE @ last.pulls

    def error(self, stages: _Stages) -> float:
        """The last divided difference of the pulls, as far as the step follows it, and of the rates."""
        top = TOP @ np.vstack([self.pull, stages.pulls]) @ self.turn
        changing = self._change(stages, top / (1 + stages.h * self.values))
        rates = np.concatenate([np.zeros_like(stages.rates[:1]), stages.rates])
        told = max(
            float(np.linalg.norm(np.tensordot(TOP, rates, 1))) - self.flow.lift.reach * self.noise, 0.0
        )
        return max(changing, stages.h * told / min(1.0, self.way(stages)))

    def way(self, stages: _Stages) -> float:
        """∫‖Ā‖dt up to the end of the step."""
        norms = np.linalg.norm(self.flow.lift.lift(stages.pulls), axis=(1, 2))
        return self.flow.way + float(stages.h * A[-1] @ norms)

    def _change(self, stages: _Stages, pulls: Float) -> float:
        """What pulls, in the eigenbasis, change of log W over the step, relative to how far it has come.

        At most relative to 1, and less what they may be by the rounding of residuals, which no step can
        avoid.
        """
        noise = self.noise / (1 + stages.h * self.values)
        told = np.sign(pulls) * np.maximum(np.abs(pulls) - noise, 0.0) @ self.turn.T
        return float(stages.h * np.linalg.norm(self.flow.lift.lift(told)) / min(1.0, self.way(stages)))
