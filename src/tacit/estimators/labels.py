"""Two classes as numbers, −1 and +1, that the flow of the square loss fits."""

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
    """Training data with labels ±1 as targets.

    Scales of classifiers are those of margins, for which a coefficient of natural size is 1/rms(X), whatever
    the labels' deviation from their mean is. Those of regressions have it as their unit: scales of the former
    are `factor` times those of the latter.
    """

    training: Training
    start: Start

    @cached_property
    def factor(self) -> float:
        """Between scales of weights."""
        return math.sqrt(2 * self.training.loss) ** (1 / float(self.start.depth)) or 1.0

    def fit(self, stop: float | None, tol: float) -> LabelFit:
        """The end of the flow, or the flow where a share of the loss is left, as of `FlowRegressor`."""
        start = replace(self.start, scale=self.start.checked_scale() / self.factor)
        found = fitted(self.training, start, stop, tol)
        return LabelFit(found.training, found.start, found.stop, found.predictor, found.result, self)

    def along(self, scales: Float, stops: Any, rtol: float) -> tuple[Float, Float]:
        """Predictors and intercepts at these scales, at each at all stops; None, for the end, last."""
        grid = Grid((float(self.start.depth),), (scales / self.factor,), stops)
        w = np.concatenate(list(predictors(self.training, grid, self.start, rtol)))
        return w, self.training.units.target - w @ self.training.units.center


@dataclass(frozen=True, eq=False)
class LabelFit(Fit):
    """A predictor whose outputs are near the labels, or equal to them."""

    labels: Labels
    loss = "square"

    @property
    def accuracy(self) -> float:
        """−log of the training loss, as far as it was asked for."""
        return -math.log(self.stop * self.training.loss) if self.stop and self.stopped else math.inf

    @cached_property
    def dual(self) -> Float:
        """ν of every sample, ∇Q(w) = Σ ν_n y_n x_n."""
        return super().dual * self.training.everywhere(self.training.y)

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients over scales, how many or which, other things equal."""
        factor = self.labels.factor
        found = super().path(
            scales if is_count(scales) else as_floats(scales, "scales", ndim=(0, 1)) / factor, names
        )
        return replace(found, scales=found.scales * factor, chosen=found.chosen * factor)
