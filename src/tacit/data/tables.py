"""Reading a data set from a file: features, target and their names, from text, Parquet, Excel or NPZ."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_labels, as_text, check_problem, class_names, is_number
from tacit.data.delimited_text import NAMED, parsed, text_table, unreadable
from tacit.data.printable import short_name, shortened, some
from tacit.data.selection import EVERYTHING, SEARCHED, Selection, listed
from tacit.data.unpacking import PACKED, check_archive, check_decoded, check_sheets
from tacit.errors import InputError
from tacit.packages import needed

_FILES = "a CSV, TSV, text, Parquet, Excel or NPZ file"
_SHOWN = 8  # classes or columns listed in a message
_FEWEST = 4  # samples from which a column can be recognized as names of the samples


@dataclass(frozen=True, eq=False)
class Table:
    """A data set: features, target, their names, and the assumptions made when reading them.

    classes: names of the classes 0, 1, … of the target, if it was read with many=True. samples: names of the
    rows, if a column with names was selected.
    """

    X: Float
    y: Float
    features: tuple[str, ...]
    target: str
    assumed: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Columns:
    """The content of a file: one column, usually the target, and the others, as an array or a list.

    place: where the one column stands in the file.
    """

    names: list[str]
    features: Any
    target: Any
    place: int
    assumed: tuple[str, ...] = ()

    def at(self, places: Sequence[int]) -> Columns:
        """Only the columns at these places of the file, besides the target."""
        which = [i - (i > self.place) for i in places]
        if len(which) == len(self.names):
            return self
        dense = isinstance(self.features, np.ndarray)
        features = self.features[:, which] if dense else [self.features[i] for i in which]
        return replace(self, names=[self.names[i] for i in which], features=features)

    def texts(self, place: int) -> tuple[str, ...]:
        """The entries of the column at this place of the file, as text."""
        if place == self.place:
            column = self.target
        else:
            i = place - (place > self.place)
            column = self.features[:, i] if isinstance(self.features, np.ndarray) else self.features[i]
        entries = np.asarray(column).tolist()
        return tuple(f"{each:.15g}" if isinstance(each, float) else as_text(each) for each in entries)


Place = Callable[[Sequence[str], str], int]  # (column names, file name) → index of the target


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    classes: bool = False,
    many: bool = False,
    selection: Selection = EVERYTHING,
) -> Table:
    """Read text (CSV, TSV, .txt, also compressed), Parquet, Excel, or NPZ with arrays X and y; "-": stdin.

    target: name of the column to predict. classes: map a target with two class names to −1 and +1, in
    alphabetical order. many: map any number of class names to 0, 1, … in that order. selection: the columns
    to use. Numbers are parsed exactly; `assumed` lists the assumptions made about the format.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == ".npz":
        return _read_npz(path, target, classes, many, selection)
    name = name_of(path)
    found = read_columns(path, kind, partial(_place_of, target, selection))
    assert target is not None
    found, samples = _selected(found, target, selection, name)
    X = as_matrix(found, name)
    y, assumed, names = _as_target(found.target, target, name, classes, many)
    X, y = check_problem(X, y)
    return Table(X, y, tuple(found.names), target, (*found.assumed, *assumed), names, samples)


def _selected(
    found: Columns, target: str, selection: Selection, where: str
) -> tuple[Columns, tuple[str, ...]]:
    """The selected features, and the names of the samples (empty if no column names them)."""
    names = [*found.names[: found.place], target, *found.names[found.place :]]
    features = [i for i in selection.kept(names, where) if i != found.place]
    if not features:
        rest = "" if found.names else f": its only column is the target {target!r}"
        rest = rest or "; --drop, --index or --features leave out all of them"
        raise InputError(f"{where} has no features{rest}")
    index = selection.index_of(names, where)
    return found.at(features), () if index is None else found.texts(index)


def read_columns(path: Path, kind: str, place: Place) -> Columns:
    """Read the columns of a file other than NPZ, with the target separate; raise if it has no rows."""
    try:
        found = _READERS.get(kind, _read_text)(path, kind, place)
    except InputError:
        raise
    except Exception as error:
        what = "standard input" if str(path) == "-" else str(path)
        raise InputError(f"{what} is not a readable {kind[1:].upper()} file: {unreadable(error)}") from error
    if len(found.target) == 0:
        raise InputError(f"{name_of(path)} has no rows; a data set needs at least one sample")
    return found


