"""A partly observed matrix as measurements of its entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, Index, is_number
from tacit.data.entries import Entries
from tacit.data.inputs import Sparse
from tacit.data.printable import short_name, shortened
from tacit.errors import InconsistentDataError, InputError


def observed(matrix: ArrayLike | Sparse) -> tuple[Entries, Float]:
    """X, y of matrix completion: X measures the entries of the matrix that are known, and y is what they are.

    Parameters
    ----------
    matrix : (d₁, d₂) array-like
        An array or a pandas DataFrame with NaN (or a mask) for what is missing, or a SciPy sparse matrix,
        whose stored entries are the known ones, zeros among them.

    Returns
    -------
    X : Entries
        Stands wherever a stack of measurements for a `Factorization` does, and takes the memory of its places
        alone.
    y : (N,) array
        The known entries.

    Raises
    ------
    InputError
        Where nothing is observed, or a row or column has no observed entry: a factorization has nothing to
        learn it from, and leaves it as it starts.
    InconsistentDataError
        Where a sparse matrix stores an entry twice, with different values.

    Examples
    --------
    >>> import tacit
    >>> X, y = tacit.observed([[1, 2], [2, float("nan")]])
    >>> y.tolist()
    [1.0, 2.0, 2.0]
    """
    if hasattr(matrix, "nnz") and hasattr(matrix, "tocoo"):
        rows, columns, y, shape = _stored(matrix)
    else:
        values = _with_gaps(matrix)
        rows, columns = np.nonzero(~np.isnan(values))
        y, shape = values[rows, columns], values.shape
    if not np.isfinite(y).all():
        n = int(np.argmin(np.isfinite(y)))
        what = "is infinite" if np.isinf(y[n]) else "is stored as NaN; leave it out"
        raise InputError(f"the entry ({rows[n]}, {columns[n]}) of the matrix {what}")
    _check_seen(rows, columns, (int(shape[0]), int(shape[1])), matrix)
    return Entries(rows, columns, (int(shape[0]), int(shape[1]))), y


def _with_gaps(matrix: Any) -> Float:
    """The matrix as floats, NaN where an entry is missing."""
    masked = isinstance(matrix, np.ma.MaskedArray)
    try:
        values = np.ma.filled(matrix.astype(float), np.nan) if masked else _floats(matrix)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the matrix must hold numbers, got {_first_word(matrix)}") from None
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"the matrix must have two dimensions, rows and columns, got shape {values.shape}")
    return values


def _floats(matrix: Any) -> Float:
    if hasattr(matrix, "to_numpy") and hasattr(matrix, "columns"):
        return np.asarray(matrix.to_numpy(dtype=float, na_value=np.nan))
    array = np.asarray(matrix)
    if array.dtype.kind == "O":
        entries = [np.nan if entry is None else entry for entry in array.ravel().tolist()]
        array = np.array(entries, dtype=float).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise ValueError
    return np.asarray(array, dtype=float)


def _first_word(matrix: Any) -> str:
    entries = np.asarray(matrix, dtype=object).ravel().tolist()
    wrong = next((entry for entry in entries if isinstance(entry, str) or not is_number(entry)), None)
    return shortened(repr(wrong), 60) if wrong is not None else f"a {type(matrix).__name__}"


def _stored(matrix: Any) -> tuple[Index, Index, Float, tuple[int, ...]]:
    """The stored entries of a sparse matrix; one that is stored twice with the same value counts once."""
    found = matrix.tocoo()
    if len(found.shape) != 2 or 0 in found.shape:
        raise InputError(f"the matrix must have two dimensions, rows and columns, got shape {found.shape}")
    if found.data.dtype.kind not in "biuf":
        raise InputError(f"the matrix must hold numbers, got values of type {found.data.dtype}")
    rows, columns, y = found.row.astype(np.intp), found.col.astype(np.intp), found.data.astype(float)
    order = np.lexsort((y, columns, rows))
    rows, columns, y = rows[order], columns[order], y[order]
    again = (np.diff(rows) == 0) & (np.diff(columns) == 0)
    if (again & (np.diff(y) != 0)).any():
        n = int((again & (np.diff(y) != 0)).argmax())
        raise InconsistentDataError(
            f"the entry ({rows[n]}, {columns[n]}) is stored as {y[n]:g} and as {y[n + 1]:g}; keep one "
            "(matrix.sum_duplicates() adds them up)"
        )
    first = np.append(True, ~again)[: len(y)]
    return rows[first], columns[first], y[first], found.shape


def _check_seen(rows: Index, columns: Index, shape: tuple[int, int], matrix: Any) -> None:
    """Something must be known of every row and column."""
    if len(rows) == 0:
        raise InputError("no entry of the matrix is observed: every one is missing")
    names = (getattr(matrix, "index", None), getattr(matrix, "columns", None))
    for what, seen, size, labels in zip(("row", "column"), (rows, columns), shape, names, strict=True):
        missing = np.flatnonzero(np.bincount(seen, minlength=size) == 0)
        if len(missing):
            name = str(missing[0]) if labels is None or callable(labels) else repr(labels[missing[0]])
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise InputError(
                f"{what} {short_name(name, 60)}{more} has no observed entry and nothing to learn it "
                "from; drop it"
            )
