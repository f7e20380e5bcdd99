"""Detection of stagnation of a flow in mirror space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_STRETCH = 512  # steps between two checks; a jump at a scale of 1e-300 takes about 1,000 steps at most
_SLOW = 0.1  # relative advance of the clock per stretch up to which the stretch counts as slow
_SLOWEST = 1e-3  # relative advance of the clock per stretch up to which the flow stagnates
_PATIENCE = 10  # number of slow stretches allowed; flows that reach their goal have at most 3
_IDLE = 5  # successive stretches without a change that count as stagnation; no plateau takes as many steps
_MOVED = 0.1  # change of log residual, log loss or log distance per stretch that is not noise


@dataclass
class Pace:
    """Detects that neither the clock, nor the residual or loss, nor a slope's distance to its end changes.

    Round-off moves slopes by 1e-16 of the change of ν. Once a slope is closer to the end of its domain than
    that, steps are as short as its distance, and the flow cannot reach its next transition.
    """

    last: tuple[float, float, float] | None = None
    count: int = 0
    slow: int = 0
    idle: int = 0

    def stagnates(self, clock: float, progress: Callable[[], tuple[float, float] | None]) -> bool:
        """Has too little changed in the last stretch, or in many of them? Call it after each step.

        progress: gives the log of a residual or of the loss, and a slope's distance from its end; None if no
        slope is at an end. With steps of constant size the clock advances by 1/k in the k-th stretch, so that
        an early stagnation is noticed only after several slow stretches.
        """
        self.count += 1
        found = None if self.count % _STRETCH else progress()
        if found is None:
            return False
        before, now = self.last, (clock, found[0], math.log(found[1]))
        self.last = now
        if before is None:
            return False
        if max(abs(now[1] - before[1]), abs(now[2] - before[2])) > _MOVED:
            self.idle = 0
            return False
        self.idle += 1
        gained = (now[0] - before[0]) / before[0]
        self.slow += gained <= _SLOW
        return gained <= _SLOWEST or self.slow > _PATIENCE or self.idle >= _IDLE
