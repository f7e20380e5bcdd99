"""Quantities that claims measure; NaN if undefined, so that the claim fails and the run continues."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from tacit.data.arrays import Float


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


def rank_correlation(x: Float, y: Float) -> float:
    """Spearman's rank correlation; NaN if x or y is constant."""
    if min(np.unique(x).size, np.unique(y).size) < 2:
        return np.nan
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
