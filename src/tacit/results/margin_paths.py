"""The result of `tacit.margin_paths`: maximum-margin paths of many data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.status import Status
from tacit.errors import TacitError
from tacit.results.paths import MarginPath
from tacit.results.result import Labelled, Result

_NAMED = 5  # problems without a certified path that a message names


@dataclass(frozen=True, eq=False, repr=False)
class MarginPaths(Result):
    """The maximum-margin paths of B data sets; `paths[i]` is a `MarginPath`, and iterating yields all.

    Attributes
    ----------
    mu : (M,) array
        The values of μ, in the order of the argument.
    predictors : (B, M, d) array
        The predictors; NaN for problems without a path.
    duals : (B, M, N) array
        The multipliers.
    kkt, error : (B, M) array
        The certificates, as in `MarginPath`.
    converged : (B, M) array of bool
        Whether each point is certified, as in `MarginPath`.
    errors : dict
        For each problem that raised an error, its index and the error.
    seconds : float
        Computing time.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[[1, 2], [-2, -3]], [[2, 1], [-3, -2]]], [1, -1]
    >>> tacit.margin_paths(X, y, [1e3, 1e-9]).predictors.round(3).tolist()
    [[[0.2, 0.4], [0.0, 0.5]], [[0.4, 0.2], [0.5, 0.0]]]
    """

    mu: Float
    predictors: Float
    duals: Float
    kkt: Float
    error: Float
    converged: NDArray[np.bool_]
    errors: Mapping[int, TacitError]
    seconds: float
    _paths: Mapping[int, MarginPath] = field(repr=False)

    def __len__(self) -> int:
        return len(self.predictors)

    def __iter__(self) -> Iterator[MarginPath]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> MarginPath:
        """The path of problem `index`; raises its error if it has none."""
        place = range(len(self))[index]
        if place in self.errors:
            raise self.errors[place]
        return self._paths[place]

    @property
    def status(self) -> Status:
        """The outcome of the computation in one word."""
        return Status.REACHED if self.converged.all() else Status.STALLED

    @property
    def reason(self) -> str:
        """Which problems are not certified, and why; empty if all are."""
        failed = np.flatnonzero(~self.converged.all(axis=1)).tolist()
        if not failed:
            return ""
        reasons = {i: str(self.errors.get(i) or self._paths[i].reason) for i in failed[:_NAMED]}
        named = "; ".join(f"problem {i}: {reason}" for i, reason in reasons.items())
        more = f"; and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        return f"{len(failed):,} of {len(self):,} problems are not certified: {named}{more}"

    def _arrays(self) -> Labelled:
        return {
            "mu": (("mu",), self.mu),
            "predictors": (("problem", "mu", "feature"), self.predictors),
            "duals": (("problem", "mu", "sample"), self.duals),
            **{name: (("problem", "mu"), getattr(self, name)) for name in ("kkt", "error", "converged")},
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        errors = {str(place): str(error) for place, error in self.errors.items()}
        values = self._values("mu", "predictors", "duals", "kkt", "error", "converged", "status", "reason")
        return {**values, "errors": errors, "seconds": self.seconds}
