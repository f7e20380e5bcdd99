"""Standard output and error that nobody may read: the work goes on, whoever has gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any

_INPUT, _OUTPUT, _ERROR = 0, 1, 2


class _Output(io.FileIO):
    """What is written goes nowhere once its reader has gone, as `head` does when it has its lines."""

    gone: type[OSError] = BrokenPipeError

    def write(self, data: Any, /) -> int:
        """How many bytes were taken."""
        try:
            return super().write(data)
        except self.gone:
            _lead_nowhere(self.fileno())
            return super().write(data)


class _Error(_Output):
    """Nobody can be told that a complaint cannot be written."""

    gone = OSError


@contextmanager
def tolerating_closed_streams() -> Iterator[None]:
    """Let a command do its work, and write its files, where standard output or error is closed.

    It may be closed from the start (`>&-`), or be a pipe whose reader goes: what was to be read is dropped,
    and the exit status is that of the work.
    """
    _open_missing()
    with ExitStack() as stack:
        if sys.stdin is None:  # closed from the start: nothing can be read
            sys.stdin = stack.enter_context(open(os.devnull, encoding="utf-8"))
        if sys.stdout is sys.__stdout__:  # and is not somebody's who catches it
            patient = _patient(sys.stdout, _Output(_OUTPUT, "w", closefd=False))
            stack.callback(_finish, patient)
            stack.enter_context(redirect_stdout(patient))
        if sys.stderr is sys.__stderr__:
            patient = _patient(sys.stderr, _Error(_ERROR, "w", closefd=False))
            stack.callback(_finish, patient)
            stack.enter_context(redirect_stderr(patient))
        yield


def _open_missing() -> None:
    """A file that is opened while standard output is closed would get its number, and what is printed."""
    for number in (_INPUT, _OUTPUT, _ERROR):
        try:
            os.fstat(number)
        except OSError:
            _lead_nowhere(number)


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _patient(stream: Any, file: io.FileIO) -> io.TextIOWrapper:
    """A stream with the same letters and lines; Python has none where it was closed from the start."""
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(file), encoding="utf-8")
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _finish(stream: io.TextIOWrapper) -> None:
    """Write what is left; what cannot be written has been complained of."""
    with suppress(OSError):
        stream.flush()
    with suppress(OSError):
        stream.detach()
