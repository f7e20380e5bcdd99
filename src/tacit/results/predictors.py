"""Predictors at all recorded times; predictors too large to keep are computed from the weights on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Predictors:
    """Predictors at T recorded times, computed from the weights on access.

    Indices and slices work as for an array: predictors[-1] is the last predictor.
    """

    makers: list[Callable[[], Float]]
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of axes, including that of the recorded times."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.makers)

    def __getitem__(self, which: Any) -> Float:
        if isinstance(which, int | np.integer):
            return np.asarray(self.makers[which]())
        if isinstance(which, tuple):
            return np.asarray(
                self[which[0]][which[1:] if np.ndim(which[0]) == 0 else (slice(None), *which[1:])]
            )
        return np.array([self.makers[i]() for i in np.arange(len(self))[which]])

    def __iter__(self) -> Iterator[Float]:
        return (np.asarray(make()) for make in self.makers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float:
        return np.array(list(self), dtype=dtype)


def predictors(observations: Sequence[Any]) -> Any:
    """The predictors of observations: an array, or `Predictors` if they are functions."""
    makers = [each.predictor for each in observations if callable(each.predictor)]
    if len(makers) < len(observations):
        return np.array([each.predictor for each in observations])
    return Predictors(makers, (len(observations), *np.shape(makers[-1]())))
