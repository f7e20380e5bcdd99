"""Quantities that claims measure, and variables of the datasets that they are measured on.

A quantity is NaN if it is undefined, so that the claim fails and the run continues. The transition of limits
between both regimes is compared with training the raw weights: limits and flows in mirror space use the same
potential, so a wrong potential would affect both. Gradient flow on the weights themselves does not use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata

import tacit
from tacit.data.arrays import Float
from tacit.data.problems import SparseRegression
from tacit.numerics.roots import crossing


def variables(dims: str, **arrays: Any) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Variables of a Dataset that share their dimensions: `variables("width draw", error=…, moved=…)`."""
    return {name: (tuple(dims.split()), array) for name, array in arrays.items()}


def first(values: Float) -> float:
    """The first value; NaN if there is none."""
    return float(values[0]) if values.size else np.nan


def least(values: Float) -> float:
    """The smallest value; NaN if there is none."""
    return float(values.min()) if values.size else np.nan


def share(truths: np.ndarray) -> float:
    """The fraction of true values; NaN if there is none."""
    return float(truths.mean()) if truths.size else np.nan


def largest_fall(values: Float) -> float:
    """The largest decrease from one value to the next; 0 if the values never decrease."""
    return float(abs(np.minimum(0.0, least(np.diff(values)))))


def ratio(part: float, whole: float) -> float:
    """part/whole, infinite or NaN if the whole is 0, where Python's division would raise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(part) / np.float64(whole))


def slope(x: Float, y: Float) -> float:
    """The slope of the least-squares line through the points; NaN if all x are equal."""
    return float(np.polyfit(x, y, 1)[0]) if np.unique(x).size > 1 else np.nan


def exponent(x: Any, y: Any) -> float:
    """The fitted power of x in y, the slope of log y against log x; NaN if a value is not positive."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return slope(np.log(x), np.log(y)) if np.isfinite(y).all() and (y > 0).all() else math.nan


def rank_correlation(x: Float, y: Float) -> float:
    """Spearman's rank correlation; NaN if x or y is constant."""
    if min(np.unique(x).size, np.unique(y).size) < 2:
        return np.nan
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def level_at(measure: Callable[[float], float], value: float, lowest: float, highest: float) -> float:
    """Find the level between lowest and highest at which a measure crosses a value; NaN if it does not.

    Levels are logarithms of scales. They are found to 1e-9, far below the resolution of the claims.
    """
    above = np.array([measure(lowest), measure(highest)]) - value
    if not np.isfinite(above).all() or above.prod() >= 0:
        return math.nan
    return crossing(lambda level: measure(level) - value, lowest, highest, xtol=1e-9)


def trained(model: Any, X: Float, y: Float) -> Float:
    """Return the limit of gradient flow on the raw weights, for the square loss; NaN without convergence."""
    flow = tacit.flow(model, X, y, method="parameters")
    return np.asarray(flow.predictor[-1]) if flow.converged else np.full(X.shape[1], np.nan)


def farthest(values: Float, target: float = 1.0) -> float:
    """Return the value that is farthest from the target; NaN if a value is NaN or there is none."""
    return float(values[np.argmax(np.abs(values - target))]) if values.size else math.nan


def limit_error(problem: SparseRegression, model: Any) -> float:
    """The population error of the limit of gradient flow, or of the minimizer of a potential."""
    return problem.population_error(tacit.limit(model, problem.X, problem.y).predictor)


def halfway(
    problem: SparseRegression,
    measure: Callable[[Float], float],
    model: Callable[[float], Any],
    value: float,
    between: tuple[float, float],
) -> tuple[float, float]:
    """The level at which a measure of the limit has a value, and that measure of weights trained from there.

    model: the network of a level. between: the lowest and the highest level. NaN if the limit has the value
    at none of them.
    """
    X, y = problem.X, problem.y
    level = level_at(lambda level: measure(tacit.limit(model(level), X, y).predictor), value, *between)
    return level, math.nan if math.isnan(level) else measure(trained(model(level), X, y))
