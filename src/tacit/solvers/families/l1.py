"""The weighted ℓ1 norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory, name_of
from tacit.errors import NotConvergedError
from tacit.potentials import Potential
from tacit.solvers.interpolation.ends import least_l1, least_quadratic, vertex_error
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import least_l1_margin, solutions
from tacit.solvers.margins.support import error_on_support

METHOD = "a vertex certified by multipliers"


def interpolate(potential: Potential, equations: Equations, memory: Memory) -> Solution:
    """A vertex of the set of minimizers."""
    return cached_l1(equations, _weight(potential, equations.X.shape[1]), memory)


def cached_l1(equations: Equations, weight: Float, memory: Memory) -> Solution:
    """argmin Σ weight|w| subject to X w = y, cached, since it is also the rich limit of other potentials."""
    return memory.once(("l1", name_of(equations.y, weight)), lambda: least_l1(equations, weight))


def maximize_margin(potential: Potential, margins: Margins) -> MarginSolution:
    """Maximum margin by linear programming, with all solutions if there are several."""
    weight = _weight(potential, margins.Z.shape[1])
    vertex = least_l1_margin(margins, weight)
    w, dual = vertex.predictor, vertex.dual
    error = error_on_support(margins, w, dual)
    try:
        unique, face = solutions(margins, weight, vertex)
    except NotConvergedError:
        return MarginSolution(w, vertex.intercept, dual, None, error)
    return MarginSolution(w, vertex.intercept, dual, unique, error, lists={} if unique else {"face": face})


def error_estimate(potential: Potential, equations: Equations, w: Float) -> float:
    """Error estimate of a vertex."""
    return vertex_error(equations, w)


def inverse_hessian(potential: Potential, w: Float) -> Float:
    """A constant: the ℓ1 norm has no Hessian."""
    return np.ones_like(w)


def ends(potential: Potential, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Limits of the scale: the minimum-norm solution, and the minimizer of this norm itself."""
    flat = np.ones(len(w))
    kernel = least_quadratic(equations, flat).predictor
    return Ends(kernel, interpolate(potential, equations, memory).predictor, (flat, np.abs(w)))


def _weight(potential: Any, features: int) -> Float:
    return np.broadcast_to(np.asarray(potential.weight, dtype=float), (features,))
