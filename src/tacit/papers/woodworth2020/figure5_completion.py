"""Matrix completion over scale and width: Figure 5 of Woodworth et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers.measures import slope
from tacit.papers.registry import Claim, figure
from tacit.papers.woodworth2020.completion import Completion, completion
from tacit.show.figures import level_line
from tacit.theorems.woodworth2020.wide import ended, wide

_ACCURACY = {"residual": 1e-5, "rtol": 1e-5}
_TINY = 1e-8  # scale of the weights that stands for α → 0
_BOTTOM = {"excess": 1e-3, "moved": 1e-2}  # of the colours, which end at 10⁵ times that
_NAMES = {
    "excess": r"excess nuclear norm $\|M\|_*-\|Y^*\|_*$",
    "moved": "movement of unobserved entries (rms)",
}


@figure(
    "woodworth2020/fig5",
    quick={"size": 8, "observed": 45, "scales": 8, "widths": 4, "narrowest": 16, "levels": 11, "starts": 5},
    paper={
        "size": 10,
        "observed": 60,
        "scales": 12,
        "widths": 12,
        "narrowest": 10,
        "levels": 25,
        "starts": 5,
    },
    figsize=(9.4, 2.8),
    ncols=3,
)
class MatrixCompletion:
    """Where factorizations UVᵀ of a matrix of rank 1 end that see part of its entries, over the scale α and
    the width k of their weights at the start (Figure 5). Left: the nuclear norm above that of the matrix.
    Middle: how far unobserved entries move. Both change around α²k = 1. Right: the movement against α²k, and
    its limit of infinite width. From α²k ≈ √k on it grows again, like α² at every width, where the outputs of
    the start must be unlearned: unobserved entries stand still for 1 ≪ α²k ≪ k.
    """

    def data(
        self,
        size: int,
        observed: int,
        scales: int,
        widths: int,
        narrowest: int,
        levels: int,
        starts: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """A flow for every scale and width, and for starts of infinite width; at both ends some more."""
        problem = completion(size, observed, seed)
        scale, level = np.logspace(-4, 1, scales), np.logspace(-6, 4, levels)
        width = np.round(np.geomspace(narrowest, 1e5, widths)).astype(int)
        found = np.empty((3, widths, scales))
        turned = np.empty((widths, starts))
        for j in progress(range(widths), "widths"):
            for i in range(scales):
                found[:, j, i] = _outcome(problem, _start(size, width[j], scale[i], [seed, j]))
            others = [
                _outcome(problem, _start(size, width[j], scale[-1], [seed, j, k])) for k in range(starts)
            ]
            turned[j] = [moved / first for _, moved, first in others]
        limits = [_outcome(problem, wide((size, size), math.inf, each)) for each in level]
        rich = _recovered(problem, _start(size, width[0], _TINY, [seed, 0]))
        least = tacit.limit(tacit.potentials.Nuclear(), problem.X, problem.y).predictor
        names = ("excess", "moved", "start")
        return xr.Dataset(
            {
                **{name: (("width", "scale"), found[k]) for k, name in enumerate(names)},
                **{f"wide_{name}": ("level", np.array(limits)[:, k]) for k, name in enumerate(names[:2])},
                "turned": (("width", "draw"), turned),
                "rich_excess": rich[0],
                "rich_distance": rich[1],
                "kernel_excess": problem.excess(np.where(problem.seen, problem.truth, 0.0)),
                "least_excess": problem.excess(np.asarray(least)),
                "true_norm": problem.norm,
                "true_size": problem.unseen(problem.truth),
                "observed_size": np.linalg.norm(np.where(problem.seen, problem.truth, 0.0), 2),
            },
            coords={"width": width, "scale": scale, "level": level},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Two maps, and the movement along α²k."""
        for name, ax in zip(("excess", "moved"), axes[:2], strict=True):
            _draw_map(data, name, ax)
        _draw_collapse(data, axes[2])

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both ends, where they meet, and what the width does."""
        yield from _rich_claims(data)
        yield from _transition_claims(data)
        yield from _kernel_claims(data)


def _outcome(problem: Completion, start: tacit.Factorization) -> tuple[float, float, float]:
    """The excess of the nuclear norm at the end, how far unobserved entries moved, and where they started."""
    end, fits, _ = ended(start, problem.X, problem.y, **_ACCURACY)
    if not fits:
        return math.nan, math.nan, math.nan
    first = np.asarray(start.predictor())
    return problem.excess(end), problem.unseen(end - first), problem.unseen(first)


def _start(size: int, width: int, scale: float, seed: list[int]) -> tacit.Factorization:
    """Weights from N(0, scale²); those of one seed differ by their scale only."""
    return wide((size, size), width, scale**2 * width, np.random.default_rng(seed))


def _recovered(problem: Completion, start: tacit.Factorization) -> tuple[float, float]:
    """The excess of the nuclear norm at the end, and how far unobserved entries are from those of Y*."""
    end, fits, _ = ended(start, problem.X, problem.y, **_ACCURACY)
    return (problem.excess(end), problem.unseen(end - problem.truth)) if fits else (math.nan, math.nan)


def _levels(data: xr.Dataset) -> Float:
    """α²k, (width, scale)."""
    return np.asarray(data.width.values[:, None] * data.scale.values**2)


def _rich_claims(data: xr.Dataset) -> Iterator[Claim]:
    """At small α²k the matrix is recovered.

    How small that is depends on the draw, by factors of ten: how well the entries that are seen determine
    the others. A tiny scale is small for all.
    """
    norm = data.true_norm.values
    yield Claim(
        f"at α = {_TINY:g} the nuclear norm is that of Y* (relative difference)",
        float(np.abs(data.rich_excess.values) / norm),
        at_most=1e-2,
        why="a hundredth: the entries that are seen fix the rest, in some draws less well",
    )
    yield Claim(
        "and unobserved entries are those of Y* there (relative distance)",
        float(data.rich_distance.values / data.true_size.values),
        at_most=1e-2,
        why="no difference that is seen in the figure",
    )
    below = float((data.excess.min(skipna=False) - data.least_excess).values / norm)
    yield Claim(
        "no flow ends below the least nuclear norm that fits (relative distance)",
        below,
        at_least=-1e-4,
        why="what flows leave when they stop",
    )


def _transition_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Where both change, and how sharply: relative to what is observed, it depends little on the draw."""
    least, level = data.least_excess.values, data.level.values / data.observed_size.values
    excess = (data.wide_excess.values - least) / (data.kernel_excess.values - least)
    moved = data.wide_moved.values / data.true_size.values
    yield Claim(
        "the nuclear norm is half way from the least to that of the kernel end at infinite width, at α²k "
        "(over the largest singular value of what is observed)",
        _last_below(level, excess, 0.5),
        at_least=0.04,
        at_most=0.4,
        why="1/8 of it, up to a factor of 3",
    )
    yield Claim(
        "movement is a twentieth of the unobserved entries of Y* at infinite width, at α²k (over the same)",
        _first_below(level, moved, 0.05),
        at_least=0.35,
        at_most=5.6,
        why="7/5 of it, up to a factor of 4",
    )
    yield Claim(
        "the largest width moves as the infinite one does for α²k ≤ 100 (largest difference)",
        float(_apart(data) / data.true_size.values),
        at_most=0.06,
        why="of the order of the twentieth above",
    )
    lower, upper = (_last_below(data.level.values, excess, share) for share in (0.25, 0.75))
    yield Claim(
        "the change is gradual at infinite width, too: decades of α²k from a quarter to three quarters",
        float(np.log10(np.divide(upper, lower))),
        at_least=0.6,
        at_most=1.8,
        why="one decade, to a half more or less: neither a jump nor flat over the range drawn",
    )
    yield Claim(
        "what sharpens with k: unobserved entries move less at the best scale, by a power of k",
        _power_of_width(data, data.moved.min("scale", skipna=False).values),
        at_least=-0.95,
        at_most=-0.2,
        why="near −1/2, apart from 0 and −1",
    )


