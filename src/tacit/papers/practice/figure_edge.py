"""Beyond the edge of stability: the effective start remains exact where the limit of gradient flow is
inaccurate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.practice.data import relative, sparse_problem, step_at_edge
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, MUTED, RICH

_SCALE = 0.1  # of the initial weights


@figure(
    "practice/edge",
    **presets(
        samples=(6, 10),
        features=(12, 40),
        draws=(10, 20),
        edges=([0.2, 0.5, 0.8, 1.1, 1.4, 1.7], [0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]),
    ),
    figsize=(5.6, 3.0),
    about=("Effective start",),
    seconds=4,
    short="beyond the edge of stability",
)
class Edge:
    """Gradient descent of depth 2 with steps below and above the edge of stability 2/sharpness at the limit
    of the flow, on several random problems. For runs that converge, the limit of the flow from the effective
    start equals the end of the run up to round-off (blue), even if weights change their sign, although the
    limit of gradient flow itself is inaccurate (orange). Runs that did not converge are left out.
    """

    def data(
        self, samples: int, features: int, draws: int, edges: list[float], *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Runs at every step, on several problems."""
        found = np.full((2, draws, len(edges)), np.nan)
        model = tacit.Diagonal(scale=_SCALE)
        for i in progress(range(draws), "problems"):
            X, y, _ = sparse_problem(samples, features, [seed, i])
            flow, unit = tacit.limit(model, X, y).predictor, step_at_edge(model, X, y)
            for j, edge in enumerate(edges):
                training = tacit.Training(step=edge * unit)
                run = tacit.descend(model, X, y, training, until=1e-12, max_steps=50_000)
                if run.converged:
                    effective = tacit.limit(run.effective, X, y).predictor
                    found[:, i, j] = relative(flow, run.predictor), relative(effective, run.predictor)
        where = ("draw", "edge")
        return xr.Dataset({"flow": (where, found[0]), "effective": (where, found[1])}, coords={"edge": edges})

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the step."""
        for i in range(data.sizes["draw"]):
            one = data.isel(draw=i)
            ax.plot(one.edge, one.flow, "o", color=RICH, mfc="w", ms=4)
            ax.plot(one.edge, np.maximum(one.effective, 1e-17), ".", color=KERNEL)
        ax.axvline(1, color=MUTED, lw=0.8)
        ax.plot([], [], "o", color=RICH, mfc="w", ms=4, label="limit of the flow")
        ax.plot([], [], ".", color=KERNEL, label="limit from the\neffective start")
        ax.set(
            yscale="log",
            xlabel=r"step $\gamma\,\cdot$ sharpness / 2",
            ylabel="relative distance to the end",
        )
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Exactness of the effective start, and the error of gradient flow beyond the edge."""
        yield at_most(1e-8, "ten thousand times the residual at which runs stop").claim(
            "wherever the run converges, the effective start is exact (largest relative distance)",
            float(data.effective.max()),
        )
        beyond = data.sel(edge=data.edge > 1)
        yield at_least(0.02, "a hundred thousand times what the effective start leaves").claim(
            "beyond the edge the limit of the flow is not the end (median relative distance)",
            float(beyond.flow.median()),
        )
        yield at_least(0.05, "otherwise the statement is about nothing").claim(
            "some runs converge beyond the edge (share)", float(beyond.flow.notnull().mean())
        )
