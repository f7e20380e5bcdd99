"""Measurements of single matrix entries, as in matrix completion, stored by row and column index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.errors import InputError

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
        d1, d2 = _as_shape(self.shape)
        rows, columns = (_as_indices(each, n) for each, n in ((self.rows, "rows"), (self.columns, "columns")))
        if len(rows) != len(columns):
            raise InputError(
                f"rows and columns must have the same length, got {len(rows)} rows and {len(columns)} columns"
            )
        for name, places, most in (("rows", rows, d1), ("columns", columns, d2)):
            outside = (places < 0) | (places >= most)
            if outside.any():
                raise InputError(
                    f"{name}[{int(outside.argmax())}] is {places[outside][0]}, outside the {d1}×{d2} matrix"
                )
        flat = rows * d2 + columns
        if len(np.unique(flat)) < len(flat):
            order = np.argsort(flat, kind="stable")
            again = order[1:][np.diff(flat[order]) == 0][0]
            raise InputError(
                f"entry ({rows[again]}, {columns[again]}) is measured twice; list each entry once"
            )
        for name, value in (("rows", rows), ("columns", columns), ("shape", (d1, d2))):
            object.__setattr__(self, name, value)

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
        """Is the matrix small enough, and enough of it observed, for dense products to be faster?"""
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


def _as_indices(values: Any, name: str) -> Index:
    """Return a read-only copy as an integer array; raise if an entry is not a whole number."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a list of whole numbers, got {values!r}"[:200])
    places = array.astype(np.intp)
    places.flags.writeable = False
    return places
