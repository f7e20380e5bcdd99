"""Sparse regression with diagonal networks: Figure 1 of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.problems import sparse_regression
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import (
    exponent,
    farthest,
    halfway,
    largest_fall,
    limit_error,
    rank_correlation,
    share,
    variables,
)
from tacit.papers.reproduction import presets
from tacit.papers.woodworth2020.recovery import ACCURATE, Recovery, draw_recovery, recovery_claim
from tacit.potentials import L1, Quadratic
from tacit.show.figures import KERNEL, RICH

# Solutions of small scale fit the noise, and a slightly larger scale may fit it slightly less: the error
# decreases there by up to 1e-4 of the error of the ℓ2 solution (60 draws).
NOISE = 1e-3
BETWEEN = (-20 * np.log(10), 2 * np.log(10))  # log α between which the transition is searched


def _model(level: float) -> tacit.Diagonal:
    """The network of depth 2 at the scale α = exp(level)."""
    return tacit.Diagonal(depth=2, log_scale=level)


def _l1_norm(w: np.ndarray) -> float:
    return float(np.abs(w).sum())


@figure(
    "woodworth2020/fig1a",
    **presets(samples=(70, 100), features=(200, 1000), scales=(15, 41), seeds=(2, 10)),
    about=("Theorem 1",),
    short="error against scale",
)
class PopulationErrorAgainstScale:
    """Population error of the limit of gradient flow against the initialization scale (Figure 1a)."""

    def data(
        self, samples: int, features: int, scales: int, seeds: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Limits at every scale, and the minimum norm solutions, for several draws of the problem."""
        alphas = np.logspace(-6, 1, scales)
        error, ends, half = np.empty((seeds, scales)), np.empty((seeds, 2)), np.empty((seeds, 2))
        for k in progress(range(seeds), "fig1a"):
            problem = sparse_regression(samples, features, seed=seed + k)
            ends[k] = [limit_error(problem, end) for end in (L1(), Quadratic())]
            error[k] = [limit_error(problem, _model(level)) for level in np.log(alphas)]
            middle = float(np.sqrt(ends[k].prod()))
            half[k] = halfway(problem, problem.population_error, _model, middle, BETWEEN)
        return xr.Dataset(
            {
                "error": (("seed", "alpha"), error),
                "end_error": (("seed", "end"), ends),
                **variables("seed", halfway=np.exp(half[:, 0]), trained_error=half[:, 1]),
            },
            coords={"alpha": alphas, "end": ["l1", "l2"]},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Mean over draws with their range; minimum norm solutions as lines."""
        error = data.error.clip(1e-16)  # the axis is logarithmic
        mean, low, high = error.mean("seed"), error.min("seed"), error.max("seed")
        ax.loglog(data.alpha, mean, color="k", label=r"gradient flow, $\beta_\alpha^\infty$")
        ax.fill_between(data.alpha, low, high, color="0.85", lw=0, label="range over draws")
        for end, color, name in (("l1", RICH, r"$\beta^*_{\ell_1}$"), ("l2", KERNEL, r"$\beta^*_{\ell_2}$")):
            level = float(data.end_error.sel(end=end).mean())
            ax.axhline(level, color=color, ls="--", lw=1, label=f"{name}, minimum norm")
        ax.plot(data.halfway, data.trained_error, "kx", ms=5, label="raw weights, trained")
        ax.set_xlabel(r"initialization scale $\alpha$")
        ax.set_ylabel(r"population error $\|\beta_\alpha^\infty-\beta^*\|_2^2$")
        ax.legend(loc="center left", bbox_to_anchor=(0.02, 0.62))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both limits, monotonicity, and the scale of the transition."""
        mean = data.error.mean("seed", skipna=False).values
        rich, kernel = data.end_error.mean("seed", skipna=False).values
        yield at_most(2, "the same order of magnitude; at large scales the error is ten times larger").claim(
            "the smallest scale generalizes like the minimum ℓ1 norm solution (ratio of errors)",
            mean[0] / rich,
        )
        text = "the largest scale has the error of the minimum ℓ2 norm solution (relative difference)"
        yield at_most(1e-3, "two digits more than the figure shows").claim(text, abs(mean[-1] / kernel - 1))
        text = "large initialization generalizes worse than small initialization (ratio of errors)"
        yield at_least(10, "an order of magnitude").claim(text, mean[-1] / mean[0])
        yield at_most(
            NOISE, "solutions of small scale fit the noise, and a larger scale may fit it slightly less"
        ).claim(
            "the error increases with the scale (largest decrease, over the error of ℓ2)",
            largest_fall(mean) / kernel,
        )
        middle = np.sqrt(data.end_error.prod("end", skipna=False).values)
        yield within(0.999, 1.001, "detects a scale that is wrong by half a percent").claim(
            "raw weights trained from the scale at which the limit has the geometric mean of both errors "
            "have the same error (ratio farthest from 1)",
            farthest(data.trained_error.values / middle),
        )


@figure(
    "woodworth2020/fig1b",
    **presets(samples=(40, 100), features=(200, 1000), scales=(61, 121)),
    about=("Theorem 2",),
    short="norms against scale",
)
class ExcessNorms:
    """Excess ℓ1 and ℓ2 norm of the limit over the minimum norm solutions, against the scale (Figure 1b)."""

    def data(self, samples: int, features: int, scales: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Norms of the limits at scales far into both regimes."""
        problem = sparse_regression(samples, features, seed=seed)

        def norms(model: Any) -> tuple[float, float]:
            w = tacit.limit(model, problem.X, problem.y).predictor
            return _l1_norm(w), float(np.linalg.norm(w))

        (l1, _), (most, l2) = (norms(end) for end in (L1(), Quadratic()))
        alphas, least = np.logspace(-10, 2, scales), np.array([l1, l2])
        found = [norms(tacit.Diagonal(depth=2, scale=alpha)) for alpha in progress(alphas, "fig1b")]
        level, norm = halfway(problem, _l1_norm, _model, l1 + (most - l1) / 2, BETWEEN)
        return xr.Dataset(
            {
                "excess": (("norm", "alpha"), np.transpose(found) - least[:, None]),
                "least": ("norm", least),
                "most": most - l1,  # the excess ℓ1 norm of the minimum ℓ2 norm solution
                "rich_excess": norms(_model(-100 * np.log(10)))[0] - l1,
                "halfway": np.exp(level),
                "trained_excess": norm - l1,
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
        """Limits of both norms, at the rates of equations 6 and 7, and the scale of the transition."""
        l1, l2 = data.excess.sel(norm="l1").values, data.excess.sel(norm="l2").values
        least_l1, least_l2 = data.least.values
        yield at_most(3e-3, "it decreases at least like 1/log(1/α²), which is 0.002").claim(
            "the excess ℓ1 norm vanishes as α → 0 (relative, at α = 1e-100)", data.rich_excess / least_l1
        )
        rounded = {
            "the excess ℓ2 norm vanishes as α → ∞ (relative, at the largest scale)": l2[-1] / least_l2,
            "the excess ℓ1 norm increases with the scale (largest decrease)": largest_fall(l1),
            "the excess ℓ2 norm decreases with the scale (largest increase)": largest_fall(-l2),
        }
        for text, value in rounded.items():
            yield at_most(1e-9, "round-off, with a safety margin").claim(text, value)
        kernel = (l2 < 1e-5 * least_l2) & (l2 > 1e-12 * least_l2)
        yield within(-9, -7, "distinguishes the exponent −8 from −6 and −10").claim(
            "the excess ℓ2 norm decreases polynomially, like α^-8 (fitted exponent)",
            exponent(data.alpha.values[kernel], l2[kernel]),
        )
        yield within(0.4995, 0.5005, "detects a scale that is wrong by half a percent").claim(
            "raw weights trained from the scale at which the limit has half the excess ℓ1 norm of the kernel "
            "regime have the same norm (excess, as a fraction of the whole)",
            data.trained_excess / data.most,
        )


@figure(
    "woodworth2020/fig1c",
    **presets(  # above half as many samples as features, fitting the noise dominates the time
        samples=(
            [15, 35, 45, 50, 55, 60, 70, 85, 100],
            [20, 30, 40, 45, 50, 55, 60, 65, 70, 80, 100, 125, 150, 200, 250],
        ),
        features=(200, 1000),
        seeds=(7, 5),
        lowest=(-120.0, -120.0),
    ),
    about=("Section 4, generalization",),
    seconds=8,
)
class LargestRecoveringScale(Recovery):
    """Largest scale at which gradient flow has population error at most 0.025, by sample size (Figure 1c)."""

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The largest log α against N."""
        draw_recovery(data, ax, lambda level, depth: level / depth)
        ax.set(xlabel="number of samples $N$", ylabel=r"largest $\alpha$ with error $\leq 0.025$")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """No scale below the ℓ1 threshold, tiny scales at it, and larger ones above."""
        each = data.log_scale.sel(depth=2.0).values / 2 / np.log(10)  # (samples, draw)
        short = data.l1_error.values > 2 * ACCURATE
        yield at_most(0.04, "noise may help in one draw of fifty", of=each.size).claim(
            "if the ℓ1 solution clearly fails, no scale recovers the truth (fraction of draws in which a "
            "scale does)",
            share(short & np.isfinite(each)) if short.any() else np.nan,
        )
        ordered = np.where(np.isnan(each), -np.inf, each)
        ranks = [rank_correlation(data.samples.values, draw) for draw in ordered.T]
        yield at_least(0.5, "exceeded once in 4,000 times by seven draws of eight unrelated sizes").claim(
            "more samples allow a larger scale (rank correlation, mean of draws)", np.nan_to_num(ranks).mean()
        )
        smallest = np.where(np.isfinite(each), each, np.inf).min(axis=0)
        most = at_least(0.55, "the majority", of=smallest.size)
        text = "near the threshold α must be very small (fraction of draws with a size that needs α ≤ 1e-2)"
        yield most.claim(text, share(smallest <= -2))
        text = "with more samples a much larger α suffices (fraction of draws with a factor of three)"
        yield most.claim(text, share(each[-1] - smallest >= 0.5))
        yield at_most(2.0, "a ratio above 2 counts as a clear failure above").claim(
            "with the most samples the ℓ1 solution recovers the truth (its mean error over 0.025)",
            float(data.l1_error.values[-1].mean()) / ACCURATE,
        )
        yield recovery_claim(data)
