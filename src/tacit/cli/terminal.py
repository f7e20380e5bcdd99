"""Text wrapped to the width of the terminal, and left as it is in a pipe."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

from tacit.data.printable import printable

_NARROWEST = 40


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
    """Print a line on standard error; unprintable characters are escaped."""
    print(f"tacit: {printable(line)}", file=sys.stderr)
