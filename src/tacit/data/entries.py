"""Measurements of single entries of a matrix, as in completion, without a matrix for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DENSE = 1 << 27  # numbers, 1 GiB of them
_BLOCK = 1 << 22  # numbers that are multiplied at once
_SHARE = 1 / 16  # of all entries, from which on it is faster to multiply whole matrices


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """X₁, …, X_N with ⟨Xₙ, M⟩ = M[rowsₙ, columnsₙ]: single entries of a matrix of the given shape, each once.

    It stands where a stack of N matrices would, and takes the memory of its N places. `tacit.observed` makes
    it of a matrix of which some entries are missing.
    """

    rows: Index
    columns: Index
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        d1, d2 = _as_shape(self.shape)
        rows, columns = (_as_places(each, n) for each, n in ((self.rows, "rows"), (self.columns, "columns")))
        if len(rows) != len(columns):
            raise InputError(
                f"rows and columns must name one place each: got {len(rows)} rows and {len(columns)} columns"
            )
        for name, places, most in (("rows", rows, d1), ("columns", columns, d2)):
            outside = (places < 0) | (places >= most)
            if outside.any():
                raise InputError(
                    f"{name}[{int(outside.argmax())}] is {places[outside][0]}, outside of a {d1}×{d2} matrix"
                )
        flat = rows * d2 + columns
        if len(np.unique(flat)) < len(flat):
            order = np.argsort(flat, kind="stable")
            again = order[1:][np.diff(flat[order]) == 0][0]
            raise InputError(
                f"the entry ({rows[again]}, {columns[again]}) is measured twice; name each entry once"
            )
        for name, value in (("rows", rows), ("columns", columns), ("shape", (d1, d2))):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Entries(<{len(self):,} of {self.shape[0]}×{self.shape[1]}>)"

    def __abs__(self) -> Entries:
        """Measurements with the absolute values of these: the same."""
        return self

    @property
    def size(self) -> int:
        """How many numbers the measurements hold that are not 0."""
        return len(self)

    def forward(self, matrix: Any) -> Float:
        """⟨Xₙ, M⟩, (N,); over leading axes."""
        return np.asarray(matrix)[..., self.rows, self.columns]

    def products(self, U: Float, V: Float) -> Float:
        """⟨Xₙ, U Vᵀ⟩, (N,): in blocks without U Vᵀ, or from it where most of it is asked for."""
        if self._dense_pays:
            return self.forward(U @ V.T)
        block = max(_BLOCK // max(U.shape[1], 1), 1)
        parts = [slice(begin, begin + block) for begin in range(0, len(self), block)]
        each = [np.einsum("nk,nk->n", U[self.rows[part]], V[self.columns[part]]) for part in parts]
        return np.concatenate(each) if each else np.zeros(0)

    @property
    def _dense_pays(self) -> bool:
        """Is the matrix small, and most of it asked for?"""
        entries = self.shape[0] * self.shape[1]
        return _SHARE * entries <= len(self) and entries <= _BLOCK

    def adjoint(self, nu: Any) -> csr_array | Float:
        """Σ νₙ Xₙ, to be multiplied with: a sparse matrix, or an array where that is faster."""
        if self._dense_pays:
            return self.matrix(np.asarray(nu, dtype=float))
        from scipy.sparse import csr_array

        order, columns, begins = self._compressed
        return csr_array((np.asarray(nu, dtype=float)[order], columns, begins), shape=self.shape)

    def matrix(self, nu: Float) -> Float:
        """Σ νₙ Xₙ as an array; over leading axes."""
        found = np.zeros((*nu.shape[:-1], *self.shape))
        found[..., self.rows, self.columns] = nu
        return found

    def dense(self) -> Float:
        """The N matrices, (N, d₁, d₂); `InputError` where they are more than a gigabyte."""
        if len(self) * self.shape[0] * self.shape[1] > _DENSE:
            raise InputError(
                f"{self!r} as a stack of matrices would take "
                f"{8e-9 * len(self) * self.shape[0] * self.shape[1]:,.1f} GB"
            )
        return self.matrix(np.eye(len(self)))

    @cached_property
    def _compressed(self) -> tuple[Index, Index, Index]:
        """The order of the places by rows, their columns in that order, and where each row begins."""
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


def _as_places(values: Any, name: str) -> Index:
    """A copy of whole numbers that nobody can change."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a list of whole numbers, got {values!r}"[:200])
    places = array.astype(np.intp)
    places.flags.writeable = False
    return places
