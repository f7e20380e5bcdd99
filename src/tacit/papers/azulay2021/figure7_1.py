"""Initialization scale and shape of untied diagonal networks: Figure 7.1 of Azulay et al. 2021."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.halfway import farthest, level_at, trained
from tacit.papers.measures import largest_fall
from tacit.potentials import L1, Quadratic
from tacit.show.figures import level_line


@figure(
    "azulay2021/fig7.1",
    quick={"samples": 70, "features": 200, "scales": 9, "shapes": 9},
    paper={"samples": 100, "features": 1000, "scales": 31, "shapes": 31},
    figsize=(5.2, 3.7),
    about=("Theorem 1 (4.1)", "Section 7.1"),
    short="scale and shape",
)
class ScaleAndShape:
    """Population error over initialization scale and shape of an untied diagonal network (Figure 7.1)."""

    def data(
        self, samples: int, features: int, scales: int, shapes: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """A limit for every scale and shape, and the two ends."""
        problem = sparse_regression(samples, features, seed=seed)
        scale = np.logspace(-8, 0, scales)
        balance = np.linspace(0, 5, shapes)  # shape = 1 − 10^{−balance}, crowding towards 1
        shape = 1 - 10.0**-balance
        error = np.empty((shapes, scales))
        for j in progress(range(shapes), "fig7.1"):
            for i in range(scales):
                error[j, i] = _error(problem, np.log(scale[i]), shape[j])
        ends = [
            problem.population_error(tacit.limit(end, problem.X, problem.y).predictor)
            for end in (L1(), Quadratic())
        ]
        middle = float(np.sqrt(np.prod(ends)))
        halfway = np.array([_halfway(problem, middle, s) for s in shape[[0, -1]]])
        return xr.Dataset(
            {
                "error": (("shape", "scale"), error),
                "end_error": ("end", ends),
                "halfway": ("side", halfway[:, 0]),
                "trained_error": ("side", halfway[:, 1]),
            },
            coords={"shape": shape, "scale": scale, "end": ["l1", "l2"]},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The map, with the level sets of α/(1−s²) as lines."""
        s, alpha = data["shape"].values, data["scale"].values
        gap = 1 - s
        mesh = ax.pcolormesh(alpha, gap, data.error, shading="gouraud", rasterized=True)
        ax.figure.colorbar(mesh, ax=ax, label=r"population error $\|\tilde w(\infty)-\beta^*\|^2$")
        ax.set(
            xscale="log", yscale="log", xlabel=r"initialization scale $\alpha$", ylabel=r"$1-s$, shape $s$"
        )
        ax.set(xlim=(alpha[0], alpha[-1]), ylim=(gap.min(), gap.max()))
        fine = np.geomspace(gap.min(), gap.max(), 200)
        for exponent in range(-7, 5):
            line = 10.0**exponent * fine * (2 - fine)
            anchor = np.flatnonzero((line > 3 * alpha[0]) & (line < alpha[-1] / 4) & (fine > 2 * fine[0]))
            middle = int(anchor[len(anchor) // 2]) if anchor.size else None
            level_line(ax, line, fine, f"$10^{{{exponent}}}$", middle)
        ax.set_title(r"white: level sets of $\alpha/(1-s^2)$", loc="left", fontsize=8)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Balanced and small is rich, s → 1 is kernel at any scale, and √k decides."""
        error = data.error.values
        rich, kernel = data.end_error.values
        yield at_most(2, "of its size, where the kernel has ten times as much").claim(
            "small and balanced (s = 0) generalizes as ℓ1 does (ratio)", error[0, 0] / rich
        )
        yield at_most(0.05, "a twentieth: α = 1 is not infinite").claim(
            "large scale is the kernel regime (relative difference)", abs(error[0, -1] / kernel - 1)
        )
        late = np.interp(np.log(1e-3), np.log(data.scale.values), error[-1])
        early = np.interp(np.log(1e-3), np.log(data.scale.values), error[0])
        yield at_least(2, "a multiple").claim(
            "at α = 1e-3, s → 1 raises the error towards the kernel's (ratio to s = 0)", late / early
        )
        s, alpha = data["shape"].values, data["scale"].values
        root_k = np.log(4 * alpha[None, :] * (1 + s[:, None] ** 2) / (1 - s[:, None] ** 2))
        order = np.argsort(root_k.ravel())
        yield at_most(
            1e-3, "at the rich end solutions fit the noise, and a larger k may do so a little less"
        ).claim(
            "√k = 4α(1+s²)/(1−s²) alone decides: largest fall of the error along it, over the kernel's",
            largest_fall(error.ravel()[order]) / kernel,
        )
        rough = data.halfway.values / (1 - s[[0, -1]] ** 2)
        yield within(0.499, 0.501, "√k has the factor 1 + s², which α/(1−s²) lacks").claim(
            "half way between ℓ1 and ℓ2, α/(1−s²) is half as large at s → 1 as at s = 0 (ratio)",
            rough[1] / rough[0],
        )
        yield within(0.999, 1.001, "a scale that is off by half a percent is noticed").claim(
            "raw weights trained from there have the error half way between ℓ1 and ℓ2, at s = 0 and s → 1 "
            "(ratio, farthest from 1)",
            farthest(data.trained_error.values / np.sqrt(rich * kernel)),
        )


def _error(problem: SparseRegression, level: float, shape: float) -> float:
    """The population error of the limit at the initialization scale α = exp(level)."""
    model = tacit.UntiedDiagonal(scale=np.exp(level), shape=shape)
    return problem.population_error(tacit.limit(model, problem.X, problem.y).predictor)


def _halfway(problem: SparseRegression, middle: float, shape: float) -> tuple[float, float]:
    """The scale at which the limit has the error `middle`, and the error of weights trained from there."""
    lowest, highest = np.log(1e-20), np.log(1e2)
    level = level_at(lambda level: _error(problem, level, shape), middle, lowest, highest)
    if np.isnan(level):
        return np.nan, np.nan
    model = tacit.UntiedDiagonal(scale=np.exp(level), shape=shape)
    return np.exp(level), problem.population_error(trained(model, problem.X, problem.y))
