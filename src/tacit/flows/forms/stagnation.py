"""Does a flow in mirror space get anywhere?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_STRETCH = 512  # steps that must get somewhere: a jump at a scale of 1e-300 takes some 1,000 at most
_SLOW = 0.1  # of the clock in a stretch, to be made up for later
_SLOWEST = 1e-3  # of the clock in a stretch: nothing
_PATIENCE = 10  # slow stretches in all, of which flows that end have up to 3
_IDLE = 5  # stretches in a row without a change, however far the clock: no plateau takes as many steps
_MOVED = 0.1  # logarithms of a residual, of a loss or of a distance in a stretch: less is noise


@dataclass
class Pace:
    """Tells whether a flow gets anywhere: its clock, residual or loss, or a slope on the way to an end.

    Round-off moves slopes by 1e-16 of the change of ν. Once a slope is nearer to its end than that, steps are
    as short as its distance; the clock stands still, and the flow cannot go on to its next transition.
    """

    last: tuple[float, float, float] | None = None
    count: int = 0
    slow: int = 0
    idle: int = 0

    def stands(self, clock: float, left: Callable[[], tuple[float, float] | None]) -> bool:
        """Has too little changed in the last stretch, or in many of them? To be asked after each step.

        left: the logarithm of a residual or of the loss, and a slope's distance from its end; None where
        nothing is at an end. Steps of one length that lead nowhere make a young clock gain much: of the k-th
        stretch 1/k.
        """
        self.count += 1
        found = None if self.count % _STRETCH else left()
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
