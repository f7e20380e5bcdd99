"""Beyond Theorem 4 of Woodworth et al. 2020: measurements that do not commute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import slope
from tacit.papers.woodworth2020.lifted import wide
from tacit.papers.woodworth2020.matrices import commuting, gap, predicted

_SETTLED, _RTOL = 1e-9, 1e-8


@figure(
    "woodworth2020/commuting",
    quick={
        "size": 4,
        "samples": 3,
        "mixtures": [0.0, 1e-3, 0.01, 0.1, 1.0],
        "levels": 7,
        "lowest": -4.0,
        "draws": 3,
    },
    paper={
        "size": 5,
        "samples": 4,
        "mixtures": [0.0, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0],
        "levels": 17,
        "lowest": -6.0,
        "draws": 3,
    },
    figsize=(8.0, 3.0),
    ncols=2,
    about=("Theorem 4",),
    seconds=16,
)
class FromCommutingToGeneric:
    """How far flows of UVᵀ end from the minimizer of Q_μ on spectra, which Theorem 4 names for measurements
    that commute, as these become generic: X_n = √(1−s²)·C_n + s·G_n, with C_n that commute and Gaussian G_n,
    from [U; V][U; V]ᵀ = α²k·I. Left: over α²k. In the kernel regime it falls like (α²k)^(−2); the smaller the
    scale, the less is left of the theorem, however small s. Right: over s; it is of first order.
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
                    distance[draw, i, j] = gap(wide(shape, math.inf, level[j]), X, y, end, _SETTLED, _RTOL)
        return xr.Dataset(
            {"distance": (("draw", "mixture", "level"), distance)},
            coords={"mixture": mixtures, "level": level},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances over the level, and over the mixture."""
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
        axes[1].set(xlabel="share of generic measurements, $s$")
        axes[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for ax in axes:
            ax.set(xscale="log", yscale="log", ylim=(2e-10, 20))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The theorem where it applies, and what is left of it beyond."""
        mean, mixture, level = _mean(data), data.mixture.values, data.level.values
        yield at_most(1e-6, "ten times the residual at which flows stop").claim(
            "measurements that commute end at the minimizer at every scale (largest distance)",
            mean.values[mixture == 0].max(initial=-math.inf),
        )
        generic = mean.sel(mixture=1.0).values
        large = level >= 3
        yield within(-2.2, -1.8, "tells the power −2 from −1 and −3").claim(
            "generic ones tend to it in the kernel regime (power of α²k)",
            slope(np.log(level[large]), np.log(generic[large])),
        )
        small = (mixture > 0) & (mixture <= 0.01)
        middle = int(np.argmin(np.abs(np.log(level))))
        yield within(0.8, 1.2, "tells the power 1 from 1/2 and 3/2").claim(
            "at α²k = 1 they part from it in proportion to the mixture (power of s, for s ≤ 0.01)",
            slope(np.log(mixture[small]), np.log(mean.values[small, middle])),
        )
        tenth = mean.sel(mixture=0.1).values
        yield at_least(
            3.0, "a multiple; by how much depends on the draws, most often by tens to hundreds"
        ).claim(
            "the smaller the scale, the more a tenth of generic ones matters: smallest over α²k = 1",
            tenth[0] / tenth[middle],
        )
        yield at_least(0.01, "a percent of the predictor; a third of it, most often").claim(
            "there they end apart from the minimizer (distance)", tenth[0]
        )


def mixed(size: int, samples: int, mixture: float, seed: int, draw: int) -> tuple[Float, Float]:
    """√(1−s²)·C_n + s·G_n for C_n that commute and generic G_n, all of norm 1, and targets of norm 1."""
    C, y = commuting(size, samples, int(np.random.default_rng([seed, draw]).integers(2**63)))
    G = np.random.default_rng([seed, draw, 1]).standard_normal((samples, size, size))
    G /= np.linalg.norm(G, axis=(1, 2), keepdims=True)
    return math.sqrt(1 - mixture**2) * C + mixture * G, y


def _mean(data: xr.Dataset) -> Any:
    """Geometric over the draws, (mixture, level)."""
    return np.exp(np.log(data.distance).mean("draw", skipna=False))
