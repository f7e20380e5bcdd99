"""Drawing and saving of figures."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.show.output_files import Output, marked, write_file
from tacit.show.style import styled

KERNEL, RICH, TRUTH, MUTED = "#0072B2", "#D55E00", "#009E73", "#999999"
FAINT = 400  # largest number of curves that are drawn; the first of them have a colour
_METADATA = {"png": "Software", "pdf": "Creator", "svg": "Creator"}


@dataclass(frozen=True)
class Picture:
    """A function that draws on given axes.

    layout: arguments of `plt.subplots`. by: the kind of result, such as "limit", which is stored in the file.
    """

    draw: Callable[[Any], None]
    layout: dict[str, Any]
    by: str

    def to(self, file: str | Path | None = None, ax: Any = None) -> Any:
        """Save the picture and return the path, or draw into the given axes and return them.

        Without both, return a Matplotlib figure, which a notebook displays.
        """
        if ax is not None:
            if file is not None:
                raise InputError("give file or ax, not both: save the figure of your axes with its savefig")
            self.draw(self._panels(ax))
            return ax
        if file is not None:
            return save_figure(self.draw, file, self.by, **self.layout)
        from tacit.show.inline_figure import InlineFigure, show_after_cell

        with styled():
            figure = _drawn(self.draw, InlineFigure, **self.layout)
        show_after_cell(figure)
        return figure

    def _panels(self, ax: Any) -> Any:
        """The axes of the user, in the shape in which `plt.subplots` returns those of this picture."""
        from matplotlib.axes import Axes

        rows, columns = self.layout.get("nrows", 1), self.layout.get("ncols", 1)
        given = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
        wrong = [each for each in given if not isinstance(each, Axes)]
        if wrong or len(given) != rows * columns:
            wanted = "one Matplotlib axes" if rows * columns == 1 else f"a sequence of {rows * columns} axes"
            got = f"an object of type {type(wrong[0]).__name__}" if wrong else f"{len(given)} axes"
            call = f"plt.subplots({rows}, {columns})"
            raise InputError(f"ax must be {wanted} for this picture, such as those of {call}; got {got}")
        if len(given) == 1:
            return given[0]
        panels = np.empty(len(given), dtype=object)
        panels[:] = given
        return panels if rows == 1 else panels.reshape(rows, columns)


def save_figure(draw: Callable[[Any], None], path: str | Path, by: str, **layout: Any) -> Path:
    """Draw on new axes (layout: arguments of `plt.subplots`) and save. by: as in `Picture`."""
    kind = figure_kind(path)
    (picture,) = render(draw, [kind], by, **layout)
    return write_file(picture, Output(path, kind, by))


def figure_kind(path: str | Path) -> str:
    """The format given by the suffix of a file name."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise InputError(f"a figure must be named .png, .pdf or .svg, not {str(path)!r}")
    return kind


def render(
    draw: Callable[[Any], None], kinds: list[str], by: str, *, figsize: Any = None, **layout: Any
) -> list[bytes]:
    """Draw on new axes (layout: arguments of `plt.subplots`) and return the content of each kind of file.

    by: as in `Picture`.
    """
    for name in ("matplotlib", "fontTools"):  # they log messages about caches and fonts
        logging.getLogger(name).setLevel(logging.ERROR)
    pictures = []
    from matplotlib.figure import Figure

    with styled():
        figure = _drawn(draw, Figure, figsize=figsize, **layout)
        for kind in kinds:
            file = io.BytesIO()
            figure.savefig(file, format=kind, metadata={_METADATA[kind]: marked(by)})
            pictures.append(file.getvalue())
    return pictures


def _drawn(draw: Callable[[Any], None], kind: Any, *, figsize: Any = None, **layout: Any) -> Any:
    """A Matplotlib figure of this class, drawn and laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = kind(figsize=figsize)
    FigureCanvasAgg(figure)
    draw(figure.subplots(**layout))
    _lay_out(figure)
    return figure


def draw_largest(
    ax: Any, x: Any, curves: Any, order: Any, labels: Sequence[str], shown: int = 6, **style: Any
) -> list[tuple[str, int]]:
    """Draw curves (columns) in this order: the first ones with a colour and a label, the others faint.

    Returns colour and index of every curve with a label, for other elements that belong to it.
    """
    ax.plot(x, curves[:, order[shown:FAINT]], color=MUTED, lw=0.4, alpha=0.6, **style)
    largest = [(f"C{place}", i) for place, i in enumerate(order[:shown])]
    for colour, i in largest:
        ax.plot(x, curves[:, i], color=colour, label=labels[i], **style)
    return largest


def level_line(ax: Any, x: Any, y: Any, name: str, at: int | None) -> None:
    """Draw a level set with its label, in white with a dark edge, so that it is visible on every colour.

    at: the point of the line at which the label is placed; None for no label.
    """
    from matplotlib import patheffects

    edge = [patheffects.withStroke(linewidth=1.7, foreground="0.25")]
    ax.plot(x, y, color="w", lw=0.7, path_effects=edge)
    if at is not None:
        ground = {"boxstyle": "round,pad=0.15", "fc": "w", "ec": "none", "alpha": 0.85}
        ax.text(x[at], y[at], name, color="k", fontsize=7, ha="center", va="center", bbox=ground)


def side_by_side(x: Any, place: int, count: int, width: float = 0.2) -> Any:
    """Positions of the marks of one of several series, shifted on a logarithmic axis to avoid overlap.

    width: distance in decades between the first and the last series.
    """
    return x * 10 ** (width * (place - (count - 1) / 2) / max(count - 1, 1))


def _lay_out(figure: Any) -> None:
    """Compute the layout once for all file formats, since it takes as long as drawing."""
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")
