"""The flow of the exponential loss at infinite initialization scale, over μ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.results.along_mu import AlongMu
from tacit.results.delegation import ask
from tacit.results.kink import Kink
from tacit.results.result import Drawn, numbered

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, eq=False, repr=False)
class SweepingPath(AlongMu):
    """The infinite-scale flow at each μ = α^D/γ̃.

    Attributes
    ----------
    mu : (M,) array
        In the order asked for.
    predictors : (M, d) array
        w/γ̃, so that the smallest margin is 1.
    duals : (M, N) array
        θ ≥ 0, which only grow as μ falls.
    support : (M, N) array of bool
        The samples with margin 1 that still push.
    converged : (M,) array of bool
        Where all that is known; elsewhere predictors and duals are NaN.
    events : list
        Which samples come to have margin 1 and cease to, from large μ to small.
    down_to : float
        The μ to which the process was followed.
    depth : float
        D.
    seconds : float
        How long it took.
    X, y
        The data, y as −1 and +1.
    features : tuple of str, or None
        Names of columns, if they have any.
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

    _lost = "at which who pushes could not be found"

    def _more(self) -> list[str]:
        return [f"{len(self.events)} events"]

    def summary(self) -> str:
        """The process in a line."""
        return str(ask(self, "summary"))

    @property
    def changes(self) -> list[Kink]:
        """The events: where the support changes."""
        return self.events

    def picture(self, names: Sequence[str] | None = None) -> Drawn:
        """Directions against μ, and who has margin 1.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        drawn: Drawn = ask(self, "picture", numbered(names or self.features, self.predictors.shape[1]))
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "mu": self.mu.tolist(),
            "predictors": self.predictors.tolist(),
            "duals": self.duals.tolist(),
            "support": [np.flatnonzero(row).tolist() for row in self.support],
            "converged": self.converged.tolist(),
            "status": self.status.value,
            "reason": self.reason,
            "events": [{"mu": e.mu, "sample": e.sample, "enters": e.enters} for e in self.events],
            "down_to": self.down_to,
            "seconds": self.seconds,
        }
