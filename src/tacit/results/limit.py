"""The result of `tacit.limit`: the solution that gradient flow picks, with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.display import MODEL, short
from tacit.data.equations import Equations, Samples
from tacit.data.printable import shortened
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.errors import NoPotentialError
from tacit.models.model import Model
from tacit.numerics.rounding import quiet
from tacit.results.delegation import delegate
from tacit.results.prediction import Predicting
from tacit.results.result import Drawn, Labelled, Pictured, Summarized, axes_of
from tacit.results.trained import Trained

if TYPE_CHECKING:
    from tacit.results.regime import Regime

# Largest relative forward error of a predictor that is reported as converged: half of the digits of floats.
ERROR_TOLERANCE = 1e-7


class Estimate:
    """A number that is computed on first use, because it costs about as much as the result it belongs to."""

    def __init__(self, make: Callable[[], float]):
        self._make = make

    @cached_property
    @quiet
    def value(self) -> float:
        """The number."""
        return float(self._make())

    def __reduce__(self) -> Any:
        return _known, (self.value,)


def _known(value: float) -> Estimate:
    return Estimate(lambda: value)


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Predicting, Summarized, Pictured):
    """The solution that gradient flow picks, with its certificate.

    `regime` (kernel, rich or intermediate) is computed when it is first used. If converged is False, `reason`
    says why.

    Attributes
    ----------
    predictor : (d,) array
        w; (d, m) for a network of m outputs, (d₁, d₂) for matrices.
    dual : (N,) array
        ν with ∇Q(w) = Xᵀν; it sums to 0 if there is an intercept.
    value : float
        Q(w).
    feasibility : float
        ‖Xw−y‖/‖y‖.
    stationarity : float
        ‖∇Q(w)−Xᵀν‖∞/‖∇Q(w)‖∞, with ν as the solver has it. If samples nearly coincide, the multipliers are
        large and of opposite sign, and the residual of `dual`, which is rounded to floats, is larger.
    error : float
        An estimate of the relative forward error ‖w − w*‖₂/‖w*‖₂, from both residuals and the conditioning of
        data and potential. It includes the change of w if every entry of X and y changes independently in its
        last bit, through the residual y − Xw and through the slopes Xᵀν. The second part matters if features
        are tied (equal, proportional and standardized, or equal in cost), the depth is above 2 and the scale
        is small: how tied features share the predictor depends on 1 − |slope|, which is of the order of
        (m/|w|)^((D−2)/D) with m the scale of the predictor, and below 1e-9 it is decided by the last bits of
        X. For standardized features, the larger of the errors of w and of scale·w. Samples that are linearly
        dependent up to their last bits (see rank) are treated as dependent, and the error does not include
        the effect of these bits.
    converged : bool
        Whether both residuals are within the tolerance, the error is at most 1e-7, and the solver settled.
        False if the answer depends on the last bits of the data, however accurate it is for these floats. If
        the terms of Xw are larger than y and cancel, the rounding of w alone can leave a larger feasibility;
        up to 1e-6 is accepted, unless the tolerance is below 1e-12.
    iterations : int
        Number of matrix factorizations (simplex steps for L1).
    rank : int
        The rank of X; samples that are combinations of others up to round-off do not count.
    seconds : float
        Computing time.
    model, X, y, tol
        The arguments of `tacit.limit`; with least_squares, y is what the predictor fits.
    settled : bool
        Whether the iteration of the solver came to rest.
    method : str
        How the limit was found.
    flows : int
        Number of flows that were integrated to find it.
    distance : float
        A bound on the distance from here to the end of the flow; 0 except for linear networks of small
        initialization.
    sign : int
        The sign of the output weight of a neuron at the end (if it has changed, Q is the divergence from
        −w̃(0)); 0 for models without one.
    unfitted : float
        ‖y − fit‖/‖y‖ of the least-squares fit, with least_squares; otherwise 0.
    intercept : float
        b of f(x) = w·x + b; 0 without an intercept.
    units : Units or None
        The standard deviations by which the features were divided, and the means that were subtracted. Q, its
        gradient and the certificate are those of scale·w.
    features : tuple of str, or None
        Names of the columns, if they have any.
    inside : Limit or None
        The limit for the centred and standardized features, if intercept or standardize was set.
    trained : Trained or None
        With training=…: the settings, the end of gradient flow, and how well the prediction is known.
        `order`, `distance_to_flow`, `edge` and `prediction_error` read it.

    Examples
    --------
    >>> import tacit
    >>> limit = tacit.limit(tacit.Diagonal(scale=1e-8), [[1, 2]], [2])
    >>> limit.predictor.round(3).tolist(), limit.converged, limit.regime.name
    ([0.0, 1.0], True, 'rich')
    """

    predictor: Float
    dual: Float
    value: float
    feasibility: float
    stationarity: float
    iterations: int
    rank: int
    seconds: float
    model: Any = field(repr=False)
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    tol: float
    settled: bool
    method: str
    flows: int = 0
    distance: float = 0.0
    sign: int = 0
    unfitted: float = 0.0
    intercept: Any = 0.0
    units: Units | None = field(default=None, repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)
    inside: Limit | None = field(default=None, repr=False)
    trained: Trained | None = field(default=None, repr=False)
    _error: Estimate = field(repr=False, kw_only=True)
    _fits: bool = field(repr=False, kw_only=True)  # whether both residuals are within the tolerance
    _samples: Samples = field(repr=False, kw_only=True)  # from which the equations were made
    _equations: Equations | None = field(default=None, repr=False)  # as solved; reused for both ends

    def __post_init__(self) -> None:
        """Makes limit.model() the model at the end of training."""
        if isinstance(self.model, Model):
            object.__setattr__(self, "model", self.model.ending_at((self.inside or self).predictor))

    def __repr__(self) -> str:
        # The estimate of the error, on which `converged` depends, can cost as much as the limit itself.
        failed = "" if self.settled and self._fits else ", NOT converged"
        numbers = ", ".join(
            f"{name}={short(getattr(self, name))}"
            for name in ("predictor", "value", "feasibility", "stationarity", "iterations")
        )
        return f"Limit({shortened(repr(self.model), MODEL)}, {numbers}{failed})"

    @property
    def error(self) -> float:
        """An estimate of the relative forward error of the predictor."""
        return self._error.value

    @property
    def order(self) -> str:
        """Accuracy of the prediction: "exact", "second order in the step", "leading order in the noise"."""
        return "exact" if self.trained is None else self.trained.order

    @property
    def edge(self) -> float:
        """step·sharpness/2 at the end; gradient descent is stable below 1. 0 for gradient flow."""
        return 0.0 if self.trained is None else self.trained.edge

    @property
    def prediction_error(self) -> float:
        """An estimate of the relative error of the prediction for a run; 0 for gradient flow."""
        return 0.0 if self.trained is None else self.trained.error

    @property
    def distance_to_flow(self) -> float:
        """The relative distance ‖w − w_flow‖/‖w_flow‖ to the limit of gradient flow."""
        if self.trained is None:
            return 0.0
        flow = self.trained.flow
        return float(np.linalg.norm(self.predictor - flow) / (np.linalg.norm(flow) or 1.0))

    @cached_property
    @quiet
    def area(self) -> float:
        """The area under the training loss of gradient flow, ∫₀^∞ L dt with L = 1/(2N)·‖Xw − y‖².

        It is Q(w)/(2c) if the flow is d∇Q/dt = c·Xᵀ(y − Xw)/N: known before training. c = 4 for `Diagonal` of
        depth 2, and D(D−2)·scale^{D−2} for larger depths. For a biased start, the Bregman divergence replaces
        Q. With training=…, the area of gradient flow from the effective start.
        """
        limit = self.inside or self
        form = limit.model.mirror_form(len(limit.predictor)) if isinstance(limit.model, Model) else None
        if form is None:
            raise NoPotentialError(
                "the area under the loss is known for models whose flow is a mirror flow, Diagonal and "
                f"UntiedDiagonal, not for {type(limit.model).__name__}; tacit.flow integrates it"
            )
        return float(limit.value * np.exp(-form.log_speed) / 2)

    @property
    def converged(self) -> bool:
        """Whether the solver settled, with residuals within the tolerance and an error of at most 1e-7."""
        return bool(self.settled and self._fits and self.error <= ERROR_TOLERANCE)

    @cached_property
    def regime(self) -> Regime:
        """Relative distances of this limit to the limits at infinite and at zero scale."""
        found: Regime = delegate(self.inside or self, "regime")
        return found

    @property
    def status(self) -> Status:
        """The outcome of the computation in one word."""
        if self.converged:
            return Status.REACHED
        return Status.ROUNDING if self.settled else Status.STALLED

    @cached_property
    def reason(self) -> str:
        """Why the limit is not certified; empty if it is."""
        if self.converged:
            return ""
        if self.inside is not None:
            return self.inside.reason
        residuals = {"stationarity": self.stationarity, "feasibility": self.feasibility}
        above = [f"{name} {value:.0e}" for name, value in residuals.items() if not value <= self.tol]
        reasons = [] if self.settled else ["the solver did not settle"]
        if above:
            reasons.append(f"{' and '.join(above)} above the tolerance {self.tol:.0e}")
        if not self.error <= ERROR_TOLERANCE:
            reasons.append(str(delegate(self, "error_explanation")))
        return "; ".join(reasons)

    def picture(self, names: Sequence[str] | None = None) -> Drawn:
        """Draw the largest coordinates of the limit and its ends, and distances to the ends by scale.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.

        Returns
        -------
        Drawn
            The picture that `plot` writes.
        """
        if self.X.ndim == 3:
            names = names or [f"{i}, {j}" for i, j in np.ndindex(self.predictor.shape)]
        return self._draw(self._labels(names), delegate(self, "other_scales"))

    def _arrays(self) -> Labelled:
        dual = (("sample", "output")[: self.dual.ndim], self.dual)
        return {"predictor": (axes_of(self.predictor), self.predictor), "dual": dual}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        certificate = self._values("feasibility", "stationarity", "error", "converged", "status", "reason")
        details = self._values("iterations", "rank", "method", "distance", "sign", "unfitted", "intercept")
        return {
            "model": repr(self.model),
            **self._values("predictor", "dual", "value"),
            **certificate,
            **details,
            "scale": None if self.units is None else self.units.scale.tolist(),
            **self._values("seconds", "regime"),
            **({} if self.trained is None else self._training()),
        }

    def _training(self) -> dict[str, Any]:
        """The requested training=…, and its known effects."""
        values = self._values("order", "distance_to_flow", "edge", "prediction_error")
        trained = self.trained
        assert trained is not None
        return {"training": trained.training.describe(), **values, "flow": trained.flow.tolist()}


@dataclass(frozen=True, eq=False)
class OtherScales:
    """Both ends of a limit, and its distances to them at other scales.

    The distances are empty for potentials that are themselves an end.
    """

    kernel: Float
    rich: Float
    rich_end: str
    factors: Float  # by which the predictor's scale is multiplied
    to_kernel: Float
    to_rich: Float
