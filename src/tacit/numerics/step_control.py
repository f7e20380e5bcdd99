"""Step size control, shared by all integrators.

A trial step of size h has an error e, relative to the tolerance. If e ≤ 1 the step is accepted, and the size
of the next one is multiplied by care·e^power, with power = −1/(order of the error estimate). Otherwise the
size is reduced by the same factor, and the step is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Taken:
    """An accepted step: its size and error, and the size to try next."""

    step: Any
    h: float
    error: float
    next_h: float


@dataclass(frozen=True)
class StepControl:
    """Parameters of step size control; dimensionless, except for `smallest`, which is a step size.

    power: exponent of the error in the factor of the step size. care: safety factor, so that most steps are
    accepted at the first attempt. shortened: least and largest factor after an error above 1. unsolved:
    factor after a failed attempt without a usable error estimate. growth: least and largest factor after an
    accepted step. predictive: also use the error of the previous step, which saves attempts when errors
    change steadily (Gustafsson's controller; Hairer and Wanner, Solving Ordinary Differential Equations II,
    IV.8, equation 8.25). least: lower bounds for the errors of this and of the previous step: an estimate
    that happens to vanish says nothing about the next step. smallest: step sizes up to this count as 0.
    """

    power: float
    care: float = 0.9
    shortened: tuple[float, float] = (0.1, 1.0)
    unsolved: float = 0.25
    growth: tuple[float, float] = (0.0, 5.0)
    predictive: bool = False
    least: tuple[float, float] = (1e-12, 1e-12)
    attempts: int = 200
    smallest: float = 1e-300

    def search(
        self,
        attempt: Callable[[float], tuple[Any, float]],
        h: float,
        last: Taken | None = None,
        *,
        least: float = 0.0,
        floor: float = 0.0,
    ) -> Taken | None:
        """Try step sizes from h on until a step is accepted; return None if none is.

        attempt: maps a step size to the step, or None if it is rejected, and its error. least: give up at
        this step size. floor: a step size that must be tried before any smaller one.
        """
        for _ in range(self.attempts):
            if not h > max(least, self.smallest):
                break
            step, error = attempt(h)
            if step is not None:
                return Taken(step, h, max(error, self.least[1]), h * self._grown(h, error, last))
            h = max(h * self.shorter(error), floor) if h > floor else h * self.unsolved
        return None

    def shorter(self, error: float) -> float:
        """The factor of the step size after a rejected step with this error."""
        if not 1 < error < math.inf:
            return self.unsolved
        return min(max(self.shortened[0], self.care * error**self.power), self.shortened[1])

    def _grown(self, h: float, error: float, last: Taken | None) -> float:
        error = max(error, self.least[0])
        grown = self.care * error**self.power
        if self.predictive and last is not None:
            grown = min(grown, grown * (h / last.h) * (last.error / error) ** -self.power)
        return min(max(grown, self.growth[0]), self.growth[1])
