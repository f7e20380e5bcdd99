"""Text wrapped to the width of the terminal, and elapsed time."""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tacit.data.printable import printable
from tacit.show.progress import is_silenced

_NARROWEST = 40
_loaded: float | None = time.perf_counter()


def columns() -> int:
    """The width of the terminal; unlimited in a pipe, so that lines are not wrapped there.

    The environment variable COLUMNS overrides it.
    """
    if not (os.environ.get("COLUMNS") or sys.stdout.isatty()):
        return sys.maxsize
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def wrapped(text: str) -> str:
    """The text with long lines wrapped.

    Continuation lines are indented to the last of the leading fields that are followed by at least two
    spaces, or to the first one if that would use more than a third of the width.
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
    """The text, cut at a word and with an ellipsis if it is longer than the width."""
    return textwrap.shorten(text, width, placeholder=" …")


def say(line: str) -> None:
    """Print a line on standard output; unprintable characters in names of files or columns are escaped."""
    print(printable(line))


def remark(line: str) -> None:
    """Print a line on standard error, unless --quiet is set; unprintable characters are escaped."""
    if not is_silenced():
        print(f"tacit: {printable(line)}", file=sys.stderr)


class _OnStandardError(logging.Handler):
    """Writes log messages to the standard error of the moment, with unprintable characters escaped."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"tacit: {printable(record.getMessage())}", file=sys.stderr)


@contextmanager
def logging_to_terminal() -> Iterator[None]:
    """Print the log messages of Tacit on standard error."""
    logger, handler = logging.getLogger("tacit"), _OnStandardError()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def begun() -> float:
    """The starting time; for the first command, the time at which this module was loaded."""
    global _loaded
    first, _loaded = _loaded, None
    return time.perf_counter() if first is None else first


def waited(options: argparse.Namespace) -> str:
    """The elapsed time, and the part of it that was spent on reading the data."""
    total = time.perf_counter() - options.begun
    return f"{in_words(total)} in total, {in_words(options.reading)} of it for reading the data"


def in_words(seconds: float) -> str:
    """A duration with two digits and a suitable unit."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.995 else f"{seconds:.2f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} hours"
