"""Cache of results for one data set: equations, limiting solutions, and solutions at other scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tacit.data.arrays import Float

T = TypeVar("T")
_SIZE = 64  # entries kept of each kind
_CLOSE = 3.0  # largest distance in log scale at which a solution is a useful start for Newton's method
_DISTINCT = 0.01  # least distance of two starts: extrapolation from closer ones would amplify round-off


class Memory:
    """A cache that drops its oldest entries; copies and pickles of it are empty."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.solved: dict[Any, dict[float, Float]] = {}

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value for this key, calling `make` if it is not cached."""
        if key not in self.known:
            self.known[key] = make()
            if len(self.known) > _SIZE:
                del self.known[next(iter(self.known))]
        found: T = self.known[key]
        return found

    def near(self, key: Any, level: float) -> list[tuple[float, Float]]:
        """Up to four solutions of the same problem at distinct scales close to `level`, nearest first."""
        solved, chosen = self.solved.get(key, {}), list[float]()
        for other in sorted(solved, key=lambda each: abs(each - level)):
            if abs(other - level) > _CLOSE or len(chosen) == 4:
                break
            if all(abs(other - each) >= _DISTINCT for each in chosen):
                chosen.append(other)
        return [(each, solved[each]) for each in chosen]

    def keep(self, key: Any, level: float, solution: Float) -> None:
        """Store the solution at this level."""
        levels = self.solved.setdefault(key, {})
        levels[level] = solution
        if len(levels) > _SIZE:
            del levels[next(iter(levels))]


def name_of(*arrays: Any) -> tuple[Any, ...]:
    """A hashable key for arrays and numbers."""
    return tuple(np.asarray(each).tobytes() if np.ndim(each) else each for each in arrays)
