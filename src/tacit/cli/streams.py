"""Standard streams that replace characters they cannot encode and tolerate broken pipes."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import groupby
from typing import Any

_INPUT, _OUTPUT, _ERROR = 0, 1, 2
# fmt: off
_PLAIN = {
    "‖": "|", "∥": "|", "−": "-", "×": "x", "·": "*", "∗": "*", "±": "+-", "∓": "-+", "⁄": "/", "∘": "o",
    "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∝": "~", "≪": "<<", "→": "->", "←": "<-", "↦": "|->",
    "…": "...", "⟨": "<", "⟩": ">", "′": "'", "√": "sqrt ", "∠": "angle ", "∇": "grad ", "∂": "d",
    "∫": "int ", "∞": "inf", "⊥": "_perp", "\N{COMBINING TILDE}": "~", "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "λ": "lambda", "Λ": "Lambda",  # Unicode spells the name "lamda"
}
# fmt: on
_RAISED = {"<super>": "^", "<sub>": "_"}


class _Output(io.FileIO):
    """A stream that discards its data once the reader has closed the pipe, as `head` does."""

    gone: type[OSError] = BrokenPipeError

    def write(self, data: Any, /) -> int:
        """Write data and return the number of bytes written or discarded."""
        try:
            return super().write(data)
        except self.gone:
            _lead_nowhere(self.fileno())
            return super().write(data)


class _Error(_Output):
    """Standard error, which ignores every error of writing, since it could not be reported."""

    gone = OSError


@contextmanager
def tolerating_closed_streams() -> Iterator[None]:
    """Let a command finish and write its files if standard output or error is closed.

    A stream may be closed from the start (`>&-`) or be a broken pipe. Text for it is discarded, and the exit
    status is that of the computation.
    """
    _open_missing()
    with ExitStack() as stack:
        if sys.stdin is None:  # closed from the start
            sys.stdin = stack.enter_context(open(os.devnull, encoding="utf-8"))
        if sys.stdout is sys.__stdout__:  # not redirected by the caller
            patient = _patient(sys.stdout, _Output(_OUTPUT, "w", closefd=False))
            stack.callback(_finish, patient)
            stack.enter_context(redirect_stdout(patient))
        if sys.stderr is sys.__stderr__:
            patient = _patient(sys.stderr, _Error(_ERROR, "w", closefd=False))
            stack.callback(_finish, patient)
            stack.enter_context(redirect_stderr(patient))
        yield


def _open_missing() -> None:
    """Open closed standard streams on the null device; otherwise the next file would get their number."""
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
    """A stream with the same encoding and buffering; sys.stdout is None if closed from the start."""
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
    """Flush the stream; errors have been reported before."""
    with suppress(OSError):
        stream.flush()
    with suppress(OSError):
        stream.detach()


def write_anything() -> None:
    """Let standard output and error replace characters that they cannot encode: ‖w‖₁ becomes |w|_1."""
    codecs.register_error("tacit", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tacit")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


def plain(text: str) -> str:
    """The text in ASCII."""
    runs = groupby(text, key=lambda letter: unicodedata.decomposition(letter).split(" ")[0])
    return "".join(_RAISED.get(kind, "") + "".join(map(_letter, run)) for kind, run in runs)


def _letter(letter: str) -> str:
    if letter in _PLAIN or letter.isascii():
        return _PLAIN.get(letter, letter)
    name = unicodedata.name(letter, "").split(" ")
    if name[0] == "GREEK" and len(name) == 4:
        return name[-1].capitalize() if name[1] == "CAPITAL" else name[-1].lower()
    parts = unicodedata.normalize("NFKD", letter)
    if parts == letter:
        return "" if unicodedata.combining(letter) else "?"
    return "".join(map(_letter, parts))
