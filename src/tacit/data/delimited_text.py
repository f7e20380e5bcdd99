"""Delimited text: detection of separator, decimal comma and comments, and exact parsing of numbers."""

from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import is_number
from tacit.data.printable import shortened
from tacit.data.unpacking import PACKED, unpacked
from tacit.errors import InputError

NAMED = {".csv": ",", ".tsv": "\t", ".txt": ""}  # suffix → expected separator, "" if any
_MARKS = "\t;,|"
_SPACES = " "  # represents runs of white space
_WIDE = 20_000  # number of columns above which pandas spends more time making columns than parsing
_COMMENT = re.compile(rb"(?m)^#.*(?:\n|\Z)")
_COMMENTS = re.compile(rb"(?:#.*\n)*#(.*)\n")  # comments above the table; the group is the last one


@dataclass(frozen=True, eq=False)
class TextTable:
    """Text of a table, not yet parsed; rows follow the first `header` lines of `content`."""

    content: bytes
    header: int
    names: list[str]
    separator: str
    decimal_comma: bool
    spaced: bool  # ignore blanks after a separator
    assumed: tuple[str, ...]


def text_table(source: Path | bytes, kind: str) -> TextTable:
    """Detect separator, decimal comma, comments and column names."""
    if isinstance(source, Path):
        source = unpacked(source) if source.suffix.lower() in PACKED else source.read_bytes()
    content, title, comments = _without_comments(source.removeprefix(b"\xef\xbb\xbf"))
    first, second = _first_lines(content)
    named = NAMED[kind]
    separator = _separator(content, first, second, named)
    spaced = separator != named
    names, header = _header(content, separator, spaced)
    if not names:
        raise ValueError("it is empty; the first line must name the columns")
    assumed = []
    if named not in ("", separator):
        assumed.append(f"fields separated by {'spaces' if separator == _SPACES else repr(separator)}")
    comma = separator != "," and _has_decimal_comma(content, separator, len(first))
    if comma:
        assumed.append("commas in numbers are decimal points")
    if title and _is_header(title, first, second, separator):
        names, header = _fields(title, separator), 0
        assumed.append("column names taken from the comment above the data")
    if skipped := comments - (header == 0):
        assumed.append(f"{skipped} comment line{'s' * (skipped > 1)} skipped")
    return TextTable(content, header, names, separator, comma, spaced, tuple(assumed))


def _without_comments(content: bytes) -> tuple[bytes, str, int]:
    """Remove lines that begin with #; also return the last one above the table and how many there are."""
    if b"#" not in content:
        return content, "", 0
    above = _COMMENTS.match(content)
    rest, count = _COMMENT.subn(b"", content)
    return rest, above[1].decode().strip("# \t\r") if above else "", count


def _lines(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _first_lines(content: bytes) -> tuple[str, str]:
    """The first two lines that are not blank."""
    with _lines(content) as lines:
        found = (line.rstrip("\r\n") for line in lines if line.strip())
        return next(found, ""), next(found, "")


def _separator(content: bytes, first: str, second: str, named: str) -> str:
    """Choose the separator in the first line; of several, the one with most numbers in the second record.

    White space if no separator occurs and both lines have the same number of words.
    """
    marks = [mark for mark in dict.fromkeys((*named, *_MARKS)) if mark in first.strip()]
    if not marks:
        words = len(first.split())
        return _SPACES if words > 1 and (words == len(second.split()) or not named) else named or ","
    if len(marks) == 1:
        return marks[0]

    def numbers(mark: str) -> int:
        names, entries = _first_records(content, mark)
        return sum(_kinds(entries, mark)) if len(names) == len(entries) else -1

    return max(marks, key=numbers)


def _first_records(content: bytes, mark: str) -> tuple[list[str], list[str]]:
    """The first two records that are not blank; quoted names may span lines."""
    with _lines(content) as lines:
        records = csv.reader(lines, delimiter=mark, skipinitialspace=True)
        found = (record for record in records if any(each.strip() for each in record))
        try:
            return next(found, []), next(found, [])
        # a field that is too long, because with this separator a quote is an ordinary character
        except csv.Error:
            return [], [""]


def _fields(line: str, separator: str) -> list[str]:
    line = line.strip() if separator == _SPACES else line
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])


def _kinds(entries: list[str], separator: str) -> list[bool]:
    """Tell for each entry whether it is a number."""
    return [is_number(each if separator == "," else each.replace(",", ".", 1)) for each in entries]


def _header(content: bytes, separator: str, spaced: bool) -> tuple[list[str], int]:
    """The column names in the first record, and the number of lines up to its end."""
    with _lines(content) as lines:
        text = (line.strip() + "\n" for line in lines) if separator == _SPACES else lines
        reader = csv.reader(text, delimiter=separator, skipinitialspace=spaced)
        names = next((record for record in reader if any(each.strip() for each in record)), [])
        return names, reader.line_num


def _is_header(title: str, first: str, second: str, separator: str) -> bool:
    """Whether the comment has the column names; then the first two rows have the same kinds of entries."""
    names, rows = _fields(title, separator), [_fields(line, separator) for line in (first, second)]
    if not len(names) == len(rows[0]) == len(rows[1]) > 1:
        return False
    kinds, below = (_kinds(row, separator) for row in rows)
    return any(kinds) and kinds == below and not all(_kinds(names, separator))


