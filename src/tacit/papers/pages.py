"""What pages and reports show of the papers, made from what is registered in their folders.

The numbered items of a paper are listed by its package as ITEMS, in its order; theorems and figures belong to
the item that their key is named after, and to those that they name. Errata stand in the docstrings of the
modules about what they correct, under the heading Errata, and what is no error but worth knowing under
Remarks; each entry has a heading of its own, `### Equation 55: a sign`.

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

from tacit.papers.catalogue import Item, package_of, papers, sources, titles
from tacit.papers.reproduction import Entry, figures
from tacit.papers.statements import Theorem, items_of, theorems

NO_ERROR = "No error, but worth knowing"
_SECTION = r"^{}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)"


@dataclass(frozen=True)
class Erratum:
    """A place in a paper and what is said of it, in Markdown; the title is "" of what is said of all."""

    title: str
    body: str


def theorems_of(paper: str) -> list[Theorem]:
    """The theorems of a paper, in the order of its items."""
    return [each for each in theorems() if each.key.startswith(f"{paper}/")]


def figures_of(paper: str) -> list[Entry]:
    """The figures of a paper, in their order."""
    return [each for each in figures() if each.key.startswith(f"{paper}/")]


def items(paper: str) -> tuple[Item, ...]:
    """The items of a paper in its order, with the theorems and figures that belong to each."""
    listed: tuple[Item, ...] = getattr(package_of(paper), "ITEMS", ())
    found = {item.name: item for item in listed}
    registered: list[Theorem | Entry] = [*theorems_of(paper), *figures_of(paper)]
    for each in registered:
        name, is_theorem = each.key.partition("/")[2], isinstance(each, Theorem)
        for item in items_of(each.key, each.about):
            known = found.get(item.name, replace(item, says=each.says))
            ours, drawn = known.theorems + (name,) * is_theorem, known.figures + (name,) * (not is_theorem)
            found[item.name] = replace(known, theorems=ours, figures=drawn)
    return tuple(found.values())


def place(key: str) -> tuple[str | None, str | None]:
    """The items that a theorem belongs to, and their equations; None where there are none."""
    return next((each.place for each in theorems() if each.key == key), (None, None))


@cache
def errata(paper: str) -> list[Erratum]:
    """The errata of a paper, module by module in the order of the items that these are about."""
    return _noted(paper, "Errata")


@cache
def remarks() -> list[Erratum]:
    """What is no error, but worth knowing, of all papers."""
    return [each for paper in papers() for each in _noted(paper, "Remarks")]


def _noted(paper: str, heading: str) -> list[Erratum]:
    """The entries under a heading of the docstrings of a paper's modules."""
    homes = [each.function.__module__ for each in theorems_of(paper)]
    homes += [each.make.__module__ for each in figures_of(paper)]
    written = sources(paper)
    order = dict.fromkeys([papers()[paper], *homes, *written])
    found = []
    for module in order:
        doc = ast.get_docstring(ast.parse(written[module])) or ""
        for section in re.findall(_SECTION.format(heading), doc, re.MULTILINE | re.DOTALL):
            before, *entries = re.split(r"^### ", section, flags=re.MULTILINE)
            parts = [("", before), *(entry.partition("\n")[::2] for entry in entries)]
            found += [Erratum(title, body.strip()) for title, body in parts if body.strip()]
    return found


def short_title(paper: str) -> str:
    """Who wrote it and when: "Woodworth et al. 2020"."""
    return titles()[paper].partition(",")[0]


def items_page() -> str:
    """All items as tables, one for each paper."""
    parts = []
    for paper in papers():
        parts += [f"## {paper}\n", "| item | equations | what it says | where it is |", "|---|---|---|---|"]
        parts += [_row(paper, item) for item in items(paper)] + [""]
    return "\n".join(parts)


def _row(paper: str, item: Item) -> str:
    found = [f"`{paper}/{name}`" for name in item.theorems]
    found += [f"figure `{paper}/{name}`" for name in item.figures]
    found += [f"`{test.replace('::', ' ')}`" for test in item.tests]
    where = ", ".join(found) + ("; " if found and item.why else "") + item.why
    return _cells(item.name, item.ranges, item.says, where)


def errata_page() -> str:
    """All errata, a section for each paper, and what is no error last."""
    sections = {short_title(paper): errata(paper) for paper in papers()} | {NO_ERROR: remarks()}
    parts = []
    for heading, entries in sections.items():
        if entries:
            parts += [f"## {heading}", *(_entry(each) for each in entries)]
    return "\n\n".join(parts) + "\n"


def _entry(erratum: Erratum) -> str:
    return f"### {erratum.title}\n{erratum.body}" if erratum.title else erratum.body


def theorems_table() -> str:
    """The theorems of each module of the papers, and the tests of their papers that name one of them."""
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
    """The pages of this folder that are made here, below what is written by hand at their top."""
    made = {"items.md": ("\n## ", items_page()), "errata.md": ("\n## ", errata_page())}
    made["map.md"] = ("\n| paper | names |", theorems_table())
    found = {}
    for name, (until, text) in made.items():
        written = (docs / name).read_text(encoding="utf-8")
        found[docs / name] = written[: written.index(until) + 1] + text
    return found


def main(folders: Iterable[str]) -> None:
    """Write the pages of these folders."""
    for folder in folders:
        for path, text in pages(Path(folder)).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
