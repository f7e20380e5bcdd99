"""Wide factorizations, with measurements that commute or do not: Theorem 4 of Woodworth et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent
from tacit.papers.reproduction import presets
from tacit.papers.woodworth2020.lifted import commuting, ended, gap, predicted, wide
from tacit.show.figures import KERNEL, RICH, TRUTH

_COLOURS = (RICH, TRUTH, KERNEL)
_FINE = 41  # points per curve in the figure


@figure(
    "woodworth2020/theorem4",
    **presets(
        size=(4, 6),
        samples=(2, 3),
        levels=([1e-2, 1.0], [1e-2, 0.1, 1.0]),
        widths=([300, 3000, 30_000], [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]),
        draws=(3, 8),
        path=(5, 17),
    ),
    figsize=(7.2, 3.0),
    ncols=2,
    seconds=13,
    short="wide factorizations",
)
class WideFactorizations:
    """Limits of factorizations UVᵀ with commuting measurements, compared with Theorem 4: at infinite width
    the limit is the minimizer of Q_μ on spectra, 2μ² = α²k. Left: distance to the minimizer against the
    width, root mean square over draws of the weights; it decreases like k^(−1/2). Right: singular values of
    the minimizer against α²k (lines), and of limits of flows from [U; V][U; V]ᵀ = 2μ²I (circles).
    """

    def data(
        self,
        size: int,
        samples: int,
        levels: list[float],
        widths: list[int],
        draws: int,
        path: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Flows for every level, width and draw, and for infinite width at several levels."""
        X, y = commuting(size, samples, seed)
        ends = [predicted(X, y, level) for level in levels]

        def distance(i: int, width: float, draw: int) -> float:
            start = wide((size, size), width, levels[i], np.random.default_rng([seed, i, draw]))
            return gap(start, X, y, ends[i])

        distances = [
            [[distance(i, width, draw) for draw in range(draws)] for width in widths]
            for i in progress(range(len(levels)), "levels")
        ]
        fine, along = np.logspace(-5, 2, _FINE), np.logspace(-5, 2, path)
        exact, spectrum = zip(*(_infinite_width(X, y, level) for level in along), strict=True)
        return xr.Dataset(
            {
                "distance": (("level", "width", "draw"), distances),
                "curve": (("fine", "place"), [_spectrum(predicted(X, y, level)) for level in fine]),
                "exact": ("path", list(exact)),
                "spectrum": (("path", "place"), list(spectrum)),
            },
            coords={"level": levels, "width": widths, "path": along, "fine": fine},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances against the width, and spectra against the level."""
        distance = np.sqrt((data.distance**2).mean("draw"))
        for colour, level in zip(_COLOURS, data.level.values, strict=False):
            mean, each = distance.sel(level=level), data.distance.sel(level=level)
            axes[0].plot(data.width, mean, "o", color=colour, label=rf"$\alpha^2k={level:g}$")
            line = float(mean[-1]) * np.sqrt(float(data.width[-1]) / data.width)
            axes[0].plot(data.width, line, color=colour, lw=0.8, ls="--")
            axes[0].vlines(data.width, each.min("draw"), each.max("draw"), color=colour, lw=0.8)
        axes[0].plot([], [], color="0.4", lw=0.8, ls="--", label="slope $-1/2$")
        axes[0].set(xscale="log", yscale="log", xlabel="width $k$")
        axes[0].set_ylabel("relative distance to the minimizer")
        axes[0].legend()
        for place in range(data.sizes["place"]):
            axes[1].plot(data.fine, data.curve[:, place], color="k", lw=1.1)
            axes[1].plot(data.path, data.spectrum[:, place], "o", color=KERNEL, mfc="w", ms=4)
        axes[1].plot([], [], color="k", lw=1.1, label=r"minimizer of $Q_\mu$")
        axes[1].plot([], [], "o", color=KERNEL, mfc="w", ms=4, label=r"flow, $k=\infty$")
        axes[1].set(xscale="log", xlabel=r"$\alpha^2k=2\mu^2$", ylabel="singular values")
        axes[1].legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The theorem at infinite width, and the rate at which finite widths approach it."""
        yield at_most(1e-8, "a hundred times the residual at which flows stop").claim(
            "at infinite width flows end at the minimizer (largest relative distance)",
            data.exact.max(skipna=False),
        )
        distance = np.sqrt((data.distance**2).mean("draw", skipna=False))
        for level in data.level.values:
            yield within(-0.6, -0.4, "distinguishes −1/2 from −1/4 and −1").claim(
                f"at α²k = {level:g} the distance for Gaussian weights is a power of the width (exponent)",
                exponent(data.width.values, distance.sel(level=level).values),
            )
        nuclear = data.spectrum.sum("place", skipna=False).values
        yield at_least(
            1e-3, "the limit as α → 0 minimizes it, so it decreases, by more than the residual of flows"
        ).claim(
            "the nuclear norm decreases with α²k (relative decrease from the largest to the smallest α²k)",
            1 - nuclear[0] / nuclear[-1],
        )


def _spectrum(matrix: Float) -> Float:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False))


def _infinite_width(X: Float, y: Float, level: float) -> tuple[float, Float]:
    """Distance of the flow at infinite width to the minimizer, and its singular values."""
    end = predicted(X, y, level)
    found, fits, _ = ended(wide(X.shape[1:], math.inf, level), X, y, 1e-10, 1e-10)
    return float(np.linalg.norm(found - end) / np.linalg.norm(end)) if fits else math.nan, _spectrum(found)


