"""Level sets of a derived potential with flows across them, or flows that end apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Levels:
    """Level sets in two coordinates, closed where no ray ended before, and flows to lines that touch some.

    touched: for each flow its line of solutions (normal and offset), where it touches, and which level.
    """

    pair: tuple[int, int]
    origin: Float
    curves: list[Float]
    flows: list[Float]
    touched: list[tuple[Float, float, Float, int]]
    title: str


@dataclass(frozen=True, eq=False)
class Apart:
    """Flows from one start to one line of solutions, which end apart: along the line, and away from it."""

    flows: list[Float]
    weights: Float
    title: str

    @property
    def spread(self) -> float:
        """How far the ends lie apart."""
        return float(np.ptp([flow[-1, 0] for flow in self.flows]))
