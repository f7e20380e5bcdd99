"""Text as wide as the terminal, and whole in a pipe; and how long the reader has waited."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import textwrap
import time

from tacit.data.printable import printable

_NARROWEST = 40
_loaded: float | None = time.perf_counter()


def columns() -> int:
    """The width of the terminal; without end where there is none, as in a pipe: lines stay whole there.

    COLUMNS in the environment sets it, too.
    """
    if not (os.environ.get("COLUMNS") or sys.stdout.isatty()):
        return sys.maxsize
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def wrapped(text: str) -> str:
    """The text with its long lines folded.

    A line goes on below the last of its leading fields, which two spaces or more set apart; where these take
    too much of the width, below the first.
    """
    return "\n".join(_folded(line) for line in text.split("\n"))


def _folded(line: str) -> str:
    width, margin = columns(), len(line) - len(line.lstrip())
    fields = re.match(r" *(\S+ {2,})*", line)
    indent = fields.end() if fields else margin
    if indent > width // 3:
        indent = margin + 2
    return textwrap.fill(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def shortened(text: str, width: int) -> str:
    """The text, cut at a word with an ellipsis where it is longer."""
    return textwrap.shorten(text, width, placeholder=" …")


def say(line: str) -> None:
    """A line on standard output that names a file or a column, whatever characters the name has."""
    print(printable(line))


def remark(line: str) -> None:
    """A line on standard error, the same way."""
    print(f"tacit: {printable(line)}", file=sys.stderr)


def begun() -> float:
    """When the wait began: of the first command, when this module was loaded."""
    global _loaded
    first, _loaded = _loaded, None
    return time.perf_counter() if first is None else first


def waited(options: argparse.Namespace) -> str:
    """The time since, and how much of it went into reading the data."""
    total = time.perf_counter() - options.begun
    return f"{in_words(total)} in all, {in_words(options.reading)} of it for reading the data"


def in_words(seconds: float) -> str:
    """Two digits, in a unit that suits them."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.995 else f"{seconds:.2f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} hours"
