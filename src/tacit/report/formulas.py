"""Formulas in plain text, with their indices and exponents set as such: readable without any library."""

from __future__ import annotations

import re
from html import escape

_SIGN = "[−+-]?"
_LETTER = "[A-Za-zΑ-ωℓ∞⊥]"
_NAME = "[a-z]{2,}[a-z_]*"  # a word is raised as a whole: scale^depth
_INDEXED = r"[A-Za-z0-9Α-ω\u0300-\u036fᵀ²‖∇∂′')\]>]"
_INDEX = rf"max|min|TK|[ijkl]{{2}}|ℓ\d|{_LETTER}|\d+|\*"
_AFTER_INDEX = "[A-Z](?![A-Za-z])|[^A-Za-z_]|$"  # X_nW is a product, A_NAME a name
_RULES = [
    (re.compile(r"\^\(((?:[^()]|\([^()]*\))*)\)"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{((?:[^{}]|\{[^{}]*\})*)\}"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{([^{}]*)\}"), r"<sup>\1</sup>"),  # inside of another
    (re.compile(r"_\{([^{}]*)\}"), r"<sub>\1</sub>"),
    (re.compile(rf"\^({_SIGN}(?:\d+(?:/\d+)?|{_NAME}|{_LETTER}))"), r"<sup>\1</sup>"),
    (re.compile(rf"(?<={_INDEXED})_({_INDEX})(?={_AFTER_INDEX})"), r"<sub>\1</sub>"),
]


def html(text: str) -> str:
    """The text as HTML: α^{2−D} and x_n with raised and lowered parts."""
    found = escape(text, quote=False)
    for pattern, tags in _RULES:
        found = pattern.sub(tags, found)
    return found
