"""Every numbered item of the papers, and where Tacit has it: theorem, figure, test, or the reason why not.

Each paper's folder has its table ITEMS, in the order of the paper. `docs/items.md` is `markdown()`, which
`python -m tacit.theorems.items` prints.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec

from tacit import keys


@dataclass(frozen=True)
class Item:
    """An item of a paper: its name there, what it says, and where it is found.

    equations: the numbers of those that belong to it, such as "5-7, 15". theorems, figures: names in this
    paper, the part of a key after the slash. tests: files, or file::test. why: the reason where there is no
    theorem and no figure.
    """

    name: str
    says: str
    equations: str = ""
    theorems: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why: str = ""

    @property
    def numbers(self) -> list[int]:
        """The numbers of its equations."""
        ends = [part.split("-") for part in self.equations.split(",") if part.strip()]
        return [number for each in ends for number in range(int(each[0]), int(each[-1]) + 1)]

    @property
    def ranges(self) -> str:
        """Its equations as words, "5 to 7, 15"."""
        return self.equations.replace("-", " to ")


def items(paper: str) -> tuple[Item, ...]:
    """The items of a paper, in its order."""
    table: tuple[Item, ...] = importlib.import_module(f"tacit.theorems.{paper}.items").ITEMS
    return table


def place(key: str) -> tuple[str | None, str | None]:
    """The items that a theorem belongs to, and their equations; None where there are none."""
    paper, _, name = key.partition("/")
    if paper not in keys.PAPERS or find_spec(f"tacit.theorems.{paper}.items") is None:
        return None, None
    found = [item for item in items(paper) if name in item.theorems]
    names = ", ".join(item.name for item in found)
    return names or None, ", ".join(item.ranges for item in found if item.equations) or None


def markdown() -> str:
    """All items as tables, one for each paper."""
    parts = [_OPENING]
    for paper in keys.PAPERS:
        parts += [f"## {paper}\n", "| item | equations | what it says | where it is |", "|---|---|---|---|"]
        parts += [_row(paper, item) for item in items(paper)] + [""]
    return "\n".join(parts)


def _row(paper: str, item: Item) -> str:
    found = [f"`{paper}/{name}`" for name in item.theorems]
    found += [f"figure `{paper}/{name}`" for name in item.figures]
    found += [f"`{test.replace('::', ' ')}`" for test in item.tests]
    where = ", ".join(found) + ("; " if found and item.why else "") + item.why
    cells = (item.name, item.ranges, item.says, where)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_OPENING = """# Every numbered item of the papers

Where Tacit has each theorem, proposition, lemma, corollary, definition, condition, equation and figure. Keys
are those of `tacit check --list` and `tacit.theorems.check`; after "figure", those of `tacit reproduce list`.
Where a printed claim is corrected, the [errata](errata.md) have both forms. This page is printed by
`python -m tacit.theorems.items`; a test holds it against the list of items of each paper.
"""


if __name__ == "__main__":
    print(markdown(), end="")
