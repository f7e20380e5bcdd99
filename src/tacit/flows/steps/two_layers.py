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
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import ROUNDING, STAGES, TOP, A
from tacit.flows.steps.radau_output_space import PulledFlow, Stages, System

Flat = Callable[[Float, Float], Float]


@dataclass(frozen=True, eq=False)
class _Stages(Stages):
    """Pulls at the nodes of a step, and what they make of the outer weights there."""

    outer: Float  # (s, h): v at the nodes
    turns: Float  # (s, h): v' = Uᵀγ at the nodes

    def displacement(self, fraction: float) -> tuple[Float, Float]:
        """U(t) − U(0) and v(t) − v(0) at a fraction of the step."""
        weights = self.weights(fraction)
        return (weights[:, None] * self.pulls).T @ self.outer, weights @ self.turns


class TwoLayers(PulledFlow[_Stages]):
    """The flow from weights U (r, h) and v (h,).

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
        state: Callable[[float, Float], Any],
        *,
        clock: float = 0.0,
        come: float = 0.0,
    ):
        super().__init__(rtol, state, clock)
        self.flat, self.come = flat, come
        self.first, self.U, self.v = (U, v), U, v
        self.H = 2 * factor * np.einsum("nr,nr->r", X, X)
        self.X, self.targets, self.factor = X, y, factor
        self.moved = (np.zeros_like(U), np.zeros_like(v))

    def pull(self, theta: Float) -> Float:
        """−∂L/∂θ, from the residual, which loses fewer digits than b − Hθ."""
        return np.asarray(2 * self.factor * (self.targets - theta @ self.X.T) @ self.X)

    def equations(self) -> _System:
        """That of the weights which the flow has reached."""
        root = np.sqrt(self.H)
        kernel = (self.v @ self.v) * np.eye(len(root)) + self.U @ self.U.T
        values, turn = np.linalg.eigh(root[:, None] * kernel * root)
        pull = self.pull(self.U @ self.v)
        return _System(self, pull, root, np.maximum(values, 0.0), turn, self._noise())

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

    def moves(self, system: Any, stages: _Stages) -> Callable[[float], Float]:
        """Displacements of all weights from the start, flat."""
        (U, v), flat = self.moved, self.flat

        def moved(fraction: float) -> tuple[Float, Float]:
            dU, dv = stages.displacement(fraction)
            return U + dU, v + dv

        self.moved = moved(1.0)
        self.U, self.v = self.first[0] + self.moved[0], self.first[1] + self.moved[1]
        return lambda fraction: flat(*moved(fraction))


class _System(System[TwoLayers, _Stages]):
    """The equations of a step from some weights, for any length: γ_i = b − Hθ_i."""

    @property
    def speed(self) -> float:
        """‖γ‖."""
        return float(np.linalg.norm(self.pull))

    def stages(self, h: float, pulls: Float) -> tuple[_Stages, Float]:
        """The weights that these pulls make, and the predictors at the nodes."""
        U, v = self.flow.U, self.flow.v
        seen = pulls @ U
        inner = A * (pulls @ pulls.T)
        outer = np.asarray(np.linalg.solve(np.eye(STAGES) - h * h * (A @ inner), v + h * (A @ seen)), float)
        theta = outer @ U.T + h * (A * (outer @ outer.T)) @ pulls
        return _Stages(h, pulls, outer, seen + h * (inner @ outer)), theta

    def error(self, stages: _Stages) -> float:
        """That of the pulls, and that at a constant pull."""
        return max(super().error(stages), self._growing(stages))

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

    def change(self, stages: _Stages, pulls: Float) -> float:
        """What pulls change over the step, relative to how far the weights have come."""
        inner = np.linalg.norm(pulls) * np.linalg.norm(self.flow.v)
        return float(stages.h * np.hypot(inner, np.linalg.norm(pulls @ self.flow.U)) / self._way(stages))
