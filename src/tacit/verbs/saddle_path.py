"""The flow of a diagonal network as the scale of its initialization goes to 0."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, check_problem, check_squares, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.prepared import design_of
from tacit.models import Diagonal
from tacit.results.saddle_path import SaddleEvent, SaddlePath
from tacit.training.saddles import follow


def saddle_path(
    X: Inputs,
    y: ArrayLike,
    *,
    depth: float = 2,
    profile: ArrayLike | None = None,
    intercept: bool = False,
    standardize: bool = False,
) -> SaddlePath:
    r"""Compute gradient flow on the square loss as the scale of its initialization goes to 0.

        ds/dτ = u = Xᵀ(y − Xb),    |s_j| ≤ θ_j,    b_j s_j ≥ 0,    b_j = 0 where |s_j| < θ_j

    The predictor b stays at a saddle of the loss until a slope |s_j| arrives at its threshold θ_j, and jumps
    to the least-squares solution with b_j s_j ≥ 0 on the features at their thresholds (Pesme and Flammarion
    2023, for depth 2). As a function of τ the path is the same for every depth. It ends at the solution of
    minimum
    ℓ1 norm Σ θ_j|b_j| (or at the least-squares solution of minimum norm, if X w = y has no solution). The
    jumps are computed exactly, without simulation.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Targets.
    depth : float, optional
        D, 2 or more. It determines how equal features share the predictor, and the thresholds for a profile.
    profile : (d,) array-like, optional
        Positive initial weights of each feature relative to the scale. At depths D > 2, θ_j =
        profile_j^{2−D}; at depth 2 a profile only decides ties.
    intercept : bool, optional
        Fit X w + b = y, with an unpenalized intercept b: the path for centred data.
    standardize : bool, optional
        The path of features divided by their standard deviation. The predictors belong to the original
        features.

    Returns
    -------
    SaddlePath
        The times of the jumps, the predictor after each, and the features that enter and leave.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    limit : With ``Diagonal(scale=0)``, the end of the path.
    flow : The flow at a finite scale.

    Examples
    --------
    Feature 0 is learned first, and dropped when feature 2 explains the data better.

    >>> import tacit
    >>> path = tacit.saddle_path([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1, 0])
    >>> path.predictors.round(3).tolist()[:2]
    [[0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 1.4, 0.0]]
    >>> path.time(tacit.Diagonal(scale=1e-6)).round(1).tolist()  # when training at this scale arrives there
    [13.8, 55.3, 77.8]
    """
    begun, names = time.perf_counter(), feature_names(X)
    checked, y = check_problem(X, y)
    check_squares(checked, y)
    model = Diagonal(depth=depth, profile=profile)
    potential = model.potential(checked.shape[1])
    design = design_of(X, checked, intercept, standardize)
    inputs, targets = design.rounded, design.targets(y)
    thresholds = np.broadcast_to(np.asarray(potential.weight, dtype=float), inputs.shape[1:]).copy()
    log_scale = as_floats(potential.log_scale, "log_scale", ndim=(0, 1))
    prior = np.broadcast_to(np.exp(log_scale), inputs.shape[1:])
    jumps = follow(inputs, targets, thresholds, float(depth), prior)
    rows = (len(jumps), inputs.shape[1])
    inside = np.array([jump.predictor for jump in jumps]).reshape(rows)
    units = design.units(y)
    predictors = units.predictor(inside.T).T
    return SaddlePath(
        times=np.array([jump.time for jump in jumps]),
        predictors=predictors,
        slopes=np.array([jump.slopes for jump in jumps]).reshape(rows),
        events=_events(jumps),
        residuals=_residuals(inputs, targets, inside),
        thresholds=thresholds,
        depth=float(depth),
        seconds=time.perf_counter() - begun,
        X=design.X,
        y=kept(y),
        intercepts=np.array([float(units.shift(w)) if intercept else 0.0 for w in predictors]),
        units=units,
        features=names,
        _inside=None if design.plain else (inputs, targets),
    )


def _events(jumps: list[Any]) -> list[SaddleEvent]:
    """Which features enter and leave at each jump; those that leave come first."""
    events, before = list[SaddleEvent](), None
    for jump in jumps:
        there = jump.predictor != 0
        known = np.zeros_like(there) if before is None else before
        for enters, which in ((False, known & ~there), (True, there & ~known)):
            events += [SaddleEvent(jump.time, int(j), enters) for j in np.flatnonzero(which)]
        before = there
    return events


def _residuals(X: Float, y: Float, predictors: Float) -> Float:
    return np.asarray(np.linalg.norm(predictors @ X.T - y, axis=1) / (np.linalg.norm(y) or 1.0))
