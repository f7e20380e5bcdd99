"""Flows and the Q_μ path in planes of two norms: Figures 7 and 8 of Moroshko et al. 2020."""

from __future__ import annotations

from typing import Any

import xarray as xr

from tacit.papers.moroshko2020.drawing import colour_of, power_of_ten
from tacit.show.figures import TRUTH

MARK: dict[str, Any] = {"mec": "k", "mew": 0.7, "ls": "none", "clip_on": False, "zorder": 5}


def draw_flows(data: xr.Dataset, ax: Any, widths: list[float]) -> None:
    """One curve for each scale, darker for larger ones, with a dot where it ends."""
    for i, (scale, width) in enumerate(zip(data.scale.values, widths, strict=True)):
        x, y = data.flow.sel(scale=scale).values
        shade = colour_of(scale)
        ax.plot(x, y, color=shade, lw=width, label=rf"$\alpha=${power_of_ten(scale)}", zorder=2 + i / 100)
        ax.plot(x[-1:], y[-1:], "o", ms=5.5, color=shade, **MARK | {"mec": "w", "zorder": 7 + i / 100})


def draw_path(data: xr.Dataset, ax: Any) -> None:
    """The Q_μ path over the flows that follow it, where all flows start, and the ℓ2 margin."""
    style = {"color": "k", "gapcolor": "w", "ls": (0, (3, 2)), "lw": 1.1, "zorder": 4}
    ax.plot(*data.path.values, label=r"$Q_\mu$ path", **style)
    above = {"mec": "w", "zorder": 5.5}  # the start is seen where it lies on the margin
    ax.plot(*data.start.values, "^", ms=7, color="k", label="start", **MARK | above)
    ax.plot(*data.l2.values, "o", ms=9, color=TRUTH, label=r"$\ell_2$ margin", **MARK)
