"""Potentials of untied diagonal networks with several layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.potentials.arrays import quiet
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.families.quadratic import diagonal_error_estimate
from tacit.solvers.interpolation.layered import minimize_layered
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import Held, hold, margin_solution

METHOD = "Newton's method with growing targets"


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y."""
    return minimize_layered(equations, potential)


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """Maximum margin by exchanges of support vectors, starting from those of the ℓ2 margin."""
    guess = least_norm_support(margins.nearly_free())
    held: Held | None = hold(margins, lambda equations: minimize_layered(equations, potential), guess)
    return margin_solution(held)


@quiet
def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """Error estimate from the residuals and the Hessian."""
    return diagonal_error_estimate(potential, equations, w, np.exp(potential.log_inverse_hessian(w)))


@quiet
def inverse_hessian(potential: Any, w: Float) -> Float:
    """The diagonal of (∇²Q)⁻¹, up to a factor."""
    return _relative(potential.log_inverse_hessian(w))


@quiet
def ends(potential: Any, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Minimizers of a weighted ℓ2 distance from w(0), and of an ℓ1 norm weighted by the bounds of slopes."""
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
