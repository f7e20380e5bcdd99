r"""Statements about vanishing initialization: the saddle path, its averages, and the end.

Pesme and Flammarion, *Saddle-to-Saddle Dynamics in Diagonal Linear Networks*, 2023 (depth 2; the same
process, with thresholds θ = profile^{2−D}, describes larger depths). Berthier, *Diagonal Linear Networks and
the Lasso Regularization Path*, 2025. Wind, Antun and Hansen, *Implicit Regularization in AI Meets Generalized
Hardness of Approximation in Optimization*, 2023.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import limit_of
from tacit.papers.arguments import arrived
from tacit.papers.statements import shared

_ROUNDING = 1e-9  # relative residual of conditions that hold up to round-off, at the end of long paths
_LASSO = 1e-8  # largest violation of the conditions of the Lasso by certified averages
_DURATION = 3  # times per jump at which averages are examined
# Small scales at which the end is compared. At depth 2 other coordinates vanish like e^{−2|log a|·slack};
# above, the distance is of the order of the slack a^{D−2} of the slopes, and below 1e-9 the last bits of X
# decide ties.
_LOG_SCALE, _SLACK = -2000.0, 1e-6
_CLOSE = 1e-4  # relative distance to the end at such a scale


@theorem("practice/saddle-path", about=("Saddle path",), flows=0)
def saddle_path(model: Any, X: Any, y: Any) -> Parts:
    """As the scale goes to 0 the flow jumps from saddle to saddle and ends at the minimum of Σ p^{2−D}|β|.

    At each time the slopes s = Xᵀν are within their thresholds, s_j is at its own with the sign of β_j
    wherever β_j ≠ 0, and the gradient Xᵀ(y − Xβ) vanishes there. Every jump lowers the loss.
    """
    yield _diagonal(model)
    X, y = check_problem(X, y)
    end = yield from limit_of(_at_zero(model), X, y)
    yield Premise("the targets are not zero", bool(end.predictor.any()))
    path = _path(model, X, y)
    worst = max(_violation(path, k, X, y) for k in range(len(path.times)))
    yield Bound("largest violation of the conditions at a jump, relative", worst, at_most=_ROUNDING)
    yield Bound("largest quotient of residuals before and after a jump", _rises(path), at_most=1.0)
    least = float(path.thresholds @ np.abs(end.predictor))
    excess = float(path.thresholds @ np.abs(path.predictors[-1])) / least - 1
    yield Bound("excess norm of the end over the minimum, relative", excess, at_most=_ROUNDING)


@theorem("practice/early-stopping", about=("Early stopping",), flows=0)
def early_stopping(model: Any, X: Any, y: Any) -> Parts:
    """The average of the saddle path up to τ solves the Lasso with penalty 1/τ, where it is certified.

    The certificate: s_j = θ_j sign(β̄_j) wherever the average β̄_j is not 0. It holds until the first feature
    leaves.
    """
    yield _diagonal(model)
    X, y = check_problem(X, y)
    path = _path(model, X, y)
    yield Premise("the targets depend on the features", bool(len(path.times)))
    ends = math.log(path.times[0]), math.log(2 * path.times[-1])
    averages = [path.average(tau) for tau in np.exp(np.linspace(*ends, _DURATION * len(path.times)))]
    certified = [each for each in averages if each.holds]
    yield Premise("an average is certified", bool(certified))
    worst = max(_lasso(X, y, each, path.thresholds) for each in certified)
    yield Bound("largest violation of the conditions of the Lasso, relative", worst, at_most=_LASSO)


@theorem("practice/scale-zero", about=("Scale zero",), flows=0)
def scale_zero(model: Any, X: Any, y: Any) -> Parts:
    """Small scales select the ℓ1 minimizer of maximum entropy (depth 2), or of maximum Σ|β|^{2/D} (depth D).

    The limit at a tiny scale, compared with the selected minimizer, which is computed without any scale.
    """
    yield _diagonal(model)
    X, y = check_problem(X, y)
    selected = yield from limit_of(_at_zero(model), X, y)
    arrived(selected, f"the minimizer was not found ({selected.reason})")
    size = float(np.linalg.norm(selected.predictor))
    yield Premise("the targets are not zero", size > 0)
    D = model.depth
    log_scale = _LOG_SCALE if D == 2 else max(math.log(_SLACK) / (D - 2), _LOG_SCALE) + math.log(size) / D
    tiny = tacit.limit(tacit.Diagonal(D, log_scale=log_scale, profile=model.profile), X, y)
    arrived(tiny, f"the limit at log α = {log_scale:.4g} did not converge ({tiny.reason})")
    gap = float(np.linalg.norm(tiny.predictor - selected.predictor)) / size
    yield Bound("distance of the limit at a tiny scale, relative", gap, at_most=_CLOSE)


def _diagonal(model: Any) -> Setting:
    return Setting("the model is Diagonal", isinstance(model, tacit.Diagonal))


def _at_zero(model: tacit.Diagonal) -> tacit.Diagonal:
    return tacit.Diagonal(model.depth, 0, model.profile)


@shared
def _path(model: tacit.Diagonal, X: Float, y: Float) -> tacit.SaddlePath:
    """The saddle path, which two of the statements use."""
    return tacit.saddle_path(X, y, depth=model.depth, profile=model.profile)


def _violation(path: tacit.SaddlePath, k: int, X: Float, y: Float) -> float:
    """The violation of the conditions after jump k, relative to their terms."""
    w, share = path.predictors[k], path.slopes[k] / path.thresholds
    pull = X.T @ (y - X @ w)
    terms = np.linalg.norm(X, axis=0) * (np.linalg.norm(y) + np.linalg.norm(np.abs(X) @ np.abs(w)))
    present = w != 0
    return max(
        float(np.abs(share).max() - 1),
        float(np.abs(share - np.sign(w))[present].max(initial=0.0)),
        float((np.abs(pull) / np.where(terms > 0, terms, 1.0))[present].max(initial=0.0)),
    )


def _rises(path: tacit.SaddlePath) -> float:
    """The largest ratio of consecutive residuals, beginning with that of the predictor 0."""
    residuals = np.append(1.0, path.residuals)
    return float((residuals[1:] / residuals[:-1]).max())


def _lasso(X: Float, y: Float, average: Any, thresholds: Float) -> float:
    """The violation of Xᵀ(y − Xβ̄) ∈ (1/τ) ∂Σ θ|β̄|, relative to the penalty."""
    w = average.predictor
    slope = average.tau * (X.T @ (y - X @ w)) / thresholds
    present = w != 0
    off = np.abs(slope - np.sign(w))[present].max(initial=0.0)
    return max(float(off), float(np.abs(slope).max() - 1))
