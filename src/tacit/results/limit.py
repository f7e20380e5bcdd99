"""What `tacit.limit` answers: the solution that gradient flow picks, with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Samples
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.numerics.rounding import quiet
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result, axes_of, numbered

if TYPE_CHECKING:
    from tacit.results.regime import Regime

NEAR = 1e-7  # relative forward error from which on a predictor is doubted: half of the digits of floats


class Estimate:
    """A number that costs about as much as what it is an estimate of, and is made when it is asked for."""

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


@dataclass(frozen=True, eq=False)
class Limit(Result):
    """The solution that gradient flow picks, with its certificate.

    `regime`, kernel, rich or intermediate, is computed when first asked for; where converged is False,
    `reason` says why.

    Attributes
    ----------
    predictor : (d,) array
        w; (d, m) for a network of m outputs, (d₁, d₂) for matrices.
    dual : (N,) array
        ν with ∇Q(w) = Xᵀν; it adds up to 0 beside an intercept.
    value : float
        Q(w).
    feasibility : float
        ‖Xw−y‖/‖y‖.
    stationarity : float
        ‖∇Q(w)−Xᵀν‖∞/‖∇Q(w)‖∞, with ν as it was computed: where samples nearly coincide, multipliers are large
        and of opposite sign, and rounding them to floats, as dual must, leaves more.
    error : float
        An estimate of the relative forward error ‖w − w*‖₂/‖w*‖₂, from both residuals and the conditioning of
        data and potential. It includes how far the answer moves if every entry of X and y changes in its last
        bit, independently of the others: through the residual y − Xw, and through the slopes Xᵀν. The second
        counts where features are tied (equal, proportional and standardized, or equal in cost), the depth is
        above 2 and the scale small: how they share the predictor is decided by 1 − |slope|, which is of the
        size (m/|w|)^((D−2)/D) with m the scale of the predictor, and below 1e-9 the last bits of X decide it.
        Of standardized features, it is the larger of the errors of w and of scale·w. Samples that depend on
        each other up to their last bits (see rank) are taken to do so: what these bits would say is no part
        of it.
    converged : bool
        Both residuals within the tolerance, error 1e-7 or less, and the solver settled: not where the answer
        depends on the last bits of the data, however accurate it is for these very floats. Where the terms of
        Xw are larger than y and cancel, rounding of w alone may leave a larger feasibility; that passes up to
        1e-6, unless the tolerance is below 1e-12.
    iterations : int
        Matrix factorizations (simplex steps for L1).
    rank : int
        Of X; samples that are combinations of others up to rounding do not count.
    seconds : float
        How long it took.
    model, X, y, tol
        What was asked about, with what tolerance; y is what least squares fit, where that was asked for.
    settled : bool
        Did the solver come to rest?
    method : str
        How it was found.
    flows : int
        How many were run to decide something.
    distance : float
        A bound on how far from here the flow ends, 0 but for linear networks that start small.
    sign : int
        That of the output weight of a neuron at the end (if it has changed, Q is the divergence from −w̃(0)),
        0 for models without one.
    unfitted : float
        What least squares leaves of y, relative to it, where that was asked for.
    intercept : float
        b of f(x) = w·x + b, 0 where none was asked for.
    units : Units or None
        What the features were divided by, where they were standardized; Q, its gradient and the certificate
        are those of scale·w.
    features : tuple of str, or None
        Names of columns, if they have any.
    inside : Limit or None
        The answer in the units in which it was solved, where those are not the data's own.
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
    inside: Limit | None = field(default=None, repr=False)  # in these units
    _error: Estimate = field(repr=False, kw_only=True)
    _fits: bool = field(repr=False, kw_only=True)  # are both residuals within the tolerance?
    _samples: Samples = field(repr=False, kw_only=True)  # as the equations were made of them
    _equations: Equations | None = field(default=None, repr=False)  # as they were solved, for the ends

    @property
    def error(self) -> float:
        """An estimate of the relative forward error of the predictor."""
        return self._error.value

    @property
    def converged(self) -> bool:
        """Did the solver settle, with residuals within the tolerance and an error below 1e-7?"""
        return bool(self.settled and self._fits and self.error <= NEAR)

    @cached_property
    def regime(self) -> Regime:
        """How far this limit is from those at infinite and at zero scale."""
        found: Regime = ask(self.inside or self, "regime")
        return found

    @property
    def status(self) -> Status:
        """How it ended, in a word."""
        if self.converged:
            return Status.REACHED
        return Status.ROUNDING if self.settled else Status.STALLED

    @cached_property
    def reason(self) -> str:
        """Why the limit is not vouched for; empty if it is."""
        if self.converged:
            return ""
        if self.inside is not None:
            return self.inside.reason
        residuals = {"stationarity": self.stationarity, "feasibility": self.feasibility}
        above = [f"{name} {value:.0e}" for name, value in residuals.items() if not value <= self.tol]
        reasons = [] if self.settled else ["the solver did not settle"]
        if above:
            reasons.append(f"{' and '.join(above)} above the tolerance {self.tol:.0e}")
        if not self.error <= NEAR:
            reasons.append(str(ask(self, "doubt")))
        return "; ".join(reasons)

    def summary(self, names: Sequence[str] | None = None) -> str:
        """The limit in a few lines.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        str
            What `tacit limit` prints.
        """
        return str(ask(self, "summary", names or self.features))

    def picture(self, names: Sequence[str] | None = None) -> Drawn:
        """Largest coordinates of the limit and its ends, and distances to the ends against the scale.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        if self.X.ndim == 3:
            names = names or [f"{i}, {j}" for i, j in np.ndindex(self.predictor.shape)]
        names = numbered(names or self.features, len(self.predictor))
        drawn: Drawn = ask(self, "picture", names, ask(self, "other_scales"))
        return drawn

    def _arrays(self) -> Labelled:
        arrays: Labelled = {"predictor": (axes_of(self.predictor), self.predictor)}
        arrays["dual"] = (("sample", "output")[: self.dual.ndim], self.dual)
        return arrays

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "model": repr(self.model),
            "predictor": self.predictor.tolist(),
            "dual": self.dual.tolist(),
            "value": self.value,
            "feasibility": self.feasibility,
            "stationarity": self.stationarity,
            "error": self.error,
            "converged": self.converged,
            "status": self.status.value,
            "reason": self.reason,
            "iterations": self.iterations,
            "rank": self.rank,
            "method": self.method,
            "distance": self.distance,
            "sign": self.sign,
            "unfitted": self.unfitted,
            "intercept": np.asarray(self.intercept).tolist(),
            "scale": None if self.units is None else self.units.scale.tolist(),
            "seconds": self.seconds,
            "regime": self.regime.to_dict(),
        }
