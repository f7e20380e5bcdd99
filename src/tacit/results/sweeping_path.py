"""The result of `tacit.sweeping_path`: gradient flow at infinite initialization scale, over μ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.results.along_mu import AlongMu, Kink
from tacit.results.delegation import delegate
from tacit.results.result import supports


@dataclass(frozen=True, eq=False, repr=False)
class SweepingPath(AlongMu):
    """Gradient flow on the exponential loss at infinite initialization scale, at each μ = α^D/γ̃.

    Attributes
    ----------
    mu : (M,) array
        The values of μ, in the order of the argument.
    predictors : (M, d) array
        w/γ̃, so that the smallest margin is 1.
    duals : (M, N) array
        ν ≥ 0, which do not decrease as μ decreases.
    support : (M, N) array of bool
        The samples with margin 1 whose multipliers still grow.
    converged : (M,) array of bool
        Where the process is known; elsewhere predictors and duals are NaN.
    events : list
        The samples whose margin becomes 1 or leaves 1, from large μ to small.
    down_to : float
        The smallest μ down to which the process was followed.
    depth : float
        D.
    seconds : float
        Computing time.
    X, y
        The data, y as −1 and +1.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> path = tacit.sweeping_path([[1, 2], [-2, -3]], [1, -1], [10, 0.01])
    >>> path.predictors.shape, path.support.tolist(), path.converged.all()
    ((2, 2), [[True, False], [True, False]], np.True_)
    """

    mu: Float
    predictors: Float
    duals: Float
    support: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    events: list[Kink]
    down_to: float
    depth: float
    seconds: float
    X: Float
    y: Float
    features: tuple[str, ...] | None = None

    _failure = "at which the support could not be found"

    def _details(self) -> list[str]:
        return [f"{len(self.events)} events"]

    @property
    def changes(self) -> list[Kink]:
        """The events: where the support changes."""
        return self.events

    def summary(self) -> str:
        """Describe the process in one line of text."""
        return str(delegate(self, "summary"))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            **self._values("mu", "predictors", "duals"),
            "support": supports(self.support),
            **self._values("converged", "status", "reason", "events", "down_to", "seconds"),
        }
