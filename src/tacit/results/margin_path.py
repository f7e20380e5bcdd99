"""The result of `tacit.margin_path`: maximum-margin predictors over μ."""

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
from tacit.results.along_mu import AlongMu, Kink
from tacit.results.delegation import delegate
from tacit.results.result import Drawn, Labelled, supports
from tacit.results.sweeping_path import SweepingPath


@dataclass(frozen=True, eq=False, repr=False)
class MarginPath(AlongMu):
    """argmin Q_μ(w) subject to y_n x_n·w ≥ 1, for each μ.

    Attributes
    ----------
    mu : (M,) array
        The values of μ, in the order of the argument.
    predictors : (M, d) array
        w at each μ.
    duals : (M, N) array
        ν ≥ 0 with ∇Q_μ(w) = Σ ν_n y_n x_n.
    kkt : (M,) array
        The largest relative residual of the optimality conditions at each point.
    error : (M,) array
        An estimate of the relative forward error of each predictor, conditioning included.
    support : (M, N) array of bool
        Which samples have a positive multiplier.
    converged : (M,) array of bool
        Whether kkt is at most 1e-9, error at most 1e-7, and the solver settled.
    depth : float
        D of Q_μ.
    seconds : float
        Computing time.
    geometry : Potential
        The potential at μ = 1.
    X, y
        The data, y as −1 and +1.
    intercept : (M,) array
        b of y_n(x_n·w + b) ≥ 1 at each point; 0 without an intercept.
    units : Units
        The standard deviations by which the features were divided, and the means that were subtracted: Q_μ is
        that of scale·w.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> path = tacit.margin_path([[1, 2], [-2, -3]], [1, -1], [1e3, 1, 1e-9])
    >>> path.predictors.round(3)[[0, -1]].tolist(), path.kinks
    ([[0.2, 0.4], [0.0, 0.5]], [])
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
    _margins: Any = field(repr=False)  # the constraints, in these units
    features: tuple[str, ...] | None = field(default=None, repr=False)

    _failure = "whose support was not found, or depends on round-off"

    @cached_property
    def kinks(self) -> list[Kink]:
        """Where the support changes between the points of the path, from large μ to small."""
        found: list[Kink] = delegate(self, "kinks")
        return found

    @property
    def changes(self) -> list[Kink]:
        """The kinks: where the support changes."""
        return self.kinks

    @cached_property
    def excess(self) -> tuple[Float, Float]:
        """‖w‖/‖w_end‖ − 1 at every μ, for the kernel end and for the rich end.

        The first is in the norm of the kernel end (ℓ2 if all scales are equal), the second in the (weighted)
        ℓ1 norm of the rich end.
        """
        found: tuple[Float, Float] = delegate(self, "excess")
        return found

    def near(self, share: float = 0.05) -> tuple[float | None, float | None]:
        """Find the μ above which the ℓ2 norm is nearly minimal, and the μ below which the ℓ1 norm is.

        Both are interpolated in log μ between the points of the path.

        Parameters
        ----------
        share : float, optional
            The relative excess over the minimum that counts as nearly minimal.

        Returns
        -------
        tuple of float or None
            Both values of μ; None if the path does not reach that far.
        """
        order = np.argsort(-self.mu)
        logs = np.log(self.mu[order])
        kernel, rich = (each[order] for each in self.excess)
        return _crossing(logs, kernel, share), _crossing(logs[::-1], rich[::-1], share)

    def summary(self, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
        """Describe the path in a few lines of text.

        Parameters
        ----------
        scale : float, optional
            Accuracies in the text are those of a flow with μ = scale/accuracy.
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.

        Returns
        -------
        str
            The text that `tacit path` prints.
        """
        return str(delegate(self, "summary", scale, names or self.features))

    def picture(
        self,
        names: Sequence[str] | None = None,
        sweeping: SweepingPath | None = None,
        clock: str | None = None,
    ) -> Drawn:
        """Draw directions of the predictor and the support against μ.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.
        sweeping : SweepingPath, optional
            The flow at infinite scale, to compare with.
        clock : str, optional
            The formula for μ in the label of the axis.

        Returns
        -------
        Drawn
            The picture that `plot` writes.
        """
        return self._draw(self._labels(names), sweeping=sweeping, clock=clock)

    def _arrays(self) -> Labelled:
        series = {name: (("mu",), getattr(self, name)) for name in ("mu", "kkt", "error", "intercept")}
        return series | super()._arrays()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            **self._values("depth", "mu", "predictors", "intercept"),
            "scale": self.units.scale.tolist() if self.units.standardized else None,
            **self._values("duals"),
            "support": supports(self.support),
            **self._values("kkt", "error", "converged", "status", "reason", "kinks", "seconds"),
        }


def _crossing(logs: Float, excess: Float, share: float) -> float | None:
    """μ at which the excess, small at first, first exceeds the share; None if there is no such crossing."""
    beyond = np.flatnonzero(excess > share)
    if not len(beyond) or beyond[0] == 0:
        return None
    i = beyond[0]
    low, high = (math.log(max(e, 1e-300)) for e in (excess[i - 1], excess[i]))
    part = (math.log(share) - low) / (high - low) if high > low else 1.0
    return math.exp(logs[i - 1] + max(part, 0.0) * (logs[i] - logs[i - 1]))
