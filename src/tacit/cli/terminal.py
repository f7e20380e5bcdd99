"""Text as wide as the terminal, and whole in a pipe."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

from tacit.data.printable import printable

_NARROWEST = 40


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
