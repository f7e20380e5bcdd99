"""Safe display of text from files in terminals and figures, and short representations of numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# Special values: shapes lie strictly between ±1, slope 1 is linear, and depth 2 has a different potential.
_SPECIAL = (-1.0, 1.0, 2.0)


def shortened(text: str, most: int) -> str:
    """Replace the middle of a text longer than `most` characters by an ellipsis."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def printable(text: object, keep: str = "") -> str:
    r"""Escape characters that are not printable, as \x1b, \n or \u202e.

    Control characters could move the cursor or set the window title, line breaks could forge a line of a
    summary, direction marks reverse the following text, and lone surrogates cannot be encoded.

    Parameters
    ----------
    text : object
        Converted with str.
    keep : str, optional
        Characters that are not escaped, such as line breaks in a text of several lines.

    Returns
    -------
    str
        A single line, unless line breaks are kept.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(
        each if each in keep or is_seen(each) else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def short_name(name: object, most: int) -> str:
    """Make a name printable and at most `most` characters long."""
    return shortened(printable(name), most)


def label(name: object, most: int) -> str:
    """Make a name safe for Matplotlib: no math text, and not hidden from legends."""
    text = shortened(printable(" ".join(str(name).split())), most).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # legends omit labels that begin with _


def is_seen(letter: str) -> bool:
    """Whether the character is printable or a space; others can control the terminal."""
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def shown(number: float, digits: int = 6) -> str:
    """Format with a few digits; as "1 - 1e-12" if rounding would give a special value (1, -1 or 2)."""
    text = f"{number:.{digits}g}"
    near = float(text)
    if near == number or near not in _SPECIAL:
        return text
    gap = number - near  # exact: the two are close
    return f"{text} {'+' if gap > 0 else '-'} {abs(gap):.2g}"


def some(texts: Sequence[str], most: int) -> str:
    """The first few of these texts, with an ellipsis if there are more."""
    return ", ".join(texts[:most]) + ", …" * (len(texts) > most)


def percent(share: float) -> str:
    """A share as a percentage of two digits."""
    if share < 1e-4:
        return "less than 0.01%"
    return f"{100 * share:.2g}%" if share < 0.995 else f"{100 * share:.0f}%"


def byte_size(size: float) -> str:
    """Format a number of bytes with a suitable unit."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"
