"""The numbered items of a paper, in its order: what stands beside its PDF to find everything."""

from __future__ import annotations

import re
from html import escape

from tacit.papers import figures
from tacit.papers.catalogue import Item
from tacit.papers.pages import items
from tacit.report.formulas import html
from tacit.report.tags import anchor, link, table
from tacit.theorems import theorems

_HOW = """<p class="lead">Every theorem, equation and figure of the paper, in the order of its text and then
its figures, with links to what this file has of it. A file name is that of a test in Tacit's repository.</p>
"""


def numbered(paper: str, about: str) -> str:
    """Item, equations, what it says, and where it is."""
    rows = [
        (
            escape(item.name),
            escape(item.equations.replace("-", "–")),
            f'{html(item.says)}<span class="where">{_where(paper, item)}</span>',
        )
        for item in items(paper)
    ]
    return _HOW + table(
        f"Items of {about}", ("Item", "Equations", "What it says, and where it is"), rows, "items"
    )


def _where(paper: str, item: Item) -> str:
    found = [link(anchor("theorem", f"{paper}/{name}"), escape(name)) for name in item.theorems]
    found += [link(anchor("figure", f"{paper}/{name}"), _figure(name)) for name in item.figures]
    found += [f"<code>{escape(test.replace('::', ' '))}</code>" for test in item.tests]
    return "; ".join([", ".join(found)] * bool(found) + [_linked(item.why)] * bool(item.why))


def _figure(name: str) -> str:
    return f"Figure {escape(name[3:])}" if name.startswith("fig") else f"picture {escape(name)}"


def _linked(why: str) -> str:
    """The reason, with the keys of theorems and figures in it as links."""
    known = {each.key: "figure" for each in figures()} | {each.key: "theorem" for each in theorems()}

    def replaced(found: re.Match[str]) -> str:
        key = found[0]
        return link(anchor(known[key], key), key) if key in known else key

    return re.sub(r"\b[a-z]+\d{4}/[\w.-]*\w", replaced, html(why))
