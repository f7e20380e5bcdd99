r"""Steps along kinks: Dormand and Prince's pair of orders 5 and 4, with steps that have a least length.

Where a network has kinks (ReLU), its gradient jumps, and a flow that is pushed onto a kink from both sides
slides along it: no step across a jump is ever accurate, and integrators that insist on accuracy stand still.
Here a step of the floor's length is taken whatever its error, as long as the loss falls. The floor is a small
part of the time that has passed, so that what jumps to and fro across the kink dies out with the velocity; a
flow that slides is accurate to about that part.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.5; the tableau is that of SciPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import RK45

from tacit.data.arrays import Float

_SHORTER = 1e-6  # of the floor: where a loss that does not fall even then gives up
_FASTER = 5.0  # growth of a step, at most


class Floored:
    """A solver as those of SciPy are: t, y, step(), dense_output(), status.

    rate: of the clock and the unknowns. level: rises along the flow. floor: part of the time passed. unit: a
    time in which little happens at the start. atol: what is tolerated of each unknown, beside rtol of it.
    """

    def __init__(
        self,
        rate: Callable[[float, Float], Float],
        t: float,
        y: Float,
        level: Callable[[Float], float],
        *,
        rtol: float,
        atol: Float,
        floor: float,
        unit: float,
    ):
        self.rate, self.level, self.t, self.y = rate, level, t, y
        self.rtol, self.atol, self.floor, self.unit = rtol, atol, floor, unit
        self.status, self.h, self.now = "running", floor * max(t, unit), level(y)
        self.first = rate(t, y)
        self.before, self.stages = (t, y), np.zeros((7, y.size))

    def step(self) -> str | None:
        """One step; why there is none, if so."""
        floor = self.floor * max(self.t, self.unit)
        h = max(self.h, floor)
        while h > _SHORTER * floor:
            y, error = self._tried(h)
            if np.isfinite(error) and (error <= 1 or h <= floor):
                level = self.level(y)
                if error <= 1 or level >= self.now:
                    self._take(h, y, level)
                    self.h = h * min(_FASTER, max(0.2, 0.9 * error ** (-1 / 5))) if error > 0 else _FASTER * h
                    return None
            smaller = max(0.2, 0.9 * error ** (-1 / 5)) if np.isfinite(error) and error > 1 else 0.5
            h = max(h * smaller, floor) if h > floor else h * 0.5
        self.status = "failed"
        return "the loss does not fall along any step, however short"

    def _tried(self, h: float) -> tuple[Float, float]:
        """The unknowns after a step, and its error relative to what is tolerated."""
        self.stages[0] = self.first
        for s in range(1, 6):
            inside = self.y + h * (RK45.A[s, :s] @ self.stages[:s])
            self.stages[s] = self.rate(self.t + RK45.C[s] * h, inside)
        y = self.y + h * (RK45.B @ self.stages[:6])
        self.stages[6] = self.rate(self.t + h, y)
        allowed = self.atol + self.rtol * np.maximum(np.abs(self.y), np.abs(y))
        relative = h * (RK45.E @ self.stages) / allowed
        return y, float(np.sqrt(np.mean(relative**2)))

    def _take(self, h: float, y: Float, level: float) -> None:
        self.before, self.t, self.y = (self.t, self.y), self.t + h, y
        self.now, self.first = max(self.now, level), self.stages[6].copy()

    def dense_output(self) -> Callable[[float], Float]:
        """The unknowns at any instant of the last step."""
        (start, y), end, slopes = self.before, self.t, self.stages.T @ RK45.P

        def inside(clock: float) -> Float:
            part = (clock - start) / (end - start)
            return np.asarray(y + (end - start) * (slopes @ part ** np.arange(1, 5)))

        return inside
