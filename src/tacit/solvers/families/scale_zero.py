"""The limit of diagonal networks as their scale goes to 0: the ℓ1 minimizer that small scales select."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory, name_of
from tacit.numerics.double_double import Pair
from tacit.numerics.rounding import EPS
from tacit.solvers.families import l1
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error
from tacit.solvers.interpolation.ends import least_l1, least_quadratic, unique_vertex
from tacit.solvers.interpolation.face_selection import Selected, select
from tacit.solvers.interpolation.solution import Ends, Solution

METHOD = "the ℓ1 minimizer that small scales select"
maximize_margin, inverse_hessian = l1.maximize_margin, l1.inverse_hessian

_TIED = 1e-9  # relative distance from its bound of a slope of the linear program that may be at the bound
# Residual of the slopes on the support, relative to the weights, up to which features are tied: the round-off
# of the multipliers. Larger ones mean that features are nearly tied, and that the last digits of X decide.
_EXACT = 1e-12
_CORRECTIONS = 3  # of the multipliers by least squares


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """The minimizer of the norm; among several, the one that is the limit of small scales."""
    features = equations.X.shape[1]
    weight, profile = (
        np.broadcast_to(np.asarray(each, float), (features,))
        for each in (potential.weight, potential.profile)
    )
    key = ("scale zero", potential.depth, name_of(equations.y, weight, profile))
    return memory.once(key, lambda: _selected(equations, weight, potential.depth, profile))


def _selected(equations: Equations, weight: Float, depth: float, profile: Float) -> Solution:
    if not equations.y.any():
        return least_l1(equations, weight)
    vertex = unique_vertex(equations, weight)
    if vertex is not None:
        return vertex
    X, rough = equations.X, least_l1(equations, weight)
    slopes = X.T @ rough.nu.value / weight
    tied = np.flatnonzero(np.abs(slopes) >= 1 - _TIED)
    signs = np.sign(slopes[tied])
    found = select(X[:, tied] * signs, equations.y, depth, profile[tied] ** 2)
    w = np.zeros_like(weight)
    w[tied] = signs * found.v
    places, aims = tied[found.support], (weight[tied] * signs)[found.support]
    nu, missing = rough.nu.value, aims
    for _ in range(_CORRECTIONS):
        missing = aims - X[:, places].T @ nu
        nu = nu + np.linalg.lstsq(X[:, places].T, missing, rcond=None)[0]
    exact = bool((np.abs(missing) <= _EXACT * np.abs(aims)).all())
    steps = rough.iterations + found.steps
    return Solution(w, Pair.of(nu), steps, found.settled and exact, lambda: _error(found))


def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """The relative distance from the selected minimizer, because others satisfy the same conditions."""
    found = interpolate(potential, equations, Memory())
    size = float(np.linalg.norm(found.predictor))
    return float(np.linalg.norm(w - found.predictor)) / (size or 1.0) + found.error


def _error(found: Selected) -> float:
    """The forward error of the choice on the face, from the conditions φ'(v) = Aᵀν and A v = y there."""
    v, slopes = found.v[found.support], found.slopes
    equations = Equations.of(found.rows, found.targets)
    move = diagonal_move(equations, found.inverse_hessian, v, slopes)
    return forward_error(equations, move, v, found.gap, EPS * np.abs(slopes))


def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """The limits at infinite scale, and at scale 0: this one. The metrics are those of the tangent
    kernels."""
    metric = np.broadcast_to(np.asarray(potential.profile, float) ** (2 * potential.depth - 2), w.shape)
    kernel = least_quadratic(equations, metric / metric.max()).predictor
    rich = interpolate(potential, equations, memory).predictor
    size = np.abs(w) / (np.abs(w).max() or 1.0)
    return Ends(kernel, rich, (metric, size ** (2 - 2 / potential.depth)))
