"""The largest initialization scale from which sparse regression recovers the truth: Figures 1c and 3c.

Potentials of one coordinate, at unit scale and others: what Figures 2 and 3 draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.papers import Progress
from tacit.papers.measures import least
from tacit.potentials import L1, DeepHypentropy, Hypentropy

ACCURATE = 0.025  # population error that counts as recovery


def largest_scale(problem: SparseRegression, depth: float, lowest: float) -> float:
    """log of the largest predictor scale α^D at which the limit recovers the truth; NaN if there is none.

    The error crosses the threshold at most once on the way down, so: go down in growing strides until it
    is met, then bisect. lowest: the smallest log10 α^D that is tried.
    """

    def accurate(level: float) -> bool:
        model = tacit.Diagonal(depth=depth, log_scale=level * np.log(10) / depth)
        limit = tacit.limit(model, problem.X, problem.y)
        return problem.population_error(limit.predictor) <= ACCURATE

    above, level, stride = 2.0, 1.0, 1.0
    while not accurate(level):
        if level <= lowest:
            return np.nan
        above, level, stride = level, max(level - stride, lowest), 1.5 * stride
    while above - level > 0.02 * max(1.0, -level):
        middle = (above + level) / 2
        above, level = (above, middle) if accurate(middle) else (middle, level)
    return level * np.log(10)


def recovery(
    samples: list[int],
    features: int,
    depths: list[float],
    seeds: int,
    lowest: float,
    seed: int,
    progress: Progress,
) -> xr.Dataset:
    """Largest recovering scale by number of samples and depth, and the error of the ℓ1 solution.

    Within a draw the samples are nested: more of them only add to those there were.
    """
    draws = [sparse_regression(max(samples), features, seed=seed + k) for k in range(seeds)]
    cases = [(i, k) for i in range(len(samples)) for k in range(seeds)]
    levels = np.full((len(depths), len(samples), seeds), np.nan)
    l1_error = np.empty((len(samples), seeds))
    for i, k in progress(cases, "largest recovering scale"):
        problem = SparseRegression(draws[k].X[: samples[i]], draws[k].y[: samples[i]], draws[k].truth)
        l1_error[i, k] = problem.population_error(tacit.limit(L1(), problem.X, problem.y).predictor)
        for j, depth in enumerate(depths):
            levels[j, i, k] = largest_scale(problem, depth, lowest)
    return xr.Dataset(
        {"log_scale": (("depth", "samples", "seed"), levels), "l1_error": (("samples", "seed"), l1_error)},
        coords={"depth": depths, "samples": samples},
        attrs={"lowest": lowest},
    )


def samples_for_l1(data: xr.Dataset) -> float:
    """The fewest samples with which the ℓ1 solution recovers the truth, on average over draws."""
    good = data.l1_error.mean("seed", skipna=False).values <= ACCURATE
    return least(data.samples.values[good])


def median(data: xr.Dataset, depth: float) -> np.ndarray:
    """Median over draws of log α^D, counting "none" as −∞; NaN where most draws have none."""
    levels = data.log_scale.sel(depth=depth).values
    median = np.median(np.where(np.isnan(levels), -np.inf, levels), axis=1)
    return np.where(np.isfinite(median), median, np.nan)


def draw_recovery(data: xr.Dataset, ax: Any, per_depth: Callable[[np.ndarray, float], np.ndarray]) -> None:
    """Curves of the recovering scale, crosses where there is none, and the ℓ1 threshold."""
    markers = dict(zip(data.depth.values, "osD^v", strict=False))
    bottom = 0.0
    for depth in data.depth.values:
        level = per_depth(median(data, depth), depth) / np.log(10)
        ax.plot(data.samples, level, marker=markers[depth], label=f"$D={depth:g}$")
        bottom = np.fmin(bottom, least(level[np.isfinite(level)]) - 1.5)
    none = (np.isnan(data.log_scale).mean("seed") > 0.5).all("depth").values
    ax.plot(data.samples[none], np.full(none.sum(), bottom), "x", color="0.4", label="none", clip_on=False)
    ax.axvline(samples_for_l1(data), color="0.3", ls="--", lw=1, label=r"needed by $\beta^*_{\ell_1}$")
    ax.yaxis.set_major_formatter(lambda level, _: f"$10^{{{level:g}}}$")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.legend(loc="lower right")


def unit_potential(depth: float, log_scale: float = 0.0) -> Hypentropy | DeepHypentropy:
    """Q of depth D at one coordinate, predictor scale e^log_scale."""
    return Hypentropy(log_scale) if depth == 2 else DeepHypentropy(depth, log_scale)


def values(potential: Any, z: np.ndarray) -> np.ndarray:
    """Of a potential at each of these coordinates."""
    return np.array([float(potential.value(x)) for x in z])
