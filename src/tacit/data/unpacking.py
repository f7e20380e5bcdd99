"""Packed files: how much they may unpack to."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from tacit.errors import InputError

PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
MOST = 2**30  # bytes that every packed file may unpack to
RATIO = 100  # times its own size that a larger one may: tables of numbers pack to a tenth, rarely to a 50th
_SHEET = 2**28  # bytes of XML, of which openpyxl makes objects fifty times as large
_BLOCK = 2**20


def unpacked(path: Path, kind: str | None = None) -> bytes:
    """The content of a packed file; `InputError` before it is held in memory, if it is too much.

    kind: ".gz", ".bz2" or ".xz", the ending of the name if left out.
    """
    packed = path.stat().st_size
    most = _most(packed, MOST)
    with import_module(PACKED[kind or path.suffix.lower()]).open(path) as file:
        size = 0
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                raise InputError(
                    f"{path.name}, a file of {_in_words(packed)}, unpacks to more than {_in_words(most)}, "
                    "the most that is read; if that is right, unpack it yourself and give the unpacked file"
                )
        file.seek(0)
        return bytes(file.read())


def check_archive(path: Path, members: Collection[str] | None = None) -> None:
    """Refuse an archive (NPZ) whose members unpack to too much, before they are read."""
    with zipfile.ZipFile(path) as archive:
        found = [each for each in archive.infolist() if members is None or each.filename in members]
    size, packed = sum(each.file_size for each in found), sum(each.compress_size for each in found)
    _check(path, size, packed, MOST, "save it without compression, numpy.savez(path, X=X, y=y)")


def check_sheets(path: Path) -> None:
    """The same of an Excel file."""
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    _check(path, size, path.stat().st_size, _SHEET, "save the sheet as CSV")


def check_decoded(path: Path, size: int) -> None:
    """Refuse a Parquet file that is decoded to this many bytes, if they are too many."""
    _check(path, size, path.stat().st_size, MOST, "save the table as CSV")


def _check(path: Path, size: int, packed: int, least: int, instead: str) -> None:
    most = _most(packed, least)
    if size > most:
        raise InputError(
            f"{path.name}, a file of {_in_words(path.stat().st_size)}, unpacks to {_in_words(size)}, more "
            f"than the {_in_words(most)} that are read; if that is right, {instead}"
        )


def _most(packed: int, least: int) -> int:
    return max(least, RATIO * packed)


def _in_words(size: int) -> str:
    """Bytes in the unit that suits them."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"
