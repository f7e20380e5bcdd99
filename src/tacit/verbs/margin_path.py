"""The path of maximum-margin predictors from the kernel to the rich end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, feature_names
from tacit.data.units import Units
from tacit.show.progress import progress
from tacit.solvers.interpolation.geometry import Separable
from tacit.solvers.interpolation.solution import NEAR, unknown
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.kernel import at_the_kernel_end
from tacit.solvers.margins.l1 import least_l1_margin
from tacit.solvers.margins.support import (
    Held,
    hold_from,
    margin_residual,
)
from tacit.verbs.along_mu import AlongMu
from tacit.verbs.path_inputs import check_levels, depth_of, geometry_of
from tacit.verbs.results import Labelled, numbered

if TYPE_CHECKING:
    from tacit.show.figures import Picture
    from tacit.verbs.sweeping_path import SweepingPath

_LOCATED = 1e-9  # in the logarithm of μ, to which a kink is located
_VOUCHED = 1e-9  # residual of the optimality conditions, relative to their terms


@dataclass(frozen=True)
class Kink:
    """A sample that enters the support as μ falls through this value, or leaves it."""

    mu: float
    sample: int
    enters: bool


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
    geometry: Separable = field(repr=False)
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    intercept: Float = field(repr=False)
    units: Units = field(repr=False)
    _margins: Margins = field(repr=False)  # in these units
    features: tuple[str, ...] | None = field(default=None, repr=False)

    _lost = "whose support was not found, or which rounding decides"

    @cached_property
    def kinks(self) -> list[Kink]:
        """Where the support changes between the points of the path, from large μ to small."""
        order = np.argsort(-self.mu)
        found: list[Kink] = []
        for i, j in pairwise(order):
            found += _kinks_between(self._margins, self.geometry, self._held(i), self._held(j))
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
        metric = self.geometry.kernel_metric()
        least = at_the_kernel_end(self._margins, self.geometry)[0].predictor
        weight = self.geometry.weight
        richest = weight @ np.abs(least_l1_margin(self._margins, weight).predictor)
        inside = self.predictors * self.units.scale
        size = np.linalg.norm(inside / np.sqrt(metric), axis=1)
        kernel = size / np.linalg.norm(least / np.sqrt(metric)) - 1
        return kernel, np.abs(inside) @ weight / richest - 1

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

    def _held(self, i: Any) -> tuple[float, Held]:
        support = np.flatnonzero(self.support[i])
        return math.log(self.mu[i]), Held(
            self.predictors[i], 0.0, self.duals[i], support, True, lambda: float(self.error[i])
        )

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
        from tacit.show.path_text import path_report

        return path_report(self, scale, names or self.features)

    def picture(
        self,
        names: Sequence[str] | None = None,
        sweeping: SweepingPath | None = None,
        clock: str | None = None,
    ) -> Picture:
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
        Picture
            What `plot` draws.
        """
        from tacit.show.paths import path_picture

        names = numbered(names or self.features, self.predictors.shape[1])
        return path_picture(self, names, sweeping=sweeping, clock=clock)

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


