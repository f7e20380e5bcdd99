"""Pictures of derived potentials: level sets touching the solutions, or flows with different ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label
from tacit.show.figures import KERNEL, RICH, TRUTH, Picture

_COLOURS = (KERNEL, RICH, TRUTH)
_ROOM = 0.06  # margin around the curves, relative to their size


@dataclass(frozen=True, eq=False)
class Levels:
    """Level sets in two coordinates, and flows that end where a line of solutions is tangent to a level set.

    A level set is a closed curve, with gaps along the rays on which it was not found.

    touched: for each flow, its line of solutions (normal and offset), the tangent point, and the level.
    """

    pair: tuple[int, int]
    origin: Float
    curves: list[Float]
    flows: list[Float]
    touched: list[tuple[Float, float, Float, int]]
    title: str


@dataclass(frozen=True, eq=False)
class Apart:
    """Flows from one start to one line of solutions, with coordinates along the line and away from it."""

    flows: list[Float]
    weights: Float
    title: str

    @property
    def spread(self) -> float:
        """The distance between the two ends that are farthest apart."""
        return float(np.ptp([flow[-1, 0] for flow in self.flows]))


def level_picture(portrait: Levels) -> Picture:
    """A picture of level sets, and for each flow the line of solutions and the level set that touches it."""

    def draw(ax: Any) -> None:
        _draw_levels(portrait, ax)
        for flow, (normal, _, end, level), colour in zip(
            portrait.flows, portrait.touched, _COLOURS, strict=False
        ):
            curve = portrait.curves[level]
            ax.plot(curve[:, 0], curve[:, 1], color=colour, lw=1.0, alpha=0.9)
            _draw_line(ax, normal, end, portrait, colour)
            ax.plot(flow[:, 0], flow[:, 1], color=colour, lw=1.8, solid_capstyle="round")
            _arrow(ax, flow, colour)
            ax.plot(*end, "o", ms=5.5, mfc="w", mec=colour, mew=1.4, zorder=5)
        _start(ax, portrait.origin)
        _frame(ax, np.vstack(portrait.curves))
        ax.plot([], [], color="0.25", lw=1.8, label="gradient flow")
        ax.plot([], [], color="0.25", lw=1.0, ls=(0, (4, 2)), label="solutions $x\\cdot w = y$")
        ax.plot([], [], "o", color="0.25", mfc="w", mew=1.4, label="minimum of $Q$")
        i, j = portrait.pair
        ax.set(xlabel=f"$w_{{{i + 1}}}$", ylabel=f"$w_{{{j + 1}}}$")
        _finish(ax, portrait.title)

    return Picture(draw, {"figsize": (4.4, 4.4)}, "derive")


def _draw_levels(portrait: Levels, ax: Any) -> None:
    from matplotlib import colormaps

    shades = colormaps["Blues"](np.linspace(0.04, 0.34, len(portrait.curves)))
    for curve, shade in zip(reversed(portrait.curves), shades, strict=True):
        if np.isfinite(curve).all():
            ax.fill(curve[:, 0], curve[:, 1], color=shade, lw=0, zorder=0)
        ax.plot(curve[:, 0], curve[:, 1], color="0.72", lw=0.6, zorder=1)


def _draw_line(ax: Any, normal: Float, end: Float, portrait: Levels, colour: str) -> None:
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    points = np.vstack(portrait.curves)
    reach = 2 * float((np.nanmax(points, axis=0) - np.nanmin(points, axis=0)).max())
    points = end + np.outer([-reach, reach], along)
    ax.plot(points[:, 0], points[:, 1], color=colour, lw=1.0, ls=(0, (4, 2)), zorder=2)


def _arrow(ax: Any, flow: Float, colour: str) -> None:
    """Draw an arrow half way along the curve."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(flow, axis=0), axis=1))])
    at = [np.interp(share * lengths[-1], lengths, flow[:, axis]) for share in (0.5, 0.56) for axis in (0, 1)]
    shape = {"arrowstyle": "-|>", "color": colour, "lw": 1.2, "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", at[2:], at[:2], arrowprops=shape, zorder=4)


def apart_picture(portrait: Apart) -> Picture:
    """A picture of flows of several losses, which end at different points of the line of solutions."""

    def draw(ax: Any) -> None:
        from matplotlib import colormaps

        ax.axhline(0, color="0.4", lw=1.0, ls=(0, (4, 2)), label="solutions $X w = y$", zorder=1)
        shades = colormaps["viridis"](np.linspace(0.05, 0.85, len(portrait.flows)))
        for flow, weight, shade in zip(portrait.flows, portrait.weights, shades, strict=True):
            ax.plot(flow[:, 0], flow[:, 1], color=shade, lw=1.6, label=f"first sample × {weight:g}")
            ax.plot(*flow[-1], "o", ms=5.5, mfc="w", mec=shade, mew=1.4, zorder=5, clip_on=False)
        _start(ax, portrait.flows[0][0])
        _frame(ax, np.vstack(portrait.flows), 0.08)
        ax.set(
            xlabel=f"along the solutions (ends up to {portrait.spread:.2g} apart)",
            ylabel="orthogonal to them, towards $w_0$",
        )
        _finish(ax, portrait.title)

    return Picture(draw, {"figsize": (4.6, 4.2)}, "derive")


def _start(ax: Any, origin: Float) -> None:
    ax.plot(*origin, "o", ms=4.5, color="k", zorder=5)
    ax.annotate("$w_0$", origin, (5, 5), textcoords="offset points", fontsize=9)


def _frame(ax: Any, points: Float, room: float = _ROOM) -> None:
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    margin = room * (high - low)
    ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
    ax.set_ylim(low[1] - margin[1], high[1] + margin[1])


def _finish(ax: Any, title: str) -> None:
    ax.set_title(label(title, 100), loc="left")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, handlelength=1.8, columnspacing=1.2)
