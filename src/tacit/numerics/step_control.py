"""How long the steps of an integrator are: one rule for all of them.

An attempt at a step of length h has an error e, relative to what is tolerated. The step is taken where e ≤ 1,
and the next one is longer or shorter by care·e^power, with power = −1/(order of the error estimate).
Otherwise the length is shortened by the same factor, and tried again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Taken:
    """A step that was taken: its length and error, and the length to try for the next one."""

    step: Any
    h: float
    error: float
    next_h: float


@dataclass(frozen=True)
class StepControl:
    """The thresholds of an integrator. All are factors, but for the number of attempts and two lengths.

    power: of the error in the factor of a length. care: of the length that the error allows, so that most
    steps are taken at the first attempt. shortened: least and largest factor after an error above 1.
    unsolved: the factor where an attempt has no error, or an error below 1 and other defects. growth: least
    and largest factor after a step that was taken. predictive: does the error before count, too? That saves
    attempts where errors change steadily (Gustafsson's controller; Hairer and Wanner, Solving Ordinary
    Differential Equations II, IV.8, equation 8.25). least: errors in place of smaller ones, of this step and
    of the step before: where the estimate happens to vanish, it says nothing about the next step, and must
    not shorten it. smallest: a length of nothing.
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
        """Try lengths from h on until a step is taken; None if there is none.

        attempt: from a length to a step, None if it is not to be taken, and its error. least: the search
        ends at this length. floor: a length that is tried before any shorter one.
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
        """The factor of the length after an attempt with this error."""
        if not 1 < error < math.inf:
            return self.unsolved
        return min(max(self.shortened[0], self.care * error**self.power), self.shortened[1])

    def _grown(self, h: float, error: float, last: Taken | None) -> float:
        error = max(error, self.least[0])
        grown = self.care * error**self.power
        if self.predictive and last is not None:
            grown = min(grown, grown * (h / last.h) * (last.error / error) ** -self.power)
        return min(max(grown, self.growth[0]), self.growth[1])
