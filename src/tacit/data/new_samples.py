"""Reading new samples for a fitted model: its features are selected from a file by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.tables import (
    SEARCHED,
    Columns,
    as_matrix,
    check_names,
    kind_of,
    listed,
    name_of,
    npz_arrays,
    read_columns,
)
from tacit.errors import InputError


@dataclass(frozen=True, eq=False)
class NewSamples:
    """Features in the order of the model, the target column or None, and names of unused columns."""

    X: Float
    target: Any
    unused: tuple[str, ...]
    assumed: tuple[str, ...] = ()


def read_new_samples(path: str | Path, features: Sequence[str], target: str) -> NewSamples:
    """Read the columns that a model needs from any file that `read_table` reads; "-": standard input.

    Columns are found by name, in any order. All features must be present; the target is optional.
    """
    path = Path(path)
    kind = kind_of(path)
    if kind == ".npz":
        return _from_npz(path, len(features))

    def first_feature(names: Sequence[str], where: str) -> int:
        check_names(names, where)
        _check_present(features, names, where)
        return list(names).index(features[0])

    found = read_columns(path, kind, first_feature)
    place = {name: i for i, name in enumerate(found.names)}
    others = _chosen(found, [place[name] for name in features[1:]])
    first = as_matrix(replace(found, names=[features[0]], features=[found.target]), name_of(path))
    X = np.hstack([first, as_matrix(others, name_of(path))])
    known = {*features, target}
    unused = tuple(name for name in found.names if name not in known)
    return NewSamples(X, _column(found, place.get(target)), unused, found.assumed)


def _chosen(found: Columns, places: list[int]) -> Columns:
    """Select features of a file, in the given order."""
    table = found.features
    features = table[:, places] if isinstance(table, np.ndarray) else [table[i] for i in places]
    return replace(found, names=[found.names[i] for i in places], features=features)


def _column(found: Columns, place: int | None) -> Any:
    if place is None:
        return None
    table = found.features
    return np.asarray(table[:, place] if isinstance(table, np.ndarray) else table[place])


def _check_present(features: Sequence[str], names: Sequence[str], where: str) -> None:
    present = set(names)
    missing = [name for name in features if name not in present]
    if not missing:
        return
    near = difflib.get_close_matches(missing[0], list(names)[:SEARCHED], n=1)
    hint = f"; did you mean {near[0]!r} instead of {missing[0]!r}?" if near else ""
    raise InputError(
        f"{where} lacks {len(missing):,} of the {len(features):,} features of the model: "
        f"{listed(missing)}{hint}"
    )


def _from_npz(path: Path, count: int) -> NewSamples:
    arrays = npz_arrays(path)
    if "X" not in arrays:
        raise InputError(f"{path.name} must contain an array X")
    X = as_floats(arrays["X"], "X", ndim=(2,))
    if X.shape[1] != count:
        raise InputError(f"X of {path.name} has {X.shape[1]:,} columns, but the model has {count:,} features")
    return NewSamples(X, arrays.get("y"), ())
