"""The inverse question: from which depth and scale would gradient flow have ended at this predictor?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from tacit.data.arrays import Float, as_floats, check_problem, check_squares, feature_names, kept
from tacit.data.entries import Inputs
from tacit.errors import InputError
from tacit.models import Diagonal
from tacit.numerics.rounding import quiet
from tacit.results.explanation import Explanation
from tacit.solvers.kkt import relative_residual

_POINTS = 121  # scales in the grid, besides the minima
# Scales of the predictor, relative to its largest entry: below, slopes of all entries that count are
# saturated; above, the potential is quadratic to eight digits.
_SMALLEST, _LARGEST = 1e-16, 1e4
_INDEPENDENT = 1e-10  # relative singular values of X above this count for the span of the samples
_XTOL = 1e-12  # of the logarithm of the best scale


@quiet
def explain(X: Inputs, y: ArrayLike, w: ArrayLike, *, depths: Sequence[float] = (2, 3, 4)) -> Explanation:
    """Compute how well each depth and scale of a diagonal network explains a predictor.

        ‖(I − P) ∇Q_{D,a}(w)‖ / ‖∇Q_{D,a}(w)‖,    P: the projection on the span of the samples

    The residual vanishes if and only if ∇Q(w) = Xᵀν for some ν, so that w is the limit of gradient flow from
    this depth D and scale a of the weights, among the predictors with the same outputs.

    Parameters
    ----------
    X : (N, d) array-like
        Rows are samples. Their rank must be below d.
    y : (N,) array-like
        Targets.
    w : (d,) array-like
        A predictor, such as the end of a training run.
    depths : sequence of float, optional
        Depths D, 2 or more.

    Returns
    -------
    Explanation
        The residual for each depth and scale. Read the whole curves: minima of similar size do not determine
        the depth.

    Raises
    ------
    InputError
        If an argument is invalid, w is 0, or X determines the predictor.

    See Also
    --------
    certify : The residuals for one model.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0.5, 0.3]], [2]
    >>> w = tacit.limit(tacit.Diagonal(depth=2, scale=0.1), X, y).predictor
    >>> found = tacit.explain(X, y, w)
    >>> (found.least < 1e-7).tolist()
    [True, False, False]
    """
    names = feature_names(X)
    checked, y = check_problem(X, y)
    check_squares(checked, y)
    predictor = as_floats(w, "w", ndim=(1,)).copy()
    if len(predictor) != checked.shape[1]:
        raise InputError(f"w has {len(predictor)} entries but X has {checked.shape[1]} features")
    if not predictor.any():
        raise InputError("w is 0, which all depths and scales explain")
    levels = np.atleast_1d(as_floats(depths, "depths", ndim=(0, 1)))
    if not len(levels):
        raise InputError("depths must name one depth or more, 2 or larger")
    complement = _complement(checked)

    def residual(depth: float, log_scale: float) -> float:
        slope = Diagonal(depth, log_scale=log_scale).potential().gradient(predictor)
        unit = slope / np.abs(slope).max()
        return float(np.linalg.norm(complement @ unit) / np.linalg.norm(unit))

    log_scales = _grid(levels, float(np.abs(predictor).max()))
    best = [_minimum(lambda s, D=D: residual(D, s), log_scales) for D in levels.tolist()]
    log_scales = np.unique(np.append(log_scales, best))
    return Explanation(
        depths=levels,
        scales=np.exp(log_scales),
        stationarity=np.array([[residual(D, s) for s in log_scales] for D in levels.tolist()]),
        feasibility=relative_residual(checked, y, predictor),
        X=kept(checked),
        y=kept(y),
        w=predictor,
        features=names,
    )


def _complement(X: Float) -> Float:
    """An orthonormal basis, as rows, of the orthogonal complement of the samples."""
    unit = np.abs(X).max() or 1.0
    _, sizes, rows = np.linalg.svd(X / unit)
    rank = int((sizes > _INDEPENDENT * sizes.max(initial=0.0)).sum())
    if rank == X.shape[1]:
        raise InputError(
            f"X has rank {rank}, the number of features: the data determine the predictor, so that "
            "every depth and scale ends there"
        )
    return rows[rank:]


def _grid(depths: Float, size: float) -> Float:
    """Logarithms of scales a, such that a^D reaches from the rich to the kernel end for all depths."""
    ends = np.log([_SMALLEST * size, _LARGEST * size])
    return np.linspace((ends[0] / depths).min(), (ends[1] / depths).max(), _POINTS)


def _minimum(residual, log_scales: Float) -> float:  # type: ignore[no-untyped-def]
    """The scale of least residual: around the best point of the grid, to round-off."""
    values = [residual(s) for s in log_scales]
    k = int(np.argmin(values))
    low, high = log_scales[max(k - 1, 0)], log_scales[min(k + 1, len(log_scales) - 1)]
    found = minimize_scalar(residual, bounds=(low, high), method="bounded", options={"xatol": _XTOL})
    return float(found.x) if found.fun <= values[k] else float(log_scales[k])
