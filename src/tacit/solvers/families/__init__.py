"""Minimizers of potentials of vectors, by family: one table for limits, margins, certificates and regimes."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Protocol

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.errors import NoPotentialError
from tacit.potentials import Potential
from tacit.solvers.families import l1, layered, quadratic, radial, scale_zero, separable, smooth
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins


class Family(Protocol):
    """Interface of the modules in this folder. METHOD describes `interpolate`; w is any predictor."""

    METHOD: str

    def interpolate(self, potential: Potential, equations: Equations, memory: Memory) -> Solution:
        """argmin Q(w) subject to X w = y; memory: a cache of earlier problems with the same samples."""

    def maximize_margin(self, potential: Potential, margins: Margins) -> MarginSolution:
        """argmin Q(w) subject to all margins being at least 1."""

    def error_estimate(self, potential: Potential, equations: Equations, w: Float) -> float:
        """Estimated relative distance of w ≠ 0 from argmin Q(w) subject to X w = y."""

    def inverse_hessian(self, potential: Potential, w: Float) -> Float:
        """The diagonal of the inverse Hessian at w, up to a factor."""

    @property
    def ends(self) -> Callable[[Potential, Equations, Float, Memory], Ends] | None:
        """A function that computes the limits at infinite and zero scale; None if there is no scale."""


FAMILIES: MappingProxyType[str, Family] = MappingProxyType(
    {
        "separable": separable,
        "layered": layered,
        "l1": l1,
        "scale zero": scale_zero,
        "quadratic": quadratic,
        "radial": radial,
        "smooth": smooth,
    }
)


def family_of(potential: Potential) -> Family:
    """The module that minimizes a potential."""
    try:
        return FAMILIES[potential.family]
    except KeyError:
        raise NoPotentialError(
            f"{type(potential).__name__} has the family {potential.family!r}, for which there is no solver; "
            f"the families are {', '.join(FAMILIES)}"
        ) from None


def error_estimate(potential: Potential, equations: Equations, w: Float) -> float:
    """Estimated relative distance of w from argmin Q(w) subject to X w = y."""
    if not w.any() or len(equations.y) == 0:
        return 0.0 if not equations.y.any() else math.inf
    return family_of(potential).error_estimate(potential, equations, w)
