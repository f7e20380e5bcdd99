"""What users may give: types of the arguments of verbs."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike, NDArray

from tacit.data.entries import Entries


class Sparse(Protocol):
    """A sparse matrix of SciPy, or what can be made dense in the same way."""

    def toarray(self) -> NDArray[Any]:
        """All its entries."""
        ...


Inputs: TypeAlias = ArrayLike | Sparse | Entries  # X: also frames, and what `prepare` gives
