r"""A stiff integrator for linear networks of one hidden layer and one output, under the square loss.

U' = γ vᵀ and v' = Uᵀγ, with the negative gradient γ = b − Hθ with respect to the predictor θ = Uv. At the
nodes of a collocation method the weights follow from γ₁, …, γ_s by a linear system of size s, so that these
are the only unknowns. The eigenvalues of H of real data can span sixteen decades, which makes explicit
methods useless, and a Newton matrix for all weights would have (r(r+1))² entries. For γ it is I + h·A ⊗ HK,
with the tangent kernel K = ‖v‖² + UUᵀ, and one eigendecomposition of H^½KH^½ solves it for every step size h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import ROUNDING, STAGES, TOP, A
from tacit.flows.steps.radau_output_space import OutputSpaceFlow, Stages, System

Flat = Callable[[Float, Float], Float]


@dataclass(frozen=True, eq=False)
class _Stages(Stages):
    """Residuals γ at the nodes of a step, and the outer weights there."""

    outer: Float  # (s, h): v at the nodes
    rates: Float  # (s, h): v' = Uᵀγ at the nodes

    def displacement(self, fraction: float) -> tuple[Float, Float]:
        """U(t) − U(0) and v(t) − v(0) at a fraction of the step."""
        weights = self.weights(fraction)
        return (weights[:, None] * self.residuals).T @ self.outer, weights @ self.rates


class TwoLayers(OutputSpaceFlow[_Stages]):
    """The flow from weights U (r, h) and v (h,).

    X: (N, r), with orthogonal nonzero columns. factor: the loss is factor·‖y − Xθ‖². flat: combines U and v
    into one array. clock, path_length: of the flow so far, if it continues an earlier one.
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
        path_length: float = 0.0,
    ):
        super().__init__(rtol, state, clock)
        self.flat, self.path_length = flat, path_length
        self.first, self.U, self.v = (U, v), U, v
        self.H = 2 * factor * np.einsum("nr,nr->r", X, X)
        self.X, self.targets, self.factor = X, y, factor
        self.moved = (np.zeros_like(U), np.zeros_like(v))

    def residual(self, theta: Float) -> Float:
        """−∂L/∂θ, computed from y − Xθ, which is more accurate than b − Hθ."""
        return np.asarray(2 * self.factor * (self.targets - theta @ self.X.T) @ self.X)

    def equations(self) -> _System:
        """The equations at the current weights."""
        root = np.sqrt(self.H)
        kernel = (self.v @ self.v) * np.eye(len(root)) + self.U @ self.U.T
        values, vectors = np.linalg.eigh(root[:, None] * kernel * root)
        residual = self.residual(self.U @ self.v)
        return _System(self, residual, root, np.maximum(values, 0.0), vectors, self._noise())

    def _noise(self) -> float:
        """Round-off of γ divided by H^½, and of divided differences of it.

        The round-off of the weights is relative to the initial weights and the displacements, whose sums they
        are.
        """
        inner, outer = (np.abs(a) + np.abs(b) for a, b in zip(self.first, self.moved, strict=True))
        theta = inner @ np.abs(self.v) + np.abs(self.U) @ outer
        sizes = np.abs(self.X) @ theta + np.abs(self.targets)
        return float(ROUNDING * np.sqrt(2 * self.factor) * np.linalg.norm(sizes))

    def moves(self, system: Any, stages: _Stages) -> Callable[[float], Float]:
        """Go to the end of the step; return the displacement of all weights at fractions of it, flat."""
        (U, v), flat = self.moved, self.flat

        def moved(fraction: float) -> tuple[Float, Float]:
            dU, dv = stages.displacement(fraction)
            return U + dU, v + dv

        self.moved = moved(1.0)
        self.U, self.v = self.first[0] + self.moved[0], self.first[1] + self.moved[1]
        return lambda fraction: flat(*moved(fraction))


class _System(System[TwoLayers, _Stages]):
    """The equations of a step for any length: γ_i = b − Hθ_i."""

    @property
    def speed(self) -> float:
        """‖γ‖."""
        return float(np.linalg.norm(self.start_residual))

    def stages(self, h: float, residuals: Float) -> tuple[_Stages, Float]:
        """The weights for these γ, and the predictors at the nodes."""
        U, v = self.flow.U, self.flow.v
        initial = residuals @ U
        inner = A * (residuals @ residuals.T)
        matrix = np.eye(STAGES) - h * h * (A @ inner)
        outer = np.asarray(np.linalg.solve(matrix, v + h * (A @ initial)), float)
        theta = outer @ U.T + h * (A * (outer @ outer.T)) @ residuals
        return _Stages(h, residuals, outer, initial + h * (inner @ outer)), theta

    def error(self, stages: _Stages) -> float:
        """The larger of the errors of γ, and of the weights at constant γ."""
        return max(super().error(stages), self._growing(stages))

    def _growing(self, stages: _Stages) -> float:
        """The error at constant γ, for which the weights grow exponentially and not as polynomials.

        Uses the mean γ of the step in U' = γvᵀ and v' = Uᵀγ, with the v that the step has found.
        """
        mean: Float = A[-1] @ stages.residuals
        inner = stages.h * A @ ((stages.residuals @ mean)[:, None] * stages.outer)  # (U − U(0))ᵀγ
        outer = np.vstack([self.flow.v, stages.outer])
        changes = np.linalg.norm(TOP[1:] @ inner), np.linalg.norm(mean) * np.linalg.norm(TOP @ outer)
        return float(stages.h * np.hypot(*changes) / self._displacement(stages))

    def _displacement(self, stages: _Stages) -> float:
        """Displacement of the weights at the end of the step, plus the path length before."""
        (U, v), (dU, dv) = self.flow.moved, stages.displacement(1.0)
        return self.flow.path_length + float(np.hypot(np.linalg.norm(U + dU), np.linalg.norm(v + dv)))

    def change(self, stages: _Stages, residuals: Float) -> float:
        """Change of the weights due to these γ over the step, relative to the displacement."""
        inner = np.linalg.norm(residuals) * np.linalg.norm(self.flow.v)
        return float(
            stages.h * np.hypot(inner, np.linalg.norm(residuals @ self.flow.U)) / self._displacement(stages)
        )
