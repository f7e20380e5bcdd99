"""Data of the picture of a derivation: level sets of the potential, or flows with different limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Levels:
    """Level sets in two coordinates, and flows that end where a line of solutions is tangent to a level set.

    A level set is a closed curve, with gaps along the rays on which it was not found.

    touched: for each flow, its line of solutions (normal and offset), the tangent point, and the level.
    """

    pair: tuple[int, int]
    origin: Float
    curves: list[Float]
    flows: list[Float]
    touched: list[tuple[Float, float, Float, int]]
    title: str


@dataclass(frozen=True, eq=False)
class Apart:
    """Flows from one start to one line of solutions, with coordinates along the line and away from it."""

    flows: list[Float]
    weights: Float
    title: str

    @property
    def spread(self) -> float:
        """The distance between the two ends that are farthest apart."""
        return float(np.ptp([flow[-1, 0] for flow in self.flows]))
