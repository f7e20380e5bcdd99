"""The largest initialization scale that recovers the truth: Figures 1c and 3c of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.papers import Claim, Progress, within
from tacit.papers.measures import farthest, halfway, least, limit_error
from tacit.potentials import L1

ACCURATE = 0.025  # population error that counts as recovery


def largest_scale(problem: SparseRegression, depth: float, lowest: float) -> float:
    """log of the largest predictor scale α^D at which the limit recovers the truth; NaN if there is none.

    The error crosses the threshold at most once as the scale decreases. The scale is therefore decreased in
    growing steps until the limit recovers the truth, and then bisected. lowest: the smallest log10 α^D tried.
    """

    def accurate(level: float) -> bool:
        return limit_error(problem, _model(depth, level * np.log(10))) <= ACCURATE

    above, level, stride = 2.0, 1.0, 1.0
    while not accurate(level):
        if level <= lowest:
            return np.nan
        above, level, stride = level, max(level - stride, lowest), 1.5 * stride
    while above - level > _width(level):
        middle = (above + level) / 2
        above, level = (above, middle) if accurate(middle) else (middle, level)
    return level * np.log(10)


def _model(depth: float, log_scale: float) -> tacit.Diagonal:
    """The network with the predictor scale α^D = exp(log_scale)."""
    return tacit.Diagonal(depth=depth, log_scale=log_scale / depth)


def _width(level: float) -> float:
    """The resolution of the bisection at a level, in decades."""
    return 0.02 * max(1.0, -level)


def trained_error(problems: list[SparseRegression], depth: float, levels: np.ndarray) -> float:
    """The error of raw weights trained from the largest scale at which the limit recovers the truth.

    For the first problem with such a scale; NaN if there is none. The scale is refined after the bisection,
    so that the limit has an error of 0.025. levels: log α^D of every problem; NaN if no scale recovers the
    truth.
    """
    for problem, level in zip(problems, levels, strict=True):
        if not np.isnan(level):
            between = level, level + np.log(10) * _width(level / np.log(10))
            error = problem.population_error
            return halfway(problem, error, partial(_model, depth), ACCURATE, between)[1]
    return np.nan


class Recovery:
    """The data of both figures."""

    def data(
        self,
        samples: list[int],
        features: int,
        seeds: int,
        lowest: float,
        depths: Sequence[float] = (2.0,),
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Largest recovering scale by bisection, for every depth, sample size and draw.

        For the largest sample size, also the error of raw weights trained from this scale, by depth. The
        samples of a draw are nested: larger samples contain the smaller ones.
        """
        draws = [sparse_regression(max(samples), features, seed=seed + k) for k in range(seeds)]
        levels, l1_error = np.empty((len(depths), len(samples), seeds)), np.empty((len(samples), seeds))
        for i, k in progress(list(np.ndindex(l1_error.shape)), "largest recovering scale"):
            problem = _first(draws[k], samples[i])
            l1_error[i, k] = limit_error(problem, L1())
            levels[:, i, k] = [largest_scale(problem, depth, lowest) for depth in depths]
        problems = [_first(draw, samples[-1]) for draw in draws]
        errors = [trained_error(problems, *each) for each in zip(depths, levels[:, -1], strict=True)]
        return xr.Dataset(
            {
                "log_scale": (("depth", "samples", "seed"), levels),
                "l1_error": (("samples", "seed"), l1_error),
                "trained_error": ("depth", errors),
            },
            coords={"depth": list(depths), "samples": samples},
            attrs={"lowest": lowest},
        )


def _first(problem: SparseRegression, samples: int) -> SparseRegression:
    """The problem with its first samples only."""
    return SparseRegression(problem.X[:samples], problem.y[:samples], problem.truth)


def recovery_claim(data: xr.Dataset) -> Claim:
    """The largest recovering scale is also that of the raw weights."""
    return within(0.999, 1.001, "detects a scale that is wrong by one percent").claim(
        "with the most samples, raw weights trained from the largest recovering scale have an error of 0.025 "
        "(ratio, farthest from 1)",
        farthest(data.trained_error.values / ACCURATE),
    )


def samples_for_l1(data: xr.Dataset) -> float:
    """The smallest number of samples for which the ℓ1 solution recovers the truth on average over draws."""
    good = data.l1_error.mean("seed", skipna=False).values <= ACCURATE
    return least(data.samples.values[good])


def median(data: xr.Dataset, depth: float) -> np.ndarray:
    """Median over draws of log α^D, with −∞ for draws without a scale; NaN if these are the majority."""
    levels = data.log_scale.sel(depth=depth).values
    median = np.median(np.where(np.isnan(levels), -np.inf, levels), axis=1)
    return np.where(np.isfinite(median), median, np.nan)


def draw_recovery(data: xr.Dataset, ax: Any, per_depth: Callable[[np.ndarray, float], np.ndarray]) -> None:
    """Curves of the recovering scale, crosses if there is none, and the ℓ1 threshold."""
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
