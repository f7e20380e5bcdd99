"""Limits of wide factorizations with commuting measurements: Theorem 4 of Woodworth et al. 2020."""

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
from tacit.papers.woodworth2020.lifted import ended, wide
from tacit.papers.woodworth2020.matrices import commuting, gap, predicted
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
        shape, along = (size, size), np.logspace(-5, 2, path)
        distance = np.empty((len(levels), len(widths), draws))
        for i in progress(range(len(levels)), "levels"):
            end = predicted(X, y, levels[i])
            for j, width in enumerate(widths):
                for draw in range(draws):
                    start = wide(shape, width, levels[i], np.random.default_rng([seed, i, draw]))
                    distance[i, j, draw] = gap(start, X, y, end, 1e-7, 1e-7)
        fine = np.logspace(-5, 2, _FINE)
        curve = np.array([_spectrum(predicted(X, y, level)) for level in fine])
        marks = [_infinite_width(X, y, level) for level in along]
        return xr.Dataset(
            {
                "distance": (("level", "width", "draw"), distance),
                "curve": (("fine", "place"), curve),
                "exact": ("path", np.array([distance for distance, _ in marks])),
                "spectrum": (("path", "place"), np.array([spectrum for _, spectrum in marks])),
            },
            coords={"level": levels, "width": widths, "path": along, "fine": fine},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances against the width, and spectra against the level."""
        distance = np.sqrt((data.distance**2).mean("draw"))
        for colour, level in zip(_COLOURS, data.level.values, strict=False):
            axes[0].plot(
                data.width, distance.sel(level=level), "o", color=colour, label=rf"$\alpha^2k={level:g}$"
            )
            each = data.distance.sel(level=level)
            last = float(distance.sel(level=level)[-1])
            line = last * np.sqrt(float(data.width[-1]) / data.width)
            axes[0].plot(data.width, line, color=colour, lw=0.8, ls="--")
            axes[0].vlines(data.width, each.min("draw"), each.max("draw"), color=colour, lw=0.8)
        axes[0].plot([], [], color="0.4", lw=0.8, ls="--", label="slope $-1/2$")
        axes[0].set(
            xscale="log", yscale="log", xlabel="width $k$", ylabel="relative distance to the minimizer"
        )
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
                slope(np.log(data.width.values), np.log(distance.sel(level=level).values)),
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
