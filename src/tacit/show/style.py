"""The look of figures, as Matplotlib settings that apply only while a figure is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STYLE = Path(__file__).with_name("tacit.mplstyle")
# warnings about characters that would be drawn as empty boxes
_STRANGE_LETTERS = "Glyph .* missing from|Matplotlib currently does not support"


@contextmanager
def styled() -> Iterator[None]:
    """A context with the look of our figures; the settings of the user return at its end."""
    from matplotlib.style import context

    with context(str(STYLE)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_STRANGE_LETTERS)
        yield