def _has_decimal_comma(content: bytes, separator: str, begin: int) -> bool:
    """Whether an entry below the first line is a number with a decimal comma, such as 1,5 or -0,25e3."""
    if content.find(b",", begin) < 0:
        return False
    edge = rb"\s" if separator == _SPACES else re.escape(separator.encode())
    number = rb"[ ]*[+-]?\d*,\d+(?:[eE][+-]?\d+)?[ ]*"
    return (
        re.compile(rb'(?m)(?:^|"|%b)%b(?:"|%b|\r|$)' % (edge, number, edge)).search(content, begin)
        is not None
    )


def parsed(text: TextTable, target: int, where: str) -> tuple[Any, Any]:
    """Return the features (an array if all are numeric, else a list of columns) and the target column."""
    if len(text.names) >= _WIDE and not text.decimal_comma and text.separator != _SPACES:
        try:
            return _wide(text, target)
        except ValueError:  # a non-numeric entry or ragged rows: pandas gives a better error message
            pass
    frame = _frame(text, where)
    if text.decimal_comma:
        _check_points(frame, text.names, where)
    column = frame.pop(target)
    plain = [isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes]
    numbers = frame.loc[:, plain].to_numpy(dtype=np.float64)
    if all(plain):
        return numbers, column
    each = iter(numbers.T)
    return [next(each) if good else frame[i] for i, good in zip(frame.columns, plain, strict=True)], column


def _wide(text: TextTable, target: int) -> tuple[Any, Any]:
    """Parse many columns at once, exactly, with NumPy; only the target may be text."""
    import pandas as pd

    mark, last = text.separator.encode(), len(text.names) - 1
    rows = [row for row in text.content.split(b"\n")[text.header :] if row.strip()]
    if not rows or b'"' in text.content or any(row.count(mark) != last for row in rows):
        raise ValueError("quotes or ragged rows")
    labels = [row.split(mark, target + 1)[target].decode().strip() for row in rows]
    features = [i for i in range(last + 1) if i != target]
    lines = (row.decode() for row in rows)
    X = np.loadtxt(lines, delimiter=text.separator, comments=None, usecols=features, ndmin=2)
    return X, pd.Series(labels, dtype=object)


def _frame(text: TextTable, where: str, more: dict[str, Any] | None = None) -> Any:
    """Parse with pandas; raise if a row has more fields than there are names."""
    import pandas as pd

    options: dict[str, Any] = {"sep": r"\s+" if text.separator == _SPACES else text.separator}
    options |= {"skipinitialspace": text.spaced, "decimal": "," if text.decimal_comma else "."}
    options |= _exact_floats(pd.__version__) if more is None else more
    options |= {"header": 0} if text.header else {"header": None, "names": range(len(text.names))}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                io.BytesIO(text.content), index_col=False, engine="c", low_memory=False, **options
            )
        except pd.errors.ParserWarning as warning:
            raise InputError(
                f"{where}: rows have more fields than the header has names; name every column "
                "(including a row index), or drop it"
            ) from warning
    frame.columns = pd.RangeIndex(len(text.names))
    return frame


def words_of(text: TextTable, where: str) -> Any:
    """All cells as strings, exactly as written, in a data frame."""
    return _frame(text, where, {"dtype": str, "keep_default_na": False})


def _exact_floats(version: str) -> dict[str, Any]:
    """Options with which this version of pandas parses floats exactly; the default does so from 3.1 on."""
    major, minor = version.split(".")[:2]
    return {} if (int(major), int(minor)) >= (3, 1) else {"float_precision": "round_trip"}


def _check_points(frame: Any, names: list[str], where: str) -> None:
    """Raise for a point in a number if other numbers have decimal commas: it is ambiguous."""
    for i in frame.columns[[kind.kind not in "biuf" for kind in frame.dtypes]]:
        for row, entry in enumerate(frame[i]):
            if isinstance(entry, str) and "." in entry and is_number(entry.replace(",", "")):
                raise InputError(
                    f"{where}: column {names[i]!r}, row {row + 1} is {entry!r}, with a decimal point, but "
                    "other numbers have decimal commas; write all numbers the same way"
                )


_UNEVEN = r"Expected (\d+) fields in line (\d+), saw (\d+)"  # error messages of pandas
_UNQUOTED = r"EOF inside string starting at row (\d+)"
_MEMORY = "out of memory"


def unreadable(error: Exception) -> str:
    """Why a file could not be read, in plain words."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text; save it as UTF-8"
    if type(error).__name__ == "EmptyDataError":
        return "it is empty; the first line must name the columns"
    if isinstance(error, MemoryError) or _MEMORY in str(error):
        return "it does not fit into memory; leave out rows or columns"
    if found := re.search(_UNEVEN, str(error)):
        return f"line {found[2]} has {found[3]} fields, but the lines above have {found[1]}"
    if found := re.search(_UNQUOTED, str(error)):
        return f"row {found[1]} has an opening quotation mark that is never closed"
    reason = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    return shortened(reason.splitlines()[0], 120)
