"""Drawing and saving of figures."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.show.output_files import Output, marked, write_file

STYLE = Path(__file__).with_name("tacit.mplstyle")
KERNEL, RICH, TRUTH, MUTED = "#0072B2", "#D55E00", "#009E73", "#999999"
FAINT = 400  # largest number of curves that are drawn; the first of them have a colour
_METADATA = {"png": "Software", "pdf": "Creator", "svg": "Creator"}
# warnings about characters that would be drawn as empty boxes
# warnings about characters that would be drawn as empty boxes
_STRANGE_LETTERS = "Glyph .* missing from|Matplotlib currently does not support"


@dataclass(frozen=True)
class Picture:
    """A function that draws on given axes.

    layout: arguments of `plt.subplots`. by: the kind of result, such as "limit", which is stored in the file.
    """

    draw: Callable[[Any], None]
    layout: dict[str, Any]
    by: str

    def to(self, file: str | Path | None = None) -> Any:
        """Save the picture and return the path; without a file, return a Matplotlib figure."""
        if file is not None:
            return save_figure(self.draw, file, self.by, **self.layout)
        with _style():
            return _drawn(self.draw, **self.layout)


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
    with _style():
        figure = _drawn(draw, figsize=figsize, **layout)
        for kind in kinds:
            file = io.BytesIO()
            figure.savefig(file, format=kind, metadata={_METADATA[kind]: marked(by)})
            pictures.append(file.getvalue())
    return pictures


@contextmanager
def _style() -> Iterator[None]:
    """The look of our figures."""
    from matplotlib.style import context

    with context(str(STYLE)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_STRANGE_LETTERS)
        yield


def _drawn(draw: Callable[[Any], None], *, figsize: Any = None, **layout: Any) -> Any:
    """A Matplotlib figure, drawn and laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize)
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
