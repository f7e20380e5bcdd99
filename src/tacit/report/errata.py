"""The errata of the papers, from the one file that has them: docs/errata.md, which every package has, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import MissingDataError
from tacit.report.formulas import html

_PLACES = (
    Path(__file__).with_name("errata.md"),  # where pyproject.toml has it put when a package is built
    Path(__file__).parents[3] / "docs" / "errata.md",  # of a working copy
)


@dataclass(frozen=True)
class Erratum:
    """A place in a paper and what is to be said of it, in HTML."""

    title: str
    body: str


def text() -> str:
    """The file itself."""
    for place in _PLACES:
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise MissingDataError("this installation of Tacit lacks its errata (errata.md); install it again")


def sections() -> dict[str, list[Erratum]]:
    """Errata under the headings of the file: "Woodworth et al. 2020", …, and what is no error last.

    What stands before the first entry of a section is an entry without a title.
    """
    found = {}
    for section in re.split(r"^## ", text(), flags=re.MULTILINE)[1:]:
        heading, _, rest = section.partition("\n")
        before, *entries = re.split(r"^### ", rest, flags=re.MULTILINE)
        parts = [(html(title), body) for title, _, body in (entry.partition("\n") for entry in entries)]
        found[heading] = [
            Erratum(title, rendered(body)) for title, body in [("", before), *parts] if body.strip()
        ]
    return found


def notation() -> str:
    """What the letters mean, in HTML."""
    (found,) = re.findall(r"^Notation: .*?(?=\n\n)", text(), flags=re.MULTILINE | re.DOTALL)
    return rendered(found)


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
