"""Sparse regression at several depths: Figure 3c of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.measures import least, ratio
from tacit.papers.registry import Claim, figure
from tacit.papers.woodworth2020.recovery import draw_recovery, median, recovery, recovery_claim


@figure(
    "woodworth2020/fig3c",
    quick={
        "samples": [35, 45, 50, 55, 60, 70, 85, 100],
        "features": 200,
        "depths": [2.0, 3.0, 4.0],
        "seeds": 3,
        "lowest": -16.0,
    },
    paper={
        "samples": [40, 50, 55, 60, 65, 70, 80, 100, 125, 150, 200],
        "features": 1000,
        "depths": [2.0, 3.0, 4.0, 8.0],
        "seeds": 5,
        "lowest": -16.0,
    },
)
class LargestRecoveringScaleByDepth:
    """Largest predictor scale α^D that recovers the truth to 0.025, by depth and sample size (Figure 3c)."""

    def data(
        self,
        samples: list[int],
        features: int,
        depths: list[float],
        seeds: int,
        lowest: float,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """Scan and bisection for every depth, sample size and draw."""
        return recovery(samples, features, depths, seeds, lowest, seed, progress)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """log α^D against N."""
        draw_recovery(data, ax, lambda level, depth: level)
        ax.set(xlabel="number of samples $N$", ylabel=r"largest $\alpha^D$ with error $\leq 0.025$")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Depth hastens the way into the rich regime, most of all the step from 2 to 3."""
        level = np.array([median(data, depth) for depth in data.depth.values]) / np.log(10)
        both = np.isfinite(level).all(axis=0)
        gain = np.diff(level[:, both], axis=0).mean(axis=1) if both.any() else np.full(len(level) - 1, np.nan)
        yield Claim(
            "a deeper network recovers from larger scales (mean gain over sample sizes, decades; the least)",
            least(gain),
            at_least=0.02,
            why="what the bisection leaves open",
        )
        yield Claim(
            "the step from depth 2 to 3 gains most: its decades, of those of the largest other step",
            ratio(gain[0], gain[1:].max(initial=-np.inf)),
            at_least=2.0,
            why="a multiple",
        )
        yield recovery_claim(data)
