"""Two classes: the maximum-margin predictor or a flow towards it, with certificate, regime and path."""

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
from tacit.estimators.fit import (
    INFINITE,
    PATH_RTOL,
    certificate_of_outputs,
    labels_on_grid,
    regime_of_outputs,
)
from tacit.estimators.grid import kernel_end, path_grid
from tacit.estimators.separating_flow import LabelledSamples, SeparatingFlow, least_loss
from tacit.estimators.training import Start, Training
from tacit.losses import Exponential, Logistic
from tacit.models import Diagonal
from tacit.results.certificate import Certificate
from tacit.results.margin import Margin
from tacit.results.paths import CoefficientPath
from tacit.results.regime import Regime
from tacit.solvers.interpolation.geometry import as_separable
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import least_l1_margin
from tacit.solvers.margins.support import at_kernel_scale
from tacit.verbs.flow import flow
from tacit.verbs.margin_path import margin_path
from tacit.verbs.max_margin import max_margin
from tacit.verbs.regime import regime_between

LEFT = 0.01  # default stop of the logistic loss: the fraction of its largest possible decrease that is left
_CERTIFICATE_TOL = 1e-6  # tolerance of the KKT conditions of a margin


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Training data with labels ±1 as targets, and the initialization of the flow."""

    training: Training
    start: Start

    @cached_property
    def model(self) -> Diagonal:
        """The initialization as a model in the units of the training data."""
        model = self.start.model(1 / self.training.spread, self.training.X.shape[1])
        assert isinstance(model, Diagonal)
        return model

    def with_scale(self, scale: float) -> TwoClasses:
        """The same problem with another scale."""
        return TwoClasses(self.training, replace(self.start, scale=scale))

    @property
    def labels(self) -> Float:
        """The labels −1 and +1."""
        return self.training.y

    @cached_property
    def inputs(self) -> Prepared:
        """The features divided by their standard deviations if they are standardized; not centred."""
        return prepare(self.training.X / self.training.units.scale)

    @cached_property
    def separable(self) -> bool:
        """Whether some predictor classifies every sample correctly, beyond round-off."""
        try:
            Margins.of(self.training.design, self.labels)
        except (NotSeparableError, NotConvergedError):
            return False
        return True

    @cached_property
    def margin_ends(self) -> tuple[Float, Float]:
        """The maximum-margin predictors at infinite and at zero scale, for the original features."""
        units, d = self.training.units, self.training.X.shape[1]
        margins = Margins.of(self.training.design, self.labels)
        geometry = as_separable(self.model.potential(d), d)
        kernel = at_kernel_scale(margins, geometry)[0].predictor
        rich = least_l1_margin(margins, geometry.weight).predictor
        return units.predictor(kernel), units.predictor(rich)

    def kernel_end(self, depth: float) -> float:
        """The kernel end: the scale above which flows equal those of their tangent kernel."""
        end: float = kernel_end(self.training, depth) * math.sqrt(2 * self.training.loss) ** (1 / depth)
        return end

    def on_grid(self, scales: Float, stops: Any, rtol: float, square: bool = False) -> tuple[Float, Float]:
        """Predictors and intercepts for all scales and stops.

        The stop None comes last. It is the margin, or for the square loss the limit of the flow.
        """
        if square:
            return labels_on_grid(self.training, self.start, scales, stops, rtol)
        units, d, early = self.training.units, self.training.X.shape[1], [each for each in stops if each]
        w, b = np.empty((len(scales), len(stops), d)), np.empty((len(scales), len(stops)))
        if None in stops:
            mu, model = scales**self.start.depth, self.with_scale(1.0).model
            path = margin_path(self.inputs, self.labels, mu, model=model, intercept=units.intercept)
            w[:, -1], b[:, -1] = path.predictors / units.scale, path.intercept
        if early:
            samples = self.samples(Logistic())
            accuracies = stopping_accuracies(samples, early)
            for i, scale in enumerate(scales):
                model = self.with_scale(float(scale)).model
                found = SeparatingFlow(model, samples, rtol).stops(accuracies)
                w[i, : len(early)] = found.predictors / units.scale
                b[i, : len(early)] = found.intercepts - w[i, : len(early)] @ units.center
        return w.reshape(-1, d), b.ravel()

    def samples(self, loss: Any) -> LabelledSamples:
        """The centred and scaled samples with their weights, for `SeparatingFlow`."""
        units, roots, N = self.training.units, self.training.roots, len(self.labels)
        X = (self.training.X - units.center) / units.scale
        weights = np.full(N, 1 / N) if roots is None else roots**2 / N
        return LabelledSamples(X, self.labels, weights, loss, units.intercept)

    def margin(self) -> BinaryFit:
        """The maximum margin in the model's potential, by `tacit.max_margin`."""
        found = max_margin(self.inputs, self.labels, self.model, intercept=self.training.units.intercept)
        if not found.converged:
            warnings.warn(f"the margin is not certified: {found.reason}", ConvergenceWarning, stacklevel=4)
        w = self.training.units.predictor(found.predictor)
        return BinaryFit(self, "margin", w, found.intercept, 1, math.inf, None, found)

    def exponential(self, accuracy: float, rtol: float) -> BinaryFit:
        """The flow on the exponential loss until an accuracy, by `tacit.flow` if that suffices."""
        if self.training.roots is None and not self.training.units.intercept:
            run = flow(self.model, self.inputs, self.labels, loss="exp", at=[accuracy], rtol=rtol)
            if not run.converged:
                warnings.warn(f"the flow ended early: {run.reason}", ConvergenceWarning, stacklevel=4)
            w = self.training.units.predictor(run.predictor[-1])
            return BinaryFit(self, "exp", w, 0.0, max(run.steps, 1), float(run.accuracy[-1]), None)
        return self._follow("exp", self.samples(Exponential()), accuracy, rtol)

    def logistic(self, left: float, rtol: float) -> BinaryFit:
        """The flow on the logistic loss until this fraction of its largest possible decrease is left."""
        samples = self.samples(Logistic())
        return self._follow("logistic", samples, stopping_accuracies(samples, [left])[0], rtol, left)

    def _follow(
        self, name: str, samples: LabelledSamples, accuracy: float, rtol: float, stop: float | None = None
    ) -> BinaryFit:
        run = SeparatingFlow(self.model, samples, rtol)
        start = -run.first.log_loss
        if accuracy < start:
            raise InputError(
                f"accuracy must be at least {start:.6g}, that of the start of the flow, got {accuracy:.6g} "
                "(accuracy is −log of the training loss)"
            )
        found = run.stops([accuracy])
        w = self.training.units.predictor(found.predictors[0])
        b = float(found.intercepts[0] - self.training.units.center @ w)
        return BinaryFit(self, name, w, b, max(found.steps, 1), accuracy, stop)


