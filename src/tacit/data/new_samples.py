"""Samples that a model has not seen, in a file: its features, found by name, among whatever else there is."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.tables import (
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

_LOOKED_AT = 10_000  # names among which the one that was meant is looked for


@dataclass(frozen=True, eq=False)
class NewSamples:
    """Features in a model's order, the target as the file has it (None: not there), and columns not used."""

    X: Float
    target: Any
    unused: tuple[str, ...]
    assumed: tuple[str, ...] = ()


def read_new_samples(path: str | Path, features: Sequence[str], target: str) -> NewSamples:
    """The columns that a model needs, of any file that `read_table` reads; "-": standard input.

    Columns are found by name, in any order. All of the features must be there; the target may be.
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
    """Some of the features of a file, in another order."""
    table = found.features
    features = table[:, places] if isinstance(table, np.ndarray) else [table[i] for i in places]
    return replace(found, names=[found.names[i] for i in places], features=features)


def _column(found: Columns, place: int | None) -> Any:
    if place is None:
        return None
    table = found.features
    return np.asarray(table[:, place] if isinstance(table, np.ndarray) else table[place])


def _check_present(features: Sequence[str], names: Sequence[str], where: str) -> None:
    there = set(names)
    missing = [name for name in features if name not in there]
    if not missing:
        return
    near = difflib.get_close_matches(missing[0], list(names)[:_LOOKED_AT], n=1)
    hint = f"; is {near[0]!r} meant by {missing[0]!r}?" if near else ""
    raise InputError(
        f"{where} lacks {len(missing):,} of the {len(features):,} features of the model: "
        f"{listed(missing)}{hint}"
    )


def _from_npz(path: Path, count: int) -> NewSamples:
    arrays = npz_arrays(path)
    if "X" not in arrays:
        raise InputError(f"{path.name} must hold an array X")
    X = as_floats(arrays["X"], "X", ndim=(2,))
    if X.shape[1] != count:
        raise InputError(f"X of {path.name} has {X.shape[1]:,} columns, and the model has {count:,} features")
    return NewSamples(X, arrays.get("y"), ())
