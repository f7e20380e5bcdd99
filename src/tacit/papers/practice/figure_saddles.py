"""From saddle to saddle: features are learned one at a time, at times that do not depend on the depth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import linprog

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_most, figure
from tacit.papers.practice.data import sparse_problem
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, RICH, TRUTH

_COLOURS = (RICH, KERNEL, TRUTH)
_MARKERS = "os^"
_BEYOND = 1.15  # how far the flows go, in units of the time of the last jump


@figure(
    "practice/saddles",
    **presets(
        samples=(5, 8),
        features=(10, 20),
        log_scales=(
            {"2": -276.0, "3": math.log(1e-6), "4": math.log(1e-3)},
            {"2": -690.0, "3": math.log(1e-8), "4": math.log(1e-4)},
        ),
        times=(30, 80),
    ),
    figsize=(7.2, 2.7),
    about=("Saddle path",),
    seconds=6,
    short="from saddle to saddle",
)
class SaddleToSaddle:
    """Gradient flow of diagonal networks from a tiny initialization stays near one saddle of the loss, and
    then jumps to the next: features are learned one at a time (Pesme and Flammarion 2023). Lines: the saddle
    path, computed without simulation. Markers: flows of depth 2, 3 and 4, each at its own scale, with
    training time converted to the time τ of the path. At depth 2 the distance to the path decreases only as
    the inverse of the logarithm of the scale.
    """

    def data(
        self,
        samples: int,
        features: int,
        log_scales: dict[str, float],
        times: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """The path, the flows at the same times, and the minimum ℓ1 norm solution by linear programming."""
        X, y, _ = sparse_problem(samples, features, seed)
        path = tacit.saddle_path(X, y)
        even = np.linspace(0, _BEYOND * path.times[-1], times + 1)[1:]
        tau = np.union1d(even, path.times[0] / 2)  # and one time before the first jump
        flows = []
        for depth, log_scale in progress(log_scales.items(), "flows"):
            model = tacit.Diagonal(depth=int(depth), log_scale=log_scale)
            speed = tacit.saddle_path(X, y, depth=int(depth)).time(model)[-1] / path.times[-1]
            flows.append(tacit.flow(model, X, y, times=[0, *(tau * speed)]).predictor[1:])
        fine = np.sort(np.concatenate([np.linspace(0, tau[-1], 400), path.times, path.times * (1 - 1e-12)]))
        return xr.Dataset(
            {
                "path": (("time", "feature"), np.array([path.at(t) for t in tau])),
                "line": (("fine", "feature"), np.array([path.at(t) for t in fine])),
                "flow": (("depth", "time", "feature"), np.array(flows)),
                "basis_pursuit": ("feature", _basis_pursuit(X, y)),
                "end": ("feature", path.predictors[-1]),
            },
            coords={
                "depth": [int(depth) for depth in log_scales],
                "time": tau,
                "fine": fine,
                "jump": path.times,
            },
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Coefficients against τ."""
        ax.vlines(data.jump, *_limits(data), color="0.88", lw=0.8)
        ax.plot(data.fine, data.line, color="k", lw=1)
        for k, (depth, colour, marker) in enumerate(zip(data.depth.values, _COLOURS, _MARKERS, strict=False)):
            shown = data.flow.sel(depth=depth)[k :: len(_MARKERS)]  # alternating, because the flows coincide
            ax.plot(shown.time, shown, marker, color=colour, ms=3, mfc="w", label="_")
            ax.plot([], [], marker, color=colour, ms=4, mfc="w", label=f"flow, depth {depth}")
        ax.plot([], [], color="k", lw=1, label="saddle path")
        ax.set(xlabel=r"time $\tau$", ylabel="coefficients", ylim=_limits(data))
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Flows follow the path, and the path ends at basis pursuit."""
        size = float(np.linalg.norm(data.end))
        distance = np.sqrt(((data.flow - data.path) ** 2).sum("feature", skipna=False)) / size
        for depth, most in ((3, 1e-6), (4, 1e-5)):  # errors of the order of the power α^(D−2) of the scale
            flow = data.flow.sel(depth=depth)
            yield at_most(most, "ten times α^(D−2), and a wrong clock leaves 0.5 and more").claim(
                f"at depth {depth} the flow follows the saddle path (median relative distance over times)",
                float(distance.sel(depth=depth).median("time", skipna=False)),
            )
            waiting = flow.sel(time=data.jump.values[0] / 2, method="nearest")
            yield at_most(1e-3, "α^D, amplified until half-way to the jump").claim(
                f"at depth {depth} the flow stays near 0 before the first jump (norm, relative to the end)",
                float(np.linalg.norm(waiting) / np.linalg.norm(flow[-1])),
            )
        norm = float(np.abs(data.basis_pursuit).sum())
        yield at_most(1e-8, "the tolerance of the linear program").claim(
            "the path ends at the minimum ℓ1 norm (relative excess over a linear program, absolute value)",
            abs(float(np.abs(data.end).sum()) / norm - 1),
        )


def _basis_pursuit(X: Float, y: Float) -> Float:
    """argmin ‖b‖₁ subject to X b = y, by HiGHS."""
    d = X.shape[1]
    found = linprog(np.ones(2 * d), A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    return np.subtract(*np.split(np.asarray(found.x), 2))


def _limits(data: xr.Dataset) -> tuple[float, float]:
    low, high = float(data.line.min()), float(data.line.max())
    room = 0.06 * (high - low)
    return low - room, high + room
