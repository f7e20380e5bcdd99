"""Momentum acts as a longer step, whose exact length the figure tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, figure, within
from tacit.papers.measures import least, slope
from tacit.papers.practice.data import draw_axes_of_steps, relative, sparse_problem, step_at_edge
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, RICH, TRUTH

_OPTIMIZERS = {  # name: momentum, Nesterov
    "heavy ball, β = 0.5": (0.5, False),
    "heavy ball, β = 0.9": (0.9, False),
    "Nesterov, β = 0.9": (0.9, True),
}
_COLOURS = (RICH, KERNEL, TRUTH)
_SCALE = 0.1  # of the initial weights


@figure(
    "practice/momentum",
    **presets(
        samples=(6, 10),
        features=(12, 40),
        edges=([0.04, 0.08, 0.16], [0.01, 0.02, 0.04, 0.08, 0.16, 0.32]),
    ),
    figsize=(6.4, 3.2),
    about=("Second order",),
    seconds=6,
    short="momentum",
)
class Momentum:
    """Gradient descent with momentum β ends where plain gradient descent with a step 2λ does, to second order
    (depth 2; Papazov et al. 2024): λ = γ(1 + β)/(2(1 − β)²) for the heavy ball, γ(1 − β + 2β²)/(2(1 − β)²)
    for Nesterov's. Relative distance of the end to the limit of the flow (open), to the prediction (filled),
    and to the prediction with λ = γ/(1 − β)² instead (crosses), against λ·sharpness.
    """

    def data(
        self, samples: int, features: int, edges: list[float], *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Runs for every optimizer and step, and their distances."""
        X, y, _ = sparse_problem(samples, features, seed)
        model = tacit.Diagonal(scale=_SCALE)
        flow, unit = tacit.limit(model, X, y).predictor, step_at_edge(model, X, y)
        found = np.empty((3, len(_OPTIMIZERS), len(edges)))
        for i, (momentum, nesterov) in enumerate(progress(_OPTIMIZERS.values(), "optimizers")):
            for j, edge in enumerate(edges):
                step = edge * unit * (1 - momentum) ** 2 / 2
                training = tacit.Training(step=step, momentum=momentum, nesterov=nesterov)
                end = tacit.descend(model, X, y, training, until=1e-11).predictor
                predicted = tacit.limit(model, X, y, training=training).predictor
                common = tacit.Training(step=2 * step / (1 - momentum) ** 2)  # plain steps with the same λ
                other = tacit.limit(model, X, y, training=common).predictor
                found[:, i, j] = [relative(each, end) for each in (flow, predicted, other)]
        where = ("optimizer", "edge")
        names = ("flow", "prediction", "common")
        return xr.Dataset(
            {name: (where, values) for name, values in zip(names, found, strict=True)},
            coords={"optimizer": list(_OPTIMIZERS), "edge": edges},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the step."""
        for name, colour in zip(data.optimizer.values, _COLOURS, strict=True):
            one = data.sel(optimizer=name)
            ax.plot(one.edge, one.flow, "o-", color=colour, mfc="w", ms=4, lw=0.8)
            ax.plot(one.edge, one.common, "x--", color=colour, ms=5, lw=0.8)
            ax.plot(one.edge, one.prediction, "o-", color=colour, ms=4, lw=0.8, label=name)
        ax.plot([], [], "o", color="k", mfc="w", ms=4, label="to the limit of the flow")
        ax.plot([], [], "x", color="k", ms=5, label=r"with $\lambda=\gamma/(1-\beta)^2$")
        ax.plot([], [], "o", color="k", ms=4, label="to the prediction")
        draw_axes_of_steps(ax, data.edge.values, r"$\gamma\,\cdot$ sharpness / $(1-\beta)^2$")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The error is of second order with the correct constant, and not with the other one."""
        step = np.log(data.edge.values)
        for name in data.optimizer.values:
            one = data.sel(optimizer=name)
            yield within(1.6, 2.4, "distinguishes order 2 from orders 1 and 3").claim(
                f"{name}: the error of the prediction is of second order in the step (exponent)",
                slope(step, np.log(one.prediction.values)),
            )
        first = data.isel(edge=0)
        yield at_least(3, "the other constant leaves an error of first order").claim(
            "at the smallest step γ/(1 − β)² predicts worse (least ratio of errors)",
            least((first.common / first.prediction).values),
        )