_RESIDUAL, _RTOL = 1e-9, 1e-8  # relative residual at which flows stop, and tolerance of their integration


@figure(
    "woodworth2020/commuting",
    **presets(
        size=(4, 5),
        samples=(3, 4),
        mixtures=([0.0, 1e-3, 0.01, 0.1, 1.0], [0.0, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0]),
        levels=(7, 17),
        lowest=(-4.0, -6.0),
        draws=(3, 3),
    ),
    figsize=(8.0, 3.0),
    ncols=2,
    about=("Theorem 4",),
    seconds=16,
)
class FromCommutingToGeneric:
    """Distance between the limit of flows of UVᵀ and the minimizer of Q_μ on spectra, which is the limit by
    Theorem 4 if the measurements commute, for measurements X_n = √(1−s²)·C_n + s·G_n with commuting C_n and
    Gaussian G_n, from [U; V][U; V]ᵀ = α²k·I. Left: against α²k. In the kernel regime the distance decreases
    like (α²k)^(−2); at small scales it is large even for small s. Right: against s, where it is of first
    order.
    """

    def data(
        self,
        size: int,
        samples: int,
        mixtures: list[float],
        levels: int,
        lowest: float,
        draws: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """A flow for every mixture, level and draw."""
        level, shape = np.logspace(lowest, 2, levels), (size, size)
        distance = np.empty((draws, len(mixtures), levels))
        for i, draw in progress(list(np.ndindex(len(mixtures), draws)), "mixtures"):
            X, y = mixed(size, samples, mixtures[i], seed, draw)
            for j, each in enumerate(level):
                end = predicted(X, y, each)
                distance[draw, i, j] = gap(wide(shape, math.inf, each), X, y, end, _RESIDUAL, _RTOL)
        return xr.Dataset(
            {"distance": (("draw", "mixture", "level"), distance)},
            coords={"mixture": mixtures, "level": level},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances against the level, and against the mixture."""
        from matplotlib import colormaps

        mean = _mean(data)
        style = {"marker": "o", "ms": 2.5, "lw": 1}
        for place, s in enumerate(data.mixture.values):
            colour = colormaps["viridis"](0.9 * place / (data.sizes["mixture"] - 1))
            axes[0].plot(data.level, mean.sel(mixture=s), color=colour, label=f"$s={s:g}$", **style)
        axes[0].set(xlabel=r"$\alpha^2k$", ylabel=r"relative distance to $\mathrm{argmin}\,Q_\mu$")
        axes[0].legend(fontsize=7, ncols=2, labelspacing=0.3)
        mixed = data.mixture.values > 0
        chosen = np.unique(np.linspace(0, data.sizes["level"] - 1, 5).round().astype(int))
        for place, j in enumerate(chosen):
            colour = colormaps["plasma"](0.85 * place / max(len(chosen) - 1, 1))
            name = rf"$\alpha^2k=10^{{{math.log10(float(data.level[j])):.3g}}}$"
            axes[1].plot(data.mixture[mixed], mean[mixed, j], color=colour, label=name, **style)
        axes[1].set(xlabel="weight of generic measurements, $s$")
        axes[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for ax in axes:
            ax.set(xscale="log", yscale="log", ylim=(2e-10, 20))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Theorem 4 for commuting measurements, and the deviation from it for others."""
        mean, mixture, level = _mean(data), data.mixture.values, data.level.values
        yield at_most(1e-6, "a thousand times the residual at which flows stop").claim(
            "with commuting measurements flows end at the minimizer at every scale (largest distance)",
            mean.values[mixture == 0].max(initial=-math.inf),
        )
        generic = mean.sel(mixture=1.0).values
        large = level >= 3
        yield within(-2.2, -1.8, "distinguishes the power −2 from −1 and −3").claim(
            "with generic measurements the distance vanishes in the kernel regime (power of α²k)",
            exponent(level[large], generic[large]),
        )
        small = (mixture > 0) & (mixture <= 0.01)
        middle = int(np.argmin(np.abs(np.log(level))))
        yield within(0.8, 1.2, "distinguishes the power 1 from 1/2 and 3/2").claim(
            "at α²k = 1 the distance is proportional to the mixture (power of s, for s ≤ 0.01)",
            exponent(mixture[small], mean.values[small, middle]),
        )
        tenth = mean.sel(mixture=0.1).values
        yield at_least(3.0, "a multiple; usually tens to hundreds, depending on the draws").claim(
            "a mixture of 0.1 matters more at small scales (distance at the smallest over that at α²k = 1)",
            tenth[0] / tenth[middle],
        )
        text = "at the smallest scale its flows do not end at the minimizer (distance)"
        yield at_least(0.01, "one percent of the predictor; usually a third of it").claim(text, tenth[0])


def mixed(size: int, samples: int, mixture: float, seed: int, draw: int) -> tuple[Float, Float]:
    """√(1−s²)·C_n + s·G_n for commuting C_n and generic G_n, all of norm 1, and targets of norm 1."""
    C, y = commuting(size, samples, int(np.random.default_rng([seed, draw]).integers(2**63)))
    G = np.random.default_rng([seed, draw, 1]).standard_normal((samples, size, size))
    G /= np.linalg.norm(G, axis=(1, 2), keepdims=True)
    return math.sqrt(1 - mixture**2) * C + mixture * G, y


def _mean(data: xr.Dataset) -> Any:
    """Geometric mean over the draws, (mixture, level)."""
    return np.exp(np.log(data.distance).mean("draw", skipna=False))
