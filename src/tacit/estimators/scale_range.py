"""The range of scales in which the solution changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_X_y

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.estimators.grid import grid_of, kernel_end
from tacit.estimators.training import Start, Training
from tacit.results.limit import Limit
from tacit.verbs.limit import limit
from tacit.verbs.regime import both_ends

_RESOLUTION = 0.01  # accuracy of the logarithms of the scales
_STRIDE = math.log(10.0)  # step of the search, in the logarithm of the predictor's scale
_FARTHEST = 200 * _STRIDE  # the search ends this far below the kernel end
_SAME = 1e-6  # relative difference of ℓ1 norms below which the solution does not depend on the scale
_TOL = 1e-8  # tolerance of the limits


class ScaleRange(NamedTuple):
    """The two ends of the range, as values of the estimators' parameter `scale`.

    Attributes
    ----------
    rich : float
        The rich end: at smaller scales the fit is that of basis pursuit.
    kernel : float
        The kernel end: at larger scales the fit is that of minimum-norm least squares.

    Examples
    --------
    >>> from tacit.estimators import ScaleRange
    >>> ScaleRange(rich=0.001, kernel=2.0).kernel
    2.0
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
    """Find the scales between which the solution changes from basis pursuit to the minimum ℓ2 norm.

    Below `rich` the ℓ1 norm of the limit exceeds the least possible one by at most `share`, and the fit is
    that of basis pursuit; above `kernel` the same holds for the ℓ2 norm and minimum-norm least squares. The
    scales worth trying lie between. If the data determine the solution (as many independent samples as
    features), the limit does not depend on the scale: the result is then the default range of scales for
    stopped flows.

    Parameters
    ----------
    X : (N, d) array-like or sparse matrix
        Rows are samples.
    y : (N,) array-like
        Targets.
    depth : float, optional
        2 or more.
    share : float, optional
        The largest relative excess of the norms, between 0 and 1.
    fit_intercept, standardize : bool, optional
        As in `FlowRegressor`.

    Returns
    -------
    ScaleRange
        Both scales.

    Raises
    ------
    InputError
        If share is not between 0 and 1.

    Examples
    --------
    >>> from tacit.estimators import scale_range
    >>> found = scale_range([[1.0, 2.0, 0.5]], [1.0], fit_intercept=False)
    >>> 0 < found.rich < found.kernel
    True
    """
    if not 0 < share < 1:
        raise InputError(f"share must lie between 0 and 1, got {share!r}")
    samples, targets = check_X_y(X, y, dtype=np.float64, y_numeric=True, accept_sparse="csr")
    samples = samples.toarray() if hasattr(samples, "toarray") else samples
    training = Training.of(samples, targets, None, fit_intercept, standardize)
    top, ends = kernel_end(training, depth, None), None
    rows, response = training.normalized, training.normalized_targets

    def solution(shift: float) -> Limit:
        """The limit at the scale top·e^shift."""
        model = Start(depth, top * math.exp(shift)).model(1.0, rows.shape[1])
        return limit(model, rows, response, tol=_TOL, least_squares=True)

    if response.any() and rows.X.any():
        ends = both_ends(solution(0.0))
    if ends is None or _ell1(ends[0]) <= (1 + _SAME) * _ell1(ends[1]):  # the same at all scales
        grid = grid_of(depth, 2, None, lambda each: kernel_end(training, each))
        return ScaleRange(float(grid.scales[0][-1]), float(grid.scales[0][0]))
    least = _ell1(ends[1]), float(np.linalg.norm(ends[0]))

    @cache
    def excess(shift: float) -> tuple[float, float]:
        """Relative excess of the ℓ1 and ℓ2 norms over the least possible ones."""
        w = solution(shift).predictor
        return _ell1(w) / least[0] - 1, float(np.linalg.norm(w)) / least[1] - 1

    rich = _last_below(lambda shift: excess(shift)[0], share, depth)
    kernel = _last_below(lambda shift: -excess(shift)[1], -share, depth)
    return ScaleRange(top * math.exp(rich), top * math.exp(kernel))


def _ell1(w: Float) -> float:
    return float(np.abs(w).sum())


def _last_below(excess: Callable[[float], float], share: float, depth: float) -> float:
    """The largest shift of at most 0 at which an increasing excess is at most the share."""
    low, stride = 0.0, _STRIDE / depth
    if excess(low) <= share:
        return low
    while excess(low - stride) > share:
        low -= stride
        if -low > _FARTHEST / depth:
            return low
    low, high = low - stride, low
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= share else (low, middle)
    return low
