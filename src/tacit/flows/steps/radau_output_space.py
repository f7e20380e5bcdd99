r"""Radau IIA in output space, for flows of the square loss.

The only unknowns are the scaled residuals p = −∂L/∂f at the nodes of the collocation method: given these, the
weights at the nodes solve a linear system, and p must equal the residuals of these weights. The Newton matrix
for p is I + h·A ⊗ K with the tangent kernel K, and one eigendecomposition of K serves every step size h. K is
taken at the beginning of the step and corrected by Broyden updates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.segments import Segment
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, STAGES, TOP, A, C, interpolate
from tacit.flows.steps.stepper import Controlled, StepEquations
from tacit.flows.termination import GAVE_UP, TOO_LONG
from tacit.numerics.step_control import StepControl, Taken

_ITERATIONS = 25  # Newton iterations per step, at most
_SETTLED = 1e-2  # in units of the tolerance: last Newton step at convergence
_DIVERGED = 10.0  # ratio of a Newton step to the smallest one at which the iteration has diverged
_LONGEST = 3.0  # growth exponent of the weights over a step, at most
_LEAST = 0.1  # lower bound on the divisor of a Broyden update
_SMALLEST = 1e-290  # avoids division by 0


@dataclass(frozen=True, eq=False)
class Stages:
    """The step size and the residuals at the nodes."""

    h: float
    residuals: Float  # (s, N)

    def weights(self, fraction: float) -> Float:
        """Quadrature weights of rates at the nodes, for the integral up to a fraction of the step."""
        return np.asarray(self.h * (fraction ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE)


_Found = TypeVar("_Found", bound=Stages)


class OutputSpaceFlow(Controlled, Generic[_Found]):
    """Base class of these flows. state: makes a state from the clock and the displacement of the weights."""

    control = StepControl(ORDER)

    def __init__(self, rtol: float, state: Callable[[float, Float], Any], clock: float = 0.0):
        self.rtol, self.state, self.clock = rtol, state, clock

    @abstractmethod
    def residual(self, outputs: Float) -> Float:
        """−∂L/∂f."""

    @abstractmethod
    def equations(self) -> System[Any, _Found]:
        """The `System` of a step from here."""

    @abstractmethod
    def moves(self, system: Any, stages: _Found) -> Callable[[float], Float]:
        """Go to the end of the step; return the displacement of the weights at fractions of it."""

    def accept(self, equations: Any, taken: Taken) -> Segment:
        """Go to the end of the step."""
        begin, end, state = self.clock, self.clock + taken.h, self.state
        moved = self.moves(equations, taken.step)

        def part(clock: float) -> float:
            return 1.0 if clock == end else (clock - begin) / taken.h

        return Segment(begin, end, lambda clock: state(clock, moved(part(clock))))

    def least(self) -> float:
        """A step size below the resolution of the clock."""
        return float(np.spacing(self.clock)) / 2

    def why(self) -> str:
        """The reason if no step is accurate enough."""
        return GAVE_UP.format(self.clock, TOO_LONG)


_Flow = TypeVar("_Flow", bound=OutputSpaceFlow[Any])


@dataclass(frozen=True, eq=False)
class System(StepEquations, Generic[_Flow, _Found]):
    """The equations of a step for any length: pᵢ = −∂L/∂f at node i.

    start_residual: p at the beginning. root: H^½ if f is a predictor with p = b − Hf, which symmetrizes HK to
    H^½KH^½; 1 if f are the outputs. values, vectors: eigendecomposition of that matrix. noise: round-off of p
    in the eigenbasis.
    """

    flow: _Flow
    start_residual: Float
    root: Float | float
    values: Float
    vectors: Float
    noise: float

    @property
    @abstractmethod
    def speed(self) -> float:
        """Growth rate of the weights."""

    @abstractmethod
    def stages(self, h: float, residuals: Float) -> tuple[_Found, Float]:
        """The weights for these residuals, and the outputs at the nodes."""

    @abstractmethod
    def change(self, stages: _Found, residuals: Float) -> float:
        """Change of the weights due to these residuals over the step, relative to their displacement."""

    def first_length(self) -> float:
        """A time in which weights and residual hardly change."""
        return 1e-3 / max(self.speed, float(self.values.max()), _SMALLEST)

    def longest(self) -> float:
        """The step size above which weights grow so much, by exp(h·speed), that the iteration may fail."""
        return _LONGEST / max(self.speed, _SMALLEST)

    def attempt(self, h: float) -> tuple[_Found | None, float]:
        """The step of length h, or None if its error is too large, and the error."""
        stages = self.solve(h, None if self.flow.last is None else self.flow.last.step)
        error = np.inf if stages is None else self.error(stages) / self.flow.rtol
        return stages if error <= 1 else None, error

    def solve(self, h: float, last: _Found | None) -> _Found | None:
        """Simplified Newton method with the tangent kernel at the beginning; None if it does not converge."""
        residuals, change = self._guess(h, last), np.inf
        inverse = np.linalg.inv(np.eye(STAGES) + h * self.values[:, None, None] * A)
        taken: list[Float] = []
        for _ in range(_ITERATIONS):
            stages, outputs = self.stages(h, residuals)
            defect = self._to_eigenbasis(self.flow.residual(outputs) - residuals)
            step = _broyden(np.einsum("nij,jn->in", inverse, defect), taken)
            taken.append(step)
            residuals = residuals + self._from_eigenbasis(step)
            now = self._significant_change(stages, np.abs(step).max(axis=0))
            if not np.isfinite(now) or now > _DIVERGED * change:
                return None
            if now <= _SETTLED * self.flow.rtol:
                return self.stages(h, residuals)[0]
            change = min(now, change)
        return None

    def _guess(self, h: float, last: _Found | None) -> Float:
        """Extrapolation of the last step, or the initial residual with the decay of the linearized flow."""
        if last is None or h > 3 * last.h:
            decay = 1 / (1 + h * C[:, None] * self.values)
            return self._from_eigenbasis(self._to_eigenbasis(self.start_residual) * decay)
        return interpolate(last.residuals, 1 + C * h / last.h)

    def error(self, stages: _Found) -> float:
        """The highest divided difference of the residuals, damped by the flow, as a change of the weights."""
        top = self._to_eigenbasis(TOP @ np.vstack([self.start_residual, stages.residuals]))
        return self._significant_change(stages, top / (1 + stages.h * self.values))

    def _significant_change(self, stages: _Found, residuals: Float) -> float:
        """The change due to residuals (in the eigenbasis) beyond their round-off.

        Round-off is the same in all directions of the eigenbasis and cannot be reduced by shorter steps; in
        directions that hardly affect the outputs it would cause large changes of the weights.
        """
        noise = self.noise / (1 + stages.h * self.values)
        significant = np.sign(residuals) * np.maximum(np.abs(residuals) - noise, 0.0)
        return self.change(stages, self._from_eigenbasis(significant))

    def _to_eigenbasis(self, residuals: Float) -> Float:
        return np.asarray(residuals / self.root @ self.vectors)

    def _from_eigenbasis(self, coefficients: Float) -> Float:
        return np.asarray(coefficients @ self.vectors.T * self.root)


def _broyden(step: Float, taken: list[Float]) -> Float:
    """Apply the Broyden updates of the previous Newton steps to a step with the initial Jacobian."""
    for before, after in pairwise(taken):
        step = step + after * (np.vdot(before, step) / np.vdot(before, before))
    if taken:
        last = taken[-1]
        step = step / max(1 - float(np.vdot(last, step) / np.vdot(last, last)), _LEAST)
    return np.asarray(step)