def margin_path(
    X: Any,
    y: Any,
    mu: Any,
    *,
    depth: float = 2,
    model: Any = None,
    intercept: bool = False,
    standardize: bool = False,
) -> MarginPath:
    """argmin Q_μ(w) subject to y_n x_n·w ≥ 1, for every μ (Moroshko et al. 2020, Section 4).

    Gradient flow of the exponential loss on a diagonal network of depth D whose weights start at α is near
    the point with μ = α^D/γ̃ when its accuracy is γ̃, as long as no sample leaves the support. At large μ the
    predictor is that of the ℓ2 margin, at small μ of ℓ1.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    mu : sequence of float
        Positive numbers in any order.
    depth : float, optional
        D of Q_μ, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        One that starts at the predictor 0, in place of depth. Its potential is taken with all predictor
        scales multiplied by μ, so that its own flow is near μ = 1/γ̃. `Diagonal()` and `UntiedDiagonal()`
        give the path of depth 2, other shapes and profiles their own.
    intercept : bool, optional
        Margins of x_n·w + b, with b free and in no potential.
    standardize : bool, optional
        Q_μ of the weights that belong to features divided by their standard deviation. Predictors and
        intercepts are for the features as they came.

    Returns
    -------
    MarginPath
        A predictor with multipliers and certificate for each μ.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    NotSeparableError
        Where no linear predictor has all samples on the right side.

    See Also
    --------
    sweeping_path : The flow at infinite scale, which this path is an approximation of.
    support_stability : Down to which μ the two are the same.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2], [-2, -3]], [1, -1]
    >>> tacit.margin_path(X, y, [1e3, 1e-9]).predictors.round(3).tolist()
    [[0.2, 0.4], [0.0, 0.5]]
    """
    begun, names = time.perf_counter(), feature_names(X)
    X, y, levels = check_levels(X, y, mu)
    units = Units.of(X, y, intercept, standardize)
    margins = Margins.of(units, X, y)
    geometry = geometry_of(depth, model, X.shape[1])
    held = _follow(margins, geometry, levels)
    kkt = np.array([_residual(margins, geometry, m, each) for m, each in zip(levels, held, strict=True)])
    predictors = np.array([units.predictor(each.predictor) for each in held])
    error = np.array([each.error for each in held])
    return MarginPath(
        mu=levels,
        predictors=predictors,
        duals=np.array([each.dual for each in held]),
        kkt=kkt,
        error=error,
        support=np.array([np.isin(np.arange(len(X)), each.support) for each in held]),
        converged=np.array([each.settled for each in held]) & (kkt <= _VOUCHED) & (error <= NEAR),
        depth=depth_of(geometry),
        seconds=time.perf_counter() - begun,
        geometry=geometry,
        X=X,
        y=y,
        intercept=np.array([each.intercept for each in held]) - predictors @ units.center,
        units=units,
        _margins=margins,
        features=names,
    )


def _residual(margins: Margins, geometry: Separable, mu: float, held: Held) -> float:
    shifted = geometry.shifted(math.log(mu))
    return margin_residual(shifted, margins, held.predictor, held.intercept, held.dual)


def _follow(margins: Margins, geometry: Separable, levels: Float) -> list[Held]:
    """The predictor at every μ, from large ones down."""
    held: list[Held] = [Held(np.zeros(0), 0.0, np.zeros(0), np.zeros(0, int), False, unknown)] * len(levels)
    here, log_here = at_the_kernel_end(margins, geometry, float(levels.max()))
    for i in progress(np.argsort(-levels).tolist(), "maximum margins"):
        log_mu = math.log(levels[i])
        found = hold_from(margins, geometry.shifted(log_mu), here, log_mu - log_here)
        if found is None:
            found = replace(here, settled=False, assess=unknown)
        else:
            here, log_here = found, log_mu
        held[i] = found
    return held


def _crossing(logs: Float, excess: Float, share: float) -> float | None:
    """Where the excess, small at first, comes to exceed the share; None if it starts or stays on one side."""
    beyond = np.flatnonzero(excess > share)
    if not len(beyond) or beyond[0] == 0:
        return None
    i = beyond[0]
    low, high = (math.log(max(e, 1e-300)) for e in (excess[i - 1], excess[i]))
    part = (math.log(share) - low) / (high - low) if high > low else 1.0
    return math.exp(logs[i - 1] + max(part, 0.0) * (logs[i] - logs[i - 1]))


def _kinks_between(
    margins: Margins, geometry: Separable, above: tuple[float, Held], below: tuple[float, Held]
) -> list[Kink]:
    """Kinks between two points of the path, by bisection in the logarithm of μ."""
    (top, first), (bottom, last) = above, below
    changed = np.setxor1d(first.support, last.support)
    if not len(changed):
        return []
    if top - bottom < _LOCATED:
        mu = math.exp((top + bottom) / 2)
        return [Kink(mu, int(n), bool(n in last.support)) for n in changed]
    middle = (top + bottom) / 2
    found = hold_from(margins, geometry.shifted(middle), first, middle - top)
    if found is None:
        return []
    between = (middle, found)
    return [
        *_kinks_between(margins, geometry, above, between),
        *_kinks_between(margins, geometry, between, below),
    ]
