"""What comes in: X and y, checked once at the door, and read from files."""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError

Float = NDArray[np.float64]
Index = NDArray[np.intp]
_COPIED = 1 << 26  # bytes
_SQUARED = (1e-140, 1e140)  # numbers whose squares, and sums of many of them, are floats

_TEXT = {".csv": ",", ".tsv": "\t", ".txt": None}  # None: whatever stands between the first names


def as_floats(values: Any, name: str, *, ndim: tuple[int, ...]) -> Float:
    """`values` as a float64 array of one of the given dimensions, all finite; `InputError` otherwise.

    The array is the one given where that is possible: copy before changing it.
    """
    array = _as_numeric(values, name)
    if array.ndim not in ndim:
        counts = f"have {' or '.join(map(str, ndim))} dimension{'s' if max(ndim) > 1 else ''}"
        wanted = "be a single number" if ndim == (0,) else counts
        raise InputError(f"{name} must {wanted}, got an array of shape {array.shape}")
    with np.errstate(over="ignore"):
        array = np.asarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        if not bad:
            raise InputError(f"{name} must be finite, got {array[bad]}")
        where = f"{name}[{', '.join(map(str, bad))}]"
        raise InputError(f"{name} must be finite, got {array[bad]} at {where}; drop or fill such entries")
    return array


def _as_numeric(values: Any, name: str) -> NDArray[Any]:
    """An array of numbers: text, dates, complex numbers, masks and rows of different lengths are refused."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} must be numbers, got masked entries; fill or drop them first")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = np.asarray([float(v) for v in array.flat], dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers, got {_what_is_not_a_number(values)}") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be numbers, got {_what_is_not_a_number(values)}")
    return array


def _what_is_not_a_number(values: Any) -> str:
    try:
        entries = np.asarray(values).ravel()
    except ValueError:
        return "rows of different lengths"
    if any(isinstance(entry, (list, tuple, np.ndarray)) for entry in entries):
        return "rows of different lengths"
    if entries.dtype.kind in "OUS":
        for entry in entries.tolist():
            if isinstance(entry, (str, bytes)) or not _is_number(entry):
                return f"{entry!r}"[:60]
    return f"values of type {entries.dtype}"


def _is_number(entry: Any) -> bool:
    try:
        float(entry)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_problem(X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d) and y as (N,), finite, matching and not empty; `InputError` names what is wrong."""
    X = as_floats(X, "X", ndim=(2,))
    y = as_floats(y, "y", ndim=(1, 2))
    if y.ndim == 2:
        if y.shape[1] != 1:
            raise InputError(f"y must be one number per sample, shape (N,), got shape {y.shape}")
        y = y[:, 0]
    samples, features = X.shape
    if samples == 0 or features == 0:
        raise InputError(f"X must have at least one sample (row) and one feature (column), got {X.shape}")
    if len(y) != samples:
        raise InputError(f"X and y must have one row per sample: X has {samples} rows, y has {len(y)}")
    return X, y


def check_labelled(X: Any, y: Any) -> tuple[Float, Float]:
    """X and y as `check_problem` does, with labels −1 and +1."""
    X, y = check_problem(X, y)
    check_labels(y, "a maximum margin")
    check_squares(X, y)
    for n in np.flatnonzero(np.abs(X).max(axis=1) < _SQUARED[0]):
        if X[n].any():
            raise InputError(
                f"the largest entry of sample {n} has the size {np.abs(X[n]).max():.0e}, and a margin of 1 "
                "needs a predictor whose square floats cannot hold; drop it, or give it in another unit"
            )
    return X, y


def beyond_squares(X: Float, y: Float) -> str:
    """What is wrong with the unit of X or y where floats cannot hold squares of their entries, or ""."""
    for name, array in (("X", X), ("y", y)):
        largest = float(np.abs(array).max(initial=0.0))
        if largest != 0 and not _SQUARED[0] <= largest <= _SQUARED[1]:
            column = int(np.abs(X).max(axis=0).argmax()) if X.ndim == 2 else 0
            where = f"X, its column {column}," if name == "X" and X.ndim == 2 and largest > 1 else name
            return (
                f"the largest entry of {where} has the size {largest:.0e}, and floats cannot hold its "
                "square; give it in another unit"
            )
    return ""