def _kernel_claims(data: xr.Dataset) -> Iterator[Claim]:
    """At fixed width unobserved entries do move at the kernel end, in proportion to the start."""
    levels, moved = np.log(_levels(data)[:, -2:]), np.log(data.moved.values[:, -2:])
    powers = np.diff(moved, axis=1) / np.diff(levels, axis=1)
    yield Claim(
        "at fixed width they move in proportion to α²k at the kernel end (power farthest from 1)",
        float(powers.ravel()[np.argmax(np.abs(powers - 1))]),
        at_least=0.9,
        at_most=1.1,
        why="tells the power 1 from 1/2 and 2",
    )
    yield Claim(
        "relative to where they start they move by a power of k there (mean over starts)",
        _power_of_width(data, np.exp(np.log(data.turned).mean("draw", skipna=False).values)),
        at_least=-0.8,
        at_most=-0.2,
        why="near −1/2, apart from 0 and −1",
    )


def _power_of_width(data: xr.Dataset, values: Float) -> float:
    """The power of k by which values fall, at all widths but the smallest."""
    return slope(np.log(data.width.values[1:]), np.log(values[1:]))


def _apart(data: xr.Dataset) -> float:
    """The largest difference of the movements at the largest and at infinite width, for α²k ≤ 100."""
    from scipy.interpolate import PchipInterpolator

    levels, moved = _levels(data)[-1], data.moved.values[-1]
    if not np.isfinite(data.wide_moved.values).all():
        return np.nan
    curve = PchipInterpolator(np.log(data.level.values), data.wide_moved.values)
    inside = (levels <= 100) & (levels >= data.level.values[0])
    return float(np.abs(moved - curve(np.log(levels)))[inside].max()) if inside.any() else np.nan


