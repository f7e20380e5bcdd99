"""Papers and what is registered in them: figures and theorems by key, "paper/name".

A paper is a folder of modules: a folder of this package, or another package that registers itself in the
entry-point group `tacit.papers`. The modules register their contents with the decorators
`@figure("paper/fig1", …)` and `@theorem("paper/theorem1", …)`. The keys are found by reading the files; a
module is imported only when one of its keys is used.
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

GROUP = "tacit.papers"  # the entry-point group; the name of an entry point is the key of the paper
_SUGGESTED = 3  # names suggested in an error message
_REGISTERED = re.compile(r'^@(figure|theorem)\(\s*"([^"]+)"', re.MULTILINE)
_NUMBERED = re.compile(
    r"(fig|theorem|lemma|proposition|corollary|condition|definition|section|appendix)([A-E]?\.?\d+(?:\.\d+)?|[A-Z])"
)
Registered = TypeVar("Registered")


@dataclass(frozen=True)
class Item:
    """A numbered item of a paper: its name there, what it states, and where Tacit covers it.

    equations: the numbers of its equations, such as "5-7, 15". tests: files, or file::test. why: the reason
    if there is no theorem and no figure. theorems, figures: those registered for it, by the part of the key
    after the slash; they are added by `items`, not listed by the paper.

    Examples
    --------
    >>> from tacit.theorems.items import Item
    >>> Item("Theorem 1", "the limit at depth 2", "4-5, 15").numbers
    [4, 5, 15]
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
        """The numbers of its equations as text, "5 to 7, 15"."""
        return self.equations.replace("-", " to ")


@cache
def papers() -> dict[str, str]:
    """The package of each paper by key: those of Tacit in the order of arXiv numbers, then installed ones."""
    package = __name__.rpartition(".")[0]
    # Read from sys.modules, because importing the package here would be an import cycle.
    folders = sys.modules[package].__path__
    here = [each.name for each in pkgutil.iter_modules(folders) if each.ispkg]
    own = {key: f"{package}.{key}" for key in here}
    numbers = {key: getattr(importlib.import_module(own[key]), "ARXIV", "~") for key in own}
    found = {key: own[key] for key in sorted(own, key=numbers.__getitem__)}
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        by = point.dist.name if point.dist else "an installed package"
        if found.setdefault(point.name, point.value) != point.value:
            warnings.warn(f"{by} brings a paper {point.name!r}; this key is already taken", stacklevel=2)
        elif find_spec(point.value) is None:
            warnings.warn(f"{by} brings a paper in {point.value}, which is not installed", stacklevel=2)
            del found[point.name]
    return found


def folder_of(paper: str) -> Path:
    """The folder that contains the modules of a paper."""
    spec = find_spec(papers()[paper])
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def package_of(paper: str) -> ModuleType:
    """The package of a paper, which defines TITLE and optionally ITEMS."""
    return importlib.import_module(papers()[paper])


def items_listed(paper: str) -> tuple[Item, ...]:
    """The items that a paper lists; none for a key that is not a paper's."""
    return tuple(getattr(package_of(paper), "ITEMS", ())) if paper in papers() else ()


def titles() -> dict[str, str]:
    """The title of every paper, by key."""
    return {paper: getattr(package_of(paper), "TITLE", paper) for paper in papers()}


def sources(paper: str) -> dict[str, str]:
    """The source of every module of a paper, by the full name of the module."""
    package, folder = papers()[paper], folder_of(paper)
    return {
        package if path.stem == "__init__" else f"{package}.{path.stem}": path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("*.py"))
    }


@cache
def _modules_by_key(paper: str, package: str) -> dict[tuple[str, str], str]:
    """The module that registers each figure and theorem of a paper, by kind and key."""
    found: dict[tuple[str, str], str] = {}
    for module, source in sources(paper).items():
        for each in _REGISTERED.findall(source):
            registers = f"{module} registers the {' '.join(each)}"
            if not each[1].startswith(f"{paper}/"):
                raise InputError(f"{registers}; keys in this folder must begin with {paper}/")
            if each in found:
                raise InputError(f"{registers}, but {found[each]} already does")
            found[each] = module
    return found


