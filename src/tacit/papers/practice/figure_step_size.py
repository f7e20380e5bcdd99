"""Gradient descent with a step size: its distance from gradient flow, and the accuracy of the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_most, figure, within
from tacit.papers.measures import slope
from tacit.papers.practice.data import draw_axes_of_steps, relative, sparse_problem, step_at_edge
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH

_COLOURS = (RICH, KERNEL, TRUTH)
_SCALES = {2: 0.1, 3: 0.3, 4: 0.5}  # of the initial weights, by depth
_LOW = 0.2  # of the edge of stability: below it the leading order dominates


@figure(
    "practice/step-size",
    **presets(
        samples=(6, 10),
        features=(12, 40),
        edges=([0.02, 0.04, 0.08, 0.16, 0.32, 0.64], [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]),
    ),
    figsize=(6.0, 3.2),
    about=("Second order", "Effective start"),
    seconds=6,
    short="the step size of gradient descent",
)
class StepSize:
    """Where gradient descent ends, against the step size in units of the edge of stability. Open markers: the
    distance of the end to the limit of gradient flow, of first order in the step. Filled markers: its
    distance to the prediction, made from one flow before training, of second order. Grey: the limit of the
    flow from the effective start of the run, which is exact (Even et al. 2023 for depth 2).
    """

    def data(
        self, samples: int, features: int, edges: list[float], *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Runs at every depth and step, and their distances."""
        X, y, _ = sparse_problem(samples, features, seed)
        found = np.empty((3, len(_SCALES), len(edges)))
        for i, (depth, scale) in enumerate(progress(_SCALES.items(), "depths")):
            model = tacit.Diagonal(depth=depth, scale=scale)
            flow, unit = tacit.limit(model, X, y).predictor, step_at_edge(model, X, y)
            for j, edge in enumerate(edges):
                training = tacit.Training(step=edge * unit)
                end = tacit.descend(model, X, y, training, until=1e-11)
                predicted = tacit.limit(model, X, y, training=training).predictor
                effective = tacit.limit(end.effective, X, y).predictor
                ends = (flow, predicted, effective)
                found[:, i, j] = [relative(each, end.predictor) for each in ends]
        where = ("depth", "edge")
        names = ("flow", "prediction", "effective")
        return xr.Dataset(
            {name: (where, values) for name, values in zip(names, found, strict=True)},
            coords={"depth": list(_SCALES), "edge": edges},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the step."""
        for depth, colour in zip(data.depth.values, _COLOURS, strict=False):
            one = data.sel(depth=depth)
            ax.plot(one.edge, one.flow, "o-", color=colour, mfc="w", ms=4, lw=0.8)
            ax.plot(one.edge, one.prediction, "o-", color=colour, ms=4, lw=0.8, label=f"depth {depth}")
            ax.plot(one.edge, np.maximum(one.effective, 1e-16), ".", color=MUTED)
        ax.plot([], [], "o", color="k", mfc="w", ms=4, label="to the limit of the flow")
        ax.plot([], [], "o", color="k", ms=4, label="to the prediction")
        ax.plot([], [], ".", color=MUTED, label="to the limit from\nthe effective start")
        draw_axes_of_steps(ax, data.edge.values, r"step $\gamma\,\cdot$ sharpness / 2")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Convergence orders 1 and 2, and exactness of the effective start."""
        low = data.sel(edge=data.edge <= _LOW)
        step = np.log(low.edge.values)
        for depth in data.depth.values:
            yield within(0.8, 1.2, "distinguishes order 1 from order 2").claim(
                f"at depth {depth} gradient descent ends at a distance from the flow's limit of first order "
                "in the step (exponent)",
                slope(step, np.log(low.flow.sel(depth=depth).values)),
            )
            yield within(1.7, 2.3, "distinguishes order 2 from orders 1 and 3").claim(
                f"at depth {depth} the error of the prediction is of second order (exponent)",
                slope(step, np.log(low.prediction.sel(depth=depth).values)),
            )
        yield at_most(1e-8, "a thousand times the residual at which runs stop").claim(
            "the flow from the effective start ends where the run does (largest relative distance)",
            float(data.effective.max(skipna=False)),
        )
