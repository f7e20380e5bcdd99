"""Paths over μ: what `MarginPath` and `SweepingPath` share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.number_format import shown
from tacit.data.status import Status
from tacit.results.result import Labelled, Pictured


@dataclass(frozen=True)
class Kink:
    """A sample that enters or leaves the support as μ decreases through this value."""

    mu: float
    sample: int
    enters: bool


class AlongMu(Pictured):
    """A path over μ, with one row of every array for each μ.

    `_failure` completes the sentence "3 of 50 values of μ …" for points that are not certified.
    """

    mu: Float
    predictors: Float
    duals: Float
    support: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    depth: float
    _failure = ""

    def __repr__(self) -> str:
        failed = int((~self.converged).sum())
        ends = f"μ {self.mu.max():.4g} to {self.mu.min():.4g}"
        state = f"{failed} NOT converged" if failed else "converged"
        parts = [f"depth {shown(self.depth)}", f"{len(self.mu)} points", ends, *self._details(), state]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _details(self) -> list[str]:
        """Further entries of the representation."""
        return []

    @property
    def status(self) -> Status:
        """How the computation ended, in one word."""
        return Status.REACHED if self.converged.all() else Status.STALLED

    @property
    def reason(self) -> str:
        """Why some points are not certified; empty if all are."""
        failed = int((~self.converged).sum())
        return f"{failed} of {len(self.mu)} values of μ {self._failure}" if failed else ""

    def _arrays(self) -> Labelled:
        return {
            "mu": (("mu",), self.mu),
            "converged": (("mu",), self.converged),
            "predictors": (("mu", "feature"), self.predictors),
            "duals": (("mu", "sample"), self.duals),
            "support": (("mu", "sample"), self.support),
        }