class Catalogue(Generic[Registered]):
    """The registered objects of one kind, "figure" or "theorem", by key."""

    def __init__(self, kind: str):
        self.kind = kind
        self.registered: dict[str, Registered] = {}

    def known(self, chosen: Iterable[str] | None = None) -> list[str]:
        """The keys of these papers (default: all), and all other registered keys; imports no module."""
        chosen = papers() if chosen is None else [each for each in chosen if each in papers()]
        found = (_modules_by_key(paper, papers()[paper]) for paper in chosen)
        listed = [key for keys in found for kind, key in keys if kind == self.kind]
        return list(dict.fromkeys([*listed, *self.registered]))

    def __contains__(self, key: str) -> bool:
        return key in self.registered or self.module_of(key) is not None

    def __getitem__(self, key: str) -> Registered:
        """The object registered under the key; its module is imported if necessary."""
        if key not in self.registered:
            module = self.module_of(key)
            if module is None:
                raise KeyError(key)
            importlib.import_module(module)
        return self.registered[key]

    def register(self, key: str, item: Registered, module: str) -> None:
        """Register an object defined by a module; keys of papers must be found by reading the module."""
        expected = self.module_of(key)
        if key in self.registered or expected not in (None, module):
            raise InputError(f"there is already a {self.kind} {key!r}; choose another key")
        if expected is None and any(module.startswith(f"{package}.") for package in papers().values()):
            text = f"{module} registers the {self.kind} {key}, which is not found by reading it: write"
            raise InputError(f'{text} @{self.kind}("{key}", …) at the start of a line')
        self.registered[key] = item

    def module_of(self, key: str) -> str | None:
        """The module that registers a key of a paper; None if there is none."""
        paper = key.partition("/")[0]
        if paper not in papers():
            return None
        return _modules_by_key(paper, papers()[paper]).get((self.kind, key))

    def selected(self, selection: str) -> list[Registered]:
        """The object with this key, or all objects of a paper; only their modules are imported."""
        known = self.known([selection.partition("/")[0]])
        return [self[key] for key in known if key == selection or key.startswith(f"{selection}/")]


def named_after(key: str, items: Sequence[Item]) -> str | None:
    """The item that a key is named after, or None: "Theorem 2" for theorem2-l1, "Figure 1" for fig1a."""
    found = _NUMBERED.match(key.partition("/")[2])
    if found is None:
        return None
    kind, number = found.groups()
    name = f"{'Figure' if kind == 'fig' else kind.title()} {number}"
    numbered_twice = [item.name for item in items if item.name.startswith(f"{name} (")]
    return numbered_twice[0] if numbered_twice else name


def suggestion(wrong: str, keys: Sequence[str]) -> str:
    """The part of an error message that suggests keys similar to a wrong one, or lists the papers."""
    among = list(dict.fromkeys(key.partition("/")[0] for key in keys))
    known: dict[str, list[str]] = {paper: [paper] for paper in among}
    for key in keys:
        for name in (key, key.partition("/")[2]):
            known.setdefault(name, []).append(key)
    near = similar_names(wrong, list(known))
    found = list(dict.fromkeys(key for name in near for key in known[name]))[:_SUGGESTED]
    if not found:
        return f"the papers are {', '.join(among)};"
    found = found[:1] if found[0] in among else found
    return f"did you mean {' or '.join(filter(None, (', '.join(found[:-1]), found[-1])))}?"


def similar_names(wrong: str, names: Sequence[str]) -> list[str]:
    """Up to three names that begin with a wrong one, or are spelled almost like it."""
    begun = [name for name in names if wrong and name.startswith(wrong)]
    close = difflib.get_close_matches(wrong, names, n=_SUGGESTED)
    return list(dict.fromkeys([*begun, *close]))[:_SUGGESTED]
