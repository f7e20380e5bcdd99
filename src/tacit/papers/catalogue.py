"""Papers, and what is registered in them: figures and theorems by key, paper/name.

A paper is a folder of modules: one of those in this package, or another package that names itself in the
entry-point group `tacit.papers`. What the folder holds stands in the decorators of its modules,
`@figure("paper/fig1", …)` and `@theorem("paper/theorem1", …)`. They are found by reading the files, and a
module is imported when one of its keys is asked for.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from tacit.errors import InputError

GROUP = "tacit.papers"  # of entry points: the key of a paper = its package
_SUGGESTED = 3
_REGISTERED = re.compile(r'^@(figure|theorem)\(\s*"([^"]+)"', re.MULTILINE)
_NUMBERED = re.compile(
    r"(fig|theorem|lemma|proposition|corollary|condition|definition|section|appendix)([A-E]?\.?\d+(?:\.\d+)?|[A-Z])"
)
Registered = TypeVar("Registered")


@dataclass(frozen=True)
class Item:
    """An item of a paper: its name there, what it says, and where it is found.

    equations: the numbers of those that belong to it, such as "5-7, 15". tests: files, or file::test. why:
    the reason where there is no theorem and no figure. theorems, figures: those that are registered for it,
    by the part of their keys after the slash; a paper's own list of items leaves them out.
    """

    name: str
    says: str
    equations: str = ""
    tests: tuple[str, ...] = ()
    why: str = ""
    theorems: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """The numbers of its equations."""
        ends = [part.split("-") for part in self.equations.split(",") if part.strip()]
        return [number for each in ends for number in range(int(each[0]), int(each[-1]) + 1)]

    @property
    def ranges(self) -> str:
        """Its equations as words, "5 to 7, 15"."""
        return self.equations.replace("-", " to ")


@cache
def papers() -> dict[str, str]:
    """The package of each paper, by key: those of Tacit as they appeared on arXiv, then those of others."""
    package = __name__.rpartition(".")[0]
    # Read from sys.modules, because importing the package here would be an import cycle.
    folders = sys.modules[package].__path__
    here = [each.name for each in pkgutil.iter_modules(folders) if each.ispkg]
    own = {key: f"{package}.{key}" for key in here}
    found = dict(
        sorted(own.items(), key=lambda each: getattr(importlib.import_module(each[1]), "ARXIV", "~"))
    )
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        by = point.dist.name if point.dist else "an installed package"
        if found.setdefault(point.name, point.value) != point.value:
            warnings.warn(f"{by} brings a paper {point.name!r}; there is one already", stacklevel=2)
        elif find_spec(point.value) is None:
            warnings.warn(f"{by} brings a paper in {point.value}, which is not installed", stacklevel=2)
            del found[point.name]
    return found


def folder_of(paper: str) -> Path:
    """Where the modules of a paper are."""
    spec = find_spec(papers()[paper])
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def package_of(paper: str) -> ModuleType:
    """The package of a paper itself, which has its TITLE, and its ITEMS if they are listed."""
    return importlib.import_module(papers()[paper])


def titles() -> dict[str, str]:
    """The papers and their titles."""
    return {paper: getattr(package_of(paper), "TITLE", paper) for paper in papers()}


def sources(paper: str) -> dict[str, str]:
    """The source of every module of a paper, by the module's full name."""
    package, folder = papers()[paper], folder_of(paper)
    return {
        package if path.stem == "__init__" else f"{package}.{path.stem}": path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("*.py"))
    }


@cache
def _homes(paper: str, package: str) -> dict[tuple[str, str], str]:
    """The module of each figure and theorem of a paper, by kind and key, as the decorators have them."""
    found: dict[tuple[str, str], str] = {}
    for module, source in sources(paper).items():
        for each in _REGISTERED.findall(source):
            kind, key = each
            if not key.startswith(f"{paper}/"):
                raise InputError(
                    f"{module} registers the {kind} {key}; keys of this paper begin with {paper}/"
                )
            if each in found:
                raise InputError(f"{module} registers the {kind} {key}, which {found[each]} does, too")
            found[each] = module
    return found


