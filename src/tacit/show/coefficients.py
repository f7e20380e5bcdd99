"""Picture of the coefficients of a linear model against the scale of its initialization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label
from tacit.show.figures import KERNEL, MUTED, RICH, Picture

_NAMED, _FAINT = 7, 400  # coordinates with a colour and a name; coordinates that are drawn


@dataclass(frozen=True, eq=False)
class CoefficientCurves:
    """The data of the picture: coefficients for each scale, the selected scale, and both ends if known."""

    scales: Float
    coefs: Float
    chosen: float
    kernel: Float | None
    rich: Float | None
    title: str


def coefficients_picture(curves: CoefficientCurves, names: Sequence[str]) -> Picture:
    """A picture of the largest coefficients, the selected scale (dashed) and both ends (marks)."""

    def draw(ax: Any) -> None:
        order = np.argsort(-curves.scales)
        scales, coefs = curves.scales[order], curves.coefs[order]
        here = int(np.abs(np.log(scales / curves.chosen)).argmin())
        largest = np.argsort(-(np.abs(coefs[here]) + np.abs(coefs).max(axis=0)))
        ax.plot(scales, coefs[:, largest[_NAMED:_FAINT]], color=MUTED, lw=0.4, alpha=0.6)
        for place, i in enumerate(largest[:_NAMED]):
            ax.plot(scales, coefs[:, i], color=f"C{place}", label=label(names[i], 18))
            _mark(ax, scales[0], curves.kernel, i, f"C{place}", "o")
            _mark(ax, scales[-1], curves.rich, i, f"C{place}", "D")
        ax.axvline(curves.chosen, color="0.4", lw=0.8, ls="--")
        beside = {"xycoords": ("data", "axes fraction"), "fontsize": 8, "rotation": 90, "va": "bottom"}
        ground = {"facecolor": "w", "edgecolor": "none", "pad": 1.0, "alpha": 0.8}
        ax.annotate("chosen", (curves.chosen, 0.02), ha="center", bbox=ground, **beside)
        ax.axhline(0, color="k", lw=0.5)
        ax.set_xscale("log")
        ax.set_xlim(1.3 * scales.max(), scales.min() / 1.3)
        ax.set(xlabel="scale of the initialization, relative to the data", ylabel="coefficient")
        ax.set_title("kernel end" + " (●)" * (curves.kernel is not None), loc="left", color=KERNEL)
        ax.set_title("rich end" + " (◆)" * (curves.rich is not None), loc="right", color=RICH)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4, title=curves.title)

    return Picture(draw, {"figsize": (6.4, 4.4)}, "fit")


def _mark(ax: Any, scale: float, end: Float | None, i: int, color: str, marker: str) -> None:
    if end is not None:
        ax.plot([scale], [end[i]], marker, color=color, ms=5, mec="k", mew=0.5, clip_on=False, zorder=3)
