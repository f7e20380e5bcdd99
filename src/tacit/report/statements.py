"""The theorems of a paper, as a table, and how each is asked about data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacit.papers.catalogue import package_of
from tacit.papers.statements import Theorem
from tacit.report.formulas import html
from tacit.report.tags import anchor, table

_HOW = """<p class="lead">In commands DATA is a file with a table, such as a CSV file, and COL the column to
predict; statements about classification ask for two classes. Numbers after the name are there to be changed.
Calls of Python are for what no table or option names: <code>model</code> is a model of Tacit, and the dots
are yours. Where what a paper prints does not hold, a line has it, and says in which way.</p>
"""


def is_beyond(theorem: Theorem) -> bool:
    """Is it a statement, or a sharper form of one, that the paper does not have?"""
    return theorem.key.endswith("-sharp") or not theorem.items


def statements(found: Sequence[Theorem], about: str) -> str:
    """Every statement, what it says, what the paper prints instead, and how to ask it about data."""
    rows = [
        (
            f'<a class="anchor" id="{anchor("theorem", each.key)}">{escape(each.key.partition("/")[2])}</a>',
            f'{html(each.statement)}{_printed(each)}<code class="ask">{escape(command(each))}</code>',
        )
        for each in found
    ]
    return _HOW + table(
        f"Theorems of {about}", ("Name", "What it says, and how to ask it about data"), rows, "named"
    )


def _printed(theorem: Theorem) -> str:
    return f'<span class="where">Printed: {html(theorem.printed)}</span>' if theorem.printed else ""


def command(theorem: Theorem) -> str:
    """What to type, in a shell or in Python."""
    about_a_table = set(theorem.needs) == {"model", "X", "y"} and not theorem.matrices
    if about_a_table and theorem.shell is not None:
        paper = package_of(theorem.key.partition("/")[0])
        options = theorem.shell or getattr(paper, "SHELL", "")
        return f"tacit check DATA --target COL --only {theorem.key} {options}".rstrip()
    needs = ", ".join(name if name in ("model", "X", "y") else f"{name}=…" for name in theorem.needs)
    return f'tacit.theorems.check("{theorem.key}", {needs})'
