"""Names that files bring, as terminals and pictures can show them."""

from __future__ import annotations

import unicodedata


def shortened(text: str, most: int) -> str:
    """The text, with an ellipsis for its middle if it is longer than that."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def printable(text: object, keep: str = "") -> str:
    r"""The text with \x1b, \n or \u202e for every character that is not seen but acted upon.

    Control characters would move the cursor or set the title of a window, line breaks forge a line of a
    summary, marks of direction reverse what follows, and lone surrogates cannot be encoded.

    Parameters
    ----------
    text : object
        What is shown, as str gives it.
    keep : str, optional
        Characters that stay, such as the line breaks of a text of several lines.

    Returns
    -------
    str
        In one line, unless line breaks are kept.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(each if each in keep or is_seen(each) else _escaped(each) for each in text)


def short_name(name: object, most: int) -> str:
    """A name in text: printable, with an ellipsis for its middle if it is longer than that."""
    return shortened(printable(name), most)


def label(name: object, most: int) -> str:
    """A name in a picture, no part of which Matplotlib takes for mathematics, or hides."""
    text = shortened(printable(" ".join(str(name).split())), most).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # legends leave out labels that begin with _


def is_seen(letter: str) -> bool:
    """Is the character a letter, a mark, or a space between words? Others act on terminals."""
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
