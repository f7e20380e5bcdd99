"""Measurements of single matrix entries, as in matrix completion, and the types of all data arguments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.arrays import Float, Index, is_number
from tacit.data.printable import short_name, shortened
from tacit.errors import InconsistentDataError, InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_DENSE = 1 << 27  # floats (1 GiB): the largest dense stack of measurements
_BLOCK = 1 << 22  # floats multiplied at once, to bound memory
_SHARE = 1 / 16  # observed share of the entries above which multiplying whole matrices is faster


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Measurements X₁, …, X_N with ⟨Xₙ, M⟩ = M[rowsₙ, columnsₙ], of distinct entries of a matrix.

    Can be used in place of an (N, d₁, d₂) array of measurement matrices, but stores only the indices.
    `tacit.observed` makes it from a matrix with missing entries.
    """

    rows: Index
    columns: Index
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        shape = _as_shape(self.shape)
        rows = _as_indices(self.rows, "rows", shape[0], shape)
        columns = _as_indices(self.columns, "columns", shape[1], shape)
        if len(rows) != len(columns):
            raise InputError(
                f"rows and columns must have the same length, got {len(rows)} rows and {len(columns)} columns"
            )
        places, counts = np.unique(rows * shape[1] + columns, return_counts=True)
        if (counts > 1).any():
            row, column = divmod(places[counts > 1][0], shape[1])
            raise InputError(f"entry ({row}, {column}) is measured twice; list each entry once")
        self.__dict__.update(rows=rows, columns=columns, shape=shape)  # in place of those that were given

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Entries(<{len(self):,} of {self.shape[0]}×{self.shape[1]}>)"

    def __abs__(self) -> Entries:
        """The measurements with |Xₙ|, which are the same, since all entries are 0 or 1."""
        return self

    @property
    def size(self) -> int:
        """Number of nonzero entries of all measurements."""
        return len(self)

    def forward(self, matrix: Any) -> Float:
        """⟨Xₙ, M⟩, shape (…, N) for a matrix of shape (…, d₁, d₂)."""
        return np.asarray(matrix)[..., self.rows, self.columns]

    def products(self, U: Float, V: Float) -> Float:
        """⟨Xₙ, U Vᵀ⟩, shape (N,); U Vᵀ is formed only if that is faster."""
        if self._dense_pays:
            return self.forward(U @ V.T)
        block = max(_BLOCK // max(U.shape[1], 1), 1)
        parts = [slice(begin, begin + block) for begin in range(0, len(self), block)]
        each = [np.einsum("nk,nk->n", U[self.rows[part]], V[self.columns[part]]) for part in parts]
        return np.concatenate(each) if each else np.zeros(0)

    @property
    def _dense_pays(self) -> bool:
        """Whether the matrix is so small, and so much of it observed, that dense products are faster."""
        entries = self.shape[0] * self.shape[1]
        return _SHARE * entries <= len(self) and entries <= _BLOCK

    def adjoint(self, nu: Any) -> csr_array | Float:
        """Σ νₙ Xₙ for use in products: a sparse matrix, or an array if that is faster."""
        if self._dense_pays:
            return self.matrix(np.asarray(nu, dtype=float))
        from scipy.sparse import csr_array

        order, columns, begins = self._compressed
        return csr_array((np.asarray(nu, dtype=float)[order], columns, begins), shape=self.shape)

    def matrix(self, nu: Float) -> Float:
        """Σ νₙ Xₙ as an array, shape (…, d₁, d₂) for ν of shape (…, N)."""
        found = np.zeros((*nu.shape[:-1], *self.shape))
        found[..., self.rows, self.columns] = nu
        return found

    def dense(self) -> Float:
        """The measurement matrices as an array (N, d₁, d₂); raises `InputError` above one gigabyte."""
        if len(self) * self.shape[0] * self.shape[1] > _DENSE:
            raise InputError(
                f"{self!r} as a dense stack of matrices would take "
                f"{8e-9 * len(self) * self.shape[0] * self.shape[1]:,.1f} GB"
            )
        return self.matrix(np.eye(len(self)))

    @cached_property
    def _compressed(self) -> tuple[Index, Index, Index]:
        """Compressed row format: the sorting order, the sorted column indices, and the start of each row."""
        order = np.lexsort((self.columns, self.rows))
        begins = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.shape[0]))])
        return order, self.columns[order], begins


def _as_shape(shape: Any) -> tuple[int, int]:
    try:
        d1, d2 = (int(each) for each in shape)
    except (TypeError, ValueError):
        raise InputError(f"shape must be two whole numbers, (d1, d2), got {shape!r}") from None
    if d1 < 1 or d2 < 1:
        raise InputError(f"shape must be two positive numbers, got {shape!r}")
    return d1, d2


def _as_indices(values: Any, name: str, most: int, shape: tuple[int, int]) -> Index:
    """Return a read-only integer array; raise unless the values are whole numbers below `most`."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a list of whole numbers, got {values!r}"[:200])
    places = array.astype(np.intp)
    outside = (places < 0) | (places >= most)
    if outside.any():
        where = f"{name}[{int(outside.argmax())}]"
        raise InputError(f"{where} is {places[outside][0]}, outside the {shape[0]}×{shape[1]} matrix")
    places.flags.writeable = False
    return places


class Sparse(Protocol):
    """A SciPy sparse matrix, or another object with a `toarray` method."""

    def toarray(self) -> NDArray[Any]:
        """The matrix as a dense array."""
        ...


Inputs: TypeAlias = ArrayLike | Sparse | Entries  # X; also data frames and `Prepared`


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
