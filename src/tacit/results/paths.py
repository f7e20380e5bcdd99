"""Results over μ (`MarginPath`, `SweepingPath`, `Stability`) or over the scale (`CoefficientPath`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats
from tacit.data.display import Displayed
from tacit.data.printable import shown
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.errors import InputError, NotConvergedError
from tacit.results.delegation import delegate
from tacit.results.result import Drawn, Labelled, Pictured, Result, numbered, supports

_NAMED = 6  # breaches in a summary


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
        """The outcome of the computation in one word."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            **self._values("mu", "predictors", "duals"),
            "support": supports(self.support),
            **self._values("converged", "status", "reason", "events", "down_to", "seconds"),
        }


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
        """The changes of the support between the points of the path, from large μ to small."""
        found: list[Kink] = delegate(self, "kinks")
        return found

    @property
    def changes(self) -> list[Kink]:
        """Where the support changes: the kinks if they have been located, else midpoints of the points.

        Locating the kinks takes many times as long as the path, and a picture does not show the difference.
        """
        located: list[Kink] | None = vars(self).get("kinks")
        return self._changes_between() if located is None else located

    def _changes_between(self) -> list[Kink]:
        """The changes of the support, each half way between two points in log μ, from large μ to small."""
        order, found = np.argsort(-self.mu), []
        for i, j in pairwise(order):
            middle = math.sqrt(self.mu[i]) * math.sqrt(self.mu[j])
            changed = np.flatnonzero(self.support[i] != self.support[j])
            found += [Kink(middle, int(n), bool(self.support[j, n])) for n in changed]
        return found

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


@dataclass(frozen=True)
class Breach:
    """A sample that leaves the support as μ decreases through `leaves`, and enters it again at `returns`.

    returns is 0 if the sample has not entered again by the smallest μ that was followed.
    """

    sample: int
    leaves: float
    returns: float


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Displayed):
    """The values of μ for which Condition 5 of Moroshko et al. 2020 holds, on the flow at infinite scale.

    Between `leaves` and `returns` of a breach the flow is off the path of Q_μ margins; elsewhere it is on it
    (Theorem 6).

    Attributes
    ----------
    holds : bool
        Whether the condition holds for every μ from ∞ to down_to ("uniformly").
    breaches : tuple
        The samples that violate it, with the interval of μ for each.
    down_to : float
        The smallest μ that was followed.
    converged : bool
        Whether down_to is as small as requested. If not, the flow could not be followed further, and nothing
        is known below.
    sweeping : SweepingPath
        The flow at infinite scale.

    Examples
    --------
    >>> import tacit
    >>> stability = tacit.support_stability([[1, 2], [-2, -3]], [1, -1], down_to=0.01)
    >>> stability.holds, stability.breaches, stability.holds_at(1)
    (True, (), True)
    """

    holds: bool
    breaches: tuple[Breach, ...]
    down_to: float
    converged: bool
    sweeping: SweepingPath = field(repr=False)

    def holds_at(self, mu: float) -> bool:
        """Whether the condition holds at one μ, that is at accuracy α^D/μ.

        Parameters
        ----------
        mu : float
            A positive number, at least down_to.

        Returns
        -------
        bool
            True if μ is in no interval of a breach.

        Raises
        ------
        InputError
            If μ is below down_to.
        NotConvergedError
            If the flow could not be followed that far.
        """
        level = float(as_floats(mu, "mu", ndim=(0,)))
        if not self.converged and level < self.down_to:
            raise NotConvergedError(f"Condition 5 is not decided at mu = {level:g}: {self._unknown()}")
        if not level >= self.down_to:
            raise InputError(
                f"mu must be at least down_to = {self.down_to:g}, got {mu!r}; for smaller values, call "
                "support_stability with a smaller down_to"
            )
        return not any(breach.returns < level < breach.leaves for breach in self.breaches)

    def summary(self) -> str:
        """Whether the condition holds, and the first samples that violate it."""
        unknown = "" if self.converged else f"; {self._unknown()}"
        if self.holds:
            return f"the support is stable (Condition 5) for every μ down to {self.down_to:g}{unknown}"
        parts = [
            f"sample {b.sample} leaves at μ = {b.leaves:.4g}"
            + (f" and returns at {b.returns:.4g}" if b.returns else "")
            for b in self.breaches[:_NAMED]
        ]
        more = f", and {len(self.breaches) - _NAMED} more" if len(self.breaches) > _NAMED else ""
        return f"the support is not stable (Condition 5 fails): {', '.join(parts)}{more}{unknown}"

    def _unknown(self) -> str:
        return f"the flow at infinite scale could not be followed below μ = {self.down_to:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        numbers = {name: getattr(self, name) for name in ("holds", "down_to", "converged")}
        return numbers | {"breaches": [asdict(breach) for breach in self.breaches]}


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientPath(Result):
    """Coefficients and intercepts at several scales, in decreasing order, for the original features.

    chosen: the scale of the estimator. kernel, rich: the coefficients at infinite and at zero scale, those of
    least ℓ2 and ℓ1 norm; rich is None for stopped flows, where it is not known. stop: that of the estimator.
    """

    scales: Float
    coefs: Float
    intercepts: Float
    chosen: float
    kernel: Float = field(repr=False)
    rich: Float | None = field(repr=False)
    depth: float
    stop: float | None
    features: tuple[str, ...] | None = field(default=None, repr=False)

    def picture(self) -> Drawn:
        """A plot of the coefficients against the scale."""
        return self._draw(numbered(self.features, self.coefs.shape[1]))

    def summary(self) -> str:
        """The path in one line."""
        large = np.abs(self.coefs) > 0.01 * np.abs(self.coefs).max(axis=1, keepdims=True)
        first, last = int(large[0].sum()), int(large[-1].sum())
        return (
            f"scale {self.scales[0]:.3g} to {self.scales[-1]:.3g}, depth {self.depth:g}: {first} to {last} "
            f"of {self.coefs.shape[1]} coefficients exceed 1% of the largest; chosen scale {self.chosen:.3g}"
        )

    def _arrays(self) -> Labelled:
        arrays: Labelled = {
            "scales": (("scale",), self.scales),
            "coefs": (("scale", "feature"), self.coefs),
            "intercepts": (("scale",), self.intercepts),
            "kernel": (("feature",), self.kernel),
        }
        return arrays if self.rich is None else arrays | {"rich": (("feature",), self.rich)}

    def to_dict(self) -> dict[str, Any]:
        """The path as plain numbers and lists, for JSON."""
        return self._values(*(each.name for each in fields(self)))
