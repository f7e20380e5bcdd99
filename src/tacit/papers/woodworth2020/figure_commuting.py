"""Measurements that do not commute: the limit compared with Theorem 4 of Woodworth et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import slope
from tacit.papers.reproduction import presets
from tacit.papers.woodworth2020.lifted import wide
from tacit.papers.woodworth2020.matrices import commuting, gap, predicted

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
        for i in progress(range(len(mixtures)), "mixtures"):
            for draw in range(draws):
                X, y = mixed(size, samples, mixtures[i], seed, draw)
                for j in range(levels):
                    end = predicted(X, y, level[j])
                    distance[draw, i, j] = gap(wide(shape, math.inf, level[j]), X, y, end, _RESIDUAL, _RTOL)
        return xr.Dataset(
            {"distance": (("draw", "mixture", "level"), distance)},
            coords={"mixture": mixtures, "level": level},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances against the level, and against the mixture."""
        from matplotlib import colormaps

        mean = _mean(data)
        for place, s in enumerate(data.mixture.values):
            colour = colormaps["viridis"](0.9 * place / (data.sizes["mixture"] - 1))
            axes[0].plot(
                data.level, mean.sel(mixture=s), "o-", ms=2.5, lw=1, color=colour, label=f"$s={s:g}$"
            )
        axes[0].set(xlabel=r"$\alpha^2k$", ylabel=r"relative distance to $\mathrm{argmin}\,Q_\mu$")
        axes[0].legend(fontsize=7, ncols=2, labelspacing=0.3)
        mixed = data.mixture.values > 0
        chosen = np.unique(np.linspace(0, data.sizes["level"] - 1, 5).round().astype(int))
        for place, j in enumerate(chosen):
            colour = colormaps["plasma"](0.85 * place / max(len(chosen) - 1, 1))
            name = rf"$\alpha^2k=10^{{{math.log10(float(data.level[j])):.3g}}}$"
            axes[1].plot(data.mixture[mixed], mean[mixed, j], "o-", ms=2.5, lw=1, color=colour, label=name)
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
            slope(np.log(level[large]), np.log(generic[large])),
        )
        small = (mixture > 0) & (mixture <= 0.01)
        middle = int(np.argmin(np.abs(np.log(level))))
        yield within(0.8, 1.2, "distinguishes the power 1 from 1/2 and 3/2").claim(
            "at α²k = 1 the distance is proportional to the mixture (power of s, for s ≤ 0.01)",
            slope(np.log(mixture[small]), np.log(mean.values[small, middle])),
        )
        tenth = mean.sel(mixture=0.1).values
        yield at_least(3.0, "a multiple; usually tens to hundreds, depending on the draws").claim(
            "a mixture of 0.1 matters more at small scales (distance at the smallest over that at α²k = 1)",
            tenth[0] / tenth[middle],
        )
        yield at_least(0.01, "one percent of the predictor; usually a third of it").claim(
            "at the smallest scale its flows do not end at the minimizer (distance)", tenth[0]
        )


def mixed(size: int, samples: int, mixture: float, seed: int, draw: int) -> tuple[Float, Float]:
    """√(1−s²)·C_n + s·G_n for commuting C_n and generic G_n, all of norm 1, and targets of norm 1."""
    C, y = commuting(size, samples, int(np.random.default_rng([seed, draw]).integers(2**63)))
    G = np.random.default_rng([seed, draw, 1]).standard_normal((samples, size, size))
    G /= np.linalg.norm(G, axis=(1, 2), keepdims=True)
    return math.sqrt(1 - mixture**2) * C + mixture * G, y


def _mean(data: xr.Dataset) -> Any:
    """Geometric mean over the draws, (mixture, level)."""
    return np.exp(np.log(data.distance).mean("draw", skipna=False))
