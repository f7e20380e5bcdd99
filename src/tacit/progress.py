"""A progress bar on standard error, for people at a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def progress(items: Sequence[T], label: str = "") -> Iterable[T]:
    """The items, with a bar while they are worked through if standard error is a terminal."""
    if not (sys.stderr and sys.stderr.isatty()):
        return items
    return _with_bar(items, label)


def _with_bar(items: Sequence[T], label: str) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=label or "working", console=Console(stderr=True), transient=True)
