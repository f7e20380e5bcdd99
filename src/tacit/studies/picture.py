"""Pictures of studies: lines for one parameter, a map for two; random draws are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InputError
from tacit.show.figures import Picture
from tacit.studies.outcomes import ERRORS

if TYPE_CHECKING:
    import xarray as xr

_AVERAGED = ("draw", "seed")
_WIDE = 30  # ratio of the ends of an axis above which it is logarithmic


def study_picture(data: xr.Dataset, level: float | None = None) -> Picture:
    """A panel for every numeric measure. level: a value of the first one, shown as a line.

    Raises `InputError` if there are more than two parameters besides random draws, or no number to draw.
    """
    named = [name for name, each in data.data_vars.items() if name != ERRORS and each.dtype.kind in "biuf"]
    averaged = data[named].mean([name for name in _AVERAGED if name in data.dims])
    panels = [averaged[name] for name in named if set(averaged[name].dims) <= set(data.coords)]
    if not panels:
        raise InputError("the study has no measure that is a single number, so there is nothing to draw")
    if (count := panels[0].ndim) not in (1, 2):
        raise InputError(
            f"a study of {count} parameters besides draws cannot be drawn; fix some of them in [model]"
        )

    def draw(axes: Any) -> None:
        for place, (ax, each) in enumerate(zip(np.ravel(axes), panels, strict=True)):
            (_lines if count == 1 else _map)(ax, each, None if place else level)

    return Picture(draw, {"ncols": len(panels), "figsize": (1.0 + 3.9 * len(panels), 3.4)}, "sweep")


def _axis(values: xr.DataArray) -> tuple[np.ndarray, str, str]:
    """Positions, label and scale; values that crowd towards 1 are shown by their distance to it."""
    x, label = values.values.astype(float), str(values.name)
    if x.max() < 1 and (1 - x).max() > _WIDE * (1 - x).min():
        x, label = 1 - x, f"1 − {label}"
    wide = x.min() > 0 and x.max() > _WIDE * x.min()
    return x, label, "log" if wide else "linear"


def _lines(ax: Any, data: xr.DataArray, level: float | None) -> None:
    x, label, scale = _axis(data[data.dims[0]])
    ax.plot(x, data.values, ".-")
    positive = np.nanmin(data.values) > 0 and np.nanmax(data.values) > _WIDE * np.nanmin(data.values)
    ax.set(xscale=scale, yscale="log" if positive else "linear", xlabel=label, ylabel=_name(data))
    if level is not None:
        ax.axhline(level, color="0.4", lw=0.8, ls="--")


def _map(ax: Any, data: xr.DataArray, level: float | None) -> None:
    (y, below, down), (x, beside, across) = (_axis(data[name]) for name in data.dims)
    edges = _edges(x, across), _edges(y, down)
    mesh = ax.pcolormesh(*edges, data.values, rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label=_name(data))
    if level is not None and min(data.shape) > 1:
        ax.contour(x, y, data.values, levels=[level], colors="w", linewidths=1.2)
    ax.set(xscale=across, yscale=down, xlabel=beside, ylabel=below)


def _edges(values: np.ndarray, scale: str) -> np.ndarray:
    """The borders of cells around the values, half way between them on the axis."""
    x = np.log(values) if scale == "log" else values
    steps = np.diff(x) / 2 if len(x) > 1 else np.array([0.5])
    edges = np.concatenate([x[:1] - steps[:1], x[:-1] + np.diff(x) / 2, x[-1:] + steps[-1:]])
    return np.exp(edges) if scale == "log" else edges


def _name(data: xr.DataArray) -> str:
    return str(data.name).replace("_", " ")
