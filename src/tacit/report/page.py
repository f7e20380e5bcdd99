"""The report as an HTML page.

For each paper it has the figures, a table of the theorems with commands that check them, and one of the
numbered items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template

from tacit import __version__
from tacit.papers import figures
from tacit.papers.catalogue import Item, package_of, titles
from tacit.papers.pages import NO_ERROR, errata, items, remarks, theorems_of
from tacit.papers.statements import Theorem
from tacit.report.markup import NOTATION, anchor, articles, html, link, listed, rendered, table
from tacit.report.panels import Shown, or_recorded, otherwise, panel, summary, usual
from tacit.show.output_files import marked
from tacit.theorems import theorems

_HOW = """<p class="lead">In commands DATA is a file with a table, such as a CSV file, and COL the column to
predict; statements about classification need two classes. The numbers after the name are examples.
Python calls are given for statements that need other arguments: <code>model</code> is a model of Tacit, and
the dots stand for these arguments. If the printed form of a statement does not hold, a line states it, with
the reason.</p>
"""


def is_beyond(theorem: Theorem) -> bool:
    """Whether the statement, or its sharper form, is not in the paper."""
    return theorem.key.endswith("-sharp") or not theorem.items


def statements(found: Sequence[Theorem], about: str) -> str:
    """A table of the statements, their printed forms if these differ, and the commands that check them."""
    rows = []
    for each in found:
        name = escape(each.key.partition("/")[2])
        printed = f'<span class="where">Printed: {html(each.printed)}</span>' if each.printed else ""
        says = f'{html(each.statement)}{printed}<code class="ask">{escape(command(each))}</code>'
        rows.append((f'<a class="anchor" id="{anchor("theorem", each.key)}">{name}</a>', says))
    heads = ("Name", "Statement, and how to check it on data")
    return _HOW + table(f"Theorems of {about}", heads, rows, "named")


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
then its figures, with links to the parts of this file that cover it. A file name is that of a test in Tacit's
repository.</p>
"""


def numbered(paper: str, about: str) -> str:
    """A table of the numbered items with their equations, statements and implementations."""
    rows = []
    for item in items(paper):
        says = f'{html(item.says)}<span class="where">{_where(paper, item)}</span>'
        rows.append((escape(item.name), escape(item.equations.replace("-", "–")), says))
    heads = ("Item", "Equations", "Statement, and where it is implemented")
    return _ITEMS_HOW + table(f"Items of {about}", heads, rows, "items")


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


_BEYOND = "beyond"


def page(figures: Sequence[Shown], when: str) -> str:
    """The report on these figures. when: its date."""
    made = {each.entry.key: each.content for each in figures if each.is_made}
    figures = [_told_apart(each, usual(list(made.values()))) for each in figures]
    papers = [_Paper(key, title, figures) for key, title in titles().items()]
    sections = (paper.section() for paper in papers)
    parts = [_summary(papers, summary(made)), *sections, _beyond(papers)]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    template = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        mark=marked("report"),
        style=style,
        version=escape(__version__),
        when=escape(when),
        notation=rendered(NOTATION),
        contents=_contents(papers),
        inside="\n\n".join(parts),
    )


def _told_apart(shown: Shown, others: str) -> Shown:
    """The figure, with a note if it was made differently; a recorded version if it was not made."""
    if not shown.is_made:
        return or_recorded(shown)
    return replace(shown, otherwise=otherwise(shown.content, others))


