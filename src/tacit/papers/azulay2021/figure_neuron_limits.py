"""Limits of neurons by scale, shape and orientation (Azulay et al. 2021, Theorems 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.azulay2021.training import (
    TO_LEAST,
    Regression,
    draw_problem,
    far_from_kernel,
    follow,
    gap,
    to_ends,
    unit_vector,
)
from tacit.papers.measures import exponent, ratio, share, variables
from tacit.papers.reproduction import presets
from tacit.show.figures import MUTED, side_by_side

ORIENTATIONS = ("unseen", "generic")
NEAR_SCALES = (0.01, 1.0, 100.0)  # scales at which s → 1 is computed
_SHADES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKS = ("o", "s", "^", "D")
_WAY = r"$\|\tilde w(\infty)-\tilde w_K\|\,/\,\|\tilde w(\infty)-\tilde w(0)\|$"


@figure(
    "azulay2021/neuron-limits",
    **presets(
        scales=([0.01, 10.0], [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]),
        shapes=([-0.3, 0.9], [-0.5, 0.0, 0.5, 0.9]),
        slopes=([1.0, 0.1], [1.0, 0.5, 0.1]),
        marks=(2, 7),
        points=(34, 81),
    ),
    figsize=(7.6, 5.6),
    nrows=2,
    ncols=2,
    about=("Theorem 2 (6.1)", "Theorem 4 (8.1)"),
    seconds=11,
    short="where neurons end",
)
class NeuronLimits:
    """Limits of neurons. (a) The limit of Theorems 2 and 4 against simulated flow, which stops at a residual
    of 1e-10, for scales, shapes, orientations and both signs of a, which may change during training. (b) The
    distance to the minimum-norm solution, which has norm 1. (c) The distance to the kernel end, relative to
    the distance from the start; solid: starts orthogonal to the data, Xw̃(0) = 0; dashed: generic starts;
    dotted: their limit. (d) The same as s → 1, for generic starts. Lines: limits; markers: simulated flow.
    """

    def data(
        self,
        scales: list[float],
        shapes: list[float],
        slopes: list[float],
        marks: int,
        points: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Compute limits and flows of random starts, and limits along the scale and shape."""
        rng = np.random.default_rng(seed)
        problem = draw_problem(2, 4, rng)
        compared, left_out = _compare(problem, scales, shapes, slopes, rng, progress)
        generic = unit_vector(4, rng)
        hidden = problem.unseen(generic)
        lines = _lines(problem, {"unseen": hidden, "generic": generic}, marks, points, progress)
        seen = float(np.sqrt(1 - hidden @ hidden))
        plateau = [far_from_kernel(s, seen) for s in lines["line_shape"][1]]
        return xr.Dataset(
            {
                **variables("run", **compared),
                **lines,
                "plateau": ("line_shape", plateau),
            },
            attrs={"left_out": left_out},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw the differences and the distances to both ends."""
        panels = {
            "(a) limit against simulated flow": _draw_differences,
            "(b) to least norm": _draw_least,
            r"(c) to the kernel end, $\alpha\to\infty$": _draw_kernel,
            r"(d) to the kernel end, $s\to 1$": _draw_shapes,
        }
        for (title, panel), ax in zip(panels.items(), axes.flat, strict=True):
            panel(data, ax)
            ax.set_title(title, loc="left")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Flows end at the limit; the limits of Section 7.2 hold, one of them under a condition."""
        linear = data.slope.values == 1
        for chosen, name, allowed in ((linear, "linear", 1e-8), (~linear, "leaky", 2e-7)):
            worst = float(data.difference.values[chosen].max()) if chosen.any() else np.nan
            yield at_most(
                allowed, "flows stop at a residual of 1e-10, which ill-conditioned data and kinks may amplify"
            ).claim(f"{name} neurons end at the limit (largest relative difference)", worst)
        total = data.sizes["run"] + data.attrs["left_out"]
        text = "starts excluded because the final sign of a is unknown (fraction)"
        yield at_most(0.25, "most are compared", of=total).claim(text, ratio(data.attrs["left_out"], total))
        yield at_least(0.75, "most are compared", of=data.reached.size).claim(
            "flows that reached the residual 1e-10 (fraction)", share(data.reached.values)
        )
        text = "simulated flows agree with the lines (largest relative difference of a distance)"
        yield at_most(1e-3, "the width of the lines").claim(text, data.off_line)
        yield from _end_claims(data)


def _compare(
    problem: Regression,
    scales: list[float],
    shapes: list[float],
    slopes: list[float],
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[dict[str, list[Any]], int]:
    """Compute limit and flow of a neuron of random orientation and sign for each setting."""
    rows = []
    settings = list(product(scales, shapes, slopes))
    for scale, shape, rho in progress(settings, "neurons"):
        direction, sign = rng.standard_normal(problem.X.shape[1]), int(rng.choice([-1, 1]))
        model = tacit.Neuron.from_scale(scale, shape, direction, sign, rho)
        try:
            expected = tacit.limit(model, problem.X, problem.y).predictor
        except tacit.NoPotentialError:
            continue
        found, reached = follow(model, problem)
        rows.append((scale, shape, rho, gap(found, expected), reached))
    columns = map(list, zip(*rows, strict=True))
    names = ("scale", "shape", "slope", "difference", "reached")
    return dict(zip(names, columns, strict=True)), len(settings) - len(rows)


def _lines(
    problem: Regression, directions: dict[str, Float], marks: int, points: int, progress: Progress
) -> dict[str, Any]:
    """Distances to both ends along the scale for several shapes, and to the kernel end as s → 1."""
    shapes, scale, gap = np.array([0.0, 0.5, 0.9]), np.logspace(-6, 5, points), np.logspace(0, -3, points)
    mark_scale, mark_gap = np.logspace(-3, 3, marks), np.logspace(0, -2, marks)

    def distances(alpha: float, s: float, name: str, simulate: bool) -> tuple[float, float]:
        model = tacit.Neuron.from_scale(alpha, s, directions[name])
        limit = tacit.limit(model, problem.X, problem.y).predictor
        return to_ends(model, problem, follow(model, problem)[0] if simulate else limit)

    def along(grid: Float, simulate: bool) -> Float:
        rows = [[[distances(a, s, o, simulate) for a in grid] for s in shapes] for o in ORIENTATIONS]
        return np.moveaxis(np.array(rows), -1, 0)

    def near(grid: Float, simulate: bool) -> Float:
        rows = [[distances(a, 1 - g, "generic", simulate)[1] for g in grid] for a in NEAR_SCALES]
        return np.array(rows)

    parts = [(along, scale, mark_scale), (near, gap, mark_gap)]
    (line, mark, off), (late, late_mark, late_off) = (
        (part(grid, False), simulated := part(few, True), np.abs(simulated / part(few, False) - 1).max())
        for part, grid, few in progress(parts, "ends")
    )
    ways, ends = ("orientation", "line_shape"), ("least", "kernel")
    axes: dict[str, Any] = {"line_shape": shapes, "line_scale": scale, "mark_scale": mark_scale, "gap": gap}
    axes |= {"near_scale": list(NEAR_SCALES), "mark_gap": mark_gap}
    return {
        **{name: (name, values) for name, values in axes.items()},
        **{f"to_{end}": ((*ways, "line_scale"), line[k]) for k, end in enumerate(ends)},
        **{f"to_{end}_mark": ((*ways, "mark_scale"), mark[k]) for k, end in enumerate(ends)},
        "to_near": (("near_scale", "gap"), late),
        "to_near_mark": (("near_scale", "mark_gap"), late_mark),
        "off_line": np.maximum(off, late_off),
    }


def _end_claims(data: xr.Dataset) -> Iterator[Claim]:
    """The limits as scale and shape approach their ends."""
    scale, least = data.line_scale.values, data.to_least.values
    small = scale <= 1e-3
    text = "α → 0 leads to the minimum-norm solution for any shape (largest distance at α = 1e-6)"
    yield at_most(2e-3, "√α is 1e-3 there").claim(text, least[..., 0].max())
    rates = [exponent(scale[small], row[small]) for row in least.reshape(-1, len(scale))]
    text = "like √α (smallest fitted exponent)"
    yield at_least(0.48, "distinguishes 1/2 from other powers").claim(text, np.min(rates))
    text = "and no faster (largest fitted exponent)"
    yield at_most(0.52, "distinguishes 1/2 from other powers").claim(text, np.max(rates))
    yield from _kernel_claims(data)


def _kernel_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Settings in which the limit approaches the kernel end, and in which it does not."""
    scale, kernel = data.line_scale.values, data.to_kernel.values
    gap, near = data.gap.values, data.to_near.values
    late, large = gap <= 0.03, scale >= 1e3
    rates = [exponent(gap[late], row[late]) for row in near]
    text = "s → 1 leads to the kernel end for any scale (largest distance at s = 0.999)"
    yield at_most(1e-3, "(1−s)² is 1e-6 there").claim(text, near[:, -1].max())
    text = "like (1−s)² or faster once (1−s)² ≪ α (smallest fitted exponent, α ≥ 1)"
    yield at_least(1.9, "distinguishes 2 from 1").claim(text, np.min(rates[1:]))
    rates = [exponent(scale[large], row[large]) for row in kernel[0]]
    text = "α → ∞ leads to the kernel end from starts orthogonal to the data (largest fitted exponent)"
    yield at_most(-0.98, "distinguishes −1 from other powers").claim(text, np.max(rates))
    text = "and close to it (largest distance, α = 1e5)"
    yield at_most(1e-4, "1/α is 1e-5 there").claim(text, kernel[0, :, -1].max())
    text = "but not from generic starts, where √(1−ρ) differs from 1/(1+ρ) (difference, α = 1e5)"
    yield at_most(1e-4, "1/α is 1e-5 there").claim(text, np.abs(kernel[1, :, -1] - data.plateau.values).max())
    yield at_least(10, "an order of magnitude").claim(
        "this distance does not vanish for balanced layers (relative to orthogonal starts)",
        ratio(float(data.plateau.values[0]), float(kernel[0, :, -1].max())),
    )


def _draw_differences(data: xr.Dataset, ax: Any) -> None:
    """Draw every neuron, with shapes and slopes side by side."""
    shapes, slopes = np.unique(data["shape"].values), np.unique(data.slope.values)[::-1]
    for k, rho in enumerate(slopes):
        of = data.slope.values == rho
        place = np.searchsorted(shapes, data["shape"].values[of]) * len(slopes) + k
        x = side_by_side(data.scale.values[of], place, len(shapes) * len(slopes), 0.75)
        name = "linear" if rho == 1 else rf"leaky, $\rho={rho:g}$"
        style = {"color": _SHADES[k], "mfc": "none", "ms": 3.2, "mew": 0.9, "label": name}
        ax.plot(x, data.difference.values[of], _MARKS[k], **style)
    ax.axhline(1e-8, color=MUTED, lw=0.8, ls="--")
    scale = data.scale.values
    ax.set(xscale="log", yscale="log", xlim=(scale.min() / 4, scale.max() * 4), ylim=(1e-13, 1e-7))
    ax.set(xlabel=r"scale $\alpha$; side by side: shapes $s$", ylabel="relative difference")
    ax.legend(loc="lower left")


def _draw_least(data: xr.Dataset, ax: Any) -> None:
    """Draw the distance to the minimum-norm solution as the scale vanishes."""
    for j, s in enumerate(data.line_shape.values):
        _draw_way(data, "to_least", (0, j), ax, _SHADES[j], lw=1.3, label=f"$s={s:g}$")
    _logarithmic(ax, (5e-7, 20), (1e-4, 40), r"scale $\alpha$", TO_LEAST)
    ax.legend(loc="lower right")


def _draw_kernel(data: xr.Dataset, ax: Any) -> None:
    """Draw the distance to the kernel end as the scale grows, for both kinds of start."""
    for j, s in enumerate(data.line_shape.values):
        _draw_way(data, "to_kernel", (0, j), ax, _SHADES[j], lw=1.3, label=f"$s={s:g}$")
        _draw_way(data, "to_kernel", (1, j), ax, _SHADES[j], fill="w", lw=1.3, ls=(0, (4, 2)))
        ax.axhline(data.plateau[j], color=_SHADES[j], lw=0.8, ls=":")
    ax.plot([], [], "o-", color="0.4", ms=4, lw=1.3, label=r"$X\tilde w(0)=0$")
    ax.plot([], [], "o", ls=(0, (4, 2)), color="0.4", mfc="w", ms=4, lw=1.3, label="generic")
    _logarithmic(ax, (0.05, 2e5), (1e-8, 2), r"scale $\alpha$", _WAY)
    ax.legend(loc="lower left")


def _draw_shapes(data: xr.Dataset, ax: Any) -> None:
    """Draw the distance to the kernel end as the output layer grows relative to the inner one."""
    for j, alpha in enumerate(data.near_scale.values):
        wide, size = (2.8, 7.5) if j == 1 else (1.3, 4)  # so that both of two coinciding lines are visible
        style: dict[str, Any] = {"fill": "w", "size": size, "lw": wide, "label": rf"$\alpha={alpha:g}$"}
        _draw_way(data, "to_near", (j,), ax, _SHADES[j], **style)
    _logarithmic(ax, (7e-4, 1.4), (1e-8, 1), "$1-s$, shape $s$", _WAY)
    ax.legend(loc="lower right")


def _draw_way(
    data: xr.Dataset, name: str, row: Any, ax: Any, color: str, fill: str = "", size: float = 4, **line: Any
) -> None:
    """A row of distances: limits as a line, simulated flows as marks."""
    limits, flows = data[name], data[f"{name}_mark"]
    ax.plot(data[limits.dims[-1]], limits[row], color=color, **line)
    ax.plot(data[flows.dims[-1]], flows[row], "o", ms=size, color=color, mfc=fill or color)


def _logarithmic(ax: Any, x: tuple[float, float], y: tuple[float, float], below: str, beside: str) -> None:
    """Logarithmic axes with these limits and labels."""
    ax.set(xscale="log", yscale="log", xlim=x, ylim=y, xlabel=below, ylabel=beside)
