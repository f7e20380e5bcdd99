"""Two classes as the numbers −1 and +1, fitted by the flow on the square loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.estimators.fit import Fit, fitted
from tacit.estimators.grid import Grid, is_count
from tacit.estimators.path import CoefficientPath
from tacit.estimators.predictors import predictors
from tacit.estimators.start import Start
from tacit.estimators.training import Training


@dataclass(frozen=True, eq=False)
class Labels:
    """Training data with labels ±1 as targets of a regression.

    For classifiers, the natural size of a coefficient is 1/rms(X); for regressors it is rms(y)/rms(X), where
    y is centred if there is an intercept. The scale of a classifier is therefore `factor` times that of the
    regressor with the same weights.
    """

    training: Training
    start: Start

    @cached_property
    def factor(self) -> float:
        """The scale of the classifier divided by that of the regressor."""
        return math.sqrt(2 * self.training.loss) ** (1 / float(self.start.depth)) or 1.0

    def fit(self, stop: float | None, tol: float) -> LabelFit:
        """Fit as `FlowRegressor` does: by the limit of the flow, or until a fraction of the loss is left."""
        start = replace(self.start, scale=self.start.checked_scale() / self.factor)
        fit = fitted(self.training, start, stop, tol)
        return LabelFit(fit.training, fit.start, fit.stop, fit.predictor, fit.result, self)

    def on_grid(self, scales: Float, stops: Any, rtol: float) -> tuple[Float, Float]:
        """Predictors and intercepts for all scales and stops; the stop None, the limit, comes last."""
        grid = Grid((float(self.start.depth),), (scales / self.factor,), stops)
        w = np.concatenate(list(predictors(self.training, grid, self.start, rtol)))
        return w, self.training.units.target - w @ self.training.units.center


@dataclass(frozen=True, eq=False)
class LabelFit(Fit):
    """A predictor fitted to the labels as numbers."""

    labels: Labels
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
        factor = self.labels.factor
        if not is_count(scales):
            scales = as_floats(scales, "scales", ndim=(0, 1)) / factor
        path = super().path(scales, names)
        return replace(path, scales=path.scales * factor, chosen=path.chosen * factor)
