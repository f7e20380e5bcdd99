"""Regression by a flow whose initialization and stop are chosen by cross-validation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tacit.data.arrays import Float, Index
from tacit.estimators.fit import fitted
from tacit.estimators.grid import STOPS, Grid, grid_of, kernel_end
from tacit.estimators.held_out import HeldOut, held_out_outputs
from tacit.estimators.predictors import predictors
from tacit.estimators.regressor import LinearRegressor, regression_data, take
from tacit.estimators.selection import check_rule, select
from tacit.estimators.start import Start
from tacit.estimators.training import Training


class Predictor(RegressorMixin, BaseEstimator):
    """A predictor that was found, for scorers to ask."""

    def __init__(self, coef: Any = None, intercept: float = 0.0):
        self.coef = coef
        self.intercept = intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Predictor:
        """Nothing: it is found already."""
        return self

    def predict(self, X: ArrayLike) -> Float:
        """X w + b."""
        return np.asarray(X @ self.coef + self.intercept)


class FlowRegressorCV(LinearRegressor):
    """`FlowRegressor` with scale, depth and stop chosen by cross-validation.

    One flow gives the predictors at all its stops, so that a search over scales and stops costs a flow for
    each scale and fold. At the largest scale it is the flow of the tangent kernel, whose stops are those of
    gradient descent on plain least squares, a close relative of ridge regression; at the smallest, sparse.

    Each fold has units of its own, measured from its training samples. Folds compare predictors to a modest
    accuracy, and where scales are close (30 of them) some by interpolation between others, unless scoring is
    given; the final fit is that of `FlowRegressor(scale_, depth_, stop=stop_)`, to all digits.

    Parameters
    ----------
    scales : int or sequence of float, optional
        How many to try for each depth, chosen from the data (from the kernel end of stopped flows down, see
        `scale_range`), or the scales themselves, in the data's own units as of `FlowRegressor`.
    depth : float or sequence of float, optional
        One or several.
    shape : float, optional
        As of `FlowRegressor`.
    stops : int or sequence, optional
        How many shares of the loss to try before the end of the flow, or the shares; None among them stands
        for its end, and alone for no stopping at all.
    fit_intercept, tol, weights, standardize : optional
        As of `FlowRegressor`.
    cv : int or splitter, optional
        As everywhere in scikit-learn.
    scoring : str or callable, optional
        Larger is better; minus the mean square error if left out.
    rule : "cautious" | "smoothed" | "best" | "one-standard-error", optional
        "smoothed": the best mean score after each was averaged with its neighbours among scales and stops,
        which takes out some luck. "cautious": the same, but a scale below the largest, the kernel end, must
        be better than it at 90% confidence (a paired t test over folds). "one-standard-error": the earliest
        stop, then the smallest scale, whose mean score is within one standard error of the best.
    n_jobs : int, optional
        As everywhere in scikit-learn.

    Attributes
    ----------
    scale_, depth_, stop_ : float
        What was chosen; stop_ is None where the flow is not stopped.
    cv_results_ : dict
        A table as of GridSearchCV.
    best_index_, best_score_, scorer_, n_splits_
        As of GridSearchCV.
    coef_, intercept_, model_, n_iter_, interpolates_, stopped_
        As of `FlowRegressor`.

    See Also
    --------
    scale_range : Between which scales the solution changes.
    """

    scale_: float
    depth_: float
    stop_: float | None
    cv_results_: dict[str, Any]

    def __init__(
        self,
        scales: Any = 8,
        depth: Any = 2,
        shape: Any = None,
        stops: Any = STOPS,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        weights: Any = None,
        standardize: bool = False,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "cautious",
        n_jobs: int | None = None,
    ):
        self.scales = scales
        self.depth = depth
        self.shape = shape
        self.stops = stops
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.weights = weights
        self.standardize = standardize
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs

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
            Weighs the squares in the loss, as of `FlowRegressor`.
        groups : (N,) array-like, optional
            Of samples, for splitters that ask.

        Returns
        -------
        FlowRegressorCV
            Itself.
        """
        rule = check_rule(self.rule)
        X, y, weights = regression_data(self, X, y, sample_weight)
        training = Training.of(X, y, weights, self.fit_intercept, self.standardize)
        grid = grid_of(self.depth, self.scales, self.stops, partial(kernel_end, training))
        select(self, grid, self._scores(X, y, weights, groups, grid), rule)
        start = Start(self.depth_, self.scale_, self.shape, self.weights)
        take(self, fitted(training, start, self.stop_, self.tol))
        return self

    def _scores(self, X: Float, y: Float, weights: Float | None, groups: Any, grid: Grid) -> Float:
        """(folds, points)."""
        self.scorer_ = None if self.scoring is None else check_scoring(Predictor(), self.scoring)
        options = (self.fit_intercept, self.standardize, Start(2.0, 1.0, self.shape, self.weights))
        folds = check_cv(self.cv).split(X, y, groups)
        work = (
            delayed(_fold_scores)(X, y, weights, train, test, grid, options, self.scorer_)
            for train, test in folds
        )
        return np.array(Parallel(n_jobs=self.n_jobs)(work))


def _fold_scores(
    X: Float,
    y: Float,
    weights: Float | None,
    train: Index,
    test: Index,
    grid: Grid,
    options: Any,
    scorer: Any,
) -> Float:
    """The score of every point of the grid on the samples of a fold."""
    intercept, standardize, start = options
    of_train, of_test = (None if weights is None else weights[fold] for fold in (train, test))
    training = Training.of(X[train], y[train], of_train, intercept, standardize)
    held_out = HeldOut(X[test], y[test], of_test, training.units)
    rtol = held_out.tolerance(training, grid, start)
    if scorer is None:
        outputs = held_out_outputs(training, grid, start, rtol, held_out)
        return np.concatenate([held_out.scores(each) for each in outputs])

    def scores(w: Float) -> Float:
        weighted = {} if of_test is None else {"sample_weight": of_test}
        each = zip(w, training.units.target - w @ training.units.center, strict=True)
        return np.array([scorer(Predictor(*wb), X[test], y[test], **weighted) for wb in each], dtype=float)

    found = predictors(training, grid, start, rtol, lambda w: float(scores(w[None])[0]))
    return np.concatenate([scores(w) for w in found])
