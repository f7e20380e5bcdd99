"""What a theorem is asked about: a model and its data, and what else follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.theorems.sharing import shared


@dataclass(frozen=True, eq=False)
class Case:
    """A model and data to train it on."""

    model: Any
    X: Any
    y: Float

    def supply(self, names: Iterable[str]) -> dict[str, Any]:
        """The arguments of a theorem, by name."""
        return {name: _FROM_THE_CASE[name](self) for name in names}


@shared
def _reached(case: Case) -> Float:
    """Where the flow ends, on data that nothing fits at least squares; 0 where no limit is known."""
    try:
        return np.ravel(tacit.limit(case.model, case.X, case.y, least_squares=True).predictor)
    except tacit.TacitError:
        return np.zeros(case.X.shape[1])


_FROM_THE_CASE: dict[str, Callable[[Case], Any]] = {
    "model": lambda case: case.model,
    "X": lambda case: case.X,
    "y": lambda case: case.y,
    "predictor": _reached,
    "samples": lambda case: len(case.X),
    "features": lambda case: case.X.shape[1],
}

DERIVED = {
    "predictor": "that at the end of the flow",
    "samples": "the number of rows",
    "features": "the number of columns",
}


def answers(names: Iterable[str]) -> bool:
    """Are these arguments of a theorem known of every case?"""
    return set(names) <= set(_FROM_THE_CASE)
