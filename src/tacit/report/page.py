"""The report as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from tacit import __version__
from tacit.papers.catalogue import titles
from tacit.papers.pages import NO_ERROR, errata, remarks, theorems_of
from tacit.report import provenance
from tacit.report.listings import is_beyond, numbered, statements
from tacit.report.markup import NOTATION, anchor, articles, html, link, rendered, table
from tacit.report.panels import Shown, or_recorded, panel
from tacit.show.output_files import marked

_BEYOND = "beyond"
_ABOUT = """This report contains every figure of the papers on the implicit bias of gradient descent,
reproduced from scratch, with quantitative tests of the claims that the papers make about it; the theorems
that Tacit can check on data; the corrected form of misprinted statements; and results beyond the papers. For
each paper, a table of its numbered items shows where each is implemented. The file needs no other files."""


def page(figures: Sequence[Shown], when: str) -> str:
    """The report on these figures. when: its date."""
    made = {each.entry.key: each.content for each in figures if each.is_made}
    figures = [_told_apart(each, provenance.usual(list(made.values()))) for each in figures]
    papers = [_Paper(key, title, figures) for key, title in titles().items()]
    parts = [
        _summary(papers, provenance.summary(made)),
        *(paper.section() for paper in papers),
        _beyond(papers),
    ]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    inside = "\n\n".join(parts)
    return f"""<!DOCTYPE html>
<!-- {marked("report")} -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tacit: the papers, reproduced</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>The papers, reproduced</h1>
<p>{_ABOUT}</p>
<p>Made by Tacit {escape(__version__)} on {escape(when)}; <code>tacit report</code> makes it again.</p>
{rendered(NOTATION)}</header>
{_contents(papers)}
<main id="content" tabindex="-1">
{inside}
</main>
</body>
</html>
"""


def _told_apart(shown: Shown, others: str) -> Shown:
    """The figure, with a note if it was made differently; a recorded version if it was not made."""
    if not shown.is_made:
        return or_recorded(shown)
    return replace(shown, otherwise=provenance.otherwise(shown.content, others))


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
        own = [each for each in self.figures if not each.is_beyond]
        other = [each for each in self.figures if each.is_beyond]
        parts = [f'<section id="{self.key}"><h2>{escape(self.title)}</h2>']
        parts += [f'<h3 id="{self.key}-items">Numbered items</h3>', numbered(self.key, self.short)]
        if own:
            parts += [f'<h3 id="{self.key}-figures">Figures</h3>', *map(panel, own)]
        if other:
            parts += [
                f'<h3 id="{self.key}-others">Figures that are not in the paper</h3>',
                *map(panel, other),
            ]
        if self.theorems:
            parts += [f'<h3 id="{self.key}-theorems">Theorems</h3>', statements(self.theorems, self.short)]
        if self.errata:
            parts += [f'<h3 id="{self.key}-errata">Errata</h3>', articles(self.key, self.errata)]
        return "\n".join([*parts, "</section>"])


def _contents(papers: Sequence[_Paper]) -> str:
    items = []
    for paper in papers:
        inner = "".join(
            f"<li>{link(anchor('figure', each.entry.key), _name(each))}</li>" for each in paper.figures
        )
        first, *rest = (f"<li>{link(f'{paper.key}-{kind}', kind)}</li>" for kind in paper.parts)
        items.append(
            f"<li>{link(paper.key, escape(paper.title))}\n<ul>{first}{inner}{''.join(rest)}</ul></li>"
        )
    items.append(f"<li>{link(_BEYOND, 'Beyond the papers')}</li>")
    return f'<nav aria-label="Contents">\n<ul>\n{chr(10).join(items)}\n</ul>\n</nav>'


def _name(shown: Shown) -> str:
    name = escape(shown.entry.key.partition("/")[2])
    failing = shown.counts[1]
    if failing:
        return f"{name} ✗"
    return f"{name} (recorded)" if shown.instead_of else name if shown.is_made else f"{name} (not made)"


def _summary(papers: Sequence[_Paper], how: str) -> str:
    rows = []
    for paper in papers:
        numbers = (
            paper.how_many,
            *map(str, paper.counts),
            str(len(paper.theorems)),
            str(sum(bool(each.title) for each in paper.errata)),
        )
        rows.append((link(paper.key, escape(paper.short)), *numbers))
    heads = ("Paper", "Figures", "Claims hold", "fail", "Theorems", "Errata")
    return (
        '<section aria-labelledby="summary"><h2 id="summary">Summary</h2>\n'
        + table("All papers", heads, rows, "summary")
        + f"\n{how}</section>"
    )


def _beyond(papers: Sequence[_Paper]) -> str:
    figures = [
        f"<li>{link(anchor('figure', each.entry.key), html(each.entry.title))} ({escape(paper.short)})</li>"
        for paper in papers
        for each in paper.figures
        if each.is_beyond
    ]
    sharper = [
        f"<li>{link(anchor('theorem', each.key), f'<code>{escape(each.key)}</code>')}: "
        f"{html(each.statement)}</li>"
        for paper in papers
        for each in paper.theorems
        if is_beyond(each)
    ]
    parts = [f'<section id="{_BEYOND}"><h2>Beyond the papers</h2>']
    parts += ["<h3>Figures that are not in the papers</h3>", f"<ul>{''.join(figures)}</ul>"]
    parts += [
        "<h3>Statements that are not in the papers, or sharper</h3>",
        f"<ul>{''.join(sharper)}</ul>",
    ]
    parts += [f"<h3>{NO_ERROR}</h3>", articles(anchor("more", NO_ERROR), remarks())]
    return "\n".join([*parts, "</section>"])
