"""Files that Tacit writes: whole or not at all, and never over anything but the same thing of its own."""

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

_LOOK = 16_384  # bytes of either end of a file in which our mark must stand
_MARK = rb"made by Tacit(?: \[([^\]]*)\])?"
_MARKS = {  # how a file of ours begins, and where in it the mark is; CSV has no place for one
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

    kind: "csv", "html", "json", "nc", "pdf", "png" or "svg". by: what writes it, such as "limit": it replaces
    nothing that Tacit wrote as something else. force: it does, but nothing that others wrote. instead: what
    one can do about it.
    """

    path: str | Path
    kind: str
    by: str
    force: bool = False
    instead: str = _INSTEAD


def marked(by: str) -> str:
    """The mark of a file: that it is ours, and what wrote it."""
    return f"{MADE_BY} [{by}]"


def claim(output: Output) -> Path:
    """The path, if the file can be written there and nothing of the user's would be lost.

    The folder must be there; `InputError` says what is in the way.
    """
    path, place = Path(output.path), Path(os.path.realpath(output.path))
    with _refusing(f"write {path}"):
        if place.exists():
            _check_replaceable(output)
    if not place.parent.is_dir():
        raise InputError(f"cannot write {path}: no folder {path.parent}; make it first")
    with _refusing(f"write {path}"):
        tempfile.TemporaryFile(dir=place.parent).close()
    return path


def make_folder(path: str | Path) -> None:
    """A folder for files of ours, with those above it."""
    with _refusing(f"make the folder {path}"):
        Path(path).mkdir(parents=True, exist_ok=True)


def claim_all(outputs: Iterable[Output]) -> None:
    """Claim every path; no two may be the same file."""
    taken: set[str] = set()
    for output in outputs:
        claim(output)
        place = os.path.realpath(output.path)
        if place in taken:
            raise InputError(f"{output.path} is asked for twice; every output needs a file of its own")
        taken.add(place)


def write_file(content: bytes, output: Output) -> Path:
    """Write all of the content or nothing: under another name, which then takes the place of the path."""
    write_together([(content, output)])
    return Path(output.path)


def write_together(files: Iterable[tuple[bytes, Output]]) -> None:
    """Write contents to their files: every one whole, and none before all of them are ready."""
    drafts: dict[Path, Path] = {}
    try:
        for content, output in files:
            place = Path(os.path.realpath(claim(output)))
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
    """Write a file that is to take the place of another, with the permissions of that one.

    It has them before it has any content, which nobody else may read in the meantime. Without a file to
    replace, permissions follow the umask.
    """
    there = place.stat() if place.exists() else None
    draft.touch(0o666 if there is None else 0o600, exist_ok=False)
    if there is not None:
        _keep_permissions(draft, there)
    draft.write_bytes(content)


def _keep_permissions(draft: Path, there: os.stat_result) -> None:
    """The owner, where the system allows it, and who may read and write."""
    mode = there.st_mode & 0o777
    if hasattr(os, "chown") and (there.st_uid, there.st_gid) != (os.geteuid(), draft.stat().st_gid):
        try:
            os.chown(draft, there.st_uid, there.st_gid)
        except OSError:  # the group is another one now: it gets what everybody has
            mode = mode & 0o707 | (mode & 0o007) << 3
    draft.chmod(mode)


def write_json(content: dict[str, Any], path: str, by: str) -> None:
    """JSON into a file, or to standard output (in ASCII, for any terminal or pipe) if the path is "-"."""
    if path == "-":
        print(_json_text(content, by, ensure_ascii=True), file=_for_json.get() or sys.stdout)
        return
    write_file(json_file(content, by), Output(path, "json", by))


@contextmanager
def reserving_output() -> Iterator[None]:
    """As long as this lasts, standard output is for JSON alone: prints go to standard error."""
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
        if isinstance(content, memoryview):  # a view that dies with its buffer makes Python 3.13 complain
            content.release()


def _json_text(content: dict[str, Any], by: str, ensure_ascii: bool) -> str:
    named = as_json({"made_by": marked(by), **content})
    text = json.dumps(named, indent=2, ensure_ascii=ensure_ascii, allow_nan=False)
    # A terminal that shows the file must not act on names in it; the JSON means the same with escapes.
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    r"""A line of JSON, with \u escapes for characters that act on terminals and for lone surrogates."""
    return "".join(each if is_seen(each) else json.dumps(each)[1:-1] for each in line)


def _check_replaceable(output: Output) -> None:
    path, kind = Path(output.path), output.kind
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not path.is_file():
        raise InputError(f"{path} is a device or a pipe; name an ordinary file")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} is protected from writing; choose another name")
    if path.stat().st_size == 0:  # made by mktemp, or by a disk that was full: nothing is in it
        return
    if kind == "csv":
        raise InputError(f"{path} exists, and Tacit does not replace CSV files; {_INSTEAD}")
    writer = _writer(path, kind)
    if writer is None:
        raise InputError(f"{path} exists and was not written by Tacit as {kind.upper()}; {_INSTEAD}")
    if writer not in ("", output.by) and not output.force:  # marks did not always say what wrote a file
        raise InputError(
            f"{path} was written by Tacit as {writer!r}, and {output.by!r} would replace it; {output.instead}"
        )


def _writer(path: Path, kind: str) -> str | None:
    """What has written the file, "" if it does not say; None if it is not of this kind, with our mark."""
    with path.open("rb") as file:
        ends = file.read(_LOOK)
        file.seek(max(len(ends), path.stat().st_size - _LOOK))
        ends += file.read(_LOOK)
    found = re.match(_MARKS[kind], ends, re.DOTALL)
    return None if found is None else (found[1] or b"").decode(errors="replace")


@contextmanager
def _refusing(to_do: str) -> Iterator[None]:
    """What the system refuses to do, by name."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot {to_do} ({error.strerror})") from error
