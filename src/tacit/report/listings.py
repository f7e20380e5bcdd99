"""Tables of the theorems of a paper, with commands that check them, and of its numbered items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from tacit.papers import figures
from tacit.papers.catalogue import Item, package_of
from tacit.papers.pages import items
from tacit.papers.statements import Theorem
from tacit.report.markup import anchor, html, link, table
from tacit.theorems import theorems

_HOW = """<p class="lead">In commands DATA is a file with a table, such as a CSV file, and COL the column to
predict; statements about classification ask for two classes. Numbers after the name are there to be changed.
Calls of Python are for what no table or option names: <code>model</code> is a model of Tacit, and the dots
are yours. Where what a paper prints does not hold, a line has it, and says in which way.</p>
"""


def is_beyond(theorem: Theorem) -> bool:
    """Whether the statement, or its sharper form, is not in the paper."""
    return theorem.key.endswith("-sharp") or not theorem.items


def statements(found: Sequence[Theorem], about: str) -> str:
    """A table of the statements, their printed forms if these differ, and the commands that check them."""
    rows = [
        (
            f'<a class="anchor" id="{anchor("theorem", each.key)}">{escape(each.key.partition("/")[2])}</a>',
            f'{html(each.statement)}{_printed(each)}<code class="ask">{escape(command(each))}</code>',
        )
        for each in found
    ]
    return _HOW + table(
        f"Theorems of {about}", ("Name", "Statement, and how to check it on data"), rows, "named"
    )


def _printed(theorem: Theorem) -> str:
    return f'<span class="where">Printed: {html(theorem.printed)}</span>' if theorem.printed else ""


def command(theorem: Theorem) -> str:
    """The command that checks the theorem, in a shell or in Python."""
    about_a_table = set(theorem.needs) == {"model", "X", "y"} and not theorem.matrices
    if about_a_table and theorem.shell is not None:
        paper = package_of(theorem.key.partition("/")[0])
        options = theorem.shell or getattr(paper, "SHELL", "")
        return f"tacit check DATA --target COL --only {theorem.key} {options}".rstrip()
    needs = ", ".join(name if name in ("model", "X", "y") else f"{name}=…" for name in theorem.needs)
    return f'tacit.theorems.check("{theorem.key}", {needs})'


_ITEMS_HOW = """<p class="lead">Every theorem, equation and figure of the paper, in the order of its text and
then its figures, with links to what this file has of it. A file name is that of a test in Tacit's
repository.</p>
"""


def numbered(paper: str, about: str) -> str:
    """A table of the numbered items with their equations, statements and implementations."""
    rows = [
        (
            escape(item.name),
            escape(item.equations.replace("-", "–")),
            f'{html(item.says)}<span class="where">{_where(paper, item)}</span>',
        )
        for item in items(paper)
    ]
    return _ITEMS_HOW + table(
        f"Items of {about}", ("Item", "Equations", "Statement, and where it is implemented"), rows, "items"
    )


def _where(paper: str, item: Item) -> str:
    found = [link(anchor("theorem", f"{paper}/{name}"), escape(name)) for name in item.theorems]
    found += [link(anchor("figure", f"{paper}/{name}"), _figure(name)) for name in item.figures]
    found += [f"<code>{escape(test.replace('::', ' '))}</code>" for test in item.tests]
    return "; ".join([", ".join(found)] * bool(found) + [_linked(item.why)] * bool(item.why))


def _figure(name: str) -> str:
    return f"Figure {escape(name[3:])}" if name.startswith("fig") else f"picture {escape(name)}"


def _linked(why: str) -> str:
    """The text as HTML, with keys of theorems and figures as links."""
    known = {each.key: "figure" for each in figures()} | {each.key: "theorem" for each in theorems()}

    def replaced(found: re.Match[str]) -> str:
        key = found[0]
        return link(anchor(known[key], key), key) if key in known else key

    return re.sub(r"\b[a-z]+\d{4}/[\w.-]*\w", replaced, html(why))
