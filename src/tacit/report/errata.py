"""The errata of the papers and what else is worth knowing, as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit.papers.pages import Erratum
from tacit.report.formulas import html

NOTATION = """Notation: rows of X are samples, β (or w) is the predictor, α the scale of the weights, D the
depth, q(z) = 2 − √(4 + z²) + z·arcsinh(z/2), Q_α(β) = α² Σ q(βᵢ/α²), h_D(s) = (1−s)^{−D/(D−2)} −
(1+s)^{−D/(D−2)}."""


def articles(place: str, entries: Iterable[Erratum]) -> str:
    """An article for each, with an id of this place."""
    parts = []
    for number, each in enumerate(entries):
        title = f"<h4>{html(each.title)}</h4>\n" if each.title else ""
        body = f"{title}{rendered(each.body)}"
        parts.append(f'<article class="erratum" id="erratum-{place}-{number}">\n{body}</article>')
    return "\n".join(parts)


def rendered(markdown: str) -> str:
    """Markdown as HTML; links within the working copy lead nowhere from a single file, and are plain text."""
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
