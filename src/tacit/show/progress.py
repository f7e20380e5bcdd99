"""Progress bars: on standard error if it is a terminal, and in notebooks."""

from __future__ import annotations

import math
import shutil
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from tacit.show.notebook import notebook

T = TypeVar("T")
_PATIENCE = 1.0  # seconds before a bar appears
_REFRESH = 0.2  # seconds between messages to a notebook
_LOOK = 3.0  # seconds after which the time for all items is estimated
_LONG = 1800.0  # expected seconds above which a message is printed
_told: ContextVar[bool] = ContextVar("told", default=False)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def announcing() -> Iterator[None]:
    """A context in which long computations print a message on standard error, even without a terminal."""
    token = _told.set(True)
    try:
        yield
    finally:
        _told.reset(token)


@contextmanager
def silenced() -> Iterator[None]:
    """A context without progress bars, status lines and remarks."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_silenced() -> bool:
    """Whether only results and errors are to be printed."""
    return _quiet.get()


def progress(items: Iterable[T], label: str = "", count: int | None = None) -> Iterable[T]:
    """Iterate over the items with a progress bar in a terminal or a notebook.

    count: the number of items, if they have no length.
    """
    if count is None:
        assert isinstance(items, Sized)
        count = len(items)
    shown = _with_bar(items, label, count) if _shows_bars() else items
    return _announced(shown, count, label) if _told.get() and not is_silenced() else shown


def _announced(items: Iterable[T], count: int, label: str) -> Iterator[T]:
    """Iterate over the items; print a line if they are expected to take more than half an hour."""
    begun, told = time.monotonic(), False
    for done, item in enumerate(items):
        spent = time.monotonic() - begun
        if not told and done and spent > _LOOK:
            told = True
            if (left := spent / done * (count - done)) > _LONG:
                print(
                    f"tacit: {label or 'this'}: {done:,} of {count:,} took {spent:.0f} s, the rest "
                    f"will take about {left / 3600:.1f} hours; Ctrl-C stops",
                    file=sys.stderr,
                )
        yield item


def _watched() -> bool:
    return bool(sys.stderr and sys.stderr.isatty()) and not is_silenced()


def _shows_bars() -> bool:
    return _watched() or (notebook() is not None and not is_silenced())


def _with_bar(items: Iterable[T], label: str, count: int) -> Iterator[T]:
    if not _watched():
        with Meter(label or "working", 0, count) as meter:
            for done, item in enumerate(items):
                meter.show(done / count, f"{label or 'working'}: {done:,} of {count:,}")
                yield item
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, label or "working", total=count, console=console, transient=True)


class Meter:
    """A progress bar for a number that increases to a goal; it appears after one second.

    The bar is linear in the number if the goal is small, and linear in its logarithm otherwise.
    """

    def __init__(self, label: str, first: float, goal: float):
        self.label, self.first, self.goal, self.begun = label, first, goal, time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Meter:
        return self

    def update(self, value: float) -> None:
        """Update the bar with the number reached."""
        share = self._place(value) / (self._place(self.goal) or 1.0)
        self.show(min(1.0, share), f"{self.label}: accuracy {value:.4g}")

    def show(self, share: float, text: str) -> None:
        """Show this share of the whole with a text, once a second has passed."""
        if self.bar is None:
            if not _shows_bars() or time.monotonic() - self.begun < _PATIENCE:
                return
            self._open()
        self.bar.update(self.task, completed=share, description=text)

    def _place(self, value: float) -> float:
        return math.log1p(max(0.0, value - self.first) / 10) if math.isfinite(value) else math.inf

    def _open(self) -> None:
        if not _watched():
            self.bar = NotebookBar(notebook())
            return
        from rich.console import Console
        from rich.progress import Progress

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.start()
        self.task = self.bar.add_task(self.label, total=1.0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


class NotebookBar:
    """A progress bar in the output of a cell, which becomes empty at the end.

    It is an output that is updated in place, which every notebook shows; bars of rich need ipywidgets there.
    All bars of a cell share one output, so that at most one empty output remains.
    """

    _of_cell: ClassVar[tuple[Any, str]] = (None, "")  # the last cell with a bar, and its output

    def __init__(self, shell: Any) -> None:
        self.publish, self.cell = shell.display_pub.publish, shell.execution_count
        self.shown = -math.inf

    def update(self, task: Any, completed: float, description: str) -> None:
        """Show the share that is completed; at most five times a second, since each is a message."""
        now = time.monotonic()
        if now - self.shown >= _REFRESH:
            share = 0.0 if math.isnan(completed) else max(0.0, completed)
            bar = f'<progress value="{share:.4f}" max="1"></progress> {escape(description)}'
            self._send(bar, f"{description} ({100 * share:.0f}%)")
            self.shown = now

    def stop(self) -> None:
        """Empty the output."""
        if self.shown > -math.inf:
            self._send("", "")

    def _send(self, html: str, text: str) -> None:
        first = NotebookBar._of_cell[0] != self.cell
        if first:
            NotebookBar._of_cell = self.cell, uuid.uuid4().hex
        output = {"display_id": NotebookBar._of_cell[1]}
        self.publish({"text/html": html, "text/plain": text}, transient=output, update=not first)


class Line:
    """A status line on standard error, which is cleared before other output."""

    def __init__(self) -> None:
        self.shown = False

    def show(self, text: str) -> None:
        """Replace the text of the line."""
        if _watched():
            width = shutil.get_terminal_size((80, 24)).columns - 1
            self._write(text if len(text) <= width else f"{text[: width - 1]}…")
            self.shown = True

    def clear(self) -> None:
        """Clear the line."""
        if self.shown:
            self._write("")
            self.shown = False

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
