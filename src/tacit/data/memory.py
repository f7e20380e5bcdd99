"""What is known of a data set from earlier problems on it: equations, ends, and solutions at other scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tacit.data.arrays import Float

T = TypeVar("T")
_MOST = 64  # things of a kind that are kept
_CLOSE = 3.0  # in the logarithm of the scale, from where Newton's method starts
_APART = 0.01  # solutions nearer to each other say the same, and their rounding would be extrapolated


class Memory:
    """Keeps what was computed; forgets the oldest, and everything when it is copied or pickled."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.solved: dict[Any, dict[float, Float]] = {}

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What is made under this key, now or at an earlier time."""
        if key not in self.known:
            self.known[key] = make()
            if len(self.known) > _MOST:
                del self.known[next(iter(self.known))]
        found: T = self.known[key]
        return found

    def near(self, key: Any, level: float) -> list[tuple[float, Float]]:
        """The same problem's solutions at the nearest scales, nearest first.

        Up to four, which are not far from the level, and apart from each other.
        """
        solved, chosen = self.solved.get(key, {}), list[float]()
        for other in sorted(solved, key=lambda each: abs(each - level)):
            if abs(other - level) > _CLOSE or len(chosen) == 4:
                break
            if all(abs(other - each) >= _APART for each in chosen):
                chosen.append(other)
        return [(each, solved[each]) for each in chosen]

    def keep(self, key: Any, level: float, solution: Float) -> None:
        """Remember a solution."""
        levels = self.solved.setdefault(key, {})
        levels[level] = solution
        if len(levels) > _MOST:
            del levels[next(iter(levels))]


def name_of(*arrays: Any) -> tuple[Any, ...]:
    """Arrays and numbers as a key."""
    return tuple(np.asarray(each).tobytes() if np.ndim(each) else each for each in arrays)
