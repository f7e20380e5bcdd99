"""A Matplotlib figure that notebooks display once, whether or not pyplot has been imported.

Jupyter shows a plain `Figure` as a picture only after pyplot has been imported, and only if it is the last
value of a cell. Figures of Tacit are shown wherever they are made, as those of pyplot are, but they are not
registered with pyplot, which would change its current figure and could choose a backend.
"""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tacit.show.notebook import notebook
from tacit.show.style import styled

_MOST = 80_000  # bytes of a picture in a notebook, which is stored with every output
_RESOLUTIONS = (110, 90, 75, 60)  # dots per inch: the first at which the picture is small enough
_COLOURS = 128  # in the palette, with which pictures take a third of the bytes
_waiting: list[InlineFigure] = []  # made in the running cell and not displayed yet


class InlineFigure(Figure):
    """A figure in the look of Tacit, also if it is drawn later, that displays itself in notebooks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def draw(self, renderer: Any) -> None:
        """Draw the figure: names of colours and of fonts are looked up here, not when artists are made."""
        with styled():
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        for dpi in _RESOLUTIONS:
            picture = self._png(dpi)
            if len(picture) <= _MOST:
                break
        return picture

    def _png(self, dpi: float) -> bytes:
        """The figure as PNG with a palette of colours."""
        from PIL import Image  # Matplotlib depends on it

        full, small = io.BytesIO(), io.BytesIO()
        self.canvas.print_figure(full, format="png", dpi=dpi)
        Image.open(full).convert("RGB").quantize(_COLOURS).save(small, "png", optimize=True)
        return small.getvalue()

    def _ipython_display_(self) -> None:
        shell = notebook()
        if shell is None:
            raise NotImplementedError  # IPython then prints the representation, in a terminal
        _waiting[:] = [each for each in _waiting if each is not self]
        # As text, because not all versions of the kernel encode bytes.
        picture = b64encode(self._repr_png_()).decode("ascii")
        shell.display_pub.publish({"image/png": picture, "text/plain": repr(self)})


def show_after_cell(figure: InlineFigure) -> None:
    """Display the figure at the end of the running cell of a notebook, unless it is displayed before."""
    shell = notebook()
    if shell is None:
        return
    if not _waiting:
        shell.events.register("post_execute", _show_waiting)
    _waiting.append(figure)


def _show_waiting() -> None:
    shell = notebook()
    if shell is not None:
        shell.events.unregister("post_execute", _show_waiting)
    for figure in list(_waiting):
        figure._ipython_display_()
