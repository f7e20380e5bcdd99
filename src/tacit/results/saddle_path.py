"""The result of `tacit.saddle_path`: the flow as the scale of its initialization goes to 0."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats
from tacit.data.display import Displayed
from tacit.data.printable import shown
from tacit.data.units import Units
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model, as_model
from tacit.results.result import Labelled, Pictured, Summarized

# Distance of a slope from its threshold, relative to it, with which the average counts as a Lasso solution:
# the round-off of slopes at the end of long paths on near-collinear spectra.
_ON_THRESHOLD = 1e-9


@dataclass(frozen=True)
class SaddleEvent:
    """A feature that enters or leaves the predictor at the time τ."""

    time: float
    feature: int
    enters: bool


@dataclass(frozen=True, eq=False, repr=False)
class PathAverage(Displayed):
    """b̄ = (1/τ)∫₀^τ b, the average over time of the saddle path up to τ, with its Lasso certificate.

    If it holds, b̄ solves the Lasso

        minimize ½‖Xb − y‖² + (1/τ) Σ θ_j |b_j|

    (Berthier 2025), since Xᵀ(y − Xb̄) = s/τ for the slopes s, which are within their thresholds θ. The
    condition s_j = θ_j sign(b̄_j) where b̄_j ≠ 0 can fail, because a feature that has left still contributes
    to the average.

    Attributes
    ----------
    tau : float
        τ.
    predictor : (d,) array
        b̄, for the features as they were given. `numpy.asarray` of this object gives the same.
    slopes : (d,) array
        s at τ.
    gap : float
        The largest |s_j/θ_j − sign(b̄_j)| where b̄_j ≠ 0.
    intercept : float
        The average intercept; 0 without one.
    alpha : float
        The `alpha` of scikit-learn's Lasso with this solution, 1/(Nτ).

    Examples
    --------
    >>> import tacit
    >>> path = tacit.saddle_path([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    >>> average = path.average(2)
    >>> average.predictor.round(3).tolist(), average.holds
    ([0.4, 0.0, 0.0, 0.0], True)
    """

    tau: float
    predictor: Float
    slopes: Float
    gap: float
    intercept: float
    alpha: float

    @property
    def holds(self) -> bool:
        """Whether the average solves the Lasso with penalty 1/τ: whether gap is at most 1e-9."""
        return self.gap <= _ON_THRESHOLD

    def summary(self) -> str:
        """The certificate of the average in one line."""
        verdict = "solves" if self.holds else "does NOT solve"
        return (
            f"the average up to τ = {self.tau:.6g} {verdict} the Lasso with penalty 1/τ: gap = {self.gap:.1e}"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.predictor, dtype=dtype)


@dataclass(frozen=True, eq=False, repr=False)
class SaddlePath(Summarized, Pictured):
    """Gradient flow on the square loss as the scale of its initialization goes to 0: a path of jumps.

    The predictor is 0 up to times[0], and predictors[k] from times[k] on. Times are in τ of
    `tacit.saddle_path`; `time` converts them to training times at a finite scale.

    Attributes
    ----------
    times : (K,) array
        τ of each jump, increasing.
    predictors : (K, d) array
        The predictor from that time on.
    slopes : (K, d) array
        s at that time: ±thresholds for features that are in the predictor.
    events : list
        The features that enter and leave the predictor, each with `time`, `feature` and `enters`.
    residuals : (K,) array
        ‖Xb − y‖/‖y‖ after each jump (of centred data, if there is an intercept).
    thresholds : (d,) array
        θ: 1, or profile^{2−D} at depths D > 2.
    depth : float
        D, which only affects thresholds and ties.
    seconds : float
        Computing time.
    X, y
        The data.
    intercepts : (K,) array
        The intercept from each time on; 0 without one.
    units : Units
        The standard deviations by which the features were divided, and the means that were subtracted: slopes
        and thresholds are those of the transformed features.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> path = tacit.saddle_path([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    >>> path.times.round(3).tolist(), [(event.feature, event.enters) for event in path.events]
    ([1.0, 4.0, 5.633], [(0, True), (0, False), (2, True), (3, True)])
    """

    times: Float
    predictors: Float
    slopes: Float
    events: list[SaddleEvent]
    residuals: Float
    thresholds: Float
    depth: float
    seconds: float
    X: Float
    y: Float
    intercepts: Float
    units: Units
    features: tuple[str, ...] | None = None
    _inside: Any = field(default=None, repr=False)  # transformed X and y, if there are units

    def __repr__(self) -> str:
        end = f", τ up to {self.times[-1]:.4g}" if len(self.times) else ""
        return f"SaddlePath(depth {shown(self.depth)}, {len(self.times)} jumps{end})"

    def at(self, tau: float) -> Float:
        """Predictor at the time τ.

        Parameters
        ----------
        tau : float
            A time, 0 or later.

        Returns
        -------
        (d,) array
            The predictor; right after the jump, if there is one at τ.
        """
        place = int(np.searchsorted(self.times, _time(tau, 0.0), side="right"))
        return self.predictors[place - 1].copy() if place else np.zeros(self.X.shape[1])

    def average(self, tau: float) -> PathAverage:
        """Average the path over the times up to τ, and check whether it solves the Lasso with penalty 1/τ.

        Parameters
        ----------
        tau : float
            A positive time.

        Returns
        -------
        PathAverage
            The average with its certificate, `holds`.
        """
        tau = _time(tau, np.finfo(float).tiny)
        place = int(np.searchsorted(self.times, tau, side="right"))
        lengths = np.diff(np.append(self.times[:place], tau)) / tau
        mean = lengths @ self.predictors[:place]
        X, y = self._inside or (self.X, self.y)
        b = self.units.inside(self.predictors[place - 1]) if place else np.zeros(X.shape[1])
        since, slopes = (self.times[place - 1], self.slopes[place - 1]) if place else (0.0, 0.0 * b)
        slopes = slopes + (tau - since) * np.where(b != 0, 0.0, X.T @ (y - X @ b))
        slopes = np.clip(slopes, -self.thresholds, self.thresholds)
        gap = np.where(mean != 0, np.abs(slopes / self.thresholds - np.sign(mean)), 0.0)
        return PathAverage(
            tau=tau,
            predictor=np.asarray(mean),
            slopes=slopes,
            gap=float(gap.max(initial=0.0)),
            intercept=float(self.units.shift(mean)) if self.units.intercept else 0.0,
            alpha=1 / (len(X) * tau),
        )

    def time(self, model: Model) -> Float:
        """Times of the jumps in training time, at a finite small scale, to leading order.

            t = τ·N|log a|/2 (depth 2),    t = τ·N/(D(D−2)a^{D−2}) (depth D)

        for weights that start at a. At depth 2 the error decreases as slowly as 1/|log a|.

        Parameters
        ----------
        model : Diagonal or UntiedDiagonal
            A model of the depth of this path that starts at the predictor 0.

        Returns
        -------
        (K,) array
            Training times, for the loss (1/2N)‖Xw − y‖².
        """
        return self.times * clock(as_model(model), self.X, self.thresholds)

    def _arrays(self) -> Labelled:
        series = {name: (("jump",), getattr(self, name)) for name in ("times", "residuals", "intercepts")}
        rows = {name: (("jump", "feature"), getattr(self, name)) for name in ("predictors", "slopes")}
        return {**series, **rows, "thresholds": (("feature",), self.thresholds)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            **self._values("depth", "times", "predictors", "intercepts"),
            "scale": self.units.scale.tolist() if self.units.standardized else None,
            **self._values("residuals", "thresholds", "slopes", "events", "seconds"),
        }


def clock(model: Model, X: Float, thresholds: Float) -> float:
    """Training time per unit of τ for the flow of this model, to leading order in its scale.

    In mirror space weight·s = Xᵀν with dν/dt = e^{log_speed}·(−∂L/∂f), and a coordinate leaves 0 at s = 1, or
    at a rapidity of |log m| at depth 2, for the scale m of the predictor.
    """
    features = X.shape[1]
    form = model.mirror_form(features)
    if form is None or form.own_map() is not None or np.any(form.start):
        raise NoPotentialError(
            "the saddle path is that of diagonal networks that start at the predictor 0, with tied layers "
            f"or two layers; {model!r} has no such clock"
        )
    end = np.broadcast_to(np.asarray(form.weight, float), (features,))
    if math.isinf(form.power):
        level = -float(np.mean(form.log_scale))
        if level <= 0:
            raise InputError("the scale of the model must be below 1: the clock is that of small scales")
        end = end * level
    rate = end / thresholds
    if np.ptp(rate) > _ON_THRESHOLD * rate.max():
        raise InputError(
            "this model has a different profile and therefore another saddle path; pass depth and "
            "profile of the model to tacit.saddle_path"
        )
    return float(rate[0] * len(X) * math.exp(-form.log_speed))


def _time(tau: Any, least: float) -> float:
    value = float(as_floats(tau, "tau", ndim=(0,)))
    if value < least:
        raise InputError(f"tau must be {'positive' if least else '0 or later'}, got {value:g}")
    return value
