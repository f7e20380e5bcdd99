"""A matrix in a text file, with empty cells for what is missing, and the same file with these filled in."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, is_number
from tacit.data.delimited_text import NAMED, TextTable, text_table, words_of
from tacit.data.printable import short_name, shortened
from tacit.data.unpacking import PACKED
from tacit.errors import InputError

_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"})
MATRIX_FILES = ".csv, .tsv or .txt"


@dataclass(frozen=True, eq=False)
class MatrixTable:
    """A matrix with NaN for missing entries, what its rows and columns are called, and its cells as written.

    corner: the name above the names of rows; None where rows have none.
    """

    values: Float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str | None
    cells: NDArray[np.object_]
    text: TextTable
    assumed: tuple[str, ...]

    def filled(self, predictor: Float) -> bytes:
        """The file with the missing cells taken from a predictor; all others are kept as they were."""
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
    """A matrix from text (CSV, TSV, .txt, also packed; "-": stdin): a line of names, then one for each row.

    Rows have names where the first column has none itself or holds words. Empty cells and NA are missing.
    """
    path = Path(path)
    where = "standard input" if str(path) == "-" else path.name
    text = _text(path, where)
    try:
        frame = words_of(text, where)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{where} is not a readable table: {str(error).splitlines()[0]}") from error
    cells = frame.to_numpy(dtype=object)
    if cells.shape[0] == 0:
        raise InputError(f"{where} has no rows below the names of its columns")
    names, assumed = list(text.names), list(text.assumed)
    corner = _corner(names[0], cells[:, 0], text)
    rows = tuple(f"{i}" for i in range(len(cells)))
    if corner is not None:
        rows, cells, names = tuple(map(str, cells[:, 0])), cells[:, 1:], names[1:]
        assumed.append(
            f"the first column{f' ({short_name(corner, 40)})' * bool(corner.strip())} names the rows"
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
        raise InputError(f"a matrix with gaps is read from text; save {where} as {MATRIX_FILES}")
    try:
        return text_table(path, kind)
    except InputError:
        raise
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{where} is not a readable table: {str(error).splitlines()[0]}") from error


def _corner(name: str, column: NDArray[np.object_], text: TextTable) -> str | None:
    """The name of the column that names rows; None where the first one is of the matrix."""
    blank = not name.strip() or name.startswith("Unnamed: ")
    words = any(_as_number(each, text) is None for each in column)
    return name if blank or (words and len(text.names) > 1) else None


def _check_names(names: list[str], where: str) -> list[str]:
    """A first line of numbers is no line of names, unless it counts the columns; what was assumed of it."""
    blank = [i for i, name in enumerate(names) if not name.strip()]
    numbers = [float(name) for name in names if is_number(name)]
    if blank or (len(numbers) == len(names) and any(number % 1 != 0 for number in numbers)):
        raise InputError(f"the first line of {where} must name the columns, and holds entries: add names")
    if len(numbers) == len(names):
        return ["the first line names the columns"]
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
                    f"{shortened(str(cell), 40)!r}, which is no finite number; leave missing cells empty"
                )
            values[i, j] = number
    return values


def _as_number(cell: object, text: TextTable) -> float | None:
    """The number in a cell, NaN where it is missing, None where it holds something else."""
    word = str(cell).strip()
    if word.lower() in _MISSING:
        return np.nan
    word = word.replace(",", ".") if text.decimal_comma and "." not in word else word
    return float(word) if is_number(word) else None
