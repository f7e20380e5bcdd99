r"""A stiff integrator for linear networks of one hidden layer and one output, under the square loss.

U' = γ vᵀ and v' = Uᵀγ, with γ = b − Hθ the pull on the predictor θ = Uv: at the nodes of a collocation
method all weights follow from the pulls γ₁, …, γ_s there by a linear system of size s, so that the pulls are
the only unknowns. Real data make H span sixteen decades, and explicit methods stand still; Newton's matrix
for all the weights would have (r(r+1))² entries. For the pulls it is I + h·A ⊗ HK, with K = ‖v‖² + UUᵀ the
tangent kernel, and one eigendecomposition of H^½KH^½ solves it for every step length h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, ROUNDING, STAGES, TOP, A, C
from tacit.potentials.arrays import quiet

_ITERATIONS, _ATTEMPTS = 25, 200  # of Newton for one step, and lengths of it that are tried
_SETTLED = 1e-2  # of the tolerance, for the last step of Newton
_AWAY = 10.0  # growth of a step of Newton's method, over the least, at which it is given up
_LONGEST = 3.0  # ∫‖γ‖ over a step
_LEAST = 0.1  # by which a correction may divide a step
_SMALLEST = 1e-290  # in place of 0 below a fraction

Flat = Callable[[Float, Float], Float]


@dataclass(frozen=True, eq=False)
class _Stages:
    """Pulls at the nodes of a step, and what they make of the outer weights there."""

    h: float
    pulls: Float  # (s, r)
    outer: Float  # (s, h): v at the nodes
    turns: Float  # (s, h): v' = Uᵀγ at the nodes

    def displacement(self, fraction: float) -> tuple[Float, Float]:
        """U(t) − U(0) and v(t) − v(0) at a fraction of the step."""
        weights: Float = self.h * (fraction ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        return (weights[:, None] * self.pulls).T @ self.outer, weights @ self.turns


class TwoLayers:
    """The flow from weights U (r, h) and v (h,), with the steps of a solver of SciPy.

    X: (N, r), of which the columns are orthogonal and not 0. factor: of the loss, factor·‖y − Xθ‖². flat:
    puts U and v into one array. A flow that goes on from an earlier one has its clock, and the way that the
    weights had come.
    """

    def __init__(
        self,
        U: Float,
        v: Float,
        X: Float,
        y: Float,
        factor: float,
        rtol: float,
        flat: Flat,
        *,
        clock: float = 0.0,
        come: float = 0.0,
    ):
        self.flat, self.come = flat, come
        self.first, self.U, self.v, self.rtol = (U, v), U, v, rtol
        self.H = 2 * factor * np.einsum("nr,nr->r", X, X)
        self.X, self.targets, self.factor = X, y, factor
        self.t, self.before, self.status = clock, clock, "running"
        self.moved = (np.zeros_like(U), np.zeros_like(v))
        self.h: float | None = None
        self.last: _Stages | None = None

    def pull(self, theta: Float) -> Float:
        """−∂L/∂θ, from the residual, which loses fewer digits than b − Hθ."""
        return np.asarray(2 * self.factor * (self.targets - theta @ self.X.T) @ self.X)

    @quiet
    def step(self) -> str | None:
        """One step; a message if there is none."""
        pull = self.pull(self.U @ self.v)
        root = np.sqrt(self.H)
        kernel = (self.v @ self.v) * np.eye(len(root)) + self.U @ self.U.T
        values, turn = np.linalg.eigh(root[:, None] * kernel * root)
        system = _System(self, pull, root, np.maximum(values, 0.0), turn, self._noise())
        h = system.first_step() if self.h is None else min(self.h, system.longest())
        for _ in range(_ATTEMPTS):
            if not self.t + h > self.t:
                break
            stages = system.solve(h, self.last)
            error = np.inf if stages is None else system.error(stages) / self.rtol
            if stages is None or not error <= 1:
                h *= 0.25 if not np.isfinite(error) else max(0.1, 0.9 * error**ORDER)
                continue
            self._accept(stages)
            self.h = h * min(5.0, 0.9 * max(error, 1e-12) ** ORDER)
            return None
        self.status = "failed"
        return "no step is short enough"

    def _noise(self) -> float:
        """What the rounding of residuals leaves of pulls divided by H^½, and of their divided differences.

        Weights are rounded as those are that they are the sums of, the first ones and the way since then.
        """
        inner, outer = (
            np.abs(self.first[0]) + np.abs(self.moved[0]),
            np.abs(self.first[1]) + np.abs(self.moved[1]),
        )
        theta = inner @ np.abs(self.v) + np.abs(self.U) @ outer
        sizes = np.abs(self.X) @ theta + np.abs(self.targets)
        return float(ROUNDING * np.sqrt(2 * self.factor) * np.linalg.norm(sizes))

    def _accept(self, stages: _Stages) -> None:
        self.origin, self.before, self.last = self.moved, self.t, stages
        (U, v), (dU, dv) = self.origin, stages.displacement(1.0)
        self.moved = U + dU, v + dv
        self.U, self.v = self.first[0] + self.moved[0], self.first[1] + self.moved[1]
        self.t += stages.h

    @property
    def y(self) -> Float:
        """Displacements of all weights from the start, flat."""
        return self.flat(*self.moved)

    def dense_output(self) -> Any:
        """Displacements of all weights from the start, flat, at times of the last step."""
        stages, origin, before = self.last, self.origin, self.before
        assert stages is not None

        def displaced(clock: float) -> Float:
            U, v = stages.displacement((clock - before) / stages.h)
            return self.flat(origin[0] + U, origin[1] + v)

        return displaced


def broyden(step: Float, taken: list[Float]) -> Float:
    """A step with the Jacobian of the beginning, corrected by what the steps taken have taught (Broyden)."""
    for before, after in pairwise(taken):
        step = step + after * (np.vdot(before, step) / np.vdot(before, before))
    if taken:
        last = taken[-1]
        step = step / max(1 - float(np.vdot(last, step) / np.vdot(last, last)), _LEAST)
    return np.asarray(step)


@dataclass(frozen=True, eq=False)
class _System:
    """The equations of a step from some weights, for any length: γ_i = b − Hθ_i."""

    flow: TwoLayers
    pull: Float
    root: Float  # H^½
    values: Float  # of H^½ K H^½, with its eigenvectors
    turn: Float
    noise: float  # of a pull there

    def first_step(self) -> float:
        """A time in which neither the weights nor the residual change much."""
        return 1e-3 / max(float(np.linalg.norm(self.pull)), float(self.values.max()), _SMALLEST)

    def longest(self) -> float:
        """A step beyond which the weights that given pulls make, like exp(h‖γ‖), are no way to find them."""
        return _LONGEST / max(float(np.linalg.norm(self.pull)), _SMALLEST)

    def stages(self, h: float, pulls: Float) -> tuple[_Stages, Float]:
        """The weights that these pulls make, and the predictors at the nodes."""
        U, v = self.flow.U, self.flow.v
        seen = pulls @ U
        inner = A * (pulls @ pulls.T)
        outer = np.asarray(np.linalg.solve(np.eye(STAGES) - h * h * (A @ inner), v + h * (A @ seen)), float)
        theta = outer @ U.T + h * (A * (outer @ outer.T)) @ pulls
        return _Stages(h, pulls, outer, seen + h * (inner @ outer)), theta

    def solve(self, h: float, last: _Stages | None) -> _Stages | None:
        """Simplified Newton, with the tangent kernel at the beginning; None if it does not settle."""
        pulls, change = self._guess(h, last), np.inf
        inverse = np.linalg.inv(np.eye(STAGES) + h * self.values[:, None, None] * A)
        taken: list[Float] = []
        for _ in range(_ITERATIONS):
            stages, theta = self.stages(h, pulls)
            wrong = (self.flow.pull(theta) - pulls) / self.root @ self.turn
            step = broyden(np.einsum("rij,jr->ir", inverse, wrong), taken)
            taken.append(step)
            pulls = pulls + step @ self.turn.T * self.root
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
            return (self.pull / self.root @ self.turn * decay) @ self.turn.T * self.root
        places = 1 + C * h / last.h
        return np.vander(places, STAGES, increasing=True) @ LAGRANGE @ last.pulls

    def error(self, stages: _Stages) -> float:
        """The last divided difference of the pulls, as far as the step follows it, as a change of weights."""
        top = TOP @ np.vstack([self.pull, stages.pulls])
        changing = self._change(stages, (top / self.root @ self.turn) / (1 + stages.h * self.values))
        return max(changing, self._growing(stages))

    def _growing(self, stages: _Stages) -> float:
        """The error at a constant pull: weights that grow exponentially are no polynomials.

        At the mean pull γ it is that of U' = γvᵀ and v' = Uᵀγ with the v that the step has found.
        """
        pull: Float = A[-1] @ stages.pulls
        inner = stages.h * A @ ((stages.pulls @ pull)[:, None] * stages.outer)  # (U − U(0))ᵀγ
        outer = np.vstack([self.flow.v, stages.outer])
        changes = np.linalg.norm(TOP[1:] @ inner), np.linalg.norm(pull) * np.linalg.norm(TOP @ outer)
        return float(stages.h * np.hypot(*changes) / self._way(stages))

    def _way(self, stages: _Stages) -> float:
        """How far the weights have come at the end of the step."""
        (U, v), (dU, dv) = self.flow.moved, stages.displacement(1.0)
        return self.flow.come + float(np.hypot(np.linalg.norm(U + dU), np.linalg.norm(v + dv)))

    def _change(self, stages: _Stages, pulls: Float) -> float:
        """What pulls, in the eigenbasis, change over the step, relative to how far the weights have come.

        Less what they may be by the rounding of residuals, which no step can avoid: it is the same in all
        directions of that basis, and makes large weights where the data hardly see them.
        """
        noise = self.noise / (1 + stages.h * self.values)
        told = np.sign(pulls) * np.maximum(np.abs(pulls) - noise, 0.0) @ self.turn.T * self.root
        inner = np.linalg.norm(told) * np.linalg.norm(self.flow.v)
        return float(stages.h * np.hypot(inner, np.linalg.norm(told @ self.flow.U)) / self._way(stages))
