"""Linear classification by gradient flow, with initialization and stop chosen by cross-validation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.estimators.binary import LEFT
from tacit.estimators.calibration import CalibrationAtUse, HeldOutValues, check_classes
from tacit.estimators.classifier import SQUARE, against_others, check_loss, labelled_data, set_fits, solved
from tacit.estimators.cross_validation import Searched, Subset, check_rule, results_of_folds, select
from tacit.estimators.grid import Grid, as_stops, grid_of
from tacit.estimators.linear_flow import OneAgainstOthers, Probabilistic

_RTOL = 0.1  # relative accuracy of predictors that are only compared, as for regression on noisy data
_AUTO, _MARGIN = "auto", "margin"
# Default stops. Noisy labels are fitted best when most of the loss is left; later stops take longer.
_STOPS = (0.95, 0.8, 0.6, 0.4, 0.25)


class FixedClassifier(OneAgainstOthers, BaseEstimator):
    """A classifier with given coefficients, for scorers."""

    def __init__(self, coef: Any = None, intercept: Any = None, classes: Any = None):
        self.coef = self.coef_ = coef
        self.intercept = self.intercept_ = intercept
        self.classes = self.classes_ = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> FixedClassifier:
        """Do nothing, since the coefficients are given."""
        return self

    def _inputs(self, X: Any) -> Any:
        return X


@dataclass(eq=False, repr=False)
class FlowClassifierCV(Searched, Probabilistic):
    """`FlowClassifier` with scale, depth and stop chosen by cross-validation.

    By default, flows on the logistic and on the square loss with five early stops, and for separable data
    also margins and the limits of the square loss. Early stopping matters most if the classes are noisy:
    with more features than samples nearly all data are separable, and margins fit the noise.

    A single flow gives the predictors at all of its stops, and the margins at all scales are computed as one
    path (`tacit.margin_path`). Among points with equal scores, which are common with few samples, the point
    with the largest mean margin of the held-out samples, relative to the training samples, is chosen.
    The decision values of the held-out samples at the chosen point calibrate `predict_proba`.

    Parameters
    ----------
    scales : int or sequence of float, optional
        The number of scales for each depth, chosen from the data (from the kernel end down, see
        `scale_range`), or the scales themselves, as in `FlowClassifier`.
    depth : float or sequence of float, optional
        One depth or several.
    stops : int or sequence, optional
        The number of stops before the margin, or the stops themselves: fractions of the largest possible
        decrease of the logistic loss, or of the initial square loss, with None for the margin or the limit
        of the square loss. If left out: .95, .8, .6, .4 and .25, and None if the data are separable.
    fit_intercept, tol, weights, standardize : optional
        As in `FlowClassifier`.
    cv : int or splitter, optional
        As in scikit-learn.
    scoring : str or callable, optional
        As in scikit-learn; accuracy if left out. Scorers see labels and decision values, not probabilities.
    rule : "best" | "smoothed" | "cautious" | "one-standard-error", optional
        "best": the best mean score. "smoothed": the best after averaging mean scores over neighbouring scales
        and stops. "cautious": the same, but a scale below the largest must be significantly better than it
        (see `FlowRegressorCV`). "one-standard-error": the earliest stop, then the smallest scale, whose mean
        score is within one standard error of the best.
    n_jobs : int, optional
        As in scikit-learn.
    loss : "auto" | "square" or None, optional
        None for margins and the flows on the logistic loss towards them; "square" for flows that fit the
        labels as numbers. "auto" tries both.
    class_weight : "balanced" or dict, optional
        Factors of the sample weights, in the losses and in the scores, as in `FlowClassifier`.

    Attributes
    ----------
    scale_, depth_, stop_ : float
        The chosen values; stop_ is None if the flow is not stopped.
    mu_ : float
        scale_^depth_.
    cv_results_ : dict
        A table as in GridSearchCV, where the loss "margin" includes the flows towards margins.
    best_index_, best_score_, scorer_, n_splits_
        As in GridSearchCV.
    classes_, coef_, intercept_, model_, n_iter_, separable_, loss_, accuracy_
        As in `FlowClassifier`.

    See Also
    --------
    scale_range : The range of scales in which the solution changes.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.estimators import FlowClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> classifier = FlowClassifierCV(scales=[1.0, 1e-3], loss=None, cv=2).fit(X, y)
    >>> classifier.separable_, classifier.predict([[2.0, 0.0, 0.0]]).tolist()
    (True, ['right'])
    """

    scales: Any = 5
    depth: Any = 2
    stops: Any = "auto"
    fit_intercept: bool = True
    tol: float = 1e-10
    weights: Any = None
    standardize: bool = False
    cv: Any = None
    scoring: Any = None
    rule: str = "best"
    n_jobs: int | None = None
    loss: str | None = "auto"
    class_weight: Any = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> FlowClassifierCV:
        """Choose scale, depth and stop, and fit with them.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Labels of at least two classes.
        sample_weight : (N,) array-like, optional
            Weights of the losses, as in `FlowClassifier`.
        groups : (N,) array-like, optional
            Groups of the samples, for splitters that use them.

        Returns
        -------
        FlowClassifierCV
            The fitted estimator.
        """
        rule, loss = check_rule(self.rule), check_loss(self.loss, _AUTO)
        X, codes, weights = labelled_data(self, X, y, sample_weight)
        problems = against_others(self, X, codes, weights, 2.0, 1.0)
        separable = all(problem.separable for problem in problems)

        def top(depth: float) -> float:
            return max(problem.kernel_end(depth) for problem in problems)

        losses = {_AUTO: (_MARGIN, SQUARE), SQUARE: (SQUARE,), None: (_MARGIN,)}[loss]
        grid = replace(grid_of(self.depth, self.scales, self._stops(separable, loss), top), losses=losses)
        data, labels, fold = Subset(X, codes, weights), self.classes_[codes], partial(self._fold, grid)
        found = results_of_folds(self, data, labels, groups, FixedClassifier(), fold)
        scores, sides = (np.array(each) for each in list(zip(*found, strict=True))[:2])
        select(self, grid, scores, rule, sides.mean(axis=0))
        self.cv_results_["mean_test_side"] = sides.mean(axis=0)
        held_out = HeldOutValues.joined([outputs[self.best_index_] for _, _, outputs in found])
        self._calibrate = CalibrationAtUse(held_out)
        self.mu_ = self.scale_**self.depth_
        problems = against_others(self, X, codes, weights, self.depth_, self.scale_)
        set_fits(self, problems, solved(problems, self.loss_ == SQUARE, None, self.stop_, self.tol))
        return self

    def _stops(self, separable: bool, loss: str | None) -> Any:
        """The stops to try, without margins if there are none."""
        if isinstance(self.stops, str):
            if self.stops != "auto":
                raise InputError(
                    "stops must be fractions of the loss, a number of stops, None or 'auto', got "
                    f"{self.stops!r}"
                )
            return (*_STOPS, None) if separable else _STOPS
        stops = as_stops(self.stops)
        if separable or loss == SQUARE:
            return stops
        return [stop for stop in stops if stop is not None] or [LEFT]

    def _fold(
        self, grid: Grid, train: Subset, test: Subset, scorer: Any
    ) -> tuple[Float, Float, list[HeldOutValues]]:
        """Scores, relative margins and decision values of the grid on the test samples of a fold."""
        check_classes(train.y, train.weights, self.classes_)
        found, values = [], []
        for loss, (depth, scales) in product(grid.losses, zip(grid.depths, grid.scales, strict=True)):
            problems = against_others(self, train.X, train.y, train.weights, depth, 1.0)
            paths = [problem.on_grid(scales, grid.stops, _RTOL, loss == SQUARE) for problem in problems]
            w, b = (np.stack(each, axis=1) for each in zip(*paths, strict=True))  # points, classes
            for each in zip(w, b, strict=True):
                found.append(self._score(each, train, test, scorer))
                values.append(HeldOutValues(test.X @ each[0].T + each[1], test.y, test.weights))
        scores, sides = np.array(found).T
        return scores, sides, values

    def _score(
        self, predictor: tuple[Float, Float], train: Subset, test: Subset, scorer: Any
    ) -> tuple[float, float]:
        """The score of a predictor on the test samples, and their mean margin.

        The margin is relative to the root mean square of the margins of the training samples, and at most 1
        for each sample.
        """
        unit = math.sqrt(np.average(_margins(*predictor, train) ** 2, weights=train.weights))
        margins = _margins(*predictor, test)
        relative = np.average(np.minimum(margins / (unit or 1.0), 1.0), weights=test.weights)
        if scorer is None:
            return float(np.average(margins > 0, weights=test.weights)), float(relative)
        classifier = FixedClassifier(*predictor, self.classes_)
        return test.score(scorer, classifier, self.classes_[test.y]), float(relative)


def _margins(w: Float, b: Float, samples: Subset) -> Float:
    """The margin of each sample: y·f, or f of its class minus the largest f of the other classes."""
    f, rows = samples.X @ w.T + b, np.arange(len(samples.y))
    if len(w) == 1:
        return np.asarray(np.where(samples.y == 1, f[:, 0], -f[:, 0]))
    own = f[rows, samples.y]
    f[rows, samples.y] = -np.inf
    return np.asarray(own - f.max(axis=1))