class Catalogue(Generic[Registered]):
    """What papers have of one kind, "figure" or "theorem", by key; more may be registered from elsewhere."""

    def __init__(self, kind: str):
        self.kind = kind
        self.registered: dict[str, Registered] = {}

    def known(self, chosen: Iterable[str] | None = None) -> list[str]:
        """Those of these papers, of all if left out, and what was registered; no module is imported."""
        chosen = papers() if chosen is None else [each for each in chosen if each in papers()]
        listed = [
            key for paper in chosen for kind, key in _homes(paper, papers()[paper]) if kind == self.kind
        ]
        return list(dict.fromkeys([*listed, *self.registered]))

    def __contains__(self, key: str) -> bool:
        return key in self.registered or self.home(key) is not None

    def __getitem__(self, key: str) -> Registered:
        """What the key stands for; its module is imported if it was not before."""
        if key not in self.registered:
            home = self.home(key)
            if home is None:
                raise KeyError(key)
            importlib.import_module(home)
        return self.registered[key]

    def register(self, key: str, item: Registered, module: str) -> None:
        """Keep what a module defines; the key of a paper is its own, and stands in the decorator as it is."""
        home = self.home(key)
        if key in self.registered or home not in (None, module):
            raise InputError(f"there is already a {self.kind} {key!r}; choose another key")
        if home is None and any(module.startswith(f"{package}.") for package in papers().values()):
            raise InputError(
                f"{module} registers the {self.kind} {key}, which is not found by reading it: write "
                f'@{self.kind}("{key}", …) at the start of a line'
            )
        self.registered[key] = item

    def home(self, key: str) -> str | None:
        """The module that registers a key of a paper."""
        paper = key.partition("/")[0]
        return _homes(paper, papers()[paper]).get((self.kind, key)) if paper in papers() else None

    def selected(self, selection: str) -> list[Registered]:
        """What has this key, or all that a paper has; only these are imported."""
        known = self.known([selection.partition("/")[0]])
        return [self[key] for key in known if key == selection or key.startswith(f"{selection}/")]


def named_after(key: str, items: Sequence[Item]) -> str | None:
    """The item that a key is named after, if any: "Theorem 2" of theorem2-l1, "Figure 1" of fig1a."""
    found = _NUMBERED.match(key.partition("/")[2])
    if found is None:
        return None
    kind, number = found.groups()
    name = f"{'Figure' if kind == 'fig' else kind.title()} {number}"
    numbered_twice = [item.name for item in items if item.name.startswith(f"{name} (")]
    return numbered_twice[0] if numbered_twice else name


def meant(wrong: str, keys: Sequence[str]) -> str:
    """Which keys a wrong one may have been meant for, as words; the papers where none is near."""
    known: dict[str, list[str]] = {
        paper: [paper] for paper in dict.fromkeys(k.partition("/")[0] for k in keys)
    }
    among = list(known)
    for key in keys:
        known.setdefault(key, []).append(key)
        known.setdefault(key.partition("/")[2], []).append(key)
    near = nearest(wrong, list(known))
    found = list(dict.fromkeys(key for name in near for key in known[name]))[:_SUGGESTED]
    if found and found[0] in among:
        found = found[:1]
    if not found:
        return f"the papers are {', '.join(among)};"
    return f"did you mean {' or '.join(filter(None, (', '.join(found[:-1]), found[-1])))}?"


def nearest(wrong: str, names: Sequence[str]) -> list[str]:
    """Up to three names that begin as a wrong one does, or are spelled almost like it."""
    begun = [name for name in names if wrong and name.startswith(wrong)]
    close = difflib.get_close_matches(wrong, names, n=_SUGGESTED)
    return list(dict.fromkeys([*begun, *close]))[:_SUGGESTED]
