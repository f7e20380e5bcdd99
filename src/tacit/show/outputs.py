"""Files that Tacit writes: whole or not at all, and never over something it did not write itself."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import InputError

MADE_BY = "made by Tacit"
_LOOK = 16_384  # bytes of either end of a file in which our mark must stand
_MARKS = {  # how a file of ours begins, and where in it the mark is
    "csv": rb"(?!)",  # a table of numbers has no place for one, and is never replaced
    "html": rb"<!DOCTYPE html>\n<!-- made by Tacit -->",
    "json": rb'\s*\{\s*"made_by":\s*"made by Tacit"',
    "nc": rb"CDF.*made_by\0.{8}made by Tacit",
    "pdf": rb"%PDF-.*/Creator \(made by Tacit\)",
    "png": rb"\x89PNG\r\n.*Software\0made by Tacit",
    "svg": rb"<\?xml.*<dc:creator>.{1,80}made by Tacit</dc:title>",
}


def claim_path(path: str | Path, kind: str) -> Path:
    """The path, if a file of this kind can be written there and nothing of the user's would be lost.

    kind: "csv", "html", "json", "nc", "pdf", "png" or "svg". The folder must be there; `InputError` says
    what is in the way.
    """
    path, place = Path(path), Path(os.path.realpath(path))
    with _refusing(f"write {path}"):
        if place.exists():
            _check_replaceable(path, kind)
    if not place.parent.is_dir():
        raise InputError(f"cannot write {path}: no folder {path.parent}; make it first")
    with _refusing(f"write {path}"):
        tempfile.TemporaryFile(dir=place.parent).close()
    return path


def make_folder(path: str | Path) -> None:
    """A folder for files of ours, with those above it."""
    with _refusing(f"make the folder {path}"):
        Path(path).mkdir(parents=True, exist_ok=True)


def claim_all(files: Iterable[tuple[str | Path, str]]) -> None:
    """Claim every path for its kind; no two may be the same file."""
    taken: set[str] = set()
    for path, kind in files:
        claim_path(path, kind)
        place = os.path.realpath(path)
        if place in taken:
            raise InputError(f"{path} is asked for twice; every output needs a file of its own")
        taken.add(place)


def write_file(content: bytes, path: str | Path, kind: str) -> Path:
    """Write all of the content or nothing: under another name, which then takes the place of the path."""
    write_together([(content, path, kind)])
    return Path(path)


def write_together(files: Iterable[tuple[bytes, str | Path, str]]) -> None:
    """Write contents to paths, as their kinds: every file whole, and none before all of them are ready."""
    drafts: dict[Path, Path] = {}
    try:
        for content, path, kind in files:
            place = Path(os.path.realpath(claim_path(path, kind)))
            drafts[place] = place.with_name(f".tacit-{secrets.token_hex(8)}")
            with _refusing(f"write {path}"):
                drafts[place].write_bytes(content)
        for place, draft in drafts.items():
            with _refusing(f"write {place}"):
                draft.replace(place)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def write_json(content: dict[str, Any], path: str) -> None:
    """JSON into a file, or to standard output (in ASCII, for any terminal or pipe) if the path is "-"."""
    if path == "-":
        print(_json_text(content, ensure_ascii=True))
        return
    write_file(json_file(content), path, "json")


def json_file(content: dict[str, Any]) -> bytes:
    """The content of a JSON file."""
    return f"{_json_text(content, ensure_ascii=False)}\n".encode(errors="backslashreplace")


def netcdf_file(data: Any) -> bytes:
    """The content of a netCDF file."""
    content = data.to_netcdf(engine="scipy")
    try:
        return bytes(content)
    finally:
        if isinstance(content, memoryview):  # a view that dies with its buffer makes Python 3.13 complain
            content.release()


def _json_text(content: dict[str, Any], ensure_ascii: bool) -> str:
    marked = as_json({"made_by": MADE_BY, **content})
    return json.dumps(marked, indent=2, ensure_ascii=ensure_ascii, allow_nan=False)


def as_json(value: Any) -> Any:
    """Dicts, lists, text and numbers; NaN and infinities, for which JSON has no words, become null."""
    if isinstance(value, dict):
        return {key: as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return as_json(value.tolist()) if hasattr(value, "tolist") else value


def _check_replaceable(path: Path, kind: str) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not path.is_file():
        raise InputError(f"{path} is a device or a pipe; name an ordinary file")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path} is protected from writing; choose another name")
    if not _is_ours(path, kind):
        raise InputError(
            f"{path} exists and was not written by Tacit as {kind.upper()}; "
            "choose another name or move it away"
        )


def _is_ours(path: Path, kind: str) -> bool:
    """Is the file of this kind, with our mark where we put it?"""
    with path.open("rb") as file:
        ends = file.read(_LOOK)
        file.seek(max(len(ends), path.stat().st_size - _LOOK))
        ends += file.read(_LOOK)
    return re.match(_MARKS[kind], ends, re.DOTALL) is not None


@contextmanager
def _refusing(to_do: str) -> Iterator[None]:
    """What the system refuses to do, by name."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot {to_do} ({error.strerror})") from error
