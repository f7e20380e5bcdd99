"""The path of maximum-margin predictors, over μ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.units import Units
from tacit.results.along_mu import AlongMu
from tacit.results.delegation import ask
from tacit.results.kink import Kink
from tacit.results.result import Drawn, Labelled, numbered
from tacit.results.sweeping_path import SweepingPath


@dataclass(frozen=True, eq=False, repr=False)
class MarginPath(AlongMu):
    """argmin Q_μ(w) subject to y_n x_n·w ≥ 1, for each μ.

    Attributes
    ----------
    mu : (M,) array
        In the order asked for.
    predictors : (M, d) array
        w at each μ.
    duals : (M, N) array
        ν ≥ 0 with ∇Q_μ(w) = Σ ν_n y_n x_n.
    kkt : (M,) array
        The largest residual of the optimality conditions at each point.
    error : (M,) array
        An estimate of the relative forward error of each predictor, conditioning included.
    support : (M, N) array of bool
        Which samples have a positive multiplier.
    converged : (M,) array of bool
        Where kkt is 1e-9 or less, error 1e-7 or less, and the solver settled.
    depth : float
        D of Q_μ.
    seconds : float
        How long it took.
    geometry : Potential
        The potential at μ = 1.
    X, y
        The data, y as −1 and +1.
    intercept : (M,) array
        b of y_n(x_n·w + b) ≥ 1 at each point, 0 where none was asked for.
    units : Units
        What the features were divided by, where they were standardized: Q_μ is that of scale·w.
    features : tuple of str, or None
        Names of columns, if they have any.
    """

    mu: Float
    predictors: Float
    duals: Float
    kkt: Float
    error: Float
    support: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    depth: float
    seconds: float
    geometry: Any = field(repr=False)
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    intercept: Float = field(repr=False)
    units: Units = field(repr=False)
    _margins: Any = field(repr=False)  # in these units
    features: tuple[str, ...] | None = field(default=None, repr=False)

    _lost = "whose support was not found, or which rounding decides"

    @cached_property
    def kinks(self) -> list[Kink]:
        """Where the support changes between the points of the path, from large μ to small."""
        found: list[Kink] = ask(self, "kinks")
        return found

    @property
    def changes(self) -> list[Kink]:
        """The kinks: where the support changes."""
        return self.kinks

    @cached_property
    def excess(self) -> tuple[Float, Float]:
        """‖w‖/‖w_end‖ − 1 at every μ: in the kernel's norm over the ℓ2 end, in the (weighted) ℓ1 norm over
        that end. With equal scales the kernel's norm is ℓ2.
        """
        found: tuple[Float, Float] = ask(self, "excess")
        return found

    def near(self, share: float = 0.05) -> tuple[float | None, float | None]:
        """μ down to which the ℓ2 norm is within this share of the least, and from which on the ℓ1 norm is.

        By interpolation in log μ between the points of the path.

        Parameters
        ----------
        share : float, optional
            How much larger than the least the norm may be, relative to it.

        Returns
        -------
        tuple of float or None
            Both μ; None where the path does not go that far.
        """
        order = np.argsort(-self.mu)
        logs = np.log(self.mu[order])
        kernel, rich = (each[order] for each in self.excess)
        return _crossing(logs, kernel, share), _crossing(logs[::-1], rich[::-1], share)

    def summary(self, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
        """The path in a few lines.

        Parameters
        ----------
        scale : float, optional
            Accuracies are those of a flow with μ = scale/accuracy.
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        str
            What `tacit path` prints.
        """
        return str(ask(self, "summary", scale, names or self.features))

    def picture(
        self,
        names: Sequence[str] | None = None,
        sweeping: SweepingPath | None = None,
        clock: str | None = None,
    ) -> Drawn:
        """Directions against μ, and who is in the support.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.
        sweeping : SweepingPath, optional
            The flow to compare it with.
        clock : str, optional
            What μ is for the flow, in symbols, on the axis.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        names = numbered(names or self.features, self.predictors.shape[1])
        drawn: Drawn = ask(self, "picture", names, sweeping=sweeping, clock=clock)
        return drawn

    def _arrays(self) -> Labelled:
        series = {name: (("mu",), getattr(self, name)) for name in ("mu", "kkt", "error", "intercept")}
        return series | super()._arrays()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "depth": self.depth,
            "mu": self.mu.tolist(),
            "predictors": self.predictors.tolist(),
            "intercept": self.intercept.tolist(),
            "scale": self.units.scale.tolist() if self.units.standardized else None,
            "duals": self.duals.tolist(),
            "support": [np.flatnonzero(row).tolist() for row in self.support],
            "kkt": self.kkt.tolist(),
            "error": self.error.tolist(),
            "converged": self.converged.tolist(),
            "status": self.status.value,
            "reason": self.reason,
            "kinks": [{"mu": k.mu, "sample": k.sample, "enters": k.enters} for k in self.kinks],
            "seconds": self.seconds,
        }


def _crossing(logs: Float, excess: Float, share: float) -> float | None:
    """Where the excess, small at first, comes to exceed the share; None if it starts or stays on one side."""
    beyond = np.flatnonzero(excess > share)
    if not len(beyond) or beyond[0] == 0:
        return None
    i = beyond[0]
    low, high = (math.log(max(e, 1e-300)) for e in (excess[i - 1], excess[i]))
    part = (math.log(share) - low) / (high - low) if high > low else 1.0
    return math.exp(logs[i - 1] + max(part, 0.0) * (logs[i] - logs[i - 1]))
