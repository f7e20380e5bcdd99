"""How every figure is drawn and saved."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.outputs import MADE_BY, claim_path

STYLE = Path(__file__).with_name("tacit.mplstyle")
KERNEL, RICH, TRUTH, MUTED = "#0072B2", "#D55E00", "#009E73", "#999999"
_METADATA = {".png": "Software", ".pdf": "Creator", ".svg": "Creator"}


def save_figure(draw: Callable[[Any], None], paths: Iterable[str | Path], **layout: Any) -> list[Path]:
    """Draw on fresh axes (arguments of `plt.subplots` in layout) and save under every name given."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.style import context

    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it remarks on the dates inside math fonts
    targets = [_figure_path(path) for path in paths]
    with context(str(STYLE)):
        size = layout.pop("figsize", None)
        figure = Figure(figsize=size)
        FigureCanvasAgg(figure)
        draw(figure.subplots(**layout))
        for path in targets:
            figure.savefig(path, metadata={_METADATA[path.suffix.lower()]: MADE_BY})
    return targets


def _figure_path(path: str | Path) -> Path:
    if Path(path).suffix.lower() not in _METADATA:
        raise InputError(f"{path}: a figure must be named .png, .pdf or .svg")
    return claim_path(path)