def check_squares(X: Float, y: Float) -> None:
    """Refuse data in a unit in which floats cannot hold squares: their loss and kernel are not known."""
    if wrong := beyond_squares(X, y):
        raise InputError(wrong)


def check_labels(y: Float, who: str) -> None:
    """Refuse labels other than −1 and +1."""
    wrong = y[~np.isin(y, (-1.0, 1.0))]
    if len(wrong):
        hint = "; encode the classes 0 and 1 as −1 and +1" if np.isin(y, (0.0, 1.0)).all() else ""
        raise InputError(f"{who} needs labels −1 and +1, got {wrong[0]:g} in y{hint}")


def kept(array: Float) -> Float:
    """A copy that nobody can change, since the result refers to it later; not of arrays over 64 MB."""
    frozen = not array.flags.writeable and array.base is None
    if frozen or array.nbytes > _COPIED:
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def check_tolerance(tol: Any) -> None:
    """Refuse a tolerance that is not a number between 0 and 1."""
    if not 0 < float(as_floats(tol, "tol", ndim=(0,))) < 1:
        raise InputError(f"tol must lie between 0 and 1, got {tol!r}")


@dataclass(frozen=True, eq=False)
class Table:
    """A data set read from a file: features, target, and what they are called."""

    X: Float
    y: Float
    features: tuple[str, ...]
    target: str


def read_table(path: str | Path, target: str | None = None) -> Table:
    """Read CSV, TSV, Parquet, or NPZ with arrays X and y; `target` names the column to predict."""
    path = Path(path)
    _check_file(path)
    if path.suffix.lower() == ".npz":
        return _read_npz(path, target)
    frame = _read_frame(path)
    if target is None:
        listed = _listed(list(frame.columns))
        raise InputError(f"say which column of {path.name} is the target, with --target: {listed}")
    if target not in frame.columns:
        near = _nearest(target, list(frame.columns))
        raise InputError(f"--target {target!r} is not a column of {path.name}, which has {near}")
    columns = {name: _numbers(frame[name], name, path) for name in frame.columns}
    y = columns.pop(target)
    if not columns:
        raise InputError(f"{path.name} has no feature: its only column is the target {target!r}")
    X, y = check_problem(np.column_stack(list(columns.values())), y)
    return Table(X, y, tuple(columns), target)