def stopping_accuracies(samples: LabelledSamples, fractions: Any) -> list[float]:
    """The accuracies at which these fractions of the largest possible decrease of the loss are left."""
    first = math.exp(samples.at(np.zeros(len(samples.y))).log_loss)
    least = math.exp(least_loss(samples))
    return [-math.log(least + fraction * (first - least)) for fraction in fractions]


@dataclass(frozen=True, eq=False)
class BinaryFit:
    """A predictor for the original features. loss: "margin", "exp" or "logistic"."""

    problem: TwoClasses
    loss: str
    predictor: Float
    intercept: float
    iterations: int
    accuracy: float
    stop: float | None
    result: Margin | None = field(default=None, repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """The KKT conditions of the margin or, for a flow, of the minimum of Q among predictors with its
        outputs."""
        if self.result is None:
            return certificate_of_outputs(self.problem.model, self.problem.training, self.predictor)
        return self._margin_certificate(self.result)

    def _margin_certificate(self, found: Margin) -> Certificate:
        units, y, nu = self.problem.training.units, self.problem.labels, found.dual
        w = units.inside(self.predictor)
        gradient = self.problem.model.potential(len(w)).gradient(w)
        rest = np.abs(gradient - (nu * y) @ self.problem.inputs.X).max()
        of_intercept = abs(float(nu @ y)) / (nu.sum() or 1.0) if units.intercept else 0.0
        stationarity = max(float(rest / (np.abs(gradient).max() or 1.0)), of_intercept)
        feasibility = float(np.maximum(1 - found.margins, 0).max())
        slack = float((nu * np.abs(found.margins - 1)).max() / (nu.max() or 1.0))
        return Certificate("margin", stationarity, feasibility, slack, found.error, nu, _CERTIFICATE_TOL)

    @cached_property
    def dual(self) -> Float:
        """The multipliers ν of all samples, with ∇Q(w) = Σ ν_n y_n x_n."""
        training = self.problem.training
        if self.result is None:
            return training.multipliers(self.certificate.dual) * training.all_samples(self.problem.labels)
        return training.all_samples(self.result.dual)

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients as functions of the scale, given the number of scales or the scales themselves."""
        problem, start, stop = self.problem, self.problem.start, self.stop
        grid = path_grid(start, scales, stop, problem.kernel_end)
        coefs, intercepts = problem.on_grid(grid.scales[0], grid.stops, PATH_RTOL)
        if stop is None:
            kernel, rich = problem.margin_ends
        else:
            infinite = np.array([INFINITE * float(grid.scales[0].max())])
            kernel, rich = problem.on_grid(infinite, grid.stops, PATH_RTOL)[0][0], None
        chosen = float(start.scale), kernel, rich, float(start.depth), stop, names
        return CoefficientPath(grid.scales[0], coefs, intercepts, *chosen)

    @cached_property
    def regime(self) -> Regime:
        """The distances from both ends of the scale, for margins or for predictors with the same outputs."""
        if self.result is None:
            return regime_of_outputs(self.problem.model, self.problem.training, self.predictor)
        units, (kernel, rich) = self.problem.training.units, self.problem.margin_ends
        return regime_between(units.inside(self.predictor), units.inside(kernel), units.inside(rich))
