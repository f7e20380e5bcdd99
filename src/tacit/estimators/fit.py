"""Fits of the square loss, to targets or to labels: predictor, certificate, multipliers, regime and path."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning

from tacit.data.arrays import Float, as_floats
from tacit.estimators.grid import Grid, is_count, kernel_end, path_grid
from tacit.estimators.predictors import REACHED, predictors
from tacit.estimators.training import Start, Training
from tacit.models.model import Model
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.results.paths import CoefficientPath
from tacit.results.regime import Regime
from tacit.results.trajectory import Trajectory
from tacit.verbs.certify import certify
from tacit.verbs.limit import limit
from tacit.verbs.regime import both_ends

FLOW_RTOL = 100.0  # relative tolerance of a flow, in units of the tolerance of a limit
INFINITE = 1e4  # the scale that replaces an infinite one, in units of the kernel end
PATH_RTOL = 1e-3  # relative accuracy of the predictors of a path


def certificate_of_outputs(model: Model, training: Training, predictor: Float) -> Certificate:
    """The KKT conditions of the minimum of Q among all predictors with the same outputs on the training
    data."""
    w = training.units.inside(predictor)
    return certify(model, training.rows, training.rows @ w, w)


def regime_of_outputs(model: Model, training: Training, predictor: Float) -> Regime:
    """The distances from the predictors of least ℓ2 and ℓ1 norm with the same outputs."""
    outputs = training.rows @ training.units.inside(predictor)
    return limit(model, training.rows, outputs, least_squares=True).regime


@dataclass(frozen=True, eq=False)
class Fit:
    """A predictor for the original features, fitted by the flow of a model.

    result: the limit, or the flow if it was stopped early. The flow of a diagonal network is a mirror flow:
    at every time ∇Q(w) = Xᵀν, so that w has the least Q among all predictors with the same outputs on the
    training data. The certificate and the regime of a stopped flow refer to that problem.
    """

    training: Training
    start: Start
    stop: float | None
    predictor: Float
    result: Limit | Trajectory = field(repr=False)

    @cached_property
    def model(self) -> Model:
        """The initialization as a model in the units of the training data."""
        return self.start.model(self.training.unit, self.training.X.shape[1])

    @property
    def intercept(self) -> float:
        """The intercept b of f(x) = w·x + b."""
        return float(self.training.units.shift(self.predictor))

    @property
    def stopped(self) -> bool:
        """Whether the flow was stopped early."""
        return isinstance(self.result, Trajectory)

    @property
    def interpolates(self) -> bool:
        """Whether the training data are fitted exactly."""
        return isinstance(self.result, Limit) and self.result.unfitted == 0

    @property
    def iterations(self) -> int:
        """The number of Newton iterations or of steps of the flow, at least 1."""
        return max(self.result.iterations if isinstance(self.result, Limit) else self.result.steps, 1)

    @cached_property
    def certificate(self) -> Certificate:
        """The KKT conditions of the minimum of Q among all predictors with these outputs."""
        return certificate_of_outputs(self.model, self.training, self.predictor)

    @cached_property
    def dual(self) -> Float:
        """The multipliers ν of all samples, with ∇Q(w) = Xᵀν."""
        if isinstance(self.result, Limit) and self.training.roots is None:
            return self.training.all_samples(self.result.dual)
        nu = self.result.dual if isinstance(self.result, Limit) else self.certificate.dual
        return self.training.multipliers(nu)

    @cached_property
    def regime(self) -> Regime:
        """The distances from the predictors of least ℓ2 and ℓ1 norm with the same outputs."""
        if isinstance(self.result, Limit):
            return self.result.regime
        return regime_of_outputs(self.model, self.training, self.predictor)

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients as functions of the scale, given the number of scales or the scales themselves."""
        training, start, stop = self.training, self.start, self.stop if self.stopped else None
        grid = path_grid(start, scales, stop, partial(kernel_end, training, fraction=stop))
        coefs = np.concatenate(list(predictors(training, grid, start, PATH_RTOL)))
        ends: Any = both_ends(self.result) if isinstance(self.result, Limit) else None
        if ends is None:
            infinite = replace(grid, scales=(np.array([INFINITE * float(grid.scales[0].max())]),))
            ends = next(predictors(training, infinite, start, PATH_RTOL))[0], None
        intercepts = training.units.target - coefs @ training.units.center
        chosen = float(start.scale), *ends, float(start.depth), stop, names
        return CoefficientPath(grid.scales[0], coefs, intercepts, *chosen)


def fitted(training: Training, start: Start, stop: float | None, tol: float) -> Fit:
    """Fit by the flow stopped at a fraction of its loss, or by its limit if that is not reached."""
    model = start.model(training.unit, training.X.shape[1])
    if stop is None or stop <= training.floor * REACHED or not training.loss > 0:
        w, found = training.limit(model, tol)
        if not found.converged:
            warnings.warn(f"the limit is not certified: {found.reason}", ConvergenceWarning, stacklevel=3)
        return Fit(training, start, stop, w, found)
    w, run = training.flow(model, stop, min(FLOW_RTOL * tol, 0.1))
    if not run.converged:
        warnings.warn(f"the flow ended before its stop: {run.reason}", ConvergenceWarning, stacklevel=3)
    return Fit(training, start, stop, w, run)


def label_factor(training: Training, depth: float) -> float:
    """The scale of a classifier divided by that of the regressor with the same weights.

    For classifiers, the natural size of a coefficient is 1/rms(X); for regressors it is rms(y)/rms(X), where
    y is centred if there is an intercept.
    """
    return math.sqrt(2 * training.loss) ** (1 / float(depth)) or 1.0


def fitted_labels(training: Training, start: Start, stop: float | None, tol: float) -> LabelFit:
    """Fit labels ±1 as `FlowRegressor` does: by the limit of the flow, or until a fraction is left."""
    factor = label_factor(training, start.depth)
    fit = fitted(training, replace(start, scale=start.checked_scale() / factor), stop, tol)
    return LabelFit(fit.training, fit.start, fit.stop, fit.predictor, fit.result, factor)


def labels_on_grid(
    training: Training, start: Start, scales: Float, stops: Any, rtol: float
) -> tuple[Float, Float]:
    """Predictors and intercepts for all scales and stops; the stop None, the limit, comes last."""
    grid = Grid((float(start.depth),), (scales / label_factor(training, start.depth),), stops)
    w = np.concatenate(list(predictors(training, grid, start, rtol)))
    return w, training.units.target - w @ training.units.center


@dataclass(frozen=True, eq=False)
class LabelFit(Fit):
    """A predictor fitted to the labels as numbers. factor: see `label_factor`."""

    factor: float
    loss = "square"

    @property
    def accuracy(self) -> float:
        """−log of the training loss at the stop; infinite for the limit of the flow."""
        return -math.log(self.stop * self.training.loss) if self.stop and self.stopped else math.inf

    @cached_property
    def dual(self) -> Float:
        """The multipliers ν of all samples, with ∇Q(w) = Σ ν_n y_n x_n."""
        return super().dual * self.training.all_samples(self.training.y)

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients as functions of the scale, given the number of scales or the scales themselves."""
        if not is_count(scales):
            scales = as_floats(scales, "scales", ndim=(0, 1)) / self.factor
        path = super().path(scales, names)
        return replace(path, scales=path.scales * self.factor, chosen=path.chosen * self.factor)
