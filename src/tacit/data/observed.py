"""Conversion of a partly observed matrix to measurements of its entries."""

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
    """Return X, y for matrix completion: X measures the known entries of the matrix, and y has their values.

    Parameters
    ----------
    matrix : (d₁, d₂) array-like
        An array or pandas DataFrame in which missing entries are NaN or masked, or a SciPy sparse matrix,
        whose stored entries (including stored zeros) are the known ones.

    Returns
    -------
    X : Entries
        Can be used in place of the (N, d₁, d₂) measurements of a `Factorization`, but stores only indices.
    y : (N,) array
        The known entries.

    Raises
    ------
    InputError
        If a row or column has no observed entry: gradient flow could not learn it and would leave it at its
        initial value.
    InconsistentDataError
        If a sparse matrix stores an entry twice with different values.

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
        what = "is infinite" if np.isinf(y[n]) else "is stored as NaN; remove it"
        raise InputError(f"entry ({rows[n]}, {columns[n]}) of the matrix {what}")
    _check_observed(rows, columns, (int(shape[0]), int(shape[1])), matrix)
    return Entries(rows, columns, (int(shape[0]), int(shape[1]))), y


def _with_gaps(matrix: Any) -> Float:
    """Convert to floats, with NaN for missing entries."""
    masked = isinstance(matrix, np.ma.MaskedArray)
    try:
        values = np.ma.filled(matrix.astype(float), np.nan) if masked else _floats(matrix)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the matrix must hold numbers, got {_first_non_number(matrix)}") from None
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


def _first_non_number(matrix: Any) -> str:
    entries = np.asarray(matrix, dtype=object).ravel().tolist()
    wrong = next((entry for entry in entries if isinstance(entry, str) or not is_number(entry)), None)
    return shortened(repr(wrong), 60) if wrong is not None else f"a {type(matrix).__name__}"


def _stored(matrix: Any) -> tuple[Index, Index, Float, tuple[int, ...]]:
    """The stored entries of a sparse matrix, without repetitions; raise if repeated values differ."""
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
            f"entry ({rows[n]}, {columns[n]}) is stored as both {y[n]:g} and {y[n + 1]:g}; keep one of them "
            "(matrix.sum_duplicates() adds them)"
        )
    first = np.append(True, ~again)[: len(y)]
    return rows[first], columns[first], y[first], found.shape


def _check_observed(rows: Index, columns: Index, shape: tuple[int, int], matrix: Any) -> None:
    """Raise if a row or column has no observed entry."""
    if len(rows) == 0:
        raise InputError("the matrix has no observed entries: all are missing")
    names = (getattr(matrix, "index", None), getattr(matrix, "columns", None))
    for what, seen, size, labels in zip(("row", "column"), (rows, columns), shape, names, strict=True):
        missing = np.flatnonzero(np.bincount(seen, minlength=size) == 0)
        if len(missing):
            name = str(missing[0]) if labels is None or callable(labels) else repr(labels[missing[0]])
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise InputError(
                f"{what} {short_name(name, 60)}{more} has no observed entry, so it cannot be learned; drop it"
            )
