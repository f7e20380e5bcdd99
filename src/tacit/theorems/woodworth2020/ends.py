r"""The ends of Theorem 3 of Woodworth et al. 2020: where limits go as α → 0 and as α → ∞.

As α → 0 the limit tends to a solution of least ℓ1 norm. Which, where there are several, the paper leaves
open: on the face of all of them it is the one of largest Σ|βᵢ|^{2/D}, for D = 2 of largest entropy
−Σ|βᵢ|log|βᵢ|. Both are concave, so that a gradient orthogonal to the face decides it. As α → ∞ it tends to
the solution of least ℓ2 norm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import null_space

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.theorems.moroshko2020.separation import plain_diagonal, rich_excess
from tacit.theorems.registry import Assumption, Bound, Parts, theorem, unmet

_SMALL = (1e-2, 1e-4, 1e-6, 1e-8)  # α^D in units of the largest entry of β_ℓ2
_LARGE = (1e1, 1e2, 1e3)
_SMALLEST = -4000.0  # log α^D at depth 2, where the distance to the end falls like 1/log α
# Above depth 2 it falls like the slacks α^{D−2} of the slopes. The last bits of X move these by 1e-16, and so
# decide ties between ℓ1 minimizers to 1e-9 or so at this slack, and wholly at slacks below 1e-16.
_SLACK = 1e-6
_ON = 1e-4  # of the largest: entries that are on the face as α → 0
_SELECTED = 1e-4  # relative: a gradient this small along the face is that of a maximizer
_NOISE = 1e-10
_TINY = 1e-300  # in place of a row of zeros


@theorem(
    "woodworth2020/theorem3-ends",
    "β tends to a solution of least ℓ1 norm as α → 0, of several to that of largest Σ|β|^{2/D} (entropy for "
    "D = 2), and to that of least ℓ2 norm as α → ∞.",
    flows=0,
)
def theorem3_ends(model: Any, X: Any, y: Any) -> Parts:
    """The second sentence of Theorem 3, for D ≥ 2, at small and large scales; the model gives the depth.

    The excess ℓ1 norm has a bound at every scale (`rich_excess`). The distance to β_ℓ2 falls like α^{−2D}.
    """
    yield (setting := plain_diagonal(model))
    if not setting.holds:
        return
    X, y = check_problem(X, y)
    try:
        nearest = tacit.limit(tacit.potentials.Quadratic(), X, y)
    except tacit.InconsistentDataError as refusal:
        yield unmet(refusal)
        return
    least = nearest.predictor
    unit = float(np.abs(least).max())
    yield Assumption("the targets are not zero", unit > 0)
    if unit == 0:
        return
    D = model.depth
    norm = float(np.abs(tacit.limit(tacit.potentials.L1(), X, y).predictor).sum())
    rich = [_limit(D, math.log(scale * unit), X, y).predictor for scale in _SMALL]
    shares = [
        (float(np.abs(beta).sum()) / norm - 1) / rich_excess(norm, X.shape[1], D, scale * unit)
        for beta, scale in zip(rich, _SMALL, strict=True)
    ]
    yield Bound("excess ℓ1 norm over its bound, the largest over small scales", max(shares), at_most=1.0)
    yield Bound(
        f"gradient of {'the entropy' if D == 2 else 'Σ|β|^(2/D)'} along the face of ℓ1 minimizers, relative",
        along_face(X, _limit(D, _smallest(D) + math.log(unit), X, y).predictor, D),
        at_most=_SELECTED,
    )
    kernel = [_limit(D, math.log(scale * unit), X, y) for scale in _LARGE]
    gaps = [float(np.linalg.norm(each.predictor - least) / np.linalg.norm(least)) for each in kernel]
    noise = max(_NOISE, 10 * max(each.error for each in (nearest, *kernel)))  # estimates, so with room
    exponent = float(np.polyfit(np.log(_LARGE), np.log(np.maximum(gaps, 1e-300)), 1)[0])
    yield Bound("distance to β_ℓ2 at the largest scale, relative", gaps[-1], at_most=max(gaps[0], noise))
    if gaps[-1] > noise:
        yield Bound("exponent of α^D in it", exponent, at_most=-1.0)


def _smallest(depth: float) -> float:
    """log α^D, in units of the predictor, at which the limit is at its end α → 0 for all that can be told."""
    return _SMALLEST if depth == 2 else max(_SMALLEST, depth / (depth - 2) * math.log(_SLACK))


def along_face(X: Float, beta: Float, depth: float) -> float:
    """The part along the face of the gradient of what is largest there, relative; 0 where it is one point.

    Directions are those of relative changes u of |β|, which no units of features or targets move; they keep
    the outputs and the ℓ1 norm.
    """
    largest = np.abs(beta).max()
    on = np.abs(beta) > _ON * largest
    size, sign = np.abs(beta[on]) / largest, np.sign(beta[on])
    gradient = -(np.log(size) + 1) * size if depth == 2 else size ** (2 / depth)
    kept = np.vstack([X[:, on] * (sign * size), size])
    directions = null_space(kept / np.abs(kept).max(axis=1, keepdims=True, initial=_TINY))
    return float(np.linalg.norm(directions.T @ gradient) / np.linalg.norm(gradient))


def _limit(depth: float, log_scale: float, X: Float, y: Float) -> tacit.Limit:
    """The limit at log α^D = log_scale."""
    found = tacit.limit(tacit.Diagonal(depth=depth, log_scale=log_scale / depth), X, y)
    if not found.converged:
        raise tacit.NotConvergedError(
            f"the limit at α^D = e^{log_scale:.4g} did not converge ({found.reason}); no end can be told"
        )
    return found
