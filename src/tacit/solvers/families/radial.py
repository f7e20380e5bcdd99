"""Radial potentials, those of neurons and balanced networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.errors import NoPotentialError
from tacit.potentials.radial import length
from tacit.solvers.families.quadratic import diagonal_error_estimate, maximize_margin_in
from tacit.solvers.interpolation.radial import least_radial
from tacit.solvers.interpolation.solution import MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins

METHOD = "closed form"


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y, in closed form."""
    return least_radial(equations, potential)


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """Maximum ℓ2 margin, with multipliers rescaled to this potential."""
    if potential.base is not potential:
        name = type(potential.base).__name__
        raise NoPotentialError(
            f"no maximum-margin solver for {type(potential).__name__} of {name}; use {name} itself"
        )
    found = maximize_margin_in(np.ones(margins.Z.shape[1]), margins)
    x = float(np.linalg.norm(found.predictor))
    share = float(potential.steepness(np.float64(x))) / x
    return replace(found, dual=share * found.dual)


def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """Error estimate from the residuals and the inverse Hessian orthogonal to w, x/q'(x)."""
    x = length(np, w)
    around = x / potential.base.steepness(np.float64(x))
    return diagonal_error_estimate(potential, equations, w, np.broadcast_to(around, w.shape))


def inverse_hessian(potential: Any, w: Float) -> Float:
    """A constant, neglecting the different curvature along w."""
    return np.ones_like(w)


ends = None  # models with such a potential have their limits at infinite and zero scale in `connected`
