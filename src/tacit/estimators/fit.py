"""A fit of the square loss: a predictor, and what can be asked about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning

from tacit.data.arrays import Float
from tacit.estimators.grid import kernel_end, path_grid
from tacit.estimators.path import CoefficientPath
from tacit.estimators.predictors import REACHED, predictors
from tacit.estimators.start import Start
from tacit.estimators.training import Training
from tacit.models.model import Model
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit
from tacit.results.regime import Regime
from tacit.results.trajectory import Trajectory
from tacit.verbs.certify import certify
from tacit.verbs.limit import limit
from tacit.verbs.regime import both_ends

_RTOL = 100.0  # times the tolerance of a limit is that of a flow
_INFINITE = 1e4  # times the kernel end
_ROUGH = 1e-3  # relative accuracy of the predictors of a path


@dataclass(frozen=True, eq=False)
class Fit:
    """A predictor for the features as they came, of training data, by the flow of a model.

    result: the limit, or the flow that was stopped. The flow of a diagonal network is a mirror flow: wherever
    it is, ∇Q(w) = Xᵀν, so that of all predictors with the same outputs on the training data it is the one of
    least Q. That is what certificate and regime of a stopped fit are about.
    """

    training: Training
    start: Start
    stop: float | None
    predictor: Float
    result: Limit | Trajectory = field(repr=False)

    @cached_property
    def model(self) -> Model:
        """The start as a model in the units of the training data."""
        return self.start.model(self.training.unit, self.training.X.shape[1])

    @property
    def intercept(self) -> float:
        """b of f(x) = w·x + b."""
        return float(self.training.units.shift(self.predictor))

    @property
    def stopped(self) -> bool:
        """Was the flow stopped before its end?"""
        return isinstance(self.result, Trajectory)

    @property
    def interpolates(self) -> bool:
        """Are the training data fitted exactly?"""
        return isinstance(self.result, Limit) and self.result.unfitted == 0

    @property
    def iterations(self) -> int:
        """Of Newton's method, or steps of the flow; at least 1."""
        return max(self.result.iterations if isinstance(self.result, Limit) else self.result.steps, 1)

    @cached_property
    def _inside(self) -> Float:
        return self.training.units.inside(self.predictor)

    @cached_property
    def certificate(self) -> Certificate:
        """Of the KKT conditions of least Q among all predictors with these outputs."""
        rows = self.training.rows
        return certify(self.model, rows, rows @ self._inside, self._inside)

    @cached_property
    def dual(self) -> Float:
        """ν with ∇Q(w) = Xᵀν, of every sample."""
        if isinstance(self.result, Limit) and self.training.roots is None:
            full = np.zeros(self.training.count)
            full[self.training.places] = self.result.dual
            return full
        nu = self.result.dual if isinstance(self.result, Limit) else self.certificate.dual
        return self.training.multipliers(nu)

    @cached_property
    def regime(self) -> Regime:
        """How far the predictor is from those of least ℓ2 and ℓ1 norm with the same outputs."""
        if isinstance(self.result, Limit):
            return self.result.regime
        rows = self.training.rows
        return limit(self.model, rows, rows @ self._inside, least_squares=True).regime

    def path(self, scales: Any, names: tuple[str, ...] | None) -> CoefficientPath:
        """Coefficients over scales, how many or which, other things equal."""
        training, start, stop = self.training, self.start, self.stop if self.stopped else None
        grid = path_grid(start, scales, stop, partial(kernel_end, training, share=stop))
        ends = replace(grid, scales=(np.array([_INFINITE * float(grid.scales[0].max())]),))
        coefs = np.concatenate(list(predictors(training, grid, start, _ROUGH)))
        found = both_ends(self.result) if isinstance(self.result, Limit) else None
        kernel, rich = (next(predictors(training, ends, start, _ROUGH))[0], None) if found is None else found
        intercepts = training.units.target - coefs @ training.units.center
        chosen = float(start.scale), kernel, rich, float(start.depth), stop, names
        return CoefficientPath(grid.scales[0], coefs, intercepts, *chosen)


def fitted(training: Training, start: Start, stop: float | None, tol: float) -> Fit:
    """The flow, stopped at a share of its loss, or at its end where that share is never reached."""
    model = start.model(training.unit, training.X.shape[1])
    if stop is None or stop <= training.floor * REACHED or not training.loss > 0:
        w, found = training.limit(model, tol)
        if not found.converged:
            warnings.warn(f"the limit is not vouched for: {found.reason}", ConvergenceWarning, stacklevel=3)
        return Fit(training, start, stop, w, found)
    w, run = training.flow(model, stop, min(_RTOL * tol, 0.1))
    if not run.converged:
        warnings.warn(f"the flow ended before its stop: {run.reason}", ConvergenceWarning, stacklevel=3)
    return Fit(training, start, stop, w, run)
