"""Figure 7.1 of Azulay et al. 2021: initialization scale and shape of untied diagonal networks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import sparse_regression
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.azulay2021.training import middle_of
from tacit.papers.measures import farthest, halfway, largest_fall, limit_error, variables
from tacit.papers.reproduction import presets
from tacit.potentials import L1, Quadratic
from tacit.show.figures import level_line


@figure(
    "azulay2021/fig7.1",
    **presets(samples=(70, 100), features=(200, 1000), scales=(9, 31), shapes=(9, 31)),
    figsize=(5.2, 3.7),
    about=("Theorem 1 (4.1)", "Section 7.1"),
    short="scale and shape",
)
class ScaleAndShape:
    """Population error over initialization scale and shape of an untied diagonal network (Figure 7.1)."""

    def data(
        self, samples: int, features: int, scales: int, shapes: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute a limit for every scale and shape, and the two ends."""
        problem = sparse_regression(samples, features, seed=seed)
        scale = np.logspace(-8, 0, scales)
        shape = 1 - 10.0 ** -np.linspace(0, 5, shapes)  # crowding towards 1
        starts = [[_model(np.log(alpha), s) for alpha in scale] for s in shape]
        error = [[limit_error(problem, model) for model in row] for row in progress(starts, "fig7.1")]
        ends = [limit_error(problem, end) for end in (L1(), Quadratic())]
        middle, between = float(np.sqrt(np.prod(ends))), (np.log(1e-20), np.log(1e2))
        sides = (partial(_model, shape=s) for s in shape[[0, -1]])
        error_of = problem.population_error
        halves = [halfway(problem, error_of, model, middle, between) for model in sides]
        level, after = np.transpose(halves)
        return xr.Dataset(
            {
                "error": (("shape", "scale"), error),
                "end_error": ("end", ends),
                **variables("side", halfway=np.exp(level), trained_error=after),
            },
            coords={"shape": shape, "scale": scale, "end": ["l1", "l2"]},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the map, with the level sets of α/(1−s²) as lines."""
        s, alpha = data["shape"].values, data["scale"].values
        gap = 1 - s
        mesh = ax.pcolormesh(alpha, gap, data.error, shading="gouraud", rasterized=True)
        ax.figure.colorbar(mesh, ax=ax, label=r"population error $\|\tilde w(\infty)-\beta^*\|^2$")
        ax.set(xlabel=r"initialization scale $\alpha$", ylabel=r"$1-s$, shape $s$")
        ax.set(xscale="log", yscale="log", xlim=(alpha[0], alpha[-1]), ylim=(gap.min(), gap.max()))
        fine = np.geomspace(gap.min(), gap.max(), 200)
        for exponent in range(-7, 5):
            line = 10.0**exponent * fine * (2 - fine)
            named = (line > 3 * alpha[0]) & (line < alpha[-1] / 4) & (fine > 2 * fine[0])
            level_line(ax, line, fine, f"$10^{{{exponent}}}$", middle_of(named))
        ax.set_title(r"white: level sets of $\alpha/(1-s^2)$", loc="left", fontsize=8)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Balanced small networks are rich, s → 1 gives the kernel regime at any scale, and √k determines the
        regime."""
        error = data.error.values
        rich, kernel = data.end_error.values
        yield at_most(2, "the same order of magnitude; the kernel solution has ten times the error").claim(
            "small balanced initialization (s = 0) generalizes like the ℓ1 solution (ratio of errors)",
            error[0, 0] / rich,
        )
        text = "large scales are in the kernel regime (relative difference of errors)"
        yield at_most(0.05, "five percent, because α = 1 is not infinite").claim(
            text, abs(error[0, -1] / kernel - 1)
        )
        early, late = (np.interp(np.log(1e-3), np.log(data.scale.values), row) for row in error[[0, -1]])
        text = "at α = 1e-3, s → 1 raises the error towards that of the kernel regime (ratio to s = 0)"
        yield at_least(2, "a multiple").claim(text, late / early)
        s, alpha = data["shape"].values, data["scale"].values
        root_k = np.log(4 * alpha[None, :] * (1 + s[:, None] ** 2) / (1 - s[:, None] ** 2))
        order = np.argsort(root_k.ravel())
        yield at_most(1e-3, "rich solutions fit the noise, and a larger k may fit it slightly less").claim(
            "√k = 4α(1+s²)/(1−s²) alone determines the error (largest decrease, over the kernel error)",
            largest_fall(error.ravel()[order]) / kernel,
        )
        rough = data.halfway.values / (1 - s[[0, -1]] ** 2)
        yield within(0.499, 0.501, "√k has the factor 1 + s², which α/(1−s²) lacks").claim(
            "half way between ℓ1 and ℓ2, α/(1−s²) is half as large at s → 1 as at s = 0 (ratio)",
            rough[1] / rough[0],
        )
        yield within(0.999, 1.001, "detects a scale that is wrong by half a percent").claim(
            "raw weights trained from there have the error half way between ℓ1 and ℓ2, at s = 0 and s → 1 "
            "(ratio, farthest from 1)",
            farthest(data.trained_error.values / np.sqrt(rich * kernel)),
        )


def _model(level: float, shape: float) -> tacit.UntiedDiagonal:
    """The network of the initialization scale α = exp(level)."""
    return tacit.UntiedDiagonal(scale=np.exp(level), shape=shape)
