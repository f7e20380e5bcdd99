"""Two classes: a predictor that separates them, or the flow towards one, and what can be asked about it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tacit.data.arrays import Float
from tacit.data.prepared import Prepared, prepare
from tacit.errors import InputError, NotConvergedError, NotSeparableError
from tacit.estimators.grid import kernel_end, path_grid
from tacit.estimators.labels import LabelFit, Labels
from tacit.estimators.path import CoefficientPath
from tacit.estimators.separating_flow import Samples, SeparatingFlow, least_loss
from tacit.estimators.start import Start
from tacit.estimators.training import Training
from tacit.losses import Exponential, Logistic
from tacit.models import Diagonal
from tacit.results.certificate import Certificate
from tacit.results.margin import Margin
from tacit.results.regime import Regime
from tacit.solvers.interpolation.geometry import as_separable
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import least_l1_margin
from tacit.solvers.margins.support import at_kernel_scale
from tacit.verbs.certify import certify
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit
from tacit.verbs.margin_path import margin_path
from tacit.verbs.max_margin import max_margin
from tacit.verbs.regime import regime_between

LEFT = 0.01  # of what the logistic loss can fall by, where no other share was asked for
_TOL = 1e-6  # of a certificate
_ROUGH = 1e-3  # relative accuracy of the predictors of a path
_INFINITE = 1e4  # times the kernel end


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Training data with labels ±1 as targets, and the model of their flow."""

    training: Training
    start: Start

    @cached_property
    def model(self) -> Diagonal:
        """The start as a model in the units of the training data."""
        model = self.start.model(1 / self.training.spread, self.training.X.shape[1])
        assert isinstance(model, Diagonal)
        return model

    def at(self, scale: float) -> TwoClasses:
        """The same from another scale."""
        return TwoClasses(self.training, replace(self.start, scale=scale))

    @property
    def labels(self) -> Float:
        """−1 and +1."""
        return self.training.y

    @cached_property
    def inputs(self) -> Prepared:
        """The features in their units, as they came."""
        return prepare(self.training.X / self.training.units.scale)

    @cached_property
    def separable(self) -> bool:
        """Does some predictor classify every sample correctly, beyond rounding?"""
        try:
            Margins.of(self.training.design, self.labels)
        except (NotSeparableError, NotConvergedError):
            return False
        return True

    @cached_property
    def margin_ends(self) -> tuple[Float, Float]:
        """The predictors of largest margin at infinite and at zero scale, for the features as they came."""
        units, d = self.training.units, self.training.X.shape[1]
        margins = Margins.of(self.training.design, self.labels)
        geometry = as_separable(self.model.potential(d), d)
        kernel = at_kernel_scale(margins, geometry)[0].predictor
        rich = least_l1_margin(margins, geometry.weight).predictor
        return units.predictor(kernel), units.predictor(rich)

    @cached_property
    def _centred(self) -> Float:
        units = self.training.units
        return (self.training.X - units.center) / units.scale

    def kernel_end(self, depth: float) -> float:
        """The scale from which on flows are those of their tangent kernel."""
        found: float = kernel_end(self.training, depth) * math.sqrt(2 * self.training.loss) ** (1 / depth)
        return found

    def along(self, scales: Float, stops: Any, rtol: float, square: bool = False) -> tuple[Float, Float]:
        """Predictors and intercepts at these scales, at each at all stops; None, for the end, last.

        That is the margin, or, of the square loss, where outputs are equal to labels.
        """
        if square:
            return Labels(self.training, self.start).along(scales, stops, rtol)
        d, shares = self.training.X.shape[1], [stop for stop in stops if stop is not None]
        w, b = np.empty((len(scales), len(stops), d)), np.empty((len(scales), len(stops)))
        if None in stops:
            w[:, -1], b[:, -1] = self.at(1.0)._margins(scales**self.start.depth)
        for i, scale in enumerate(scales if shares else []):
            w[i, : len(shares)], b[i, : len(shares)] = self.at(float(scale))._stopped(shares, rtol)
        return w.reshape(-1, d), b.ravel()

    def _margins(self, mu: Float) -> tuple[Float, Float]:
        intercept = self.training.units.intercept
        path = margin_path(self.inputs, self.labels, mu, model=self.model, intercept=intercept)
        return path.predictors / self.training.units.scale, path.intercept

    def _stopped(self, shares: list[float], rtol: float) -> tuple[Float, Float]:
        samples, units = self.samples(Logistic()), self.training.units
        found = SeparatingFlow(self.model, samples, rtol).stops(stopping_accuracies(samples, shares))
        w = found.predictors / units.scale
        return w, found.intercepts - w @ units.center

    def samples(self, loss: Any) -> Samples:
        """As a flow sees them."""
        roots = self.training.roots
        N = len(self.labels)
        shares = np.full(N, 1 / N) if roots is None else roots**2 / N
        return Samples(self._centred, self.labels, shares, loss, self.training.units.intercept)

    def margin(self) -> BinaryFit:
        """The largest margin in the model's potential: `tacit.max_margin`."""
        found = max_margin(self.inputs, self.labels, self.model, intercept=self.training.units.intercept)
        if not found.converged:
            warnings.warn(f"the margin is not vouched for: {found.reason}", ConvergenceWarning, stacklevel=4)
        return self._fit("margin", found.predictor, found.intercept, 1, math.inf, result=found)

    def square(self, stop: float | None, tol: float) -> LabelFit:
        """The flow of the square loss with labels as numbers, at its end or where a share of it is left."""
        return Labels(self.training, self.start).fit(stop, tol)

    def exponential(self, accuracy: float, rtol: float) -> BinaryFit:
        """The flow of the exponential loss at an accuracy: `tacit.flow`, but for weights and an intercept."""
        if self.training.roots is None and not self.training.units.intercept:
            run = flow(self.model, self.inputs, self.labels, loss="exp", at=[accuracy], rtol=rtol)
            if not run.converged:
                warnings.warn(f"the flow ended early: {run.reason}", ConvergenceWarning, stacklevel=4)
            return self._fit("exp", run.predictor[-1], 0.0, run.steps, float(run.accuracy[-1]))
        return self._follow("exp", self.samples(Exponential()), accuracy, rtol)

    def logistic(self, left: float, rtol: float) -> BinaryFit:
        """The flow of the logistic loss where this share is left of what it can fall by."""
        samples = self.samples(Logistic())
        return self._follow("logistic", samples, stopping_accuracies(samples, [left])[0], rtol, left)

    def _follow(
        self, name: str, samples: Samples, accuracy: float, rtol: float, stop: float | None = None
    ) -> BinaryFit:
        run = SeparatingFlow(self.model, samples, rtol)
        start = -run.first.log_loss
        if accuracy < start:
            raise InputError(
                f"accuracy {accuracy:.6g} is that of no moment of the flow, which starts at {start:.6g} and "
                "only rises (it is −log of the training loss)"
            )
        found = run.stops([accuracy])
        units, w = self.training.units, found.predictors[0]
        b = float(found.intercepts[0] - units.center @ units.predictor(w))
        return self._fit(name, w, b, found.steps, accuracy, stop)

    def _fit(
        self,
        loss: str,
        w: Float,
        b: float,
        steps: int,
        accuracy: float,
        stop: float | None = None,
        result: Margin | None = None,
    ) -> BinaryFit:
        predictor = self.training.units.predictor(w)
        return BinaryFit(self, loss, predictor, b, max(steps, 1), accuracy, stop, result)


