"""Replacement of characters that the encoding of a terminal or pipe lacks."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata
from itertools import groupby

_PLAIN = {
    **dict.fromkeys("‖∥", "|"),
    "−": "-",
    "×": "x",
    "·": "*",
    "∗": "*",
    "±": "+-",
    "∓": "-+",
    "⁄": "/",
    "√": "sqrt ",
    "∘": "o",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "∝": "~",
    "≪": "<<",
    "∞": "inf",
    "⊥": "_perp",
    "→": "->",
    "←": "<-",
    "↦": "|->",
    "…": "...",
    "⟨": "<",
    "⟩": ">",
    "′": "'",
    "∠": "angle ",
    "∇": "grad ",
    "∂": "d",
    "∫": "int ",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "λ": "lambda",  # Unicode spells the name "lamda"
    "Λ": "Lambda",
}
_RAISED = {"<super>": "^", "<sub>": "_"}


def write_anything() -> None:
    """Let standard output and error replace characters that they cannot encode: ‖w‖₁ becomes |w|_1."""
    codecs.register_error("tacit", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tacit")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


def plain(text: str) -> str:
    """The text in ASCII."""
    runs = groupby(text, key=lambda letter: unicodedata.decomposition(letter).split(" ")[0])
    return "".join(_RAISED.get(kind, "") + "".join(map(_letter, run)) for kind, run in runs)


def _letter(letter: str) -> str:
    if letter in _PLAIN or letter.isascii():
        return _PLAIN.get(letter, letter)
    name = unicodedata.name(letter, "").split(" ")
    if name[0] == "GREEK" and len(name) == 4:
        return name[-1].capitalize() if name[1] == "CAPITAL" else name[-1].lower()
    parts = unicodedata.normalize("NFKD", letter)
    if parts == letter:
        return "" if unicodedata.combining(letter) else "?"
    return "".join(map(_letter, parts))
