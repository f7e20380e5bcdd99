"""What comes in: X and y, checked once at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.printable import shortened
from tacit.errors import InputError
from tacit.numerics.rounding import Float as Float
from tacit.numerics.rounding import Index as Index

_COPIED = 1 << 26  # bytes
_DENSE = 2e9  # bytes
_SQUARED = (1e-140, 1e140)  # numbers whose squares, and sums of many of them, are floats


def as_floats(values: Any, name: str, *, ndim: tuple[int, ...]) -> Float:
    """`values` as a float64 array of one of the given dimensions, all finite; `InputError` otherwise.

    Anything that NumPy takes, SciPy's sparse matrices too: these are made dense. float32 (JAX's default) and
    integers become float64, in which everything is computed; digits that they do not have stay unknown.
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
    """A SciPy sparse matrix as an array, where that takes no more than 2 GB."""
    if not (hasattr(values, "nnz") and hasattr(values, "toarray")):
        return values
    size = 8 * float(np.prod(values.shape, dtype=np.float64))
    if size > _DENSE:
        shape = " × ".join(f"{each:,}" for each in values.shape)
        raise InputError(
            f"{name} is sparse, {shape}, and would take {size / 1e9:,.1f} GB as the dense array "
            f"that is needed (at most {_DENSE / 1e9:g} GB); keep fewer features"
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
    """Is it a number, or the text of one?"""
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


def as_targets(y: Any, samples: int, outputs: int = 1) -> Float:
    """y as (samples, outputs), finite; `InputError` names what is wrong."""
    given = as_floats(y, "y", ndim=(1, 2))
    targets = given[:, None] if given.ndim == 1 else given
    if targets.shape != (samples, outputs):
        wanted = "one number" if outputs == 1 else f"{outputs} numbers"
        raise InputError(
            f"y must hold {wanted} for each of the {samples} samples of X, got shape {given.shape}"
        )
    return targets


def check_labelled(X: Any, y: Any) -> tuple[Float, Float]:
    """X and y as `check_problem` does, with two classes as labels −1 and +1 (see `as_labels`)."""
    X, y = check_problem(X, as_labels(y, "a maximum margin"))
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


def as_labels(y: Any, who: str) -> Float:
    """y as labels −1 and +1, (N,): of any two classes, the first in sorted order is −1 and the other +1.

    Classes are words, truths or whole numbers (0 → −1, 1 → +1); −1 and +1 stay what they are. `InputError`
    where y holds more of them, or fewer, or other numbers; who: what needs labels.
    """
    values = _as_classes(y)
    if values.dtype.kind == "f" and np.isin(values, (-1.0, 1.0)).all():
        return values
    names = np.unique(values)
    if values.dtype.kind == "f" and (values % 1).any():
        wrong = values[values % 1 != 0][0]
        raise InputError(f"{who} needs labels −1 and +1, or two classes by name, got {wrong:g} in y")
    if len(names) != 2:
        raise InputError(f"{who} needs labels −1 and +1, or two classes, and y has {_counted(names)}")
    return np.where(values == names[1], 1.0, -1.0)


def as_classes(y: Any, samples: int, classes: int) -> Float:
    """y as rows of 0 with a 1 in the place of the class, (samples, classes).

    Whole numbers from 0 to classes − 1 are the places; other numbers and names have them in their order.
    Rows of that kind are taken as they are.
    """
    if classes < 2:
        raise InputError("the cross-entropy takes an output for each class, and there is one: use 'logistic'")
    given = np.asarray(y)
    if given.shape == (samples, classes) and given.dtype.kind in "biuf":
        rows = given.astype(np.float64)
        if not (np.isin(rows, (0.0, 1.0)).all() and (rows.sum(axis=1) == 1).all()):
            raise InputError("y must hold one class for each sample, or rows of 0 with a single 1")
        return rows
    values = _as_classes(y)
    if len(values) != samples:
        raise InputError(f"y must hold one class for each of the {samples} samples of X, got {len(values)}")
    if values.dtype.kind == "f" and (values % 1).any():
        raise InputError(f"y must hold classes, whole numbers or names, got {values[values % 1 != 0][0]:g}")
    names, places = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f" and names[0] >= 0 and names[-1] < classes:
        places = values.astype(int)
    elif len(names) > classes:
        raise InputError(f"y has {len(names)} classes and the model {classes} outputs; it needs one for each")
    return np.eye(classes)[places]


def class_names(y: Any) -> tuple[str, str] | None:
    """The classes that `as_labels` makes −1 and +1; None where y holds these already, or other targets."""
    try:
        as_labels(y, "y")
    except InputError:
        return None
    names = np.unique(values := _as_classes(y)).tolist()
    if values.dtype.kind == "f":
        return None if set(names) <= {-1.0, 1.0} else (f"{names[0]:g}", f"{names[1]:g}")
    return repr(names[0]), repr(names[1])


def _as_classes(y: Any) -> NDArray[Any]:
    """y as floats where it holds numbers or their texts, as words otherwise; none may be missing."""
    try:
        given = np.asarray(y)
    except ValueError:
        given = as_floats(y, "y", ndim=(1, 2))  # which says what is wrong
    words = given.dtype.kind in "UST" or (
        given.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in given.flat)
    )
    entries = given.ravel().tolist()
    if words and not all(isinstance(entry, str | bytes) and is_number(entry) for entry in entries):
        for n, entry in enumerate(entries):
            if entry is None or entry != entry or entry == "":
                raise InputError(f"y[{n}] is missing; drop such samples")
        values: NDArray[Any] = np.array([as_text(entry) for entry in entries])
    else:
        values = as_floats(given.astype(np.float64) if words else y, "y", ndim=(1, 2)).ravel()
    if given.ndim > 1 and given.shape[1:] != (1,):
        raise InputError(f"y must be one label per sample, shape (N,), got shape {given.shape}")
    return values


def as_text(entry: Any) -> str:
    """A class by its name."""
    return entry.decode(errors="replace") if isinstance(entry, bytes) else str(entry)


def _counted(names: NDArray[Any]) -> str:
    """The classes, and what to do about it."""
    words = [f"{name:g}" if isinstance(name, float) else shortened(repr(name), 24) for name in names.tolist()]
    shown = ", ".join(words[:6]) + (", …" if len(words) > 6 else "")
    if len(words) == 1:
        return f"one class only, {shown}"
    return f"{len(words)} classes: {shown}; keep the samples of two of them, or set one against all others"


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


def feature_names(X: Any) -> tuple[str, ...] | None:
    """The names of the features, where X is a table that has some; those of `Entries` are places."""
    columns = getattr(X, "columns", None)
    return None if columns is None or isinstance(columns, np.ndarray) else tuple(map(str, columns))
