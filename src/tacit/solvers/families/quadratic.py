"""Quadratic potentials ½ wᵀBw."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.numerics.nonnegative import least_norm_support
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.interpolation.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.solvers.interpolation.ends import least_quadratic
from tacit.solvers.interpolation.metric import least_in_metric, metric_move
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.kkt import best_multipliers
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import hold, margin_solution

METHOD = "linear equations"


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin ½ wᵀBw subject to X w = y."""
    if np.ndim(potential.metric) == 2:
        return least_in_metric(equations, potential.metric)
    return least_quadratic(equations, inverse_hessian(potential, np.zeros(equations.X.shape[1])))


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """Maximum margin by exchanges, starting from the ℓ2 support in coordinates with B = I."""
    features, metric = margins.Z.shape[1], np.asarray(potential.metric, dtype=float)
    inverse = np.linalg.inv(metric) if metric.ndim == 2 else np.broadcast_to(1 / metric, (features,))
    return maximize_margin_in(inverse, margins)


def maximize_margin_in(inverse: Float, margins: Margins) -> MarginSolution:
    """The maximum margin in the norm of B, given B⁻¹ as a matrix or its diagonal."""
    half = np.asarray(np.linalg.cholesky(inverse) if inverse.ndim == 2 else np.sqrt(inverse), dtype=float)
    guess = least_norm_support(margins.in_units(half).nearly_free())
    return margin_solution(hold(margins, lambda equations: least_quadratic(equations, inverse), guess))


def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """Error estimate from the residuals and the metric."""
    if np.ndim(potential.metric) < 2:
        return diagonal_error_estimate(potential, equations, w, inverse_hessian(potential, w))
    nu = best_multipliers(potential, equations.X, w)
    gap, rounding = equations.X.T @ nu - potential.gradient(w), slope_rounding(equations, nu)
    return forward_error(equations, metric_move(potential.metric, equations.X), w, gap, rounding)


def diagonal_error_estimate(potential: Any, equations: Equations, w: Float, W: Float) -> float:
    """Error estimate from the residuals and a diagonal inverse Hessian W."""
    nu = best_multipliers(potential, equations.X, w)
    slopes, rounding = equations.X.T @ nu, slope_rounding(equations, nu)
    move = diagonal_move(equations, W, w, slopes)
    return forward_error(equations, move, w, slopes - potential.gradient(w), rounding)


def inverse_hessian(potential: Any, w: Float) -> Float:
    """The diagonal 1/B; a constant if B is a matrix."""
    metric = np.asarray(potential.metric, dtype=float)
    return np.ones_like(w) if metric.ndim == 2 else np.broadcast_to(1 / metric, w.shape)


def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Minimizers of this norm itself, and of the ℓ1 norm."""
    flat = np.ones(len(w))
    kernel = interpolate(potential, equations, memory).predictor
    return Ends(kernel, cached_l1(equations, flat, memory).predictor, (flat, flat))
