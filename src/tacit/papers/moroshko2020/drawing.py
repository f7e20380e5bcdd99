"""Drawing functions shared by the figures of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.moroshko2020.trajectories import arc, azimuth_pitch
from tacit.show.figures import RICH, TRUTH

L1, SQUARE, CROSSING = "#E69F00", "#CC79A7", "0.45"
_SHADES = np.array(  # from light to dark by scale; denser where figures have many scales
    [
        (1e-3, 0.01, 0.03, 0.1, 0.18, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4),
        (0.0, 0.08, 0.13, 0.2, 0.33, 0.4, 0.53, 0.62, 0.69, 0.76, 1.0),
    ]
)
_ALIKE = (0.1, 100.0)  # flows of depth 2 below the first and above the second scale nearly coincide
_OUTLINED = {"mec": "k", "mew": 0.7, "ls": "none"}
_END = {"ms": 8.5, "zorder": 6, **_OUTLINED}


def colour_of(scale: float) -> Any:
    """The colour of an initialization scale α in every figure, from small (light) to large (dark)."""
    return shade(float(np.interp(np.log10(scale), np.log10(_SHADES[0]), _SHADES[1])))


def shade(rank: float) -> Any:
    """A colour from light (rank 0) to dark (rank 1)."""
    from matplotlib import colormaps

    return colormaps["viridis"](0.96 * (1 - rank))


def drawn_as(scale: float, scales: Any) -> dict[str, Any]:
    """The line style of a scale: above smaller scales, and broad below a line that it coincides with."""
    alike = [each for each in sorted(scales) if _group(each) == _group(scale)]
    under = (len(alike) - 1 - alike.index(scale)) / max(len(alike) - 1, 1) if _group(scale) else 0.0
    return {
        "color": colour_of(scale),
        "lw": 1.9 + 2.5 * under,
        "zorder": 2 + sorted(scales).index(scale) / 100,
    }


def _group(scale: float) -> int:
    """-1 or 1 for scales so small or so large that their flows of depth 2 nearly coincide; else 0."""
    return int(scale >= _ALIKE[1]) - int(scale <= _ALIKE[0])


def power_of_ten(value: float) -> str:
    """A scale as text: 0.001, 0.1, 1, 100, then 10⁴."""
    exponent = round(np.log10(value))
    if abs(exponent) < 4 or not np.isclose(value, 10.0**exponent):
        return f"${value:g}$"
    return f"$10^{{{exponent}}}$"


def draw_plane(data: xr.Dataset, ax: Any, *, infinite: bool = False) -> None:
    """Draw flows, their ends at fixed μ, the Q_μ path, the infinite-scale flow, and the margins."""
    draw_flows(data, ax)
    for j in range(data.sizes["marked_mu"]):
        label = r"fixed $\mu=\alpha^D/\tilde\gamma$" if j == 0 else None
        ax.plot(*azimuth_pitch(data.crossing[:, j]), color=CROSSING, lw=0.8, ls=(0, (4, 2)), label=label)
    draw_path(data, ax)
    squares = {"ms": 5, "color": SQUARE, "zorder": 6.3, **_OUTLINED}  # visible on top of a margin
    ax.plot(*azimuth_pitch(data.marked), "s", label=r"  at the $\mu$ given", **squares)
    if infinite:
        dots = {"color": RICH, "ls": (0, (1, 1.2)), "lw": 1.6, "zorder": 4}
        ax.plot(*azimuth_pitch(data.sweeping), label=r"flow at $\alpha\to\infty$", **dots)
        same = {"ms": 3.2, "color": RICH, "zorder": 6.4, **_OUTLINED}
        ax.plot(*azimuth_pitch(data.marked_sweeping), "o", label=r"  at the same $\mu$", **same)
    draw_ends(data, ax)


def draw_flows(data: xr.Dataset, ax: Any, scales: Any = None) -> None:
    """Draw one curve for each scale."""
    scales = data.scale.values.tolist() if scales is None else scales
    for scale in scales:
        curve = azimuth_pitch(data.flow.sel(scale=scale))
        ax.plot(*curve, label=rf"$\alpha=${power_of_ten(scale)}", **drawn_as(scale, scales))


def draw_path(data: xr.Dataset, ax: Any) -> None:
    """Draw the Q_μ path, dashed."""
    style = {"color": "k", "gapcolor": "w", "ls": (0, (3, 2)), "lw": 1.1, "zorder": 3}
    ax.plot(*azimuth_pitch(data.path), label=r"$Q_\mu$ path", **style)


def draw_ends(data: xr.Dataset, ax: Any) -> None:
    """Draw the start and the margins: a circle for ℓ2, a star for ℓ1 (an edge if it is not unique)."""
    ax.plot(*azimuth_pitch(data.start), "^", color="k", ms=6.5, zorder=6, ls="none", label="start")
    ax.plot(*azimuth_pitch(data.l2), "o", color=TRUTH, label=r"$\ell_2$ margin", **_END)
    if np.ptp(data.l1_face.values, axis=0).max() > 0:
        style = {"color": L1, "lw": 5, "solid_capstyle": "round", "zorder": 1.5}
        ax.plot(*azimuth_pitch(arc(data.l1_face.values)), label=r"$\ell_1$ margin: an edge", **style)
    else:
        ax.plot(*azimuth_pitch(data.l1), "*", color=L1, label=r"$\ell_1$ margin", **(_END | {"ms": 13}))
    if data.attrs["depth"] > 2:
        norm = rf"\ell_{{2/{data.attrs['depth']}}}"
        label = rf"${norm}$ margin"
        best, *others = data.rich.values
        ax.plot(*azimuth_pitch(best), "D", color=RICH, label=label, **_END)
        for w in others:
            ax.plot(*azimuth_pitch(w), "D", color="w", label=rf"local ${norm}$ margin", **_END)


def label_squares(data: xr.Dataset, ax: Any, offsets: Sequence[tuple[float, float] | None]) -> None:
    """Write μ beside each square that has an offset in points."""
    for mu, where, offset in zip(data.marked_mu.values, data.marked.values, offsets, strict=True):
        if offset:
            label(ax, where, rf"$\mu=${power_of_ten(mu)}", offset)


def label(ax: Any, direction: Any, text: str, offset: tuple[float, float], **options: Any) -> None:
    """Write a label beside a direction, with an offset in points."""
    label_at(ax, azimuth_pitch(direction), text, offset, **options)


def label_at(ax: Any, place: Any, text: str, offset: tuple[float, float], **options: Any) -> None:
    """Write a label beside a point, with an offset in points and a light background."""
    from matplotlib import patheffects

    right, up = offset
    ax.annotate(
        text,
        tuple(float(value) for value in place),
        xytext=offset,
        textcoords="offset points",
        ha="center" if abs(right) < abs(up) else "left" if right > 0 else "right",
        va="center" if abs(right) >= abs(up) else "bottom" if up > 0 else "top",
        path_effects=[patheffects.withStroke(linewidth=2, foreground="w")],
        **{"fontsize": 8, "zorder": 7, **options},
    )


def frame(data: xr.Dataset, ax: Any, *, margin: float = 0.06) -> None:
    """Set the axis limits to the range of the flows and paths."""
    seen = [data[name].values.reshape(-1, 3) for name in ("flow", "path", "start", "l2", "l1_face")]
    for low_high, set_limits in zip(azimuth_pitch(np.vstack(seen)), (ax.set_xlim, ax.set_ylim), strict=True):
        known = low_high[np.isfinite(low_high)]
        if known.size and np.ptp(known) > 0:
            spare = margin * np.ptp(known)
            set_limits(known.min() - spare, known.max() + spare)
    ax.set(xlabel="azimuth (rad)", ylabel="pitch (rad)")


def legend_beside(ax: Any) -> None:
    """Draw the legend to the right of the axes, with each name once."""
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    ax.legend(once.values(), once.keys(), loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1.9)


def zoom(ax: Any, place: tuple[float, ...], azimuth: tuple[float, float], pitch: tuple[float, float]) -> Any:
    """Inset axes that magnify a framed part."""
    near = ax.inset_axes(place, xlim=azimuth, ylim=pitch)
    near.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    near.spines[:].set(visible=True, color="0.5")
    ax.indicate_inset_zoom(near, edgecolor="0.5")
    return near
