"""Between which scales the solution changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_X_y

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.estimators.grid import grid_of, kernel_end
from tacit.estimators.start import Start
from tacit.estimators.training import Training
from tacit.verbs.limit import limit
from tacit.verbs.prepare import prepare
from tacit.verbs.regime import both_ends

_FINE = 0.01  # to which logarithms of scales are located
_STRIDE = math.log(10.0)  # of the predictor's scale
_FARTHEST = 200 * _STRIDE
_SAME = 1e-6  # relative difference of norms that is none


class ScaleRange(NamedTuple):
    """Scales in the data's own units, as of the estimators.

    Attributes
    ----------
    rich : float
        At the rich end: below, the fit is that of basis pursuit.
    kernel : float
        At the kernel end: above, the fit is that of minimum-norm least squares.
    """

    rich: float
    kernel: float


def scale_range(
    X: ArrayLike,
    y: ArrayLike,
    depth: float = 2,
    *,
    share: float = 0.05,
    fit_intercept: bool = True,
    standardize: bool = False,
) -> ScaleRange:
    """Below which scale the ℓ1 norm of the limit is within a share of the least, above which its ℓ2 norm.

    Below `rich` the fit is that of basis pursuit, above `kernel` that of minimum-norm least squares, as far
    as these norms tell; what is worth trying lies between. Where data leave no choice (as many independent
    samples as features), limits are one at all scales: then these are the scales between which flows that are
    stopped change their way.

    Parameters
    ----------
    X : (N, d) array-like or sparse matrix
        Rows are samples.
    y : (N,) array-like
        Targets.
    depth : float, optional
        2 or more.
    share : float, optional
        How much larger than the least the norms may be, relative to it.
    fit_intercept, standardize : bool, optional
        As of `FlowRegressor`.

    Returns
    -------
    ScaleRange
        Both scales.

    Raises
    ------
    InputError
        Where share is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise InputError(f"share must lie between 0 and 1, got {share!r}")
    samples, targets = check_X_y(X, y, dtype=np.float64, y_numeric=True, accept_sparse="csr")
    samples = samples.toarray() if hasattr(samples, "toarray") else samples
    training = Training.of(samples, targets, None, fit_intercept, standardize)
    plain = grid_of(depth, 2, None, lambda each: kernel_end(training, each)).scales[0]
    top = kernel_end(training, depth, None)
    at = _Norms(training, depth, top)
    if at.same:
        return ScaleRange(float(plain[-1]), float(plain[0]))
    rich = _last_below(lambda shift: at(shift)[0], share, depth)
    kernel = _last_below(lambda shift: -at(shift)[1], -share, depth)
    return ScaleRange(top * math.exp(rich), top * math.exp(kernel))


class _Norms:
    """ℓ1 and ℓ2 norms of the limit, relative to the least less 1, at scales e^shift times the first."""

    def __init__(self, training: Training, depth: float, top: float):
        first = int(training.units.intercept)
        self.rows = prepare(training.rows[first:] / training.spread)
        self.y = training.targets[first:] / math.sqrt(2 * training.loss or 1.0)
        self.depth, self.top, self.known = depth, top, dict[float, tuple[float, float]]()
        if not self.y.any() or not self.rows.X.any():
            self.same = True
            return
        ends = both_ends(self._limit(0.0))
        assert ends is not None
        self.least = float(np.abs(ends[1]).sum()), float(np.linalg.norm(ends[0]))
        self.same = float(np.abs(ends[0]).sum()) <= (1 + _SAME) * self.least[0]

    def _limit(self, shift: float) -> Any:
        model = Start(self.depth, self.top * math.exp(shift)).model(1.0, self.rows.shape[1])
        return limit(model, self.rows, self.y, tol=1e-8, least_squares=True)

    def __call__(self, shift: float) -> tuple[float, float]:
        if shift not in self.known:
            w: Float = self._limit(shift).predictor
            sizes = float(np.abs(w).sum()), float(np.linalg.norm(w))
            self.known[shift] = sizes[0] / self.least[0] - 1, sizes[1] / self.least[1] - 1
        return self.known[shift]


def _last_below(excess: Callable[[float], float], share: float, depth: float) -> float:
    """The largest shift below 0 at which an excess, which rises with it, is at most the share."""
    low, stride = 0.0, _STRIDE / depth
    if excess(low) <= share:
        return low
    while excess(low - stride) > share:
        low -= stride
        if -low > _FARTHEST / depth:
            return low
    low, high = low - stride, low
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= share else (low, middle)
    return low
