"""Sparse regression with diagonal networks: Figure 1 of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.halfway import farthest, level_at, trained
from tacit.papers.measures import largest_fall, rank_correlation, share, slope
from tacit.papers.woodworth2020.shared import ACCURATE, draw_recovery, recovery, recovery_claim
from tacit.potentials import L1, Quadratic
from tacit.show.figures import KERNEL, RICH

# At the rich end the solutions fit the noise, and a slightly larger scale may do so slightly less: the error
# falls by up to 1e-4 of that of ℓ2 there (60 draws).
NOISE = 1e-3
LOWEST, HIGHEST = -20 * np.log(10), 2 * np.log(10)  # log α between which limits are half way between the ends


def _model(level: float) -> tacit.Diagonal:
    """The network of depth 2 at the scale α = exp(level)."""
    return tacit.Diagonal(depth=2, log_scale=level)


def _ends(problem: SparseRegression) -> tuple[np.ndarray, np.ndarray]:
    """The minimum ℓ1 and ℓ2 norm solutions."""
    rich = tacit.limit(L1(), problem.X, problem.y).predictor
    kernel = tacit.limit(Quadratic(), problem.X, problem.y).predictor
    return rich, kernel


@figure(
    "woodworth2020/fig1a",
    quick={"samples": 70, "features": 200, "scales": 15, "seeds": 2},
    paper={"samples": 100, "features": 1000, "scales": 41, "seeds": 10},
    about=("Theorem 1",),
    short="error against scale",
)
class PopulationErrorAgainstScale:
    """Population error of the limit of gradient flow against the initialization scale (Figure 1a)."""

    def data(
        self, samples: int, features: int, scales: int, seeds: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Limits at every scale and both ends, for several draws of the problem."""
        alphas = np.logspace(-6, 1, scales)
        error, ends, halfway = np.empty((seeds, scales)), np.empty((seeds, 2)), np.empty((seeds, 2))
        for k in progress(range(seeds), "fig1a"):
            problem = sparse_regression(samples, features, seed=seed + k)
            ends[k] = [problem.population_error(w) for w in _ends(problem)]
            error[k] = [_error(problem, np.log(alpha)) for alpha in alphas]
            halfway[k] = _error_halfway(problem, float(np.sqrt(ends[k].prod())))
        return xr.Dataset(
            {
                "error": (("seed", "alpha"), error),
                "end_error": (("seed", "end"), ends),
                "halfway": ("seed", halfway[:, 0]),
                "trained_error": ("seed", halfway[:, 1]),
            },
            coords={"alpha": alphas, "end": ["l1", "l2"]},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Mean over draws with their range; the ends as lines."""
        error = data.error.clip(1e-16)  # the axis is logarithmic
        mean, low, high = error.mean("seed"), error.min("seed"), error.max("seed")
        ax.loglog(data.alpha, mean, color="k", label=r"gradient flow, $\beta_\alpha^\infty$")
        ax.fill_between(data.alpha, low, high, color="0.85", lw=0, label="range over draws")
        for end, color, name in (("l1", RICH, r"$\beta^*_{\ell_1}$"), ("l2", KERNEL, r"$\beta^*_{\ell_2}$")):
            level = float(data.end_error.sel(end=end).mean())
            ax.axhline(level, color=color, ls="--", lw=1, label=f"{name}, minimum norm")
        ax.plot(data.halfway, data.trained_error, "kx", ms=5, label="raw weights, trained")
        ax.set(
            xlabel=r"initialization scale $\alpha$",
            ylabel=r"population error $\|\beta_\alpha^\infty-\beta^*\|_2^2$",
        )
        ax.legend(loc="center left", bbox_to_anchor=(0.02, 0.62))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both ends, monotone in between, and where the middle is."""
        mean = data.error.mean("seed", skipna=False).values
        rich, kernel = data.end_error.mean("seed", skipna=False).values
        yield at_most(2, "of its size, where large scales have ten times as much").claim(
            "the smallest scale generalizes as the ℓ1 solution does (ratio)", mean[0] / rich
        )
        yield at_most(1e-3, "two digits more than are drawn").claim(
            "the largest scale is the ℓ2 solution (relative difference)", abs(mean[-1] / kernel - 1)
        )
        yield at_least(10, "an order of magnitude").claim(
            "small initialization generalizes, large does not (ratio)", mean[-1] / mean[0]
        )
        yield at_most(
            NOISE, "at the rich end solutions fit the noise, and a larger scale may do so a little less"
        ).claim(
            "the error grows with the scale (largest fall, over the error of ℓ2)", largest_fall(mean) / kernel
        )
        middle = np.sqrt(data.end_error.prod("end", skipna=False).values)
        yield within(0.999, 1.001, "a scale that is off by half a percent is noticed").claim(
            "raw weights trained from the half-way scale have the error half way between the ends (ratio, "
            "farthest from 1)",
            farthest(data.trained_error.values / middle),
        )


def _error(problem: SparseRegression, level: float) -> float:
    """The population error of the limit at α = exp(level)."""
    return problem.population_error(tacit.limit(_model(level), problem.X, problem.y).predictor)


def _error_halfway(problem: SparseRegression, middle: float) -> tuple[float, float]:
    """The scale at which the limit has the error `middle`, and the error of weights trained from there."""
    level = level_at(partial(_error, problem), middle, LOWEST, HIGHEST)
    if np.isnan(level):
        return np.nan, np.nan
    return np.exp(level), problem.population_error(trained(_model(level), problem.X, problem.y))


@figure(
    "woodworth2020/fig1b",
    quick={"samples": 40, "features": 200, "scales": 61},
    paper={"samples": 100, "features": 1000, "scales": 121},
    about=("Theorem 2",),
    short="norms against scale",
)
class ExcessNorms:
    """Excess ℓ1 and ℓ2 norm of the limit over the minimum norm solutions, against the scale (Figure 1b)."""

    def data(self, samples: int, features: int, scales: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Norms of the limits at scales far beyond both regimes."""
        problem = sparse_regression(samples, features, seed=seed)
        rich, kernel = _ends(problem)
        alphas = np.logspace(-10, 2, scales)
        norms = np.empty((2, scales))
        for i in progress(range(scales), "fig1b"):
            limit = tacit.limit(tacit.Diagonal(depth=2, scale=alphas[i]), problem.X, problem.y)
            norms[:, i] = np.abs(limit.predictor).sum(), np.linalg.norm(limit.predictor)
        least = np.array([np.abs(rich).sum(), np.linalg.norm(kernel)])
        most = np.abs(kernel).sum() - least[0]  # the excess ℓ1 norm of the kernel end
        scale, norm = _norm_halfway(problem, float(least[0] + most / 2))
        rich_excess = _l1_norm(problem, -100 * np.log(10)) - least[0]
        return xr.Dataset(
            {
                "excess": (("norm", "alpha"), norms - least[:, None]),
                "least": ("norm", least),
                "most": most,
                "rich_excess": rich_excess,
                "halfway": scale,
                "trained_excess": norm - least[0],
            },
            coords={"alpha": alphas, "norm": ["l1", "l2"]},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Blue for ℓ1 and red for ℓ2, as in the paper."""
        labels = {
            "l1": (KERNEL, r"$\|\beta_\alpha^\infty\|_1-\|\beta^*_{\ell_1}\|_1$"),
            "l2": (RICH, r"$\|\beta_\alpha^\infty\|_2-\|\beta^*_{\ell_2}\|_2$"),
        }
        for norm, (color, label) in labels.items():
            ax.loglog(data.alpha, data.excess.sel(norm=norm).clip(1e-16), color=color, label=label)
        ax.plot(data.halfway, data.trained_excess, "kx", ms=5, label="raw weights, trained")
        ax.set(xlabel=r"initialization scale $\alpha$", ylabel="excess norm", ylim=(1e-12, 20))
        ax.legend(loc="lower center")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Each norm reaches its minimum at its end, at the rates of equations 6 and 7; and the middle."""
        l1, l2 = data.excess.sel(norm="l1").values, data.excess.sel(norm="l2").values
        least_l1, least_l2 = data.least.values
        yield at_most(3e-3, "it falls like 1/log(1/α²) at least, which is 0.002").claim(
            "excess ℓ1 norm vanishes at the rich end (relative, at α = 1e-100)", data.rich_excess / least_l1
        )
        yield at_most(1e-9, "rounding, and room").claim(
            "excess ℓ2 norm vanishes at the kernel end (relative)", l2[-1] / least_l2
        )
        yield at_most(1e-9, "rounding, and room").claim(
            "excess ℓ1 norm only grows with the scale (largest fall)", largest_fall(l1)
        )
        yield at_most(1e-9, "rounding, and room").claim(
            "excess ℓ2 norm only falls with the scale (largest rise)", largest_fall(-l2)
        )
        kernel = (l2 < 1e-5 * least_l2) & (l2 > 1e-12 * least_l2)
        yield within(-9, -7, "tells −8 from −6 and −10").claim(
            "the kernel end is approached polynomially, like α^-8: fitted exponent",
            slope(np.log(data.alpha.values[kernel]), np.log(l2[kernel])),
        )
        yield within(0.4995, 0.5005, "a scale that is off by half a percent is noticed").claim(
            "raw weights trained from the half-way scale have half of the kernel's excess ℓ1 norm (share)",
            data.trained_excess / data.most,
        )


def _l1_norm(problem: SparseRegression, level: float) -> float:
    """The ℓ1 norm of the limit at α = exp(level)."""
    return float(np.abs(tacit.limit(_model(level), problem.X, problem.y).predictor).sum())


def _norm_halfway(problem: SparseRegression, middle: float) -> tuple[float, float]:
    """The scale at which the limit has the ℓ1 norm `middle`, and the norm of weights trained from there."""
    level = level_at(partial(_l1_norm, problem), middle, LOWEST, HIGHEST)
    if np.isnan(level):
        return np.nan, np.nan
    return np.exp(level), float(np.abs(trained(_model(level), problem.X, problem.y)).sum())


@figure(
    "woodworth2020/fig1c",
    quick={  # with more samples than half of the features, fitting the noise is what costs most
        "samples": [15, 35, 45, 50, 55, 60, 70, 85, 100],
        "features": 200,
        "seeds": 7,
        "lowest": -120.0,
    },
    paper={
        "samples": [20, 30, 40, 45, 50, 55, 60, 65, 70, 80, 100, 125, 150, 200, 250],
        "features": 1000,
        "seeds": 5,
        "lowest": -120.0,
    },
    about=("Section 4, generalization",),
    seconds=8,
)
class LargestRecoveringScale:
    """Largest scale at which gradient flow has population error at most 0.025, by sample size (Figure 1c)."""

    def data(
        self, samples: list[int], features: int, seeds: int, lowest: float, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Scan and bisection for every sample size and draw."""
        return recovery(samples, features, [2.0], seeds, lowest, seed, progress)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """log α against N."""
        draw_recovery(data, ax, lambda level, depth: level / depth)
        ax.set(xlabel="number of samples $N$", ylabel=r"largest $\alpha$ with error $\leq 0.025$")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """None below the ℓ1 threshold, tiny at it, and growing above."""
        each = data.log_scale.sel(depth=2.0).values / 2 / np.log(10)  # draw by draw
        short = data.l1_error.values > 2 * ACCURATE
        yield at_most(0.04, "noise may help one in fifty", of=each.size).claim(
            "where the ℓ1 solution clearly fails, no scale recovers (draws in which one does, share of all)",
            share(short & np.isfinite(each)) if short.any() else np.nan,
        )
        none_is_least = np.where(np.isnan(each), -np.inf, each)
        ranks = [rank_correlation(data.samples.values, draw) for draw in none_is_least.T]
        yield at_least(
            0.5, "seven draws of eight sizes without any relation have as much once in 4,000 times"
        ).claim(
            "more samples allow a larger scale (rank correlation, mean of draws)", np.nan_to_num(ranks).mean()
        )
        smallest = np.where(np.isfinite(each), each, np.inf).min(axis=0)
        yield at_least(0.55, "most", of=smallest.size).claim(
            "near the threshold α must be extremely small: draws with a size that needs α ≤ 1e-2 (share)",
            share(smallest <= -2),
        )
        yield at_least(0.55, "most", of=smallest.size).claim(
            "with more samples a much larger α suffices: draws in which it is three times as large (share)",
            share(each[-1] - smallest >= 0.5),
        )
        yield at_most(2.0, "twice is what counts as a clear failure above").claim(
            "with the most samples the ℓ1 solution recovers (its mean error, over 0.025)",
            float(data.l1_error.values[-1].mean()) / ACCURATE,
        )
        yield recovery_claim(data)
