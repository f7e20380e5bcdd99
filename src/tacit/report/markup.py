"""HTML for formulas with indices and exponents, tables, links and errata, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from tacit.papers.pages import Erratum

_SIGN = "[−+-]?"
_LETTER = "[A-Za-zΑ-ωℓ∞⊥]"
_NAME = "[a-z]{2,}[a-z_]*"  # words are raised as a whole, as in scale^depth
_INDEXED = r"[A-Za-z0-9Α-ω\u0300-\u036fᵀ²‖∇∂′')\]>]"
_INDEX = rf"max|min|TK|[ijkl]{{2}}|ℓ\d|{_LETTER}|\d+|\*"
_AFTER_INDEX = "[A-Z](?![A-Za-z])|[^A-Za-z_]|$"  # X_nW is a product, A_NAME a name
_RULES = [
    (re.compile(r"\^\(((?:[^()]|\([^()]*\))*)\)"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{((?:[^{}]|\{[^{}]*\})*)\}"), r"<sup>\1</sup>"),
    (re.compile(r"\^\{([^{}]*)\}"), r"<sup>\1</sup>"),  # nested
    (re.compile(r"_\{([^{}]*)\}"), r"<sub>\1</sub>"),
    (re.compile(rf"\^({_SIGN}(?:\d+(?:/\d+)?|{_NAME}|{_LETTER}))"), r"<sup>\1</sup>"),
    (re.compile(rf"(?<={_INDEXED})_({_INDEX})(?={_AFTER_INDEX})"), r"<sub>\1</sub>"),
]


def html(text: str) -> str:
    """The text as HTML with superscripts and subscripts, as in α^{2−D} and x_n."""
    found = escape(text, quote=False)
    for pattern, tags in _RULES:
        found = pattern.sub(tags, found)
    return found


def anchor(kind: str, key: str) -> str:
    """An HTML id, such as figure-woodworth2020-fig1a."""
    return f"{kind}-{re.sub(r'[^a-z0-9]+', '-', key.lower())}"


def link(target: str, text: str) -> str:
    """A link within the file; the text is HTML."""
    return f'<a href="#{target}">{text}</a>'


def listed(items: Iterable[str]) -> str:
    """The items as a list; they are HTML."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], name: str = "") -> str:
    """A table whose first column has the row headers; cells are HTML, caption and column headers text."""
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


def coloured_verdict(holds: bool) -> str:
    """A verdict as coloured text."""
    return '<span class="holds">✓ holds</span>' if holds else '<span class="fails">✗ fails</span>'


NOTATION = """Notation: the rows of X are samples, β (or w) is the predictor, α the scale of the weights,
D the depth, q(z) = 2 − √(4 + z²) + z·arcsinh(z/2), Q_α(β) = α² Σ q(βᵢ/α²), and h_D(s) = (1−s)^{−D/(D−2)} −
(1+s)^{−D/(D−2)}."""


def articles(place: str, entries: Iterable[Erratum]) -> str:
    """One article for each text, with ids based on the given place."""
    parts = []
    for number, each in enumerate(entries):
        title = f"<h4>{html(each.title)}</h4>\n" if each.title else ""
        body = f"{title}{rendered(each.body)}"
        parts.append(f'<article class="erratum" id="erratum-{place}-{number}">\n{body}</article>')
    return "\n".join(parts)


def rendered(markdown: str) -> str:
    """Markdown as HTML; links to other files of the repository become plain text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("text", _written)
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type == "inline":
            token.children = _without_dead_links(token.children or [])
    return str(parser.renderer.render(tokens, parser.options, {}))


def _written(_: Any, tokens: Any, place: int, *__: Any) -> str:
    return html(tokens[place].content)


def _without_dead_links(children: list[Any]) -> list[Any]:
    found, open_is_live = [], False
    for child in children:
        if child.type == "link_open":
            open_is_live = str(child.attrs.get("href", "")).startswith(("http://", "https://"))
        if child.type not in ("link_open", "link_close") or open_is_live:
            found.append(child)
    return found