def name_of(path: Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == "-" else path.name


def kind_of(path: Path) -> str:
    """The file type by its suffix; raise if the file does not exist or cannot be read."""
    if str(path) == "-":
        return ".txt"
    if not os.path.isfile(path):
        if os.path.exists(path):
            raise InputError(f"{path} is a folder, a pipe or a device; DATA must be {_FILES}")
        raise InputError(f"no file at {shortened(str(path), 120)}; DATA must be {_FILES}")
    kind = path.suffix.lower()
    if kind in PACKED:
        kind = Path(path.stem).suffix.lower()
        kind = kind if kind in NAMED else ""
    if kind not in (".npz", *_READERS, *NAMED):
        raise InputError(
            f"unknown file type of {path.name}; the suffix must be .csv, .tsv, .txt, .parquet, .xlsx or .npz"
        )
    return kind


def _read_text(path: Path, kind: str, place: Place) -> Columns:
    text = text_table(sys.stdin.buffer.read() if str(path) == "-" else path, kind)
    target = place(text.names, name_of(path))
    features, column = parsed(text, target, name_of(path))
    return Columns(_without(text.names, target), features, column, target, text.assumed)


def _read_parquet(path: Path, kind: str, place: Place) -> Columns:
    """Convert Arrow columns directly: a data frame with many columns takes longer to make than to read."""
    with needed("pyarrow", f"reading {path.name}", "save the table as CSV"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    most = 2**31 - 1  # limits on the list of columns; the defaults are too small for a million columns
    with pq.ParquetFile(path, thrift_string_size_limit=most, thrift_container_size_limit=most) as file:
        check_decoded(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        table = file.read()
    indices = (table.schema.pandas_metadata or {}).get("index_columns", [])
    table = table.drop_columns([each for each in indices if isinstance(each, str)])
    target = place(table.column_names, path.name)

    def column(each: Any) -> Any:
        plain = pa.types.is_integer(each.type) or pa.types.is_floating(each.type)
        return each.to_numpy() if plain else each.to_pandas()

    columns = [column(each) for each in table.itercolumns()]
    return Columns(_without(table.column_names, target), columns, columns.pop(target), target)


def _read_excel(path: Path, kind: str, place: Place) -> Columns:
    """The first sheet, whose first row names the columns."""
    import pandas as pd

    with needed("openpyxl", f"reading {path.name}", "save the sheet as CSV"):
        import_module("openpyxl")  # report a missing package before reading the file
    check_sheets(path)
    frame = pd.read_excel(path, engine="openpyxl", header=None)
    if frame.empty:
        raise InputError(f"{path.name} is empty; the first row must name the columns")
    names = ["" if pd.isna(name) else str(name) for name in frame.iloc[0]]
    target = place(names, path.name)
    columns = [frame[i].iloc[1:].infer_objects().reset_index(drop=True) for i in frame.columns]
    return Columns(_without(names, target), columns, columns.pop(target), target)


_READERS = {".parquet": _read_parquet, ".pq": _read_parquet, ".xlsx": _read_excel}


def npz_arrays(path: Path) -> dict[str, Any]:
    """Arrays X and y of an NPZ file; either may be missing."""
    with path.open("rb") as file:
        try:
            check_archive(path, ("X.npy", "y.npy"))
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in ("X", "y") if name in archive.files}
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{path} is not a readable NPZ file; write numeric arrays with numpy.savez(path, X=X, y=y)"
            ) from error


def _read_npz(path: Path, target: str | None, classes: bool, many: bool, selection: Selection) -> Table:
    arrays = npz_arrays(path)
    if missing := {"X", "y"} - arrays.keys():
        raise InputError(
            f"{path.name} must contain arrays X and y, but has no {' and no '.join(sorted(missing))}"
        )
    if target not in (None, "y"):
        raise InputError(
            f"--target {target!r}: the target of an NPZ file ({path.name}) is its array y; omit --target"
        )
    names: tuple[str, ...] = ()
    if many and arrays["y"].dtype.kind in "US":
        arrays["y"], _, names = _numbered(arrays["y"].tolist(), "y")
    named = classes and arrays["y"].dtype.kind in "US"
    y = as_labels(arrays["y"], "y") if named else arrays["y"]
    X, y = check_problem(arrays["X"], y)
    assumed = _label_note(arrays["y"], "y") if classes else ()
    columns = [f"x{i}" for i in range(X.shape[1])]
    found, samples = _selected(Columns(columns, X, y, len(columns)), "y", selection, path.name)
    return Table(found.features, y, tuple(found.names), "y", assumed, names, samples)


def _place_of(target: str | None, selection: Selection, names: Sequence[str], where: str) -> int:
    """Index of the target column; raise if it does not exist or names of used columns are not unique."""
    if target not in names:
        _check_header(names, where)
    kept = [names[i] for i in replace(selection, features=()).kept(names, where)]
    if target is None:
        check_names(kept, where, names)
        raise InputError(f"choose the target column of {where} with --target; columns: {listed(names)}")
    if target not in names:
        near = difflib.get_close_matches(target, names[:SEARCHED], n=3)
        raise InputError(f"--target {target!r} is not a column of {where}, which has {listed(near or names)}")
    if target not in kept:
        raise InputError(f"--target {target!r} is also given as --drop or --index; a column has one role")
    used = [names[i] for i in selection.kept(names, where)]
    check_names([*used, *[target] * (target not in used)], where, names)
    return names.index(target)


def _check_header(names: Sequence[str], where: str) -> None:
    """Raise if the names are all numbers: then the file has no header (not even a name for the target)."""
    if len(names) > 1 and all(is_number(name) for name in names):
        raise InputError(
            f"{where} seems to have no header: its first line contains only numbers ({listed(names)}); "
            "insert a line with a name for each column"
        )


def check_names(names: Sequence[str], where: str, everything: Sequence[str] | None = None) -> None:
    """Raise if a column has no name, looks like a row index, or shares its name with another.

    everything: names of all columns of the file, if `names` are some of them; positions refer to these.
    """
    for name, count in Counter(names).items():
        if not name.strip() or (name.startswith("Unnamed: ") and name[9:].isdecimal()):
            place = (everything or names).index(name) + 1
            what = "has no name" if place > 1 else "looks like a row index"
            raise InputError(
                f"{where}: column {place}, {name!r}, {what}; leave it out with --index {place} or "
                f"--drop {place}, or give it a name"
            )
        if count > 1:
            raise InputError(
                f"{where} has {count} columns named {name!r}; rename all but one of them, or leave them out "
                "with --drop"
            )


def _without(names: Sequence[str], place: int) -> list[str]:
    return [*names[:place], *names[place + 1 :]]


def as_matrix(found: Columns, where: str) -> Float:
    """Convert the features to floats; raise for the first entry that is not a finite number."""
    if isinstance(found.features, np.ndarray):
        X = found.features
    else:
        X = np.empty((len(found.target), len(found.names)))
        for i, column in enumerate(found.features):
            X[:, i] = column if isinstance(column, np.ndarray) else _as_numbers(column)
    bad = ~np.isfinite(X).all(axis=0)
    if not bad.any():
        return X
    i = int(bad.argmax())
    column = X[:, i] if isinstance(found.features, np.ndarray) else found.features[i]
    raise _entry_error(column, X[:, i], found.names[i], where, _way_out(found, bad))


def _way_out(found: Columns, bad: Any) -> str:
    """What to do about columns with entries that are not finite numbers."""
    places = np.flatnonzero(bad)
    names = [shlex.quote(shortened(found.names[i], 40)) for i in places]
    listing = " ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    if len(places) > 1:
        return f"leave out the {len(places)} columns with such entries with --drop {listing}, or repair them"
    column = found.features[int(places[0])] if isinstance(found.features, list) else None
    if column is not None and is_identifier(np.asarray(column)):
        return f"it looks like names of the samples: leave it out with --index {listing}"
    return f"leave it out with --drop {listing}, drop the row, or encode the entries as numbers"


def is_identifier(column: Any) -> bool:
    """Whether the entries look like names of the samples: texts that are all different."""
    entries = column.tolist()
    texts = all(isinstance(each, str) and not is_number(each) for each in entries)
    return texts and len(entries) >= _FEWEST and len(set(entries)) == len(entries)


def counts_rows(X: Float) -> Any:
    """Which columns count the samples from 0 or 1, like a row index."""
    if len(X) < _FEWEST:
        return np.zeros(X.shape[1], dtype=bool)
    likely = np.flatnonzero(np.isin(X[0], (0, 1)) & (X[-1] == X[0] + len(X) - 1))
    found = np.zeros(X.shape[1], dtype=bool)
    found[likely] = (np.diff(X[:, likely], axis=0) == 1).all(axis=0)
    return found


def _as_target(
    column: Any, name: str, where: str, classes: bool, many: bool
) -> tuple[Float, tuple[str, ...], tuple[str, ...]]:
    """Convert the target to floats; also return notes on its classes and, if numbered, their names."""
    numbers = column if isinstance(column, np.ndarray) else _as_numbers(column)
    if np.isfinite(numbers).all():
        return np.asarray(numbers, dtype=np.float64), _label_note(numbers, name) if classes else (), ()
    entries = np.asarray(column).tolist()
    missing = np.array([entry is None or entry != entry for entry in entries])
    named = not missing.any() and all(isinstance(each, str) and not is_number(each) for each in entries)
    if named and many:
        return _numbered(entries, name)
    if named and classes:
        return as_labels(entries, f"--target {name!r}"), _label_note(entries, name), ()
    hint = "drop the row, or encode it"
    if named:
        hint = (
            "for a target with classes, use 'tacit fit --classify', 'tacit path', or 'tacit flow --loss exp'"
        )
    numbers = np.where(missing, np.nan, 0.0) if missing.any() else numbers
    raise _entry_error(column, numbers, name, where, hint)


def _numbered(entries: list[str], name: str) -> tuple[Float, tuple[str, ...], tuple[str, ...]]:
    """Map class names to 0, 1, … in alphabetical order; also return a note on them, and the names."""
    names, places = np.unique(np.array(entries), return_inverse=True)
    listing = some([f"{short_name(each, 40)} is {i}" for i, each in enumerate(names.tolist())], _SHOWN)
    note = f"classes of {name!r}: {listing}"
    return places.astype(np.float64), (note,), tuple(map(as_text, names.tolist()))


def _label_note(y: Any, name: str) -> tuple[str, ...]:
    """State which class is −1 and which +1; empty if y already has these labels."""
    found = class_names(y)
    return () if found is None else (f"classes of {name!r}: {found[0]} is −1 and {found[1]} is +1",)


def _entry_error(column: Any, numbers: Float, name: str, where: str, hint: str) -> InputError:
    """An error about the first entry that is not a finite number."""
    row = int((~np.isfinite(numbers)).argmax())
    entry = column[row] if isinstance(column, np.ndarray) else column.iloc[row]
    return InputError(
        f"{where}: column {shortened(name, 40)!r}, row {row + 1} {_what_is_wrong(entry)}; {hint}"
    )


def _as_numbers(column: Any) -> Float:
    """Convert to floats, with NaN for entries that are missing or do not represent a number."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        if column.dtype.kind != "O":  # dates and durations, which pandas would convert to nanoseconds
            return np.full(len(column), np.nan)
        entries = column.astype(object)
        # its floats may have errors in the last digit
        numeric = pd.to_numeric(entries, errors="coerce").notna()
        return np.array([float(v) if good else np.nan for v, good in zip(entries, numeric, strict=True)])
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _what_is_wrong(entry: Any) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(entry) and pd.isna(entry):
        return "is missing"
    # pandas leaves a number that overflows as text
    if isinstance(entry, str) and is_number(entry) and not np.isfinite(float(entry)):
        entry = float(entry)
    if isinstance(entry, float | np.floating):
        return f"is {entry}, not a finite number"
    return f"is {shortened(repr(entry), 60)}, not a number"
