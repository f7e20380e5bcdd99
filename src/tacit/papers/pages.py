"""Items, errata and theorems of the papers, for pages and reports, from what their folders register.

The package of a paper lists its numbered items as ITEMS, in the order of the paper. Theorems and figures
belong to the item that their key is named after, and to those that they name in `about`. Errata are in the
docstring of the module about the corrected statement, under the heading Errata; observations that are not
errors are under Remarks. Each entry has its own heading, `### Equation 55: a sign`.

    python -m tacit.papers.pages docs      # docs/items.md, docs/errata.md, and the theorems in docs/map.md
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tacit.papers.catalogue import Item, items_listed, papers, sources, titles
from tacit.papers.reproduction import Entry, figures
from tacit.papers.statements import Theorem, items_of, theorems

NO_ERROR = "Remarks"
_SECTION = r"^{}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)"


@dataclass(frozen=True)
class Erratum:
    """An erratum or remark in Markdown; the title is "" for the text before the first heading."""

    title: str
    body: str


def theorems_of(paper: str) -> list[Theorem]:
    """The theorems of a paper, in the order of its items."""
    return [each for each in theorems() if each.key.startswith(f"{paper}/")]


def figures_of(paper: str) -> list[Entry]:
    """The figures of a paper, in order."""
    return [each for each in figures() if each.key.startswith(f"{paper}/")]


def items(paper: str) -> tuple[Item, ...]:
    """The items of a paper, in its order, with the theorems and figures that belong to each.

    Parameters
    ----------
    paper : str
        The key of the paper.

    Returns
    -------
    tuple of Item
        Listed items first, then items that only keys name.

    Examples
    --------
    >>> from tacit.theorems.items import items
    >>> [(item.name, item.ranges) for item in items("woodworth2020")][:2]
    [('Setting', '1 to 3'), ('Theorem 1', '4 to 5, 15 to 21')]
    """
    found = {item.name: item for item in items_listed(paper)}
    registered: list[Theorem | Entry] = [*theorems_of(paper), *figures_of(paper)]
    for each in registered:
        kind, name = "theorems" if isinstance(each, Theorem) else "figures", each.key.partition("/")[2]
        for item in items_of(each.key, each.about):
            known = found.get(item.name, replace(item, says=each.says))
            added: dict[str, Any] = {kind: (*getattr(known, kind), name)}
            found[item.name] = replace(known, **added)
    return tuple(found.values())


def place(key: str) -> tuple[str | None, str | None]:
    """The items to which a theorem belongs, and their equations; None if there are none.

    Parameters
    ----------
    key : str
        "paper/theorem".

    Returns
    -------
    tuple of str or None
        Names of the items, and numbers of their equations.

    Examples
    --------
    >>> from tacit.theorems.items import place
    >>> place("woodworth2020/theorem1")
    ('Theorem 1', '4 to 5, 15 to 21')
    """
    return next((each.place for each in theorems() if each.key == key), (None, None))


@cache
def errata(paper: str) -> list[Erratum]:
    """The errata of a paper, by module, in the order of the items that the modules are about."""
    return _entries(paper, "Errata")


@cache
def remarks() -> list[Erratum]:
    """The remarks of all papers: observations that are not errors."""
    return [each for paper in papers() for each in _entries(paper, "Remarks")]


def _entries(paper: str, heading: str) -> list[Erratum]:
    """The entries under a heading of the docstrings of a paper's modules."""
    modules = [each.function.__module__ for each in theorems_of(paper)]
    modules += [each.make.__module__ for each in figures_of(paper)]
    written = sources(paper)
    order = dict.fromkeys([papers()[paper], *modules, *written])
    found = []
    for module in order:
        doc = ast.get_docstring(ast.parse(written[module])) or ""
        for section in re.findall(_SECTION.format(heading), doc, re.MULTILINE | re.DOTALL):
            before, *entries = re.split(r"^### ", section, flags=re.MULTILINE)
            parts = [("", before), *(entry.partition("\n")[::2] for entry in entries)]
            found += [Erratum(title, body.strip()) for title, body in parts if body.strip()]
    return found


def short_title(paper: str) -> str:
    """Authors and year: "Woodworth et al. 2020"."""
    return titles()[paper].partition(",")[0]


def items_page() -> str:
    """All items, as one table for each paper."""
    parts = []
    for paper in papers():
        parts += [f"## {paper}\n", "| item | equations | statement | covered by |", "|---|---|---|---|"]
        parts += [_row(paper, item) for item in items(paper)] + [""]
    return "\n".join(parts)


def _row(paper: str, item: Item) -> str:
    found = [f"`{paper}/{name}`" for name in item.theorems]
    found += [f"figure `{paper}/{name}`" for name in item.figures]
    found += [f"`{test.replace('::', ' ')}`" for test in item.tests]
    where = "; ".join(filter(None, (", ".join(found), item.why)))
    return _cells(item.name, item.ranges, item.says, where)


def errata_page() -> str:
    """All errata, one section for each paper, and the remarks last."""
    sections = {short_title(paper): errata(paper) for paper in papers()} | {NO_ERROR: remarks()}
    parts = []
    for heading, entries in sections.items():
        if entries:
            parts += [f"## {heading}", *(_entry(each) for each in entries)]
    return "\n\n".join(parts) + "\n"


def _entry(erratum: Erratum) -> str:
    return f"### {erratum.title}\n{erratum.body}" if erratum.title else erratum.body


def theorems_table() -> str:
    """A table of the theorems that each module of the papers registers."""
    rows = ["| paper | names | file |", "|---|---|---|"]
    for paper in papers():
        by_module: dict[str, list[str]] = {}
        for each in theorems_of(paper):
            by_module.setdefault(each.function.__module__, []).append(each.key.partition("/")[2])
        for module, names in by_module.items():
            file = module.removeprefix("tacit.").replace(".", "/")
            rows.append(_cells(paper, ", ".join(names), f"`{file}.py`"))
    return "\n".join(rows) + "\n"


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def pages(docs: Path) -> dict[Path, str]:
    """The content of the generated pages of a folder: the text at their top is kept, the rest replaced."""
    made = {"items.md": ("\n## ", items_page()), "errata.md": ("\n## ", errata_page())}
    made["map.md"] = ("\n| paper | names |", theorems_table())
    found = {}
    for name, (until, text) in made.items():
        written = (docs / name).read_text(encoding="utf-8")
        found[docs / name] = written[: written.index(until) + 1] + text
    return found


def main(folders: Iterable[str]) -> None:
    """Write the generated pages of these folders."""
    for folder in folders:
        for path, text in pages(Path(folder)).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
