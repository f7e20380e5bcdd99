"""What a path of predictors over μ tells of itself, however it was found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.number_format import shown
from tacit.data.status import Status
from tacit.results.result import Labelled, Result


class AlongMu(Result):
    """A path: one row of every array for each μ. `_lost`: what is true of those that are not vouched for."""

    mu: Float
    predictors: Float
    duals: Float
    support: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    depth: float
    _lost = ""

    def __repr__(self) -> str:
        lost = int((~self.converged).sum())
        ends = f"μ {self.mu.max():.4g} to {self.mu.min():.4g}"
        parts = [f"depth {shown(self.depth)}", f"{len(self.mu)} points", ends, *self._more()]
        return (
            f"{type(self).__name__}({', '.join([*parts, f'{lost} NOT converged' if lost else 'converged'])})"
        )

    def _more(self) -> list[str]:
        """What else the representation names."""
        return []

    @property
    def status(self) -> Status:
        """How it ended, in a word."""
        return Status.REACHED if self.converged.all() else Status.STALLED

    @property
    def reason(self) -> str:
        """Why not all of it is vouched for; empty if it is."""
        lost = int((~self.converged).sum())
        return f"{lost} of {len(self.mu)} values of μ {self._lost}" if lost else ""

    def _arrays(self) -> Labelled:
        return {
            "mu": (("mu",), self.mu),
            "converged": (("mu",), self.converged),
            "predictors": (("mu", "feature"), self.predictors),
            "duals": (("mu", "sample"), self.duals),
            "support": (("mu", "sample"), self.support),
        }