def _last_below(levels: Float, values: Float, share: float) -> float:
    """Where rising values pass a share for the last time, between levels; NaN where they never do."""
    below = np.flatnonzero(values <= share)
    return _between(levels, values, share, int(below[-1])) if below.size else np.nan


def _first_below(levels: Float, values: Float, share: float) -> float:
    """Where falling values pass a share for the first time; NaN where they never do."""
    below = np.flatnonzero(values <= share)
    return _between(levels, values, share, int(below[0]) - 1) if below.size else np.nan


def _between(levels: Float, values: Float, share: float, i: int) -> float:
    """The level between two at which the values are the share, on logarithmic axes of levels."""
    if not 0 <= i < len(levels) - 1:
        return np.nan
    part = (share - values[i]) / (values[i + 1] - values[i])
    return float(levels[i] * (levels[i + 1] / levels[i]) ** part)


def _draw_map(data: xr.Dataset, name: str, ax: Any) -> None:
    """Logarithmic colours over width and scale, and lines of equal α²k."""
    from matplotlib.colors import LogNorm

    bottom = _BOTTOM[name]
    colours = LogNorm(bottom, 1e5 * bottom)
    values = data[name].clip(min=bottom / 2)
    mesh = ax.pcolormesh(data.width, data.scale, values.T, norm=colours, cmap="cividis", rasterized=True)
    bar = ax.figure.colorbar(mesh, ax=ax, extend="both", pad=0.02)
    bar.minorticks_off()
    ax.set_title(_NAMES[name], loc="left", fontsize=8.5)
    left, right = float(data.width[0]), float(data.width[-1])
    width = np.geomspace(left, right, 50)
    for power in (-4, 0, 4):
        line = np.sqrt(10.0**power / width)
        level_line(ax, width, line, rf"$\alpha^2k=10^{{{power}}}$" if power else r"$\alpha^2k=1$", 25)
    ax.set(xscale="log", yscale="log", xlabel="width $k$", ylabel=r"scale $\alpha$")
    ax.set(xlim=(left, right), ylim=(float(data.scale[0]), float(data.scale[-1])))


def _draw_collapse(data: xr.Dataset, ax: Any) -> None:
    """Movement against α²k, for some widths and for the infinite one."""
    from matplotlib import colormaps

    chosen = np.unique(np.linspace(0, data.sizes["width"] - 1, 4).round().astype(int))
    levels = _levels(data)
    for place, j in enumerate(chosen):
        colour = colormaps["viridis"](0.85 * place / max(len(chosen) - 1, 1))
        name = f"$k={int(data.width[j]):,}$".replace(",", r"{,}")
        ax.plot(levels[j], data.moved[j], color=colour, marker="o", ms=2.5, lw=1, label=name)
    ax.plot(data.level, data.wide_moved, color="k", lw=1.4, label=r"$k=\infty$")
    ax.axvline(1, color="0.6", lw=0.7, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=(1e-6, 1e6), ylim=(1e-4, 1e4))
    ax.set_xlabel(r"$\alpha^2k$")
    ax.set_title("the same at some widths", loc="left", fontsize=8.5)
    ax.legend(loc="upper left", fontsize=7, handlelength=1.4, labelspacing=0.3)
