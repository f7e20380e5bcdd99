"""Reading compressed files, with limits on the decompressed size."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from tacit.data.printable import byte_size
from tacit.errors import InputError

PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
MOST = 2**30  # bytes; every compressed file may decompress to this size
RATIO = 100  # a larger one, to this multiple of its size: tables of numbers compress by 10, rarely by 50
_SHEET = 2**28  # bytes of XML, whose openpyxl objects take fifty times as much memory
_BLOCK = 2**20  # bytes decompressed at once


def unpacked(path: Path, kind: str | None = None) -> bytes:
    """Decompress a file; raise `InputError` before it fills the memory if it is too large.

    kind: ".gz", ".bz2" or ".xz"; default: the suffix of the file.
    """
    packed = path.stat().st_size
    limit = _limit(packed, MOST)
    with import_module(PACKED[kind or path.suffix.lower()]).open(path) as file:
        size = 0
        while block := file.read(_BLOCK):
            size += len(block)
            if size > limit:
                raise InputError(
                    f"{path.name}, a file of {byte_size(packed)}, decompresses to more than the limit of "
                    f"{byte_size(limit)}; if the file is genuine, decompress it yourself and pass the result"
                )
        file.seek(0)
        return bytes(file.read())


def check_archive(path: Path, members: Collection[str] | None = None) -> None:
    """Raise if the members of an archive (NPZ) decompress to too much, before reading them."""
    with zipfile.ZipFile(path) as archive:
        found = [each for each in archive.infolist() if members is None or each.filename in members]
    size, packed = sum(each.file_size for each in found), sum(each.compress_size for each in found)
    _check(path, size, packed, MOST, "save it without compression, numpy.savez(path, X=X, y=y)")


def check_sheets(path: Path) -> None:
    """Raise if the sheets of an Excel file decompress to too much."""
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    _check(path, size, path.stat().st_size, _SHEET, "save the sheet as CSV")


def check_decoded(path: Path, size: int) -> None:
    """Raise if the decoded size of a Parquet file, in bytes, is too large."""
    _check(path, size, path.stat().st_size, MOST, "save the table as CSV")


def _check(path: Path, size: int, packed: int, minimum: int, instead: str) -> None:
    limit = _limit(packed, minimum)
    if size > limit:
        raise InputError(
            f"{path.name}, a file of {byte_size(path.stat().st_size)}, decompresses to {byte_size(size)}, "
            f"more than the limit of {byte_size(limit)}; if the file is genuine, {instead}"
        )


def _limit(packed: int, minimum: int) -> int:
    return max(minimum, RATIO * packed)
