"""Keys of theorems and figures, paper/name: choosing by them, and what a wrong one was meant for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_SUGGESTED = 3


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
