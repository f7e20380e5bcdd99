"""Classification by a flow whose initialization and stop are chosen by cross-validation."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tacit.data.arrays import Float, Index
from tacit.errors import InputError
from tacit.estimators.binary import LEFT, TwoClasses
from tacit.estimators.classifier import SQUARE, against_others, check_loss, labelled_data, solved, take
from tacit.estimators.grid import Grid, as_stops, grid_of
from tacit.estimators.one_against_others import OneAgainstOthers
from tacit.estimators.selection import check_rule, select
from tacit.estimators.start import Start

_ROUGH = 0.01  # relative accuracy of predictors that are only compared
_BOTH, _MARGIN = "auto", "margin"
_STOPS = tuple(np.geomspace(0.9, 0.003, 10).tolist())


class Scores(OneAgainstOthers, BaseEstimator):
    """Predictors that were found, for scorers to ask."""

    def __init__(self, coef: Any = None, intercept: Any = None, classes: Any = None):
        self.coef = self.coef_ = coef
        self.intercept = self.intercept_ = intercept
        self.classes = self.classes_ = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> Scores:
        """Nothing: they are found already."""
        return self

    def _inputs(self, X: Any) -> Any:
        return X


class FlowClassifierCV(OneAgainstOthers):
    """`FlowClassifier` with scale, depth and stop chosen by cross-validation.

    Of data that can be separated the margins at all scales are one path (`tacit.margin_path`); of flows of
    the logistic or the square loss one gives the predictors at all its stops. Of points with equal scores,
    which are many where samples are few, that one is taken whose held-out samples are farthest on the right
    side, in units of the training samples'.

    Parameters
    ----------
    scales : int or sequence of float, optional
        How many to try for each depth, chosen from the data (from the kernel end down, see `scale_range`), or
        the scales themselves, in the data's own units as of `FlowClassifier`.
    depth : float or sequence of float, optional
        One or several.
    stops : int or sequence, optional
        Shares that are left of what the logistic loss can fall by, or how many to try before the margin, for
        which None stands. If left out: the margin where the data can be separated, ten stops where not.
    fit_intercept, tol, weights, standardize : optional
        As of `FlowClassifier`.
    cv : int or splitter, optional
        As everywhere in scikit-learn.
    scoring : str or callable, optional
        Larger is better; accuracy if left out.
    rule : "best" | "smoothed" | "cautious" | "one-standard-error", optional
        "smoothed": the best after each mean score was averaged with its neighbours among scales and stops.
        "cautious": the same, but a scale below the largest must be surely better than it (see
        `FlowRegressorCV`). "one-standard-error": the earliest stop, then the smallest scale, whose mean score
        is within one standard error of the best.
    n_jobs : int, optional
        As everywhere in scikit-learn.
    loss : "auto" | "square" or None, optional
        None for margins and the flows of the logistic loss towards them; "square" for flows that fit labels
        as numbers, whose stops are shares of the loss at the start, and None their end. "auto": both are
        tried where the data can be separated.

    Attributes
    ----------
    scale_, depth_, stop_ : float
        What was chosen; stop_ is None where no flow is stopped.
    mu_ : float
        scale_^depth_.
    cv_results_ : dict
        A table as of GridSearchCV; its loss "margin" stands for the flows towards margins, too.
    best_index_, best_score_, scorer_, n_splits_
        As of GridSearchCV.
    classes_, coef_, intercept_, model_, n_iter_, separable_, loss_, accuracy_
        As of `FlowClassifier`.

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
        stops: Any = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-10,
        weights: Any = None,
        standardize: bool = False,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: str | None = "auto",
    ):
        self.scales = scales
        self.depth = depth
        self.stops = stops
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.weights = weights
        self.standardize = standardize
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.loss = loss

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
            Labels of any kind, two or more.
        sample_weight : (N,) array-like, optional
            Weighs the losses, as of `FlowClassifier`.
        groups : (N,) array-like, optional
            Of samples, for splitters that ask.

        Returns
        -------
        FlowClassifierCV
            Itself.
        """
        rule, loss = check_rule(self.rule), check_loss(self.loss, _BOTH)
        X, codes, weights = labelled_data(self, X, y, sample_weight)
        problems = self._problems(X, codes, weights, 2.0, 1.0)
        separable = all(problem.separable for problem in problems)

        def top(depth: float) -> float:
            return max(problem.kernel_end(depth) for problem in problems)

        losses = _losses(loss, separable)
        grid = replace(grid_of(self.depth, self.scales, self._stops(separable, loss), top), losses=losses)
        scores, sides = self._scores(X, codes, weights, groups, grid)
        select(self, grid, scores, rule, sides.mean(axis=0))
        self.cv_results_["mean_test_side"] = sides.mean(axis=0)
        self.mu_ = self.scale_**self.depth_
        problems = self._problems(X, codes, weights, self.depth_, self.scale_)
        take(self, problems, solved(problems, self.loss_ == SQUARE, None, self.stop_, self.tol))
        return self

    def _problems(self, X: Float, codes: Any, weights: Any, depth: float, scale: float) -> list[TwoClasses]:
        start = Start(depth, scale, None, self.weights)
        return against_others(X, codes, weights, self.fit_intercept, self.standardize, start)

    def _stops(self, separable: bool, loss: str | None) -> Any:
        """The stops that are tried: no margins where there are none."""
        if isinstance(self.stops, str):
            if self.stops != "auto":
                raise InputError(f"stops must be shares, how many, None or 'auto', got {self.stops!r}")
            return None if separable else _STOPS
        stops = as_stops(self.stops)
        return (
            stops if separable or loss == SQUARE else ([stop for stop in stops if stop is not None] or [LEFT])
        )

    def _scores(self, X: Float, codes: NDArray[np.intp], weights: Any, groups: Any, grid: Grid) -> Float:
        """Scores, and how far samples are on the right side: (2, folds, points)."""
        self.scorer_ = None if self.scoring is None else check_scoring(Scores(), self.scoring)
        labels = self.classes_[codes]
        folds = check_cv(self.cv, codes, classifier=True).split(X, labels, groups)
        scorer = partial(_scored, self.scorer_, self.classes_)
        work = (delayed(self._fold)(X, codes, weights, train, test, grid, scorer) for train, test in folds)
        return np.moveaxis(np.array(Parallel(n_jobs=self.n_jobs)(work)), 2, 0)

    def _fold(
        self, X: Float, codes: Any, weights: Any, train: Index, test: Index, grid: Grid, scorer: Any
    ) -> Float:
        """The score of every point of the grid on the samples of a fold."""
        of_train, of_test = (None if weights is None else weights[fold] for fold in (train, test))
        seen = codes[train] if of_train is None else codes[train][of_train > 0]
        if len(np.unique(seen)) < len(self.classes_):
            missing = np.setdiff1d(np.arange(len(self.classes_)), seen)
            raise InputError(
                f"a fold of cv leaves no training samples of class {self.classes_.tolist()[missing[0]]!r}: "
                "take fewer folds"
            )
        scores = []
        flows = product(grid.losses, zip(grid.depths, grid.scales, strict=True))
        for loss, (depth, scales) in flows:
            problems = self._problems(X[train], codes[train], of_train, depth, 1.0)
            for w, b in zip(*_along(problems, scales, grid.stops, loss == SQUARE), strict=True):
                train_data, test_data = (X[train], codes[train], of_train), (X[test], codes[test], of_test)
                scores.append(scorer(w, b, train_data, test_data))
        return np.array(scores)


def _losses(loss: str | None, separable: bool) -> tuple[str, ...]:
    """Those that are tried, by their names in the table."""
    return {None: (_MARGIN,), SQUARE: (SQUARE,), _BOTH: (_MARGIN, SQUARE) if separable else (_MARGIN,)}[loss]


def _along(problems: list[TwoClasses], scales: Float, stops: Any, square: bool) -> tuple[Float, Float]:
    """Predictors, (points, classes, d), and intercepts, (points, classes), at all scales and stops."""
    w, b = [], []
    for problem in problems:
        found = list(zip(*problem.along(scales, stops, _ROUGH, square), strict=True))
        w.append([each[0] for each in found])
        b.append([each[1] for each in found])
    return np.swapaxes(np.array(w), 0, 1), np.array(b).T


def _scored(scorer: Any, classes: Any, w: Float, b: Float, train: Any, test: Any) -> tuple[float, float]:
    """The score on the samples of a fold, and by how much they are on the right side.

    That is in units of the root mean square of it on the training samples, and no sample counts for more.
    train, test: X, classes by their place, and weights.
    """
    unit = math.sqrt(np.average(_sides(w, b, *train[:2]) ** 2, weights=train[2]))
    X, codes, weights = test
    sides = _sides(w, b, X, codes)
    beyond = float(np.average(np.minimum(sides / (unit or 1.0), 1.0), weights=weights))
    if scorer is None:
        return float(np.average(sides > 0, weights=weights)), beyond
    weighted = {} if weights is None else {"sample_weight": weights}
    return float(scorer(Scores(w, b, classes), X, classes[codes], **weighted)), beyond


def _sides(w: Float, b: Float, X: Float, codes: Any) -> Float:
    """By how much each sample is on the right side: y·f, or f of its class less the largest of others."""
    found = X @ w.T + b
    if len(w) == 1:
        return np.asarray(np.where(codes == 1, found[:, 0], -found[:, 0]))
    own = found[np.arange(len(codes)), codes]
    found[np.arange(len(codes)), codes] = -np.inf
    return np.asarray(own - found.max(axis=1))
