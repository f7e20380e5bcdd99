"""The potentials themselves: Figures 3a and 3b of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.measures import slope
from tacit.papers.registry import Claim, figure
from tacit.papers.woodworth2020.potentials import unit_potential, values


@figure(
    "woodworth2020/fig3a",
    quick={"depths": [2.0, 3.0, 4.0, 8.0], "points": 121},
    paper={"depths": [2.0, 3.0, 4.0, 8.0, 20.0], "points": 601},
)
class CoordinatePotentials:
    """The coordinate potential q_D for several depths (Figure 3a)."""

    def data(
        self, depths: list[float], points: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """q_D near 0 and far out."""
        z, near, far = np.linspace(-6, 6, points), np.logspace(-8, -4, 9), np.logspace(4, 40, 19)
        curves = {
            name: (
                ("depth", axis),
                np.array([values(unit_potential(depth), at) for depth in progress(depths, "fig3a")]),
            )
            for name, axis, at in (("q", "z", z), ("q_near", "near", near), ("q_far", "far", far))
        }
        return xr.Dataset(curves, coords={"depth": depths, "z": z, "near": near, "far": far})

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """One curve a depth."""
        for depth in data.depth.values:
            ax.plot(data.z, data.q.sel(depth=depth), label=f"$D={depth:g}$")
        ax.set(xlabel="$z$", ylabel="$q_D(z)$")
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Quadratic at 0; |z| log|z| at depth 2 and |z| above."""
        depth = data.depth.values
        curvature = np.where(depth == 2, 0.25, (depth - 2) / (4 * depth))
        ratio = data.q_near.values / (curvature[:, None] * data.near.values**2)
        yield Claim(
            "q_D is quadratic at 0 (largest relative error of the expansion)",
            np.abs(ratio - 1).max(),
            at_most=1e-7,
        )
        deep = data.q_far.values[depth > 2] / data.far.values
        yield Claim(
            "q_D/|z| tends to 1 for D ≥ 3 (largest deviation at 1e40)",
            np.abs(deep[:, -1] - 1).max(),
            at_most=1e-6,
        )
        flat = data.q_far.values[depth == 2][0] / (data.far.values * np.log(data.far.values))
        yield Claim("q_2/(|z| log|z|) tends to 1 (value at 1e40)", flat[-1], at_least=0.98, at_most=1.0)


@figure(
    "woodworth2020/fig3b",
    quick={"features": 100, "depths": [2.0, 3.0, 4.0, 8.0], "points": 481},
    paper={"features": 100, "depths": [2.0, 3.0, 4.0, 8.0], "points": 961},
)
class SparseAgainstDense:
    """The ratio Q(e₁)/Q(1/√d), from 1/√d where Q is the ℓ1 norm to 1 where it is the ℓ2 norm (Figure 3b)."""

    def data(
        self, features: int, depths: list[float], points: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """The ratio against the scale α of the weights."""
        log_alpha = np.linspace(-20, 4, points) * np.log(10)
        ratio = np.empty((len(depths), points))
        for j in progress(range(len(depths)), "fig3b"):
            for i, level in enumerate(log_alpha):
                potential = unit_potential(depths[j], depths[j] * level)
                sparse, dense = potential.value(1.0), features * potential.value(1 / np.sqrt(features))
                ratio[j, i] = sparse / dense
        return xr.Dataset(
            {"ratio": (("depth", "log_alpha"), ratio)},
            coords={"depth": depths, "log_alpha": log_alpha},
            attrs={"features": features},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Over the range of scales where the transition happens."""
        decades = data.log_alpha / np.log(10)
        for depth in data.depth.values:
            ax.plot(decades, data.ratio.sel(depth=depth), label=f"$D={depth:g}$")
        d = data.attrs["features"]
        ax.axhline(1, color="0.6", lw=0.8, ls=":")
        ax.axhline(1 / np.sqrt(d), color="0.6", lw=0.8, ls=":")
        ax.annotate(r"$\ell_2$ norm", (-7.8, 1), xytext=(0, -10), textcoords="offset points", fontsize=8)
        ax.annotate(
            r"$\ell_1$ norm", (-7.8, 1 / np.sqrt(d)), xytext=(0, -10), textcoords="offset points", fontsize=8
        )
        ax.xaxis.set_major_formatter(lambda level, _: f"$10^{{{level:g}}}$")
        ax.set(
            xlim=(-8, 2),
            ylim=(0, 1.05),
            xlabel=r"initialization scale $\alpha$",
            ylabel=r"$Q^D_\alpha(e_1)\,/\,Q^D_\alpha(\mathbf{1}_d/\sqrt{d})$",
        )
        ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.55))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both ends, and how the ℓ1 end is approached: like α^{D−2} above depth 2, like 1/log at 2."""
        d, depth, log_alpha = data.attrs["features"], data.depth.values, data.log_alpha.values
        above = data.ratio.values * np.sqrt(d) - 1
        yield Claim(
            "at large scale the ratio is 1 (largest deviation)",
            np.abs(data.ratio.values[:, -1] - 1).max(),
            at_most=1e-6,
        )
        yield Claim(
            "at small scale the ratio is 1/√d for D ≥ 3 (largest relative excess at α = 1e-20)",
            above[depth > 2, 0].max(),
            at_most=1e-9,
        )
        for j in np.flatnonzero(depth > 2):
            resolved = (above[j] > 1e-9) & (above[j] < 1e-3)
            yield Claim(
                f"D = {depth[j]:g}: polynomial, like α^(D−2) (fitted exponent over D−2)",
                slope(log_alpha[resolved], np.log(above[j][resolved])) / (depth[j] - 2),
                at_least=0.95,
                at_most=1.05,
            )
        if (depth == 2).any():
            product = above[depth == 2][0] * (-2 * log_alpha) / (np.log(d) / 2)
            yield Claim(
                "D = 2: only like 1/log(1/α²) (excess × log over its limit)",
                product[0],
                at_least=0.9,
                at_most=1.15,
            )
