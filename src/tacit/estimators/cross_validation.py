"""Cross-validation over a grid: the loop over folds, and the selection of a point by its scores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.stats import rankdata, t
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tacit.data.arrays import Float, Index
from tacit.errors import InputError
from tacit.estimators.grid import Grid

Result = TypeVar("Result")  # of a fold
Point = dict[str, Any]  # depth, scale and stop
RULES = ("cautious", "smoothed", "best", "one-standard-error")
_LOG = logging.getLogger(__name__)
_SMOOTHING = 1.5  # standard deviation of the Gaussian weights in smoothed scores, in steps of the grid
_CONFIDENCE = 0.9  # confidence required for a scale below the kernel end
_TIE = 1e-6  # relative difference of scores that counts as none


class Searched:
    """Attributes of an estimator that `select` sets."""

    scale_: float
    depth_: float
    stop_: float | None
    cv_results_: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the samples: features, targets or class indices, and sample weights (None if all are equal)."""

    X: Float
    y: Any
    weights: Float | None

    def part(self, indices: Index) -> Subset:
        """The samples with these indices."""
        return Subset(
            self.X[indices], self.y[indices], None if self.weights is None else self.weights[indices]
        )

    def score(self, scorer: Any, estimator: Any, y: Any) -> float:
        """The score of an estimator on these samples, with the targets or labels y."""
        weights = {} if self.weights is None else {"sample_weight": self.weights}
        return float(scorer(estimator, self.X, y, **weights))


def results_of_folds(
    estimator: Any,
    data: Subset,
    labels: Any,
    groups: Any,
    placeholder: Any,
    fold: Callable[[Subset, Subset, Any], Result],
) -> list[Result]:
    """The results of all folds, computed in parallel; sets the estimator's `scorer_`.

    labels: y in the form that splitters expect. placeholder: an estimator of the type that is passed to
    scorers. fold: from training samples, test samples and scorer (None for the default) to its result.
    """
    estimator.scorer_ = None if estimator.scoring is None else check_scoring(placeholder, estimator.scoring)
    splitter = check_cv(estimator.cv, data.y, classifier=is_classifier(placeholder))
    work = (
        delayed(fold)(data.part(train), data.part(test), estimator.scorer_)
        for train, test in splitter.split(data.X, labels, groups)
    )
    return list(Parallel(n_jobs=estimator.n_jobs)(work))


def _cv_results(points: list[Point], scores: Float) -> dict[str, Any]:
    """The table that `GridSearchCV` calls cv_results_; scores: (folds, points)."""
    names = list(points[0])
    table: dict[str, Any] = {f"param_{name}": _column([point[name] for point in points]) for name in names}
    table["params"] = points
    table |= {f"split{k}_test_score": row for k, row in enumerate(scores)}
    mean = scores.mean(axis=0)
    rank = rankdata(-mean, method="ordinal").astype(np.int32)
    return table | {"mean_test_score": mean, "std_test_score": _deviation(scores), "rank_test_score": rank}


def _deviation(scores: Float, ddof: int = 0) -> Float:
    """The standard deviation over folds. Scaling by a power of 2 avoids overflow of the squares."""
    _, exponent = np.frexp(np.abs(scores).max(initial=0.0))
    deviation: Float = np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
    return deviation


def _column(values: list[Any]) -> NDArray[Any]:
    return np.array(values, dtype=object if None in values else None)


def check_rule(rule: Any) -> str:
    """Validate rule, one of `RULES`."""
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    return str(rule)


def select(estimator: Any, grid: Grid, scores: Float, rule: str, among_equals: Float | None = None) -> None:
    """Choose a point by the scores (folds, points), and set the attributes of the estimator accordingly.

    among_equals: a number for every point, the largest of which decides between equal scores.
    """
    points = grid.points()
    if rule in ("cautious", "smoothed"):
        means = smoothed(_means(scores), grid.shape)
        index = _best(means, among_equals)
        if rule == "cautious":
            index = _cautious(index, scores, means, grid.shape, among_equals)
    else:
        simplicity = [(-(point["stop"] or 0.0), point["scale"]) for point in points]
        index = _chosen(scores, simplicity, rule, among_equals)
    estimator.best_index_, estimator.best_score_ = index, float(scores[:, index].mean())
    estimator.cv_results_, estimator.n_splits_ = _cv_results(points, scores), len(scores)
    for name, value in points[index].items():
        setattr(estimator, f"{name}_", value)
    chosen = ", ".join(f"{name} = {value}" for name, value in points[index].items())
    _LOG.info("cross-validation of %d candidates in %d folds selects %s", len(points), len(scores), chosen)


def smoothed(means: Float, shape: tuple[int, ...]) -> Float:
    """Mean scores, averaged over neighbouring scales and stops with Gaussian weights.

    Neighbouring points are nearly the same model, so that their differences are mostly noise, and the best of
    many noisy scores is too optimistic. shape: numbers of depths, scales and stops.
    """
    if not np.isfinite(means).all():
        return means
    widths = (0, _SMOOTHING, _SMOOTHING)
    return np.asarray(gaussian_filter(means.reshape(shape), widths, mode="nearest")).ravel()


def _cautious(
    best: int, scores: Float, means: Float, shape: tuple[int, ...], among_equals: Float | None
) -> int:
    """The best point if it is significantly better than the best point at the kernel end, else the latter.

    The best of a larger grid is more optimistically biased: at the kernel end only the stop is chosen. The
    comparison is a one-sided paired t test over folds.
    """
    at_kernel_end = np.zeros(shape, dtype=bool)
    at_kernel_end[:, 0] = True  # scales decrease
    at_kernel_end = at_kernel_end.ravel()
    kernel = _best(np.where(at_kernel_end, means, -np.inf), among_equals)
    gains = scores[:, best] - scores[:, kernel]
    if at_kernel_end[best] or len(gains) < 2:
        return best
    needed = t.ppf(_CONFIDENCE, len(gains) - 1) * _deviation(gains, 1) / np.sqrt(len(gains))
    return best if gains.mean() > needed else kernel


def _means(scores: Float) -> Float:
    """Mean scores over folds, −∞ for points without a score in one of the folds."""
    means = np.where(np.isnan(scores).any(axis=0), -np.inf, scores.mean(axis=0))
    if not np.isfinite(means.max()):
        raise InputError("no point of the grid has a score in every fold: scoring returned NaN or failed")
    return means


def _best(means: Float, among_equals: Float | None) -> int:
    """The best point; among points equal up to round-off, that with largest among_equals, or the first."""
    top = float(means.max())
    equals = np.flatnonzero(means >= top - _TIE * abs(top))
    return int(equals[0] if among_equals is None else equals[np.argmax(among_equals[equals])])


def _chosen(
    scores: Float, simplicity: Sequence[tuple[float, ...]], rule: str, among_equals: Float | None
) -> int:
    """The best point, or the simplest point whose mean is within one standard error of the best.

    simplicity: keys that sort simple models first, by an early stop and then by a small scale.
    """
    means = _means(scores)
    if rule == "best" or len(scores) < 2:
        return _best(means, among_equals)
    error = float(_deviation(scores[:, int(means.argmax())], 1) / np.sqrt(len(scores)))
    good = np.flatnonzero(means >= means.max() - error).tolist()
    return min(good, key=lambda index: (*simplicity[index], -means[index]))
