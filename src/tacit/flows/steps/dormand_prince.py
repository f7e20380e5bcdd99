r"""Dormand and Prince's pair of orders 5 and 4 with a least step size, for flows along kinks.

At a kink of a network (ReLU) the gradient jumps, and a flow that points to the kink from both sides slides
along it. No step across a jump is accurate, so that standard step size control makes no progress. Here a step
of the least length (the floor) is accepted regardless of its error, as long as the loss decreases. The floor
is a small share of the time passed, so that oscillations across the kink decay with the velocity; the
relative error of a sliding flow is about this share.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.5; the tableau is that of SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import RK45

from tacit.data.arrays import Float
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import Controlled, StepEquations
from tacit.flows.termination import GAVE_UP, NOT_FALLING
from tacit.numerics.step_control import StepControl, Taken

_SHORTER = 1e-6  # in units of the floor: step size at which to give up if the loss does not decrease


class DormandPrince(Controlled, StepEquations):
    """Steps from clock t and unknowns y.

    rate: y' as a function of clock and unknowns. level: a function that increases along the flow. state:
    makes a state from clock and unknowns. floor: least step size as a share of the time passed. unit: lower
    bound for that time. rtol, atol: tolerances of each unknown.
    """

    control = StepControl(-1 / 5, shortened=(0.2, 1.0), unsolved=0.5, growth=(0.2, 5.0))

    def __init__(
        self,
        rate: Callable[[float, Float], Float],
        t: float,
        y: Float,
        level: Callable[[Float], float],
        state: Callable[[float, Float], Any],
        *,
        rtol: float,
        atol: Float,
        floor: float,
        unit: float,
    ):
        self.rate, self.level, self.state, self.clock, self.y = rate, level, state, t, y
        self.rtol, self.atol, self.share, self.unit = rtol, atol, floor, unit
        self.first, self.now = rate(t, y), level(y)

    def floor(self) -> float:
        """A share of the time passed."""
        return self.share * max(self.clock, self.unit)

    def least(self) -> float:
        """A share of the floor."""
        return _SHORTER * self.floor()

    def equations(self) -> DormandPrince:
        """The stepper itself."""
        return self

    def first_length(self) -> float:
        """The floor."""
        return self.floor()

    def attempt(self, h: float) -> tuple[tuple[Float, Float, float] | None, float]:
        """Unknowns, slopes and level after a step that is accurate, or short and decreases the loss."""
        slopes = np.zeros((7, self.y.size))
        slopes[0] = self.first
        for s in range(1, 6):
            inside = self.y + h * (RK45.A[s, :s] @ slopes[:s])
            slopes[s] = self.rate(self.clock + RK45.C[s] * h, inside)
        y = self.y + h * (RK45.B @ slopes[:6])
        slopes[6] = self.rate(self.clock + h, y)
        allowed = self.atol + self.rtol * np.maximum(np.abs(self.y), np.abs(y))
        error = float(np.sqrt(np.mean((h * (RK45.E @ slopes) / allowed) ** 2)))
        if error <= 1 or (h <= self.floor() and error < np.inf):
            level = self.level(y)
            if error <= 1 or level >= self.now:
                return (y, slopes, level), error
        return None, error

    def accept(self, equations: Any, taken: Taken) -> Segment:
        """Go to the end of the step."""
        (y, slopes, level), start, h = taken.step, self.clock, taken.h
        before, end, coefficients = self.y, start + h, slopes.T @ RK45.P
        self.y, self.first, self.now = y, slopes[6], max(self.now, level)

        def inside(clock: float) -> Float:
            fraction = (clock - start) / (end - start)
            return np.asarray(before + (end - start) * (coefficients @ fraction ** np.arange(1, 5)))

        return Segment(start, end, lambda clock: self.state(clock, y if clock == end else inside(clock)))

    def why(self) -> str:
        """The reason: no step decreases the loss."""
        return GAVE_UP.format(self.clock, NOT_FALLING)
