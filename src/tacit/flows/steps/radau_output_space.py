r"""Steps of Radau IIA for flows under the square loss whose weights follow from the pulls at its nodes.

Pulls p = −∂L/∂f at the nodes of a collocation method are the only unknowns: given these, the weights there
are the solution of a linear system, and with these p must be the pull again. Newton's matrix for the pulls is
I + h·A ⊗ K, with K the tangent kernel, and one eigendecomposition of it serves every step
length h. It is that of the beginning, corrected by what the steps of Newton teach (Broyden).
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
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, STAGES, TOP, A, C
from tacit.flows.steps.stepper import Controlled, Equations
from tacit.flows.termination import GAVE_UP, TOO_LONG
from tacit.numerics.step_control import StepControl, Taken

_ITERATIONS = 25  # of Newton's method for one step
_SETTLED = 1e-2  # of the tolerance, for the last step of Newton
_AWAY = 10.0  # growth of a step of Newton's method, over the least, at which it is given up
_LONGEST = 3.0  # ∫‖p‖ over a step, as the weights follow it
_LEAST = 0.1  # by which a correction may divide a step
_SMALLEST = 1e-290  # in place of 0 below a fraction


@dataclass(frozen=True, eq=False)
class Stages:
    """The length of a step, and the pulls at its nodes."""

    h: float
    pulls: Float  # (s, N)

    def weights(self, fraction: float) -> Float:
        """Of rates at the nodes, in their integral up to a fraction of the step."""
        return np.asarray(self.h * (fraction ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE)


_Found = TypeVar("_Found", bound=Stages)


class PulledFlow(Controlled, Generic[_Found]):
    """The steps of such a flow. state: of it, from the clock and what the weights gained since the start."""

    control = StepControl(ORDER)

    def __init__(self, rtol: float, state: Callable[[float, Float], Any], clock: float = 0.0):
        self.rtol, self.state, self.clock = rtol, state, clock

    @abstractmethod
    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f."""

    @abstractmethod
    def equations(self) -> System[Any, _Found]:
        """The `System` of a step from here."""

    @abstractmethod
    def moves(self, system: Any, stages: _Found) -> Callable[[float], Float]:
        """Go to the end of the step; what is added to the weights up to fractions of it, since the start."""

    def accept(self, equations: Any, taken: Taken) -> Segment:
        """Go to the end of the step."""
        begin, end, state = self.clock, self.clock + taken.h, self.state
        moved = self.moves(equations, taken.step)

        def part(clock: float) -> float:
            return 1.0 if clock == end else (clock - begin) / taken.h

        return Segment(begin, end, lambda clock: state(clock, moved(part(clock))))

    def least(self) -> float:
        """A length that the clock cannot tell."""
        return float(np.spacing(self.clock)) / 2

    def why(self) -> str:
        """No step is short enough."""
        return GAVE_UP.format(self.clock, TOO_LONG)


_Flow = TypeVar("_Flow", bound=PulledFlow[Any])


@dataclass(frozen=True, eq=False)
class System(Equations, Generic[_Flow, _Found]):
    """The equations of a step from some weights, for any length: pᵢ = −∂L/∂f at the node i.

    pull: the one at the beginning. root: H^½ where f is a predictor and p = b − Hf, so that H^½KH^½ stands
    for HK and is symmetric; 1 where f are the outputs. values, turn: its eigenvalues and eigenvectors.
    noise: of a pull there, by rounding.
    """

    flow: _Flow
    pull: Float
    root: Float | float
    values: Float
    turn: Float
    noise: float

    @property
    @abstractmethod
    def speed(self) -> float:
        """The rate at which the pull makes weights grow."""

    @abstractmethod
    def stages(self, h: float, pulls: Float) -> tuple[_Found, Float]:
        """The weights that these pulls make, and the outputs at the nodes."""

    @abstractmethod
    def change(self, stages: _Found, pulls: Float) -> float:
        """What pulls change of the weights over the step, relative to how far these have come."""

    def first_length(self) -> float:
        """A time in which neither the weights nor the residual change much."""
        return 1e-3 / max(self.speed, float(self.values.max()), _SMALLEST)

    def longest(self) -> float:
        """A step beyond which the weights that pulls make, like exp(h·speed), are no way to find these."""
        return _LONGEST / max(self.speed, _SMALLEST)

    def attempt(self, h: float) -> tuple[_Found | None, float]:
        """The step of length h, if its error is tolerable."""
        stages = self.solve(h, None if self.flow.last is None else self.flow.last.step)
        error = np.inf if stages is None else self.error(stages) / self.flow.rtol
        return stages if error <= 1 else None, error

    def solve(self, h: float, last: _Found | None) -> _Found | None:
        """Simplified Newton, with the tangent kernel at the beginning; None if it does not settle."""
        pulls, change = self._guess(h, last), np.inf
        inverse = np.linalg.inv(np.eye(STAGES) + h * self.values[:, None, None] * A)
        taken: list[Float] = []
        for _ in range(_ITERATIONS):
            stages, outputs = self.stages(h, pulls)
            wrong = self._turned(self.flow.pull(outputs) - pulls)
            step = _broyden(np.einsum("nij,jn->in", inverse, wrong), taken)
            taken.append(step)
            pulls = pulls + self._back(step)
            now = self._told_change(stages, np.abs(step).max(axis=0))
            if not np.isfinite(now) or now > _AWAY * change:
                return None
            if now <= _SETTLED * self.flow.rtol:
                return self.stages(h, pulls)[0]
            change = min(now, change)
        return None

    def _guess(self, h: float, last: _Found | None) -> Float:
        """The pulls of the last step's polynomial, or those at the beginning, damped as linear flows are."""
        if last is None or h > 3 * last.h:
            decay = 1 / (1 + h * C[:, None] * self.values)
            return self._back(self._turned(self.pull) * decay)
        return np.asarray(np.vander(1 + C * h / last.h, STAGES, increasing=True) @ LAGRANGE @ last.pulls)

    def error(self, stages: _Found) -> float:
        """The last divided difference of the pulls, as far as the step follows it, as a change of weights."""
        top = self._turned(TOP @ np.vstack([self.pull, stages.pulls]))
        return self._told_change(stages, top / (1 + stages.h * self.values))

    def _told_change(self, stages: _Found, pulls: Float) -> float:
        """What pulls, in the eigenbasis, change, less what they may be by the rounding of residuals.

        No step can avoid that: it is the same in all directions of that basis, and makes large weights where
        the data hardly see them.
        """
        noise = self.noise / (1 + stages.h * self.values)
        return self.change(stages, self._back(np.sign(pulls) * np.maximum(np.abs(pulls) - noise, 0.0)))

    def _turned(self, pulls: Float) -> Float:
        """In the eigenbasis."""
        return np.asarray(pulls / self.root @ self.turn)

    def _back(self, pulls: Float) -> Float:
        """From the eigenbasis."""
        return np.asarray(pulls @ self.turn.T * self.root)


def _broyden(step: Float, taken: list[Float]) -> Float:
    """A step with the Jacobian of the beginning, corrected by what the steps taken have taught."""
    for before, after in pairwise(taken):
        step = step + after * (np.vdot(before, step) / np.vdot(before, before))
    if taken:
        last = taken[-1]
        step = step / max(1 - float(np.vdot(last, step) / np.vdot(last, last)), _LEAST)
    return np.asarray(step)
