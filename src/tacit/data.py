"""What comes in: X and y, checked once at the door, and read from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError

Float = NDArray[np.float64]
Index = NDArray[np.intp]

_READERS = {".csv": ",", ".tsv": "\t", ".txt": None}


def as_floats(values: Any, name: str, *, ndim: tuple[int, ...]) -> Float:
    """`values` as a float64 array of one of the given dimensions, all finite; `InputError` otherwise."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {_what_is_not_a_number(values)}") from None
    if array.ndim not in ndim:
        wanted = " or ".join(str(n) for n in ndim)
        raise InputError(f"{name} must have {wanted} dimensions, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f" at {name}[{', '.join(map(str, bad))}]" if bad else ""
        raise InputError(f"{name} must be finite, got {array[bad]}{where}; drop or fill such entries first")
    return array


def _what_is_not_a_number(values: Any) -> str:
    try:
        entries = np.asarray(values, dtype=object).ravel()
    except ValueError:
        return "rows of different lengths"
    for entry in entries:
        try:
            float(entry)
        except (TypeError, ValueError):
            return repr(entry)
    return f"an array of type {np.asarray(values).dtype}"


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
    if not path.is_file():
        raise InputError(f"no file at {path}; DATA must be a CSV, TSV, Parquet or NPZ file")
    if path.suffix.lower() == ".npz":
        return _read_npz(path)
    frame = _read_frame(path)
    if target is None:
        raise InputError(f"say which column of {path.name} is the target, with --target: {_names(frame)}")
    if target not in frame.columns:
        raise InputError(f"--target {target!r} is not a column of {path.name}, which has {_names(frame)}")
    features = frame.drop(columns=[target])
    for name in frame.columns:
        _check_column(frame[name], str(name), path)
    X, y = check_problem(features.to_numpy(dtype=np.float64), frame[target].to_numpy(dtype=np.float64))
    return Table(X, y, tuple(map(str, features.columns)), target)


def _read_npz(path: Path) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:
        raise InputError(f"{path} is not a readable NPZ file ({error})") from None
    if missing := {"X", "y"} - arrays.keys():
        raise InputError(f"{path.name} must hold arrays X and y; {' and '.join(sorted(missing))} missing")
    X, y = check_problem(arrays["X"], arrays["y"])
    return Table(X, y, tuple(f"x{i}" for i in range(X.shape[1])), "y")


def _read_frame(path: Path) -> Any:
    import pandas as pd

    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            frame = pd.read_parquet(path)
        elif suffix in _READERS:
            frame = pd.read_csv(path, sep=_READERS[suffix], engine="python" if suffix == ".txt" else "c")
        else:
            raise InputError(f"cannot tell what {path.name} is; name it .csv, .tsv, .parquet or .npz")
    except InputError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{path} is not a readable {suffix[1:].upper()} file ({reason})") from None
    if frame.empty:
        raise InputError(f"{path} has no rows; a data set needs at least one sample")
    return frame


def _check_column(column: Any, name: str, path: Path) -> None:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna()
    if not bad.any():
        return
    row = int(bad.to_numpy().argmax())
    entry = column.iloc[row]
    what = "is missing" if pd.isna(entry) else f"is {entry!r}, not a number"
    raise InputError(
        f"{path.name}: column {name!r}, row {row + 1} {what}; drop the column or the row, or encode it"
    )


def _names(frame: Any) -> str:
    names = [str(name) for name in frame.columns]
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, … ({len(names)} columns)"
