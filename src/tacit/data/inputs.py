"""Types of the data arguments of public functions."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike, NDArray

from tacit.data.entries import Entries


class Sparse(Protocol):
    """A SciPy sparse matrix, or another object with a `toarray` method."""

    def toarray(self) -> NDArray[Any]:
        """The matrix as a dense array."""
        ...


Inputs: TypeAlias = ArrayLike | Sparse | Entries  # X; also data frames and `Prepared`