def shortened(text: str, most: int) -> str:
    """The text, with an ellipsis for its middle if it is longer than that."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def _check_file(path: Path) -> None:
    if os.path.isfile(path):
        return
    wanted = "DATA must be a CSV, TSV, Parquet or NPZ file"
    if os.path.exists(path):
        raise InputError(f"{path} is a folder, a pipe or a device; {wanted}")
    raise InputError(f"no file at {shortened(str(path), 120)}; {wanted}")


def _read_npz(path: Path, target: str | None) -> Table:
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in ("X", "y") if name in archive.files}
        except Exception as error:
            raise InputError(
                f"{path} is not a readable NPZ file; numpy.savez(path, X=X, y=y) makes one, from numbers"
            ) from error
    if missing := {"X", "y"} - arrays.keys():
        raise InputError(f"{path.name} must hold arrays X and y; {' and '.join(sorted(missing))} missing")
    if target not in (None, "y"):
        raise InputError(f"--target {target!r}: {path.name} holds X and y, and y is the target; leave it out")
    X, y = check_problem(arrays["X"], arrays["y"])
    return Table(X, y, tuple(f"x{i}" for i in range(X.shape[1])), "y")


def _read_frame(path: Path) -> Any:
    import pandas as pd

    kind = path.suffix.lower()
    if kind not in (".parquet", ".pq", *_TEXT):
        raise InputError(f"cannot tell what {path.name} is; name it .csv, .tsv, .parquet or .npz")
    try:
        frame = _read_text(path, _TEXT[kind]) if kind in _TEXT else pd.read_parquet(path)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is not a readable {kind[1:].upper()} file: {_reason(error)}") from error
    if frame.empty:
        raise InputError(f"{path} has no rows; a data set needs at least one sample")
    frame.columns = frame.columns.map(str)
    if len(frame.columns) == 1 and (separator := re.search(r"[;\t|,]", frame.columns[0])):
        wanted = "tabs" if kind == ".tsv" else "commas"
        raise InputError(
            f"{path.name} has one column, {shortened(frame.columns[0], 40)!r}: its fields seem to be "
            f"separated by {separator[0]!r}; save it with {wanted} between them"
        )
    _check_names(list(frame.columns), path)
    return frame


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text; save it as UTF-8"
    if type(error).__name__ == "EmptyDataError":
        return "it is empty; the first line must name the columns"
    reason = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    return shortened(reason.splitlines()[0], 120)


def _read_text(path: Path, separator: str | None) -> Any:
    """A table in text, whose rows must not have more fields than its header has names."""
    import pandas as pd

    options = {"engine": "c", "low_memory": False, **_exact_floats(pd.__version__)}
    options |= _between_names(path) if separator is None else {"sep": separator}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(path, index_col=False, **options)
        except pd.errors.ParserWarning as warning:
            raise InputError(
                f"{path.name}: rows have more fields than the header has names; give every column a name "
                "(a row index too), or drop it"
            ) from warning
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    _check_names(header.iloc[0].tolist(), path)  # as they stand there: pandas makes equal names differ
    return frame


def _exact_floats(version: str) -> dict[str, Any]:
    """What makes this pandas read back the float that was written: nothing from 3.1 on, where all ways do."""
    major, minor = version.split(".")[:2]
    return {} if (int(major), int(minor)) >= (3, 1) else {"float_precision": "round_trip"}


def _between_names(path: Path) -> dict[str, Any]:
    """What separates the names in the first line: a tab, ; or , or |, or else spaces."""
    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "")
    mark = next((mark for mark in "\t;,|" if mark in first.strip()), r"\s+")
    return {"sep": mark, "skipinitialspace": True}


def _check_names(names: list[str], path: Path) -> None:
    for name, count in Counter(names).items():
        if not name.strip() or re.fullmatch(r"Unnamed: \d+", name):
            place = names.index(name)
            what = "has no name" if place else "looks like a row index"
            raise InputError(
                f"{path.name}: column {place + 1}, {name!r}, {what}; "
                "drop it (pandas: to_csv(…, index=False)) or give it a name"
            )
        if count > 1:
            raise InputError(f"{path.name} has {count} columns named {name!r}; rename or drop all but one")


def _numbers(column: Any, name: str, path: Path) -> Float:
    """The column as floats; `InputError` names the first entry that is not a finite number."""
    numbers = _as_numbers(column)
    bad = ~np.isfinite(numbers)
    if not bad.any():
        return numbers
    row = int(bad.argmax())
    raise InputError(
        f"{path.name}: column {name!r}, row {row + 1} {_what_is_wrong(column.iloc[row])}; "
        "drop the column or the row, or encode it"
    )


def _as_numbers(column: Any) -> Float:
    """The column as floats, NaN where an entry is missing or is neither a number nor the text of one."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        if column.dtype.kind != "O":  # dates and durations, which pandas would count in nanoseconds
            return np.full(len(column), np.nan)
        entries = column.astype(object)
        numeric = pd.to_numeric(entries, errors="coerce").notna()  # its own numbers may be a digit off
        return np.array([float(v) if good else np.nan for v, good in zip(entries, numeric, strict=True)])
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _what_is_wrong(entry: Any) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(entry) and pd.isna(entry):
        return "is missing"
    if isinstance(entry, str) and _is_number(entry):  # one that floats cannot hold, left as text by pandas
        entry = float(entry)
    if isinstance(entry, float | np.floating):
        return f"is {entry}, not a finite number"
    return f"is {shortened(repr(entry), 60)}, not a number"


def _nearest(name: str, names: list[str]) -> str:
    """Names that this one may have been meant for, or else the first ones."""
    return _listed(difflib.get_close_matches(name, names, n=3) or names)


def _listed(names: list[str]) -> str:
    shown = ", ".join(shortened(repr(name), 24) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown}, … ({len(names)} columns)"
