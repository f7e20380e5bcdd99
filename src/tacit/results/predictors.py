"""Predictors at many instants, or the way to make them where they are too large to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Observation


@dataclass(frozen=True, eq=False)
class Predictors:
    """The predictors at T instants, made from the weights whenever one is asked for.

    It takes an index or a slice, as an array would: predictors[-1] is the last of them.
    """

    makers: list[Callable[[], Float]]
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of axes, that of the instants included."""
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


def predictors(seen: list[Observation]) -> Any:
    """Those of observations: one array, or what makes them."""
    makers = [each.predictor for each in seen if callable(each.predictor)]
    if len(makers) < len(seen):
        return np.array([each.predictor for each in seen])
    return Predictors(makers, (len(seen), *np.shape(makers[-1]())))
