"""Matrix completion over scale and width: Figure 5 of Woodworth et al. 2020.

Errata
------
### Figure 5, caption: unobserved entries do move
- **Printed.** For σ√k ≫ 1 "the unobserved entries do not change".
- **Holds.** Their movement vanishes as the width k grows with 1 ≪ α²k ≪ k. At fixed width they move by
  about a/(α²k)² + b/√k + c·α². This is smallest (of order k^{−1/2}) between α²k ≈ k^{1/4} and √k. Beyond, it
  is proportional to α², and a fraction of order k^{−1/2} of the initial entries: UUᵀ and VVᵀ are multiples
  of the identity up to k^{−1/2} only, and the initial outputs, of size α²√k, must be unlearned. These are
  the two terms of (69), 1/(α√k) and α, both of which must vanish.
- **Evidence.** d = 10, 60 entries observed, width 1000, five draws: at α²k = 10, 100 and 1000 they move
  by 0.03 to 0.10, 0.11 to 0.20 and 1.2 to 2.0 (root mean square), which is 4% to 7% of the movement of
  observed entries. At width 16,000 and α²k = 1000 they move 16 times less. At width 10 they move by 0.4 at
  α²k = 1 and by 230 at 1000; at infinite width by 8e-3, 8e-5 and 8e-7 at α²k = 10, 100 and 1000.
- **Tests.** `test_unobserved_entries_move_at_fixed_width`; `test_unobserved_entries_move_by_three_terms` in
  `test_errata_matrices.py`.

### Figure 5, and Section 6: the rich end need not have the least nuclear norm
- **Printed.** When σ = o(1/√k), "the nuclear norm is nearly minimized and M converges to Y*"; the
  transition "appears to sharpen somewhat as k increases".
- **Holds.** M converges to Y*, the completion of rank 1, even if other completions have a smaller nuclear
  norm. The transition does not sharpen indefinitely: at infinite width it extends over about a decade of
  α²k. What does decrease with k is the smallest movement of unobserved entries, like k^{−1/2}.
- **Evidence.** d = 6, 24 entries observed, one draw: ‖Y*‖_* = 4.852, the least nuclear norm that fits is
  4.453, certified. At infinite width the limit has 4.478 at α²k = 1e-2, 4.637 at 1e-4 and 4.782 at 1e-6,
  5% from Y*. At d = 10 and N = 60 the two norms differ by 0.1% on the first draw, and
  limits for α²k ≤ 1e-4 have the norm of Y* to 0.02%.
- **Test.** `test_the_rich_end_is_the_matrix_of_rank_1_and_not_the_least_nuclear_norm` in
  `test_errata_matrices.py`
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent, variables
from tacit.papers.reproduction import presets
from tacit.papers.woodworth2020.lifted import Completion, completion, ended, wide
from tacit.show.figures import level_line

_ACCURACY = {"residual": 1e-5, "rtol": 1e-5}  # of the flows: finer than the figure shows
_TINY = 1e-8  # scale of the weights used for α → 0
_BOTTOM = {"excess": 1e-3, "moved": 1e-2}  # lower end of the colour scale, which covers five decades
_NAMES = {
    "excess": r"excess nuclear norm $\|M\|_*-\|Y^*\|_*$",
    "moved": "movement of unobserved entries (rms)",
}


@figure(
    "woodworth2020/fig5",
    **presets(
        size=(8, 10),
        observed=(45, 60),
        scales=(8, 12),
        widths=(4, 12),
        narrowest=(16, 10),
        levels=(11, 25),
        starts=(5, 5),
    ),
    figsize=(9.4, 2.8),
    ncols=3,
    seconds=14,
)
class MatrixCompletion:
    """Limits of factorizations UVᵀ trained on some entries of a matrix of rank 1, over the scale α and the
    width k of the initial weights (Figure 5). Left: excess nuclear norm over that of the matrix. Middle:
    movement of unobserved entries. Both change around α²k = 1. Right: the movement against α²k, with its
    limit for infinite width. Above α²k ≈ √k it grows again like α² at every width, because the initial
    outputs must be unlearned: unobserved entries hardly move for 1 ≪ α²k ≪ k only.
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
        progress: Progress,
    ) -> xr.Dataset:
        """A flow for every scale and width, also at infinite width; and more draws at the largest scale."""
        problem = completion(size, observed, seed)
        scale, level = np.logspace(-4, 1, scales), np.logspace(-6, 4, levels)
        width = np.round(np.geomspace(narrowest, 1e5, widths)).astype(int)

        def outcome(j: int, alpha: float, *draw: int) -> tuple[float, float, float]:
            return _outcome(problem, _start(size, width[j], alpha, [seed, j, *draw]))

        found, large = np.empty((widths, scales, 3)), np.empty((widths, starts, 3))
        for j in progress(range(widths), "widths"):
            found[j] = [outcome(j, alpha) for alpha in scale]
            large[j] = [outcome(j, scale[-1], k) for k in range(starts)]
        excess, moved, start = np.moveaxis(found, -1, 0)
        limits = np.array([_outcome(problem, wide((size, size), math.inf, each)) for each in level])
        rich = _recovered(problem, _start(size, width[0], _TINY, [seed, 0]))
        least = tacit.limit(tacit.potentials.Nuclear(), problem.X, problem.y).predictor
        return xr.Dataset(
            {
                **variables("width scale", excess=excess, moved=moved, start=start),
                **variables("level", wide_excess=limits[:, 0], wide_moved=limits[:, 1]),
                "turned": (("width", "draw"), large[..., 1] / large[..., 2]),
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
        """Two maps, and the movement against α²k."""
        for name, ax in zip(("excess", "moved"), axes[:2], strict=True):
            _draw_map(data, name, ax)
        _draw_collapse(data, axes[2])

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both regimes, the transition between them, and the effect of the width."""
        yield from _rich_claims(data)
        yield from _transition_claims(data)
        yield from _kernel_claims(data)


def _outcome(problem: Completion, start: tacit.Factorization) -> tuple[float, float, float]:
    """Excess nuclear norm of the limit; movement and initial size of the unobserved entries."""
    end, fits, _ = ended(start, problem.X, problem.y, **_ACCURACY)
    if not fits:
        return math.nan, math.nan, math.nan
    first = np.asarray(start.predictor())
    return problem.excess(end), problem.unseen(end - first), problem.unseen(first)


def _start(size: int, width: int, scale: float, seed: list[int]) -> tacit.Factorization:
    """Weights from N(0, scale²); with the same seed they differ by a factor only."""
    return wide((size, size), width, scale**2 * width, np.random.default_rng(seed))


def _recovered(problem: Completion, start: tacit.Factorization) -> tuple[float, float]:
    """Excess nuclear norm of the limit, and distance of its unobserved entries from those of Y*."""
    end, fits, _ = ended(start, problem.X, problem.y, **_ACCURACY)
    return (problem.excess(end), problem.unseen(end - problem.truth)) if fits else (math.nan, math.nan)


def _levels(data: xr.Dataset) -> Float:
    """α²k, (width, scale)."""
    return np.asarray(data.width.values[:, None] * data.scale.values**2)


def _rich_claims(data: xr.Dataset) -> Iterator[Claim]:
    """The matrix is recovered at small α²k.

    How small α²k must be varies between draws by factors of ten, because it depends on how well the observed
    entries determine the others. A tiny scale is small enough for all draws.
    """
    norm = data.true_norm.values
    yield at_most(
        1e-2, "one percent: in some draws the observed entries determine the others less well"
    ).claim(
        f"at α = {_TINY:g} the nuclear norm equals that of Y* (relative difference)",
        np.abs(data.rich_excess.values) / norm,
    )
    yield at_most(1e-2, "invisible in the figure").claim(
        "at this scale the unobserved entries equal those of Y* (relative distance)",
        data.rich_distance.values / data.true_size.values,
    )
    below = float((data.excess.min(skipna=False) - data.least_excess).values / norm)
    text = "no limit has less than the minimum nuclear norm that fits (smallest relative difference)"
    yield at_least(-1e-4, "the residual at which flows stop").claim(text, below)


def _transition_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Position and width of the transition; in units of the observed entries they depend little on draws."""
    least, level = data.least_excess.values, data.level.values / data.observed_size.values
    excess = (data.wide_excess.values - least) / (data.kernel_excess.values - least)
    moved = data.wide_moved.values / data.true_size.values
    yield within(0.04, 0.4, "1/8, up to a factor of 3").claim(
        "at infinite width the nuclear norm is midway between its minimum and the kernel regime at this α²k "
        "(over the largest singular value of the observed matrix)",
        _crossing(level, excess, 0.5, rising=True),
    )
    yield within(0.35, 5.6, "7/5, up to a factor of 4").claim(
        "at infinite width the movement is a twentieth of the unobserved entries of Y* here (same unit)",
        _crossing(level, moved, 0.05, rising=False),
    )
    yield at_most(0.06, "about the twentieth above").claim(
        "for α²k ≤ 100 the movement at the largest width equals that at infinite width (largest difference)",
        _difference_to_wide(data) / data.true_size.values,
    )
    lower, upper = (_crossing(data.level.values, excess, part, rising=True) for part in (0.25, 0.75))
    yield within(
        0.6, 1.8, "about one decade: neither a jump nor constant over the range of the figure"
    ).claim(
        "the transition is gradual even at infinite width (decades of α²k from a quarter to three quarters)",
        np.log10(np.divide(upper, lower)),
    )
    yield within(-0.95, -0.2, "near −1/2; excludes 0 and −1").claim(
        "the smallest movement of unobserved entries over all scales decreases with k (power of k)",
        _power_of_width(data, data.moved.min("scale", skipna=False).values),
    )


def _kernel_claims(data: xr.Dataset) -> Iterator[Claim]:
    """At fixed width unobserved entries move at large scales, in proportion to their initial size."""
    levels, moved = np.log(_levels(data)[:, -2:]), np.log(data.moved.values[:, -2:])
    powers = np.diff(moved, axis=1) / np.diff(levels, axis=1)
    yield within(0.9, 1.1, "distinguishes the power 1 from 1/2 and 2").claim(
        "at fixed width and large scales they move in proportion to α²k (power farthest from 1)",
        powers.ravel()[np.argmax(np.abs(powers - 1))],
    )
    yield within(-0.8, -0.2, "near −1/2; excludes 0 and −1").claim(
        "relative to their initial size this movement decreases with k (power of k, mean over draws)",
        _power_of_width(data, np.exp(np.log(data.turned).mean("draw", skipna=False).values)),
    )


def _power_of_width(data: xr.Dataset, values: Float) -> float:
    """The fitted power of k, at all widths except the smallest."""
    return exponent(data.width.values[1:], values[1:])


def _difference_to_wide(data: xr.Dataset) -> float:
    """The largest difference between the movements at the largest and at infinite width, for α²k ≤ 100."""
    from scipy.interpolate import PchipInterpolator

    levels, moved = _levels(data)[-1], data.moved.values[-1]
    if not np.isfinite(data.wide_moved.values).all():
        return np.nan
    curve = PchipInterpolator(np.log(data.level.values), data.wide_moved.values)
    inside = (levels <= 100) & (levels >= data.level.values[0])
    return float(np.abs(moved - curve(np.log(levels)))[inside].max()) if inside.any() else np.nan


def _crossing(levels: Float, values: Float, value: float, *, rising: bool) -> float:
    """The level at which values cross a value, by interpolation in log(level); NaN if there is none.

    The last crossing of rising values, or the first one of falling values.
    """
    below = np.flatnonzero(values <= value)
    i = int(below[-1] if rising else below[0] - 1) if below.size else -1
    if not 0 <= i < len(levels) - 1:
        return np.nan
    part = (value - values[i]) / (values[i + 1] - values[i])
    return float(levels[i] * (levels[i + 1] / levels[i]) ** part)


def _draw_map(data: xr.Dataset, name: str, ax: Any) -> None:
    """A map over width and scale with logarithmic colours, and lines of constant α²k."""
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
    """Movement against α²k for some widths, and for infinite width."""
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
    ax.set_title("movement at some widths", loc="left", fontsize=8.5)
    ax.legend(loc="upper left", fontsize=7, handlelength=1.4, labelspacing=0.3)