class _Paper:
    """A paper, its figures and its theorems."""

    def __init__(self, key: str, title: str, figures: Sequence[Shown]):
        self.key, self.title = key, title
        self.short = title.partition(",")[0]
        known = [each for each in figures if each.entry.key.startswith(f"{key}/")]
        self.figures = sorted(known, key=lambda each: each.is_beyond)
        self.theorems, self.errata = theorems_of(key), errata(key)

    @property
    def counts(self) -> tuple[int, int]:
        """The number of claims that hold, and of claims that fail."""
        both = [each.counts for each in self.figures]
        return sum(held for held, _ in both), sum(failed for _, failed in both)

    @property
    def how_many(self) -> str:
        """The number of figures that were made, of all figures, and of recorded ones."""
        recorded = sum(bool(each.instead_of) for each in self.figures)
        made = sum(each.is_made for each in self.figures) - recorded
        return f"{made} of {len(self.figures)}" + (f", {recorded} recorded" if recorded else "")

    @property
    def parts(self) -> list[str]:
        """The parts of the section besides figures."""
        there = {"theorems": self.theorems, "errata": self.errata}
        return ["items", *(name for name, found in there.items() if found)]

    def section(self) -> str:
        """The section about the paper."""
        own = [panel(each) for each in self.figures if not each.is_beyond]
        other = [panel(each) for each in self.figures if each.is_beyond]
        contents = {
            ("items", "Numbered items"): [numbered(self.key, self.short)],
            ("figures", "Figures"): own,
            ("others", "Figures that are not in the paper"): other,
            ("theorems", "Theorems"): [statements(self.theorems, self.short)] * bool(self.theorems),
            ("errata", "Errata"): [articles(self.key, self.errata)] * bool(self.errata),
        }
        parts = [f'<section id="{self.key}"><h2>{escape(self.title)}</h2>']
        for (name, heading), inside in contents.items():
            parts += [f'<h3 id="{self.key}-{name}">{heading}</h3>', *inside] if inside else []
        return "\n".join([*parts, "</section>"])


def _contents(papers: Sequence[_Paper]) -> str:
    lines = []
    for paper in papers:
        first, *rest = (link(f"{paper.key}-{kind}", kind) for kind in paper.parts)
        figures = (link(anchor("figure", each.entry.key), _listed_as(each)) for each in paper.figures)
        inner = listed([first, *figures, *rest])
        lines.append(f"<li>{link(paper.key, escape(paper.title))}\n{inner}</li>")
    lines.append(f"<li>{link(_BEYOND, 'Beyond the papers')}</li>")
    return f'<nav aria-label="Contents">\n<ul>\n{chr(10).join(lines)}\n</ul>\n</nav>'


def _listed_as(shown: Shown) -> str:
    name = escape(shown.entry.key.partition("/")[2])
    if shown.counts[1]:
        return f"{name} ✗"
    return f"{name} (recorded)" if shown.instead_of else name if shown.is_made else f"{name} (not made)"


def _summary(papers: Sequence[_Paper], how: str) -> str:
    rows = []
    for paper in papers:
        counts = *paper.counts, len(paper.theorems), sum(bool(each.title) for each in paper.errata)
        rows.append((link(paper.key, escape(paper.short)), paper.how_many, *map(str, counts)))
    heads = ("Paper", "Figures", "Claims hold", "fail", "Theorems", "Errata")
    heading = '<section aria-labelledby="summary"><h2 id="summary">Summary</h2>'
    return f"{heading}\n{table('All papers', heads, rows, 'summary')}\n{how}</section>"


def _beyond(papers: Sequence[_Paper]) -> str:
    figures, sharper = [], []
    for paper in papers:
        for each in filter(lambda shown: shown.is_beyond, paper.figures):
            title = link(anchor("figure", each.entry.key), html(each.entry.title))
            figures.append(f"{title} ({escape(paper.short)})")
        for theorem in filter(is_beyond, paper.theorems):
            key = link(anchor("theorem", theorem.key), f"<code>{escape(theorem.key)}</code>")
            sharper.append(f"{key}: {html(theorem.statement)}")
    contents = {
        "Figures that are not in the papers": listed(figures),
        "Statements that are not in the papers, or sharper": listed(sharper),
        NO_ERROR: articles(anchor("more", NO_ERROR), remarks()),
    }
    parts = [f"<h3>{heading}</h3>\n{inside}" for heading, inside in contents.items()]
    return "\n".join([f'<section id="{_BEYOND}"><h2>Beyond the papers</h2>', *parts, "</section>"])
