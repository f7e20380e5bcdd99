"""Keys of theorems and figures, paper/name: where they are defined, and what a wrong one was meant for.

Every paper has a folder in `tacit.papers`, with its TITLE and a table FIGURES, and one in `tacit.theorems`,
with a table THEOREMS. A table goes from the name in a key to the module of that folder that defines it ("" is
the folder's own file). A module is imported when one of its keys is asked for.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec, resolve_name
from typing import Generic, TypeVar

from tacit.errors import InputError

PAPERS = ("woodworth2020", "moroshko2020", "azulay2021", "min2021")  # in the order in which they are listed
_SUGGESTED = 3
Item = TypeVar("Item")


class Catalogue(Generic[Item]):
    """What papers have of one kind, by key; others may register more from elsewhere.

    kind: in words. package: has a folder for each paper. table: the name of the table in each of them.
    """

    def __init__(self, kind: str, package: str, table: str):
        self.kind, self.package, self.table = kind, package, table
        self.registered: dict[str, Item] = {}

    def keys(self, papers: Iterable[str]) -> list[str]:
        """Those of these papers, in the order of their tables; nothing else is imported."""
        return [f"{paper}/{name}" for paper in papers for name in self._names(paper)]

    def __contains__(self, key: str) -> bool:
        return key in self.registered or self._home(key) is not None

    def __getitem__(self, key: str) -> Item:
        """What the key stands for; its module is imported if it was not before."""
        if key not in self.registered:
            home = self._home(key)
            if home is None:
                raise KeyError(key)
            importlib.import_module(home)
            if key not in self.registered:
                raise InputError(f"{self._place(key)} has {key} in {home}, which defines no such {self.kind}")
        return self.registered[key]

    def register(self, key: str, item: Item, module: str) -> None:
        """Keep what a module defines; one in a folder of the papers must be where the table says."""
        home = self._home(key)
        if module.startswith(f"{self.package}.") and module != home:
            found = f"in {home}" if home else "nowhere"
            raise InputError(f"{module} defines the {self.kind} {key}, but {self._place(key)} has it {found}")
        if key in self.registered or (home is not None and module != home):
            raise InputError(f"there is already a {self.kind} {key!r}; choose another key")
        self.registered[key] = item

    def _names(self, paper: str) -> dict[str, str]:
        """The table of a paper; empty where it has no folder."""
        folder = f"{self.package}.{paper}"
        if paper not in PAPERS or find_spec(folder) is None:
            return {}
        table: dict[str, str] = getattr(importlib.import_module(folder), self.table)
        return table

    def _home(self, key: str) -> str | None:
        """The module that the table names, if it has the key."""
        paper, _, name = key.partition("/")
        module = self._names(paper).get(name)
        return None if module is None else resolve_name(f".{module}", f"{self.package}.{paper}")

    def _place(self, key: str) -> str:
        return f"{self.table} of {self.package}.{key.partition('/')[0]}"


def chosen(keys: Iterable[str], selection: str) -> list[str]:
    """The key itself, or all keys of a paper."""
    return [key for key in keys if key == selection or key.startswith(selection + "/")]


def meant(wrong: str, keys: Sequence[str]) -> str:
    """Which keys a wrong one may have been meant for, as words; the papers where none is near."""
    papers = list(dict.fromkeys(key.partition("/")[0] for key in keys))
    known: dict[str, list[str]] = {paper: [paper] for paper in papers}
    for key in keys:
        known.setdefault(key, []).append(key)
        known.setdefault(key.partition("/")[2], []).append(key)
    near = nearest(wrong, list(known))
    found = list(dict.fromkeys(key for name in near for key in known[name]))[:_SUGGESTED]
    if found and found[0] in papers:
        found = found[:1]
    if not found:
        return f"the papers are {', '.join(papers)};"
    return f"did you mean {' or '.join(filter(None, (', '.join(found[:-1]), found[-1])))}?"


def nearest(wrong: str, names: Sequence[str]) -> list[str]:
    """Up to three names that begin as a wrong one does, or are spelled almost like it."""
    begun = [name for name in names if wrong and name.startswith(wrong)]
    close = difflib.get_close_matches(wrong, names, n=_SUGGESTED)
    return list(dict.fromkeys([*begun, *close]))[:_SUGGESTED]
