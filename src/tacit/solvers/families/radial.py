"""Potentials of the length alone, those of neurons and balanced networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.data.memory import Memory
from tacit.errors import NoPotentialError
from tacit.potentials.radial import length
from tacit.solvers.families.quadratic import diagonal_error_estimate, maximize_margin_in
from tacit.solvers.interpolation.radial import least_radial
from tacit.solvers.interpolation.solution import MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins

METHOD = "closed form"


def interpolate(potential: Any, equations: Equations, memory: Memory) -> Solution:
    """In closed form."""
    return least_radial(equations, potential)


def maximize_margin(potential: Any, margins: Margins) -> MarginSolution:
    """The ℓ2 margin, with the multipliers of this function of the length."""
    if potential.base is not potential:
        raise NoPotentialError(
            f"no maximum-margin solver for {type(potential).__name__} of {type(potential.base).__name__}; "
            "there is one for the potential itself"
        )
    found = maximize_margin_in(np.ones(margins.Z.shape[1]), margins)
    x = float(np.linalg.norm(found.predictor))
    share = float(potential.steepness(np.float64(x))) / x
    return replace(found, dual=share * found.dual)


def error_estimate(potential: Any, equations: Equations, w: Float) -> float:
    """From the residuals, through the inverse Hessian around the sphere."""
    x = length(np, w)
    around = x / potential.base.steepness(np.float64(x))
    return diagonal_error_estimate(potential, equations, w, np.broadcast_to(around, w.shape))


def inverse_hessian(potential: Any, w: Float) -> Float:
    """All alike."""
    return np.ones_like(w)


ends = None  # where such a potential comes from a model, that knows its ends
