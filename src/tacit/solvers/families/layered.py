"""Potentials of untied diagonal networks of several layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.data.memory import Memory
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials.arrays import quiet
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.families.quadratic import diagonal_error_estimate
from tacit.solvers.interpolation.layered import minimize_layered
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import Held, found_by, hold

METHOD = "Newton's method along growing targets"
_STEPS = 40  # in the logarithm of the scale, of a search for support vectors


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y."""
    return minimize_layered(equations, potential)


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """By exchanges, from the support at a scale where the geometry is that of a kernel, or that of ℓ2."""
    guess = least_norm_support(margins.nearly_free())
    held: Held | None = hold(margins, lambda equations: minimize_layered(equations, potential), guess)
    return found_by(held)


@quiet
def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """From the residuals, through the Hessian."""
    return diagonal_error_estimate(potential, equations, w, np.exp(potential.log_inverse_hessian(w)))


@quiet
def inverse_hessian(potential: Any, w: Float) -> Float:
    """1/∇²Q, up to a factor."""
    return _relative(potential.log_inverse_hessian(w))


@quiet
def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """A weighted ℓ2 norm around the start, and the weighted ℓ1 norm of the ends of its slopes."""
    start = potential.start(len(w))
    first, last = (_relative(potential.log_inverse_hessian(at)) for at in (start, w))
    rho = equations.y - equations.X @ start
    kernel = start + first * newton_direction(equations.X, first, rho, np.zeros_like(w))[1]
    weights = np.array([np.broadcast_to(each, w.shape) for each in potential.ends])
    below, above = weights / weights.max()
    weight = below if (below == above).all() else np.array([below, above])
    return Ends(kernel, cached_l1(equations, weight, memory).predictor, (first, last))


def _relative(logs: Float) -> Float:
    return np.exp(logs - logs.max())
