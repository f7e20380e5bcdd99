"""What claims measure: NaN where there is nothing to measure, so that the claim fails and not the run."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from tacit.data.arrays import Float


def first(values: Float) -> float:
    """The first value."""
    return float(values[0]) if values.size else np.nan


def least(values: Float) -> float:
    """The smallest value."""
    return float(values.min()) if values.size else np.nan


def share(truths: np.ndarray) -> float:
    """How much of it is true, from 0 to 1."""
    return float(truths.mean()) if truths.size else np.nan


def largest_fall(values: Float) -> float:
    """How far the values fall from one to the next at most; 0 if they never do."""
    return float(abs(np.minimum(0.0, least(np.diff(values)))))


def ratio(part: float, whole: float) -> float:
    """part/whole; infinite or NaN where the whole is 0: a division of Python's floats would end the run."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(part) / np.float64(whole))


def slope(x: Float, y: Float) -> float:
    """Of the line through the points, by least squares."""
    return float(np.polyfit(x, y, 1)[0]) if np.unique(x).size > 1 else np.nan


def rank_correlation(x: Float, y: Float) -> float:
    """Spearman's: from −1 to 1, NaN where one of them is constant."""
    if min(np.unique(x).size, np.unique(y).size) < 2:
        return np.nan
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
