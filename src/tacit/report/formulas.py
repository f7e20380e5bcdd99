"""Formulas in plain text, with their indices and exponents set as such: readable without any library."""

from __future__ import annotations

import re
from html import escape

_SIGN = "[−+-]?"
_LETTER = "[A-Za-zΑ-ωℓ∞⊥]"
_RULES = [
    (re.compile(r"\^\(((?:[^()]|\([^()]*\))*)\)"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{((?:[^{}]|\{[^{}]*\})*)\}"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{([^{}]*)\}"), r"<sup>\1</sup>"),  # inside of another
    (re.compile(r"_\{([^{}]*)\}"), r"<sub>\1</sub>"),
    (re.compile(rf"\^({_SIGN}\d+(?:/\d+)?|{_LETTER})"), r"<sup>\1</sup>"),
    (
        re.compile(
            rf"(?<=[A-Za-z0-9Α-ω\u0300-\u036fᵀ²‖)\]>])_(max|min|TK|ℓ\d|{_LETTER}|\d+|\*)(?=[A-Z]_|[^A-Za-z_]|$)"
        ),
        r"<sub>\1</sub>",
    ),
]


def html(text: str) -> str:
    """The text as HTML: α^{2−D} and x_n with raised and lowered parts."""
    found = escape(text)
    for pattern, tags in _RULES:
        found = pattern.sub(tags, found)
    return found
