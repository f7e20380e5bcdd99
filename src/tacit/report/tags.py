"""Pieces of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def anchor(kind: str, key: str) -> str:
    """An id: figure-woodworth2020-fig1a."""
    return f"{kind}-{re.sub(r'[^a-z0-9]+', '-', key.lower())}"


def link(target: str, text: str) -> str:
    """To a place in this file; the text is HTML."""
    return f'<a href="#{target}">{text}</a>'


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], name: str = "") -> str:
    """A table whose first column names its rows; cells are HTML, the caption and the heads are text."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    kind = f' class="{name}"' if name else ""
    return (
        f"<table{kind}><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def verdict(holds: bool) -> str:
    """In words and in colour."""
    return '<span class="holds">✓ holds</span>' if holds else '<span class="fails">✗ fails</span>'
