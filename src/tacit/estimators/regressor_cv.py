"""Linear regression by gradient flow, with initialization and stop chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from tacit.data.arrays import Float
from tacit.estimators.cross_validation import Searched, Subset, check_rule, results_of_folds, select
from tacit.estimators.fit import fitted
from tacit.estimators.grid import STOPS, Grid, grid_of, kernel_end
from tacit.estimators.predictors import HeldOut, held_out_outputs, predictors
from tacit.estimators.regressor import LinearRegressor, regression_data, set_fit
from tacit.estimators.training import Start, Training


@dataclass(eq=False, repr=False)
class FixedRegressor(RegressorMixin, BaseEstimator):
    """A regressor with given coefficients, for scorers."""

    coef: Any = None
    intercept: Any = 0.0

    def fit(self, X: ArrayLike, y: ArrayLike) -> FixedRegressor:
        """Do nothing, since the coefficients are given."""
        return self

    def predict(self, X: ArrayLike) -> Float:
        """Predict X w + b."""
        return np.asarray(X @ self.coef + self.intercept)


@dataclass(eq=False, repr=False)
class FlowRegressorCV(Searched, LinearRegressor):
    """`FlowRegressor` with scale, depth and stop chosen by cross-validation.

    A single flow gives the predictors at all of its stops, so that a search over scales and stops costs one
    flow for each scale and fold. The largest scale gives the flow of the tangent kernel, whose stops are
    those of gradient descent on least squares, which resembles ridge regression; the smallest scale gives
    sparse solutions.

    The units of the scale are measured from the training samples of each fold. Predictors in folds have a
    limited accuracy, sufficient for comparing them; if there are many scales (30, say) and no scoring is
    given, some are interpolated. The final fit is that of `FlowRegressor(scale_, depth_, stop=stop_)`, at
    full accuracy.

    Parameters
    ----------
    scales : int or sequence of float, optional
        The number of scales for each depth, chosen from the data (from the kernel end of stopped flows down,
        see `scale_range`), or the scales themselves, as in `FlowRegressor`.
    depth : float or sequence of float, optional
        One depth or several.
    shape : float, optional
        As in `FlowRegressor`.
    stops : int or sequence, optional
        The number of stops before the limit of the flow, or the stops themselves: fractions of the loss, with
        None for the limit. None alone means no early stopping.
    fit_intercept, tol, weights, standardize : optional
        As in `FlowRegressor`.
    cv : int or splitter, optional
        As in scikit-learn.
    scoring : str or callable, optional
        As in scikit-learn; the negative mean square error if left out.
    rule : "cautious" | "smoothed" | "best" | "one-standard-error", optional
        "best": the best mean score. "smoothed": the best after averaging mean scores over neighbouring scales
        and stops, which reduces noise. "cautious": the same, but a scale below the largest (the kernel end)
        must be better than it at 90% confidence, by a paired t test over folds. "one-standard-error": the
        earliest stop, then the smallest scale, whose mean score is within one standard error of the best.
    n_jobs : int, optional
        As in scikit-learn.

    Attributes
    ----------
    scale_, depth_, stop_ : float
        The chosen values; stop_ is None if the flow is not stopped.
    cv_results_ : dict
        A table as in GridSearchCV.
    best_index_, best_score_, scorer_, n_splits_
        As in GridSearchCV.
    coef_, intercept_, model_, n_iter_, interpolates_, stopped_
        As in `FlowRegressor`.

    See Also
    --------
    scale_range : The range of scales in which the solution changes.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.estimators import FlowRegressorCV
    >>> X = np.random.default_rng(0).standard_normal((20, 30))
    >>> regressor = FlowRegressorCV(scales=[1.0, 1e-3], stops=None, cv=2, rule="best").fit(X, X[:, 0])
    >>> regressor.scale_
    0.001
    """

    scales: Any = 8
    depth: Any = 2
    shape: Any = None
    stops: Any = STOPS
    fit_intercept: bool = True
    tol: float = 1e-10
    weights: Any = None
    standardize: bool = False
    cv: Any = None
    scoring: Any = None
    rule: str = "cautious"
    n_jobs: int | None = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> FlowRegressorCV:
        """Choose scale, depth and stop, and fit with them.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Targets.
        sample_weight : (N,) array-like, optional
            Weights of the squares in the loss, as in `FlowRegressor`.
        groups : (N,) array-like, optional
            Groups of the samples, for splitters that use them.

        Returns
        -------
        FlowRegressorCV
            The fitted estimator.
        """
        rule = check_rule(self.rule)
        X, y, weights = regression_data(self, X, y, sample_weight)
        training = Training.of(X, y, weights, self.fit_intercept, self.standardize)
        grid = grid_of(self.depth, self.scales, self.stops, partial(kernel_end, training))
        data = Subset(X, y, weights)
        scores = results_of_folds(self, data, y, groups, FixedRegressor(), partial(self._fold, grid))
        select(self, grid, np.array(scores), rule)
        start = Start(self.depth_, self.scale_, self.shape, self.weights)
        set_fit(self, fitted(training, start, self.stop_, self.tol))
        return self

    def _fold(self, grid: Grid, train: Subset, test: Subset, scorer: Any) -> Float:
        """The scores of all points of the grid on the test samples of a fold."""
        start = Start(2.0, 1.0, self.shape, self.weights)
        training = Training.of(train.X, train.y, train.weights, self.fit_intercept, self.standardize)
        held_out = HeldOut(test.X, test.y, test.weights, training.units)
        rtol = held_out.tolerance(training, grid, start)
        if scorer is None:
            outputs = held_out_outputs(training, grid, start, rtol, held_out)
            return np.concatenate([held_out.scores(each) for each in outputs])

        def score(w: Float) -> float:
            b = training.units.target - w @ training.units.center
            return test.score(scorer, FixedRegressor(w, b), test.y)

        found = predictors(training, grid, start, rtol, score)
        return np.array([score(w) for stops in found for w in stops])
