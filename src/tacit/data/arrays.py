"""Validation of X and y: conversion to float64, shapes, finite entries, labels and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.printable import shortened, some
from tacit.errors import InputError
from tacit.numerics.rounding import Float as Float
from tacit.numerics.rounding import Index as Index

_COPIED = 1 << 26  # bytes; larger arrays are used in place, because a copy would cost too much memory
_DENSE = 2e9  # bytes; the largest dense array that is made from a sparse matrix
_SQUARED = (1e-140, 1e140)  # range in which squares, and sums of many squares, neither underflow nor overflow


def as_floats(values: Any, name: str, *, ndim: tuple[int, ...]) -> Float:
    """Convert to a float64 array; raise `InputError` if it is not finite or has another number of dimensions.

    Accepts everything that `numpy.asarray` accepts, and SciPy sparse matrices, which are made dense. float32
    (JAX's default) and integers become float64. The result may share memory with `values`: copy it before
    changing it.
    """
    array = as_numeric(_numeric_columns(values, name), name)
    if array.ndim not in ndim:
        counts = f"have {' or '.join(map(str, ndim))} dimension{'s' if max(ndim) > 1 else ''}"
        wanted = "be a single number" if ndim == (0,) else counts
        raise InputError(f"{name} must {wanted}, got an array of shape {array.shape}")
    with np.errstate(over="ignore"):
        array = np.asarray(array, dtype=np.float64)
    check_finite(array, name)
    return array


def _numeric_columns(values: Any, name: str) -> Any:
    """The argument itself; raise if it is a data frame with a column of text, categories or dates."""
    dtypes = getattr(values, "dtypes", None)
    if dtypes is None or not hasattr(values, "columns") or not hasattr(values, "iloc"):
        return values
    for i, (column, kind) in enumerate(zip(values.columns, dtypes, strict=True)):
        if getattr(kind, "kind", "") not in tuple("biuf"):
            wrong = next((each for each in values.iloc[:, i] if not is_number(each)), None)
            if wrong is not None:
                raise InputError(
                    f"column {column!r} of {name} must be numbers, got {str(wrong)!r}; encode the column or "
                    f"leave it out: {name}.drop(columns={column!r})"
                )
    return values


def check_finite(array: NDArray[Any], name: str) -> None:
    """Raise `InputError` if an entry is NaN or infinite."""
    finite = np.isfinite(array)
    if not finite.all():
        bad = tuple(np.argwhere(~finite)[0].tolist())
        where = f" at {name}{list(bad)}; drop or fill such entries" if bad else ""
        raise InputError(f"{name} must be finite, got {array[bad]}{where}")


def as_number(value: Any, name: str) -> float:
    """Convert to a float; raise `InputError` if it is not a finite number."""
    return float(as_floats(value, name, ndim=(0,)))


def as_numeric(values: Any, name: str) -> NDArray[Any]:
    """Convert to a numeric array; raise for text, dates, complex numbers, masked entries and ragged rows."""
    values = _dense(values, name)
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


def _dense(values: Any, name: str) -> Any:
    """Make a SciPy sparse matrix dense; raise if that takes more than `_DENSE` bytes."""
    if not (hasattr(values, "nnz") and hasattr(values, "toarray")):
        return values
    size = 8 * float(np.prod(values.shape, dtype=np.float64))
    if size > _DENSE:
        shape = " × ".join(f"{each:,}" for each in values.shape)
        raise InputError(
            f"{name} is sparse, {shape}, and must be made dense, which would take {size / 1e9:,.1f} GB "
            f"(at most {_DENSE / 1e9:g} GB); keep fewer features"
        )
    return values.toarray()


def _what_is_not_a_number(values: Any) -> str:
    try:
        entries = np.asarray(values).ravel()
    except ValueError:
        return "rows of different lengths"
    if any(isinstance(entry, (list, tuple, np.ndarray)) for entry in entries):
        return "rows of different lengths"
    if entries.dtype.kind in "OUS":
        for entry in entries.tolist():
            if isinstance(entry, (str, bytes)) or not is_number(entry):
                return f"{entry!r}"[:60]
    return f"values of type {entries.dtype}"


def is_number(entry: Any) -> bool:
    """Tell whether `entry` is a number or text that represents one."""
    try:
        float(entry)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_problem(X: Any, y: Any) -> tuple[Float, Float]:
    """Return X as (N, d) and y as (N,); raise `InputError` if they are empty, not finite or do not match."""
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


def as_targets(y: Any, samples: int, outputs: int = 1) -> Float:
    """Return y as (samples, outputs); raise `InputError` if its shape differs or an entry is not finite."""
    given = as_floats(y, "y", ndim=(1, 2))
    targets = given[:, None] if given.ndim == 1 else given
    if targets.shape != (samples, outputs):
        wanted = "one number" if outputs == 1 else f"{outputs} numbers"
        raise InputError(
            f"y must have {wanted} for each of the {samples} samples of X, got shape {given.shape}"
        )
    return targets


def check_labelled(X: Any, y: Any) -> tuple[Float, Float]:
    """Check X and y as `check_problem` does, and convert two classes to labels −1 and +1."""
    X, y = check_problem(X, as_labels(y, "a maximum margin"))
    check_squares(X, y)
    for n in np.flatnonzero(np.abs(X).max(axis=1) < _SQUARED[0]):
        if X[n].any():
            raise InputError(
                f"the largest entry of sample {n} is {np.abs(X[n]).max():.0e}: a predictor with margin 1 "
                "would be so large that its square overflows; drop the sample or rescale it"
            )
    return X, y


def beyond_squares(X: Float, y: Float) -> str:
    """Describe why squares of the entries of X or y underflow or overflow; "" if they do not."""
    for name, array in (("X", X), ("y", y)):
        largest = float(np.abs(array).max(initial=0.0))
        if largest != 0 and not _SQUARED[0] <= largest <= _SQUARED[1]:
            column = int(np.abs(X).max(axis=0).argmax()) if X.ndim == 2 else 0
            where = f"X (column {column})" if name == "X" and X.ndim == 2 and largest > 1 else name
            return (
                f"the largest entry of {where} is {largest:.0e}, whose square is outside the range of "
                "double precision; use another unit"
            )
    return ""


def check_squares(X: Float, y: Float) -> None:
    """Raise if squares of the entries underflow or overflow: loss and kernel could not be computed."""
    if wrong := beyond_squares(X, y):
        raise InputError(wrong)


def as_labels(y: Any, who: str) -> Float:
    """Return y as labels −1 and +1, shape (N,): of two classes, the first in sorted order becomes −1.

    Classes are strings, booleans or whole numbers (0 → −1, 1 → +1); −1 and +1 are kept. Raises `InputError`
    if y does not have exactly two classes, or has other numbers. `who` is the part of the message that says
    what needs labels.
    """
    values = _as_classes(y)
    if values.dtype.kind == "f" and np.isin(values, (-1.0, 1.0)).all():
        return values  # a single label, too: the papers write x_n for y_n·x_n, so that all labels are +1
    names = np.unique(values)
    if values.dtype.kind == "f" and (values % 1).any():
        wrong = values[values % 1 != 0][0]
        raise InputError(f"{who} needs labels −1 and +1, or two classes; y contains {wrong:g}")
    if len(names) != 2:
        raise InputError(
            f"{who} needs labels −1 and +1, or two classes, but y has {_describe_classes(names)}"
        )
    return np.where(values == names[1], 1.0, -1.0)


def as_classes(y: Any, samples: int, classes: int) -> Float:
    """Return y in one-hot encoding, shape (samples, classes).

    Whole numbers from 0 to classes − 1 are class indices; other numbers and names are numbered in sorted
    order. One-hot rows are accepted unchanged.
    """
    if classes < 2:
        raise InputError(
            "cross-entropy needs one output per class, but the model has only one; use 'logistic'"
        )
    given = np.asarray(y)
    if given.shape == (samples, classes) and given.dtype.kind in "biuf":
        rows = given.astype(np.float64)
        if not (np.isin(rows, (0.0, 1.0)).all() and (rows.sum(axis=1) == 1).all()):
            raise InputError("y must have one class per sample, or one-hot rows (a single 1, otherwise 0)")
        return rows
    values = _as_classes(y)
    if len(values) != samples:
        raise InputError(f"y must have one class for each of the {samples} samples of X, got {len(values)}")
    if values.dtype.kind == "f" and (values % 1).any():
        raise InputError(f"classes in y must be whole numbers or names, got {values[values % 1 != 0][0]:g}")
    names, places = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f" and names[0] >= 0 and names[-1] < classes:
        places = values.astype(int)
    elif len(names) > classes:
        raise InputError(
            f"y has {len(names)} classes, but the model has {classes} outputs; it needs one per class"
        )
    return np.eye(classes)[places]


def class_names(y: Any) -> tuple[str, str] | None:
    """The classes that `as_labels` maps to −1 and +1; None if y already is −1 and +1, or is not binary."""
    try:
        as_labels(y, "y")
    except InputError:
        return None
    names = np.unique(values := _as_classes(y)).tolist()
    if values.dtype.kind == "f":
        return None if set(names) <= {-1.0, 1.0} else (f"{names[0]:g}", f"{names[1]:g}")
    return repr(names[0]), repr(names[1])


def _as_classes(y: Any) -> NDArray[Any]:
    """Return y as floats if all entries are numbers (or text that represents numbers), else as strings."""
    try:
        given = np.asarray(y)
    except ValueError:
        given = as_floats(y, "y", ndim=(1, 2))  # raises an InputError that says what is wrong
    is_text = given.dtype.kind in "UST" or (
        given.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in given.flat)
    )
    entries = given.ravel().tolist()
    if is_text and not all(isinstance(entry, str | bytes) and is_number(entry) for entry in entries):
        for n, entry in enumerate(entries):
            if entry is None or entry != entry or entry == "":
                raise InputError(f"y[{n}] is missing; drop such samples")
        values: NDArray[Any] = np.array([as_text(entry) for entry in entries])
    else:
        values = as_floats(given.astype(np.float64) if is_text else y, "y", ndim=(1, 2)).ravel()
    if given.ndim > 1 and given.shape[1:] != (1,):
        raise InputError(f"y must be one label per sample, shape (N,), got shape {given.shape}")
    return values


def as_text(entry: Any) -> str:
    """Return a class name as str; bytes are decoded."""
    return entry.decode(errors="replace") if isinstance(entry, bytes) else str(entry)


def _describe_classes(names: NDArray[Any]) -> str:
    """List the classes for an error message that requires two of them."""
    texts = [f"{name:g}" if isinstance(name, float) else shortened(repr(name), 24) for name in names.tolist()]
    shown = some(texts, 6)
    if len(texts) == 1:
        return f"only one class, {shown}"
    return f"{len(texts)} classes: {shown}; keep the samples of two classes, or merge all but one"


def kept(array: Float) -> Float:
    """Return a read-only copy, since results refer to it later; arrays over 64 MB are not copied."""
    frozen = not array.flags.writeable and array.base is None
    if frozen or array.nbytes > _COPIED:
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def check_tolerance(tol: Any) -> None:
    """Raise if the tolerance is not a number between 0 and 1."""
    if not 0 < float(as_floats(tol, "tol", ndim=(0,))) < 1:
        raise InputError(f"tol must lie between 0 and 1, got {tol!r}")


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Column names if X is a data frame, else None (`Entries.columns` are indices, not names)."""
    columns = getattr(X, "columns", None)
    return None if columns is None or isinstance(columns, np.ndarray) else tuple(map(str, columns))
