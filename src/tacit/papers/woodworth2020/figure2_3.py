"""Regularizers of one coordinate and the effect of depth: Figures 2 and 3 of Woodworth et al. 2020.

The implicit and explicit regularizers of depth 2 (2), potentials of several depths (3a, 3b), and sparse
regression at several depths (3c).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import least, ratio, slope, variables
from tacit.papers.reproduction import presets
from tacit.papers.woodworth2020.recovery import Recovery, draw_recovery, median, recovery_claim
from tacit.potentials import DeepHypentropy, Hypentropy, WeightDistance


def unit_potential(depth: float, log_scale: float = 0.0) -> Hypentropy | DeepHypentropy:
    """The potential Q of depth D for one coordinate, with predictor scale e^log_scale."""
    return Hypentropy(log_scale) if depth == 2 else DeepHypentropy(depth, log_scale)


def values(potential: Any, z: np.ndarray) -> np.ndarray:
    """The values of a potential at each of these coordinates."""
    return np.array([float(potential.value(x)) for x in z])


@figure(
    "woodworth2020/fig2",
    **presets(points=(121, 601)),
    about=("Theorem 1", "Explicit regularization"),
    short="implicit and explicit",
)
class ImplicitAndExplicit:
    """The implicit regularizer q and the explicit regularizer r, the squared distance that weights must
    move (Figure 2).
    """

    def data(self, points: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """q, r, and the smallest real root of the quartic in the paper."""
        z = np.linspace(-12, 12, points)
        far = np.logspace(3, 12, 10)
        q, r = Hypentropy(0.0), WeightDistance(0.0)
        return xr.Dataset(
            {
                **variables("z", q=values(q, z), r=values(r, z), root=[_smallest_root(x) for x in z]),
                **variables("far", q_far=values(q, far), r_far=values(r, far)),
            },
            coords={"z": z, "far": far},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Both curves, with the root of the quartic as markers on r."""
        ax.plot(data.z, data.q, label="$q(z)$, implicit")
        ax.plot(data.z, data.r, label="$r(z)$, explicit")
        every = max(1, data.z.size // 24)
        ax.plot(data.z[::every], data.root[::every], "o", ms=3, color="k", label="root of $p_z(u)$")
        ax.set(xlabel="$z$", ylabel="coordinate potential")
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """r is the root of the quartic, similar to q but algebraic."""
        gap = float(np.abs(data.r - data.root).max())
        yield at_most(1e-6).claim("r is the smallest real root of the quartic (largest difference)", gap)
        far = data.far.values
        yield within(0.999, 1.0).claim("r grows like |z| (r/|z| at 1e12)", data.r_far.values[-1] / far[-1])
        text = "q grows like |z| log|z| (slope of q/|z| against log|z|)"
        yield within(0.999, 1.001).claim(text, slope(np.log(far), data.q_far.values / far))
        ratio = (data.q / data.r.where(data.z != 0)).values
        spread = np.nanmax(ratio) / np.nanmin(ratio)
        yield at_least(1.05).claim("q and r are not proportional (largest over smallest q/r)", spread)


def _smallest_root(z: float) -> float:
    """Smallest real root of p_z(u) = u⁴ − 6u³ + (12−2z²)u² − (8+10z²)u + z² + z⁴."""
    roots = np.roots([1, -6, 12 - 2 * z**2, -(8 + 10 * z**2), z**2 + z**4])
    return float(np.sort(roots[np.abs(roots.imag) < 1e-6 * (1 + np.abs(roots.real))].real)[0])


@figure(
    "woodworth2020/fig3a",
    **presets(depths=([2.0, 3.0, 4.0, 8.0], [2.0, 3.0, 4.0, 8.0, 20.0]), points=(121, 601)),
    about=("Theorem 3",),
    short="potentials by depth",
)
class CoordinatePotentials:
    """The coordinate potential q_D for several depths (Figure 3a)."""

    def data(self, depths: list[float], points: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """q_D at moderate, small and large arguments."""
        at = {"z": np.linspace(-6, 6, points), "near": np.logspace(-8, -4, 9), "far": np.logspace(4, 40, 19)}
        q, near, far = (
            (("depth", axis), [values(unit_potential(depth), z) for depth in depths])
            for axis, z in progress(list(at.items()), "fig3a")
        )
        return xr.Dataset({"q": q, "q_near": near, "q_far": far}, coords={"depth": depths, **at})

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """One curve per depth."""
        for depth in data.depth.values:
            ax.plot(data.z, data.q.sel(depth=depth), label=f"$D={depth:g}$")
        ax.set(xlabel="$z$", ylabel="$q_D(z)$")
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Quadratic at 0; |z| log|z| at depth 2 and |z| above."""
        depth = data.depth.values
        curvature = np.where(depth == 2, 0.25, (depth - 2) / (4 * depth))
        ratio = data.q_near.values / (curvature[:, None] * data.near.values**2)
        text = "q_D is quadratic near 0 (largest relative error of the expansion)"
        yield at_most(1e-7).claim(text, np.abs(ratio - 1).max())
        deep = data.q_far.values[depth > 2] / data.far.values
        text = "q_D/|z| tends to 1 for D ≥ 3 (largest deviation at 1e40)"
        yield at_most(1e-6).claim(text, np.abs(deep[:, -1] - 1).max())
        flat = data.q_far.values[depth == 2][0] / (data.far.values * np.log(data.far.values))
        yield within(0.98, 1.0).claim("q_2/(|z| log|z|) tends to 1 (value at 1e40)", flat[-1])


@figure(
    "woodworth2020/fig3b",
    **presets(features=(100, 100), depths=([2.0, 3.0, 4.0, 8.0], [2.0, 3.0, 4.0, 8.0]), points=(481, 961)),
    about=("Theorem 3",),
    short="from ℓ1 to ℓ2 by depth",
)
class SparseAgainstDense:
    """The ratio Q(e₁)/Q(1/√d), which is 1/√d for the ℓ1 norm and 1 for the ℓ2 norm (Figure 3b)."""

    def data(
        self, features: int, depths: list[float], points: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """The ratio against the scale α of the weights."""
        log_alpha = np.linspace(-20, 4, points) * np.log(10)

        def ratio(depth: float, level: float) -> float:
            potential = unit_potential(depth, depth * level)
            return float(potential.value(1.0) / (features * potential.value(1 / np.sqrt(features))))

        ratios = [[ratio(depth, level) for level in log_alpha] for depth in progress(depths, "fig3b")]
        return xr.Dataset(
            {"ratio": (("depth", "log_alpha"), ratios)},
            coords={"depth": depths, "log_alpha": log_alpha},
            attrs={"features": features},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The scales of the transition."""
        decades = data.log_alpha / np.log(10)
        for depth in data.depth.values:
            ax.plot(decades, data.ratio.sel(depth=depth), label=f"$D={depth:g}$")
        below = {"xytext": (0, -10), "textcoords": "offset points", "fontsize": 8}
        for norm, level in ((r"$\ell_2$ norm", 1), (r"$\ell_1$ norm", 1 / np.sqrt(data.attrs["features"]))):
            ax.axhline(level, color="0.6", lw=0.8, ls=":")
            ax.annotate(norm, (-7.8, level), **below)
        ax.xaxis.set_major_formatter(lambda level, _: f"$10^{{{level:g}}}$")
        ax.set(xlim=(-8, 2), ylim=(0, 1.05), xlabel=r"initialization scale $\alpha$")
        ax.set_ylabel(r"$Q^D_\alpha(e_1)\,/\,Q^D_\alpha(\mathbf{1}_d/\sqrt{d})$")
        ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.55))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both limits, and the rate towards ℓ1: α^{D−2} above depth 2, 1/log(1/α²) at 2."""
        d, depth, log_alpha = data.attrs["features"], data.depth.values, data.log_alpha.values
        above = data.ratio.values * np.sqrt(d) - 1
        text = "at large scale the ratio is 1 (largest deviation)"
        yield at_most(1e-6).claim(text, np.abs(data.ratio.values[:, -1] - 1).max())
        text = "at small scale the ratio is 1/√d for D ≥ 3 (largest relative excess at α = 1e-20)"
        yield at_most(1e-9).claim(text, above[depth > 2, 0].max())
        for j in np.flatnonzero(depth > 2):
            resolved = (above[j] > 1e-9) & (above[j] < 1e-3)
            yield within(0.95, 1.05).claim(
                f"D = {depth[j]:g}: the excess is polynomial, like α^(D−2) (fitted exponent over D−2)",
                slope(log_alpha[resolved], np.log(above[j][resolved])) / (depth[j] - 2),
            )
        if (depth == 2).any():
            product = above[depth == 2][0] * (-2 * log_alpha) / (np.log(d) / 2)
            text = "D = 2: the excess decreases only like 1/log(1/α²) (excess × log, over its limit)"
            yield within(0.9, 1.15).claim(text, product[0])


@figure(
    "woodworth2020/fig3c",
    **presets(
        samples=([35, 45, 50, 55, 60, 70, 85, 100], [40, 50, 55, 60, 65, 70, 80, 100, 125, 150, 200]),
        features=(200, 1000),
        depths=([2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 8.0]),
        seeds=(3, 5),
        lowest=(-16.0, -16.0),
    ),
    about=("Theorem 3",),
    seconds=10,
)
class LargestRecoveringScaleByDepth(Recovery):
    """Largest predictor scale α^D that recovers the truth to 0.025, by depth and sample size (Figure 3c)."""

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The largest log α^D against N."""
        draw_recovery(data, ax, lambda level, depth: level)
        ax.set(xlabel="number of samples $N$", ylabel=r"largest $\alpha^D$ with error $\leq 0.025$")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Deeper networks reach the rich regime at larger scales; the step from depth 2 to 3 matters most."""
        level = np.array([median(data, depth) for depth in data.depth.values]) / np.log(10)
        both = np.isfinite(level).all(axis=0)
        gain = np.diff(level[:, both], axis=0).mean(axis=1) if both.any() else np.full(len(level) - 1, np.nan)
        text = "a deeper network recovers the truth from larger scales (smallest mean gain, in decades)"
        yield at_least(0.02, "the resolution of the bisection").claim(text, least(gain))
        text = "the step from depth 2 to 3 gains most (its decades over those of the largest other step)"
        yield at_least(2.0, "at least twice").claim(text, ratio(gain[0], gain[1:].max(initial=-np.inf)))
        yield recovery_claim(data)
