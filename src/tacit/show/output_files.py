"""Output files: written completely or not at all, and never over files of another origin."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from tacit.data.json_values import MADE_BY, as_json
from tacit.data.printable import is_seen
from tacit.errors import InputError

_LOOK = 16_384  # bytes at both ends of a file that are searched for the mark
_MARK = rb"made by Tacit(?: \[([^\]]*)\])?"
_MARKS = {  # the beginning of a file by Tacit, with the position of the mark; CSV has no place for one
    "html": rb"<!DOCTYPE html>\n<!-- " + _MARK + rb" -->",
    "json": rb'\s*\{\s*"made_by":\s*"' + _MARK + rb'"',
    "nc": rb"CDF.*made_by\0.{8}" + _MARK,
    "pdf": rb"%PDF-.*/Creator \(" + _MARK + rb"\)",
    "png": rb"\x89PNG\r\n.*Software\0" + _MARK,
    "svg": rb"<\?xml.*<dc:creator>.{1,80}" + _MARK + rb"</dc:title>",
}
_INSTEAD = "choose another name or move it away"
_for_json: ContextVar[TextIO | None] = ContextVar("for_json", default=None)


class Output(NamedTuple):
    """A file to be written.

    kind: "csv", "html", "json", "nc", "pdf", "png" or "svg". by: the kind of result, such as "limit";
    files of Tacit with other results are replaced only with force, other files never. instead: advice for the
    error message.
    """

    path: str | Path
    kind: str
    by: str
    force: bool = False
    instead: str = _INSTEAD


def marked(by: str) -> str:
    """The mark in a file written by Tacit, with the kind of result."""
    return f"{MADE_BY} [{by}]"


def check_output(output: Output) -> Path:
    """Check that a file can be written without replacing files of another origin, and return its path.

    Raises `InputError` if the folder does not exist or the file may not be replaced.
    """
    path, place = Path(output.path), Path(os.path.realpath(output.path))
    with _refusing(f"write {path}"):
        if place.exists():
            _check_replaceable(output)
    if not place.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    with _refusing(f"write {path}"):
        tempfile.TemporaryFile(dir=place.parent).close()
    return path


def make_folder(path: str | Path) -> None:
    """Make a folder for output files, with its parents."""
    with _refusing(f"make the folder {path}"):
        Path(path).mkdir(parents=True, exist_ok=True)


def check_outputs(outputs: Iterable[Output]) -> None:
    """Check every output; raise if two of them are the same file."""
    taken: set[str] = set()
    for output in outputs:
        check_output(output)
        place = os.path.realpath(output.path)
        if place in taken:
            raise InputError(f"{output.path} is given twice; every output needs its own file")
        taken.add(place)


def write_file(content: bytes, output: Output) -> Path:
    """Write the content to a temporary file, which then replaces the path: completely or not at all."""
    write_together([(content, output)])
    return Path(output.path)


def write_together(files: Iterable[tuple[bytes, Output]]) -> None:
    """Write several files, each completely, and none before all of them are ready."""
    drafts: dict[Path, Path] = {}
    try:
        for content, output in files:
            place = Path(os.path.realpath(check_output(output)))
            drafts[place] = place.with_name(f".tacit-{secrets.token_hex(8)}")
            with _refusing(f"write {output.path}"):
                _write_draft(drafts[place], content, place)
        for place, draft in drafts.items():
            with _refusing(f"write {place}"):
                draft.replace(place)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _write_draft(draft: Path, content: bytes, place: Path) -> None:
    """Write a temporary file that will replace another one, with the permissions of that one.

    The permissions are set before the content is written, so that it is never readable by others. If no file
    is replaced, the permissions follow the umask.
    """
    there = place.stat() if place.exists() else None
    draft.touch(0o666 if there is None else 0o600, exist_ok=False)
    if there is not None:
        _keep_permissions(draft, there)
    draft.write_bytes(content)


def _keep_permissions(draft: Path, there: os.stat_result) -> None:
    """Copy the permissions and, if the system allows it, the owner."""
    mode = there.st_mode & 0o777
    if hasattr(os, "chown") and (there.st_uid, there.st_gid) != (os.geteuid(), draft.stat().st_gid):
        try:
            os.chown(draft, there.st_uid, there.st_gid)
        except OSError:  # the group has changed, so it gets the permissions of others
            mode = mode & 0o707 | (mode & 0o007) << 3
    draft.chmod(mode)


def write_json(content: dict[str, Any], path: str, by: str) -> None:
    """Write JSON to a file, or to standard output (as ASCII) if the path is "-"."""
    if path == "-":
        print(_json_text(content, by, ensure_ascii=True), file=_for_json.get() or sys.stdout)
        return
    write_file(json_file(content, by), Output(path, "json", by))


@contextmanager
def reserving_output() -> Iterator[None]:
    """A context in which standard output is reserved for JSON; prints go to standard error."""
    token = _for_json.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _for_json.reset(token)


def json_file(content: dict[str, Any], by: str) -> bytes:
    """The content of a JSON file, in UTF-8."""
    return f"{_json_text(content, by, ensure_ascii=False)}\n".encode()


def netcdf_file(data: Any, by: str) -> bytes:
    """The content of a netCDF file."""
    content = data.assign_attrs(made_by=marked(by)).to_netcdf(engine="scipy")
    try:
        return bytes(content)
    finally:
        if isinstance(content, memoryview):  # Python 3.13 warns if the buffer is deleted before the view
            content.release()


def _json_text(content: dict[str, Any], by: str, ensure_ascii: bool) -> str:
    named = as_json({"made_by": marked(by), **content})
    text = json.dumps(named, indent=2, ensure_ascii=ensure_ascii, allow_nan=False)
    # Names in the file must not control a terminal that shows it; escapes do not change the JSON value.
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    r"""A line of JSON with \u escapes for control characters and lone surrogates."""
    return "".join(each if is_seen(each) else json.dumps(each)[1:-1] for each in line)


def _check_replaceable(output: Output) -> None:
    path, kind = Path(output.path), output.kind
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not path.is_file():
        raise InputError(f"{path} is a device or a pipe; name a regular file")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} is write-protected; choose another name")
    if path.stat().st_size == 0:  # empty files, for example by mktemp, may be replaced
        return
    if kind == "csv":
        raise InputError(f"{path} exists, and Tacit does not replace CSV files; {_INSTEAD}")
    writer = _writer(path, kind)
    if writer is None:
        raise InputError(f"{path} exists and was not written by Tacit as {kind.upper()}; {_INSTEAD}")
    if (
        writer not in ("", output.by) and not output.force
    ):  # early versions wrote marks without the kind of result
        raise InputError(
            f"{path} was written by Tacit as {writer!r}, and {output.by!r} would replace it; {output.instead}"
        )


def _writer(path: Path, kind: str) -> str | None:
    """The kind of result in the mark of a file; "" if the mark has none; None if there is no mark."""
    with path.open("rb") as file:
        ends = file.read(_LOOK)
        file.seek(max(len(ends), path.stat().st_size - _LOOK))
        ends += file.read(_LOOK)
    found = re.match(_MARKS[kind], ends, re.DOTALL)
    return None if found is None else (found[1] or b"").decode(errors="replace")


@contextmanager
def _refusing(to_do: str) -> Iterator[None]:
    """Convert an OSError into an InputError that says what failed."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot {to_do} ({error.strerror})") from error