def stopping_accuracies(samples: Samples, shares: Any) -> list[float]:
    """Accuracies at which these shares are left of what the loss can fall by, by any predictor."""
    first = samples.balance(np.zeros(len(samples.y))).log_loss
    least = least_loss(samples)
    return [-math.log(math.exp(least) + share * (math.exp(first) - math.exp(least))) for share in shares]


@dataclass(frozen=True, eq=False)
class BinaryFit:
    """A predictor for the features as they came. loss: "margin", "exp" or "logistic"."""

    problem: TwoClasses
    loss: str
    predictor: Float
    intercept: float
    iterations: int
    accuracy: float
    stop: float | None
    result: Margin | None = field(repr=False)

    @cached_property
    def _inside(self) -> Float:
        return self.problem.training.units.inside(self.predictor)

    @cached_property
    def certificate(self) -> Certificate:
        """Of the margin's KKT conditions; of a flow's: least Q among all predictors with these outputs."""
        if self.result is None:
            rows = self.problem.training.rows
            return certify(self.problem.model, rows, rows @ self._inside, self._inside)
        return self._margin_certificate(self.result)

    def _margin_certificate(self, found: Margin) -> Certificate:
        y, nu = self.problem.labels, found.dual
        gradient = self.problem.model.potential(len(self._inside)).gradient(self._inside)
        rest = np.abs(gradient - (nu * y) @ self.problem.inputs.X).max()
        free = abs(float(nu @ y)) / (nu.sum() or 1.0) if self.problem.training.units.intercept else 0.0
        stationarity = max(float(rest / (np.abs(gradient).max() or 1.0)), free)
        short = float(np.maximum(1 - found.margins, 0).max())
        slack = float((nu * np.abs(found.margins - 1)).max() / (nu.max() or 1.0))
        return Certificate("margin", stationarity, short, slack, found.error, nu, _TOL)

    @cached_property
    def dual(self) -> Float:
        """ν of every sample, ∇Q(w) = Σ ν_n y_n x_n."""
        training = self.problem.training
        if self.result is None:
            return training.multipliers(self.certificate.dual) * training.everywhere(self.problem.labels)
        return training.everywhere(self.result.dual)

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients over scales, how many or which, other things equal."""
        problem, start, stop = self.problem, self.problem.start, self.stop
        grid = path_grid(start, scales, stop, problem.kernel_end)
        coefs, intercepts = problem.along(grid.scales[0], grid.stops, _ROUGH)
        if stop is None:
            kernel, rich = problem.margin_ends
        else:
            far = np.array([_INFINITE * float(grid.scales[0].max())])
            kernel, rich = problem.along(far, grid.stops, _ROUGH)[0][0], None
        chosen = float(start.scale), kernel, rich, float(start.depth), stop, names
        return CoefficientPath(grid.scales[0], coefs, intercepts, *chosen)

    @cached_property
    def regime(self) -> Regime:
        """How far the predictor is from both ends of the scale, of the same outputs or of margins."""
        training = self.problem.training
        if self.result is None:
            return limit(
                self.problem.model, training.rows, training.rows @ self._inside, least_squares=True
            ).regime
        kernel, rich = (training.units.inside(end) for end in self.problem.margin_ends)
        return regime_between(self._inside, kernel, rich)
