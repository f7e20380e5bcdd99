"""Which point of a grid to take, from the scores of every fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.estimators.grid import Grid

Point = dict[str, Any]  # depth, scale and stop
RULES = ("cautious", "smoothed", "best", "one-standard-error")
_REACH = 1.5  # steps of the grid, the deviation of the weights by which scores are averaged
_SURE = 0.9  # confidence at which a start below the kernel end is better
_TIE = 1e-6  # of a score, relative


def _cv_results(points: list[Point], scores: Float) -> dict[str, Any]:
    """What `GridSearchCV` calls cv_results_: scores are (folds, points)."""
    names = list(points[0])
    table: dict[str, Any] = {f"param_{name}": _column([point[name] for point in points]) for name in names}
    table["params"] = points
    table |= {f"split{k}_test_score": row for k, row in enumerate(scores)}
    mean = scores.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    rank = np.empty(len(points), dtype=np.int32)
    rank[order] = np.arange(1, len(points) + 1)
    return table | {"mean_test_score": mean, "std_test_score": _deviation(scores), "rank_test_score": rank}


def _deviation(scores: Float, ddof: int = 0) -> Float:
    """Over folds; in a unit in which floats hold the squares of scores that are squares themselves."""
    _, exponent = np.frexp(np.abs(scores).max(initial=0.0))
    found: Float = np.ldexp(np.ldexp(scores, -exponent).std(axis=0, ddof=ddof), exponent)
    return found


def _column(values: list[Any]) -> NDArray[Any]:
    return np.array(values, dtype=object if None in values else None)


def check_rule(rule: Any) -> str:
    """One of `RULES`."""
    if rule not in RULES:
        raise InputError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    return str(rule)


def select(estimator: Any, grid: Grid, scores: Float, rule: str, among_equals: Float | None = None) -> None:
    """Tell an estimator what it has chosen, and the table it has chosen from; scores: (folds, points)."""
    points = grid.points()
    simplicity = [(-(point["stop"] or 0.0), point["scale"]) for point in points]
    if rule in ("cautious", "smoothed"):
        means = smoothed(_means(scores), grid.shape)
        place = _best(means, among_equals)
        if rule == "cautious":
            place = _cautious(place, scores, means, grid.shape, among_equals)
    else:
        place = _chosen(scores, simplicity, rule, among_equals)
    estimator.best_index_, estimator.best_score_ = place, float(scores[:, place].mean())
    estimator.cv_results_, estimator.n_splits_ = _cv_results(points, scores), len(scores)
    for name, value in points[place].items():
        setattr(estimator, f"{name}_", value)


def smoothed(means: Float, shape: tuple[int, ...]) -> Float:
    """Means averaged with those of neighbours among scales and stops, as a bell curve weighs them.

    Neighbours are nearly the same model, and samples of a fold that happen to suit one of them are luck: the
    best of many means is the luckiest of the good ones. shape: depths, scales, stops.
    """
    from scipy.ndimage import gaussian_filter

    if not np.isfinite(means).all():
        return means
    return np.asarray(gaussian_filter(means.reshape(shape), (0, _REACH, _REACH), mode="nearest")).ravel()


def _cautious(
    best: int, scores: Float, means: Float, shape: tuple[int, ...], among_equals: Float | None
) -> int:
    """The best point, if it is surely better than the best at the kernel end, or else that one.

    There only the stop is chosen, here the scale, too, and who chooses among more is lucky more often. A
    one-sided t test of the differences between both, fold by fold.
    """
    from scipy.stats import t

    first = np.zeros(shape, dtype=bool)
    first[:, 0] = True  # scales go down
    kernel = _best(np.where(first.ravel(), means, -np.inf), among_equals)
    gains = scores[:, best] - scores[:, kernel]
    if first.ravel()[best] or len(gains) < 2:
        return best
    needed = t.ppf(_SURE, len(gains) - 1) * _deviation(gains, 1) / np.sqrt(len(gains))
    return best if gains.mean() > needed else kernel


def _means(scores: Float) -> Float:
    """Over folds; −∞ where one of them has none."""
    means = np.where(np.isnan(scores).any(axis=0), -np.inf, scores.mean(axis=0))
    if not np.isfinite(means.max()):
        raise InputError("no point of the grid has a score in every fold: scoring is not defined there")
    return means


def _best(means: Float, among_equals: Float | None) -> int:
    """Of points that are as good but for rounding, the one where among_equals is largest, or the first."""
    top = float(means.max())
    equals = np.flatnonzero(means >= top - _TIE * abs(top))
    return int(equals[0] if among_equals is None else equals[np.argmax(among_equals[equals])])


def _chosen(
    scores: Float, simplicity: Sequence[tuple[float, ...]], rule: str, among_equals: Float | None
) -> int:
    """The best point, or the simplest whose mean is within one standard error of the best.

    simplicity: the smaller, the simpler: an early stop, then a small scale.
    """
    mean = _means(scores)
    if rule == "best" or len(scores) < 2:
        return _best(mean, among_equals)
    error = float(_deviation(scores[:, int(mean.argmax())], 1) / np.sqrt(len(scores)))
    good = np.flatnonzero(mean >= mean.max() - error).tolist()
    return min(good, key=lambda place: (*simplicity[place], -mean[place]))
