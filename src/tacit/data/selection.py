"""Choice of columns: which are features, which names the samples, and which are left out."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.data.printable import shortened
from tacit.errors import InputError

SEARCHED = 10_000  # column names searched for one similar to a misspelt name; more would be slow
_SHOWN = 8  # columns listed in a message


@dataclass(frozen=True)
class Selection:
    """Columns chosen by --drop, --index and --features.

    Each entry is the name of a column; a pattern with * or ?, such as `nm_*`; a range of neighbouring
    columns, `first:last`, both included; or, if no column has this name, a position, counted from 1.

    Attributes
    ----------
    drop : tuple of str
        Columns to leave out.
    index : str or None
        The column that names the samples; it is not a feature.
    features : tuple of str
        The columns to use as features; all others if empty.
    """

    drop: tuple[str, ...] = ()
    index: str | None = None
    features: tuple[str, ...] = ()

    def index_of(self, names: Sequence[str], where: str) -> int | None:
        """Position of the column that names the samples; None if there is none."""
        if self.index is None:
            return None
        found = _positions(self.index, names, where, "--index")
        if len(found) > 1:
            raise InputError(
                f"--index {self.index!r} stands for {len(found)} columns of {where}; name one of them"
            )
        return found[0]

    def kept(self, names: Sequence[str], where: str) -> list[int]:
        """Positions of the columns that are neither dropped nor the index, and are among the features."""
        out = {i for text in self.drop for i in _positions(text, names, where, "--drop")}
        if (index := self.index_of(names, where)) is not None:
            out.add(index)
        wanted = set(range(len(names)))
        if self.features:
            wanted = {i for text in self.features for i in _positions(text, names, where, "--features")}
        return sorted(wanted - out)


EVERYTHING = Selection()


def _positions(text: str, names: Sequence[str], where: str, option: str) -> list[int]:
    """Positions of the columns that a name, pattern, range or position stands for; at least one."""
    if text in names:
        return [i for i, name in enumerate(names) if name == text]
    if text.isdecimal() and 0 < int(text) <= len(names):
        return [int(text) - 1]
    if any(mark in text for mark in "*?"):
        found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, text)]
    else:
        found = _range(text, names)
    if not found:
        near = difflib.get_close_matches(text, list(names)[:SEARCHED], n=3)
        raise InputError(f"{option} {text!r} is not a column of {where}, which has {listed(near or names)}")
    return found


def _range(text: str, names: Sequence[str]) -> list[int]:
    """Positions from `first` to `last` of `first:last`; empty if this is not such a range."""
    for cut in (i for i, letter in enumerate(text) if letter == ":"):  # names may contain colons, too
        ends = [_end(part, names) for part in (text[:cut], text[cut + 1 :])]
        if None not in ends:
            first, last = sorted(end for end in ends if end is not None)
            return list(range(first, last + 1))
    return []


def _end(text: str, names: Sequence[str]) -> int | None:
    if text in names:
        return names.index(text)
    return int(text) - 1 if text.isdecimal() and 0 < int(text) <= len(names) else None


def listed(names: Sequence[str]) -> str:
    """The first column names, for a message."""
    shown = ", ".join(shortened(repr(name), 24) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}, … ({len(names)} columns)"
