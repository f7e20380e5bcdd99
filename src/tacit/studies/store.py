"""A folder of Parquet files (shards) with the outcomes of a study, which survives the loss of any process.

The name of a shard is the SHA-256 of its content, so a damaged shard is detected. A shard is written to a
temporary file, which is then renamed: readers see it whole or not at all, and processes that share a store
need no lock. Outcomes are found by the keys of their points, which depend on the function, the versions of
the software, the seed and the parameters: studies with other functions can use the same store.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import warnings
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.packages import needed
from tacit.studies.outcomes import Outcome
from tacit.studies.points import Values

_NAME = 32  # hexadecimal digits in the name of a shard
_KEY, _POINT, _SECONDS, _ERROR, _SHAPE = "_key", "_point", "_seconds", "_error", "_shape "
_INTERNAL = (_KEY, _POINT, _SECONDS, _ERROR)
Row = tuple[str, Values, Outcome]  # key, point and outcome


class Store:
    """The outcomes in a folder, which is created if necessary.

    Raises `InputError` if the folder cannot be used, and `MissingPackageError` without pyarrow.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        with needed("pyarrow", "a store", "leave out store"):
            import_module("pyarrow")
        self.folder = Path(folder)
        self.known: dict[str, Outcome] = {}
        self.read: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self._draft()
            draft.touch()
            draft.unlink()
        except OSError as error:
            raise InputError(f"cannot use the store {self.folder} ({error.strerror})") from error
        self.refresh()

    def refresh(self) -> None:
        """Read the shards that were written since the last time, by this process or others."""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".parquet") and name not in self.read:
                self.read.add(name)
                with suppress(FileNotFoundError):  # another process has set it aside
                    self._read(self.folder / name)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.known

    def _draft(self) -> Path:
        return self.folder / f".tacit-{secrets.token_hex(8)}"

    def _read(self, path: Path) -> None:
        """Read a shard if its content matches its name; otherwise set it aside."""
        content = path.read_bytes()
        if _digest(content) == path.stem:
            self.known.update(_outcomes(content))
            return
        aside = path.with_suffix(".damaged")
        path.replace(aside)
        warnings.warn(
            f"{path.name} is damaged: its content has changed since it was written. It is renamed to "
            f"{aside.name}, and its points are evaluated again",
            RuntimeWarning,
            stacklevel=2,
        )

    def add(self, rows: Iterable[Row]) -> None:
        """Write outcomes, a shard for each set of variables; existing files are not changed."""
        groups: dict[Any, list[Row]] = {}
        for row in rows:
            groups.setdefault(_signature(row[2]), []).append(row)
            self.known[row[0]] = row[2]
        for group in groups.values():
            self._write(_parquet(group))

    def _write(self, content: bytes) -> None:
        name = f"{_digest(content)}.parquet"
        draft = self._draft()
        try:
            with draft.open("xb") as file:
                file.write(content)
                file.flush()
                # otherwise, after a loss of power, the file may have its name but not its content
                os.fsync(file.fileno())
            draft.replace(self.folder / name)
        except OSError as error:
            raise InputError(f"cannot write to the store {self.folder} ({error.strerror})") from error
        finally:
            draft.unlink(missing_ok=True)
        self.read.add(name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_NAME]


def _signature(outcome: Outcome) -> tuple[Any, ...]:
    """The properties shared by the outcomes of a shard: names, types and dimensions of the variables."""
    return tuple(
        (name, value.dtype.kind, value.dtype.itemsize if value.dtype.kind != "U" else 0, value.ndim)
        for name, value in outcome.values.items()
    )


def _parquet(rows: Sequence[Row]) -> bytes:
    """A shard: a row for every point, with a column for every variable, and the shapes of arrays."""
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, Any] = {
        _KEY: [key for key, _, _ in rows],
        _POINT: [json.dumps(point) for _, point, _ in rows],
        _SECONDS: [outcome.seconds for _, _, outcome in rows],
        _ERROR: [outcome.error for _, _, outcome in rows],
    }
    for name in rows[0][2].values:
        arrays = [outcome.values[name] for _, _, outcome in rows]
        if arrays[0].ndim == 0:
            columns[name] = pyarrow.array(np.stack(arrays))
        else:
            flat = pyarrow.array(np.concatenate([array.ravel() for array in arrays]))
            ends = np.cumsum([0, *(array.size for array in arrays)])
            columns[name] = pyarrow.LargeListArray.from_arrays(pyarrow.array(ends), flat)
            columns[f"{_SHAPE}{name}"] = [list(array.shape) for array in arrays]
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def _outcomes(content: bytes) -> dict[str, Outcome]:
    """The outcomes in a shard, by the keys of their points."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(io.BytesIO(content))
    names = [name for name in table.column_names if name not in _INTERNAL and not name.startswith(_SHAPE)]
    values = {name: _arrays(table, name) for name in names}
    parts = zip(*(table[name].to_pylist() for name in (_KEY, _SECONDS, _ERROR)), strict=True)
    return {
        key: Outcome({name: values[name][row] for name in names}, seconds, error)
        for row, (key, seconds, error) in enumerate(parts)
    }


def _arrays(table: Any, name: str) -> list[np.ndarray]:
    """The values of a variable, with the types and shapes that they had."""
    column = table[name].combine_chunks()
    shapes = f"{_SHAPE}{name}"
    if shapes not in table.column_names:
        if str(column.type).endswith("string"):
            return [np.array(text) for text in column.to_pylist()]
        return list(map(np.asarray, column.to_numpy(zero_copy_only=False)))
    flat = column.flatten().to_numpy(zero_copy_only=False)
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in table[shapes].to_pylist())])
    return [
        flat[start:end].reshape(shape)
        for start, end, shape in zip(ends[:-1], ends[1:], table[shapes].to_pylist(), strict=True)
    ]
