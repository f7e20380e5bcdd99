"""Reading a matrix with missing entries from a text file, and writing it with these filled in."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, is_number
from tacit.data.delimited_text import NAMED, TextTable, text_table, unreadable, words_of
from tacit.data.printable import short_name, shortened
from tacit.data.unpacking import PACKED
from tacit.errors import InputError

_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"})
MATRIX_FILES = ".csv, .tsv or .txt"


@dataclass(frozen=True, eq=False)
class MatrixTable:
    """A matrix with NaN for missing entries, the names of its rows and columns, and its cells as written.

    corner: header of the column of row names; None if rows have no names.
    """

    values: Float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str | None
    cells: NDArray[np.object_]
    text: TextTable
    assumed: tuple[str, ...]

    def filled(self, predictor: Float) -> bytes:
        """The content of the file with missing cells taken from `predictor` and all others unchanged."""
        mark = "," if self.text.decimal_comma else "."
        cells = self.cells.copy()
        for i, j in np.argwhere(np.isnan(self.values)):
            cells[i, j] = repr(float(predictor[i, j])).replace(".", mark)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.text.separator, lineterminator="\n")
        named = self.corner is not None
        writer.writerow([self.corner, *self.columns] if named else self.columns)
        writer.writerows([name, *row] if named else row for name, row in zip(self.rows, cells, strict=True))
        return out.getvalue().encode()


def read_matrix(path: str | Path) -> MatrixTable:
    """Read a matrix with a line of column names from text (CSV, TSV, .txt, also compressed; "-": stdin).

    The first column holds row names if its header is blank or it contains text. Empty cells and NA are
    missing.
    """
    path = Path(path)
    where = "standard input" if str(path) == "-" else path.name
    try:
        text = _text(path, where)
        frame = words_of(text, where)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{where} is not a readable table: {unreadable(error)}") from error
    cells = frame.to_numpy(dtype=object)
    if cells.shape[0] == 0:
        raise InputError(f"{where} has no rows below the column names")
    names, assumed = list(text.names), list(text.assumed)
    corner = _corner(names[0], cells[:, 0], text)
    rows = tuple(f"{i}" for i in range(len(cells)))
    if corner is not None:
        rows, cells, names = tuple(map(str, cells[:, 0])), cells[:, 1:], names[1:]
        assumed.append(
            f"the first column{f' ({short_name(corner, 40)})' * bool(corner.strip())} has the row names"
        )
    if not names:
        raise InputError(f"{where} has no column of numbers")
    assumed += _check_names(names, where)
    values = _numbers(cells, rows, names, text, where)
    return MatrixTable(values, rows, tuple(names), corner, cells, text, tuple(assumed))


def _text(path: Path, where: str) -> TextTable:
    if str(path) == "-":
        return text_table(sys.stdin.buffer.read(), ".txt")
    if not path.is_file():
        raise InputError(f"no file at {shortened(str(path), 120)}; DATA must be a {MATRIX_FILES} file")
    kind = path.suffix.lower()
    kind = Path(path.stem).suffix.lower() if kind in PACKED else kind
    if kind not in NAMED:
        raise InputError(f"a matrix with missing entries must be a text file; save {where} as {MATRIX_FILES}")
    return text_table(path, kind)


def _corner(name: str, column: NDArray[np.object_], text: TextTable) -> str | None:
    """The header of the column of row names; None if the first column belongs to the matrix."""
    blank = not name.strip() or name.startswith("Unnamed: ")
    has_text = any(_as_number(each, text) is None for each in column)
    return name if blank or (has_text and len(text.names) > 1) else None


def _check_names(names: list[str], where: str) -> list[str]:
    """Raise if the first line has blanks or entries instead of names; return what was assumed about it.

    Whole numbers are accepted as column names.
    """
    blank = [i for i, name in enumerate(names) if not name.strip()]
    numbers = [float(name) for name in names if is_number(name)]
    if blank or (len(numbers) == len(names) and any(number % 1 != 0 for number in numbers)):
        raise InputError(
            f"the first line of {where} must have the column names, but has entries; add a line of names"
        )
    if len(numbers) == len(names):
        return ["the first line has the column names"]
    return []


def _numbers(
    cells: NDArray[np.object_], rows: tuple[str, ...], names: list[str], text: TextTable, where: str
) -> Float:
    values = np.empty(cells.shape)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            number = _as_number(cell, text)
            if number is None or np.isinf(number):
                raise InputError(
                    f"{where}: row {shortened(rows[i], 40)!r}, column {shortened(names[j], 40)!r} is "
                    f"{shortened(str(cell), 40)!r}, not a finite number; leave missing cells empty"
                )
            values[i, j] = number
    return values


def _as_number(cell: object, text: TextTable) -> float | None:
    """The number in a cell, NaN if it is missing, None if it is not a number."""
    word = str(cell).strip()
    if word.lower() in _MISSING:
        return np.nan
    word = word.replace(",", ".") if text.decimal_comma and "." not in word else word
    return float(word) if is_number(word) else None
