r"""Interpolation in a potential of the length alone, in closed form.

    argmin q(‖w‖) − z₀·w   subject to   X w = y

has ∇q = z₀ + Xᵀν, so that w = p + t·z⊥ with p the solution of least norm, z⊥ the part of z₀ that X does not
see, and t = x/q'(x) at the length x² = ‖p‖² + t²‖z⊥‖²: one equation for one number, quadratic in a² for a
neuron (Azulay et al. 2021, Theorem 2).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair
from tacit.numerics.roots import outer_square
from tacit.potentials import Bregman, NeuronPotential, Power
from tacit.potentials.arrays import quiet
from tacit.potentials.radial import length
from tacit.solvers.interpolation.accuracy import ROUNDOFF
from tacit.solvers.interpolation.ends import least_quadratic
from tacit.solvers.interpolation.solution import Solution

_NOTHING = 1e-8  # a limit this small, relative to the start, is nothing: its error is taken relative to that


def least_radial(equations: Equations, potential: Any) -> Solution:
    """The solution of least potential, a `NeuronPotential`, `Power`, or Bregman divergence of one."""
    base: Any = potential.potential if isinstance(potential, Bregman) else potential
    least = smallest(equations)
    if base is potential:
        x = float(length(np, least.predictor))
        share = float(base.steepness(np.float64(x))) / x if x > 0 else 0.0
        return Solution(
            least.predictor, Pair.of(share * least.nu.value), least.iterations, True, least.assess
        )
    return _moved(equations, base, np.asarray(potential.origin, dtype=float), least)


@quiet
def _moved(equations: Equations, base: NeuronPotential | Power, origin: Float, least: Solution) -> Solution:
    """p + t·z⊥, and ν with ∇Q = z₀ + Xᵀν: least squares twice, since z₀ and p lie in different ranges."""
    p, start = least.predictor, np.asarray(base.gradient(origin), dtype=float)
    seen = _seen(equations, start)
    unseen = start - seen.predictor
    unseen = unseen - _seen(equations, unseen).predictor  # once more, of what rounding has left
    t = stretch(base, float(length(np, p)), float(length(np, unseen)))
    # ∇Q(w) = w/t = p/t + z⊥, so that Xᵀν = p/t − z∥.
    nu = (least.nu.value / t if t > 0 else 0 * least.nu.value) - seen.nu.value
    w = p + t * unseen

    def assess() -> float:
        # What is unseen is the start less what is seen, and off by as much, and by its own rounding.
        parts = (least.error, p), (seen.error, t * seen.predictor), (2 * ROUNDOFF, t * start)
        off = sum(error * float(length(np, part)) for error, part in parts)
        size = max(float(length(np, w)), _NOTHING * float(length(np, origin)))
        return off / (size or 1.0)

    return Solution(w, Pair.of(nu), least.iterations + seen.iterations, True, assess)


@quiet
def smallest(equations: Equations) -> Solution:
    """The solution of least norm, for targets of any size: it is linear in them."""
    unit = 2.0 ** (math.frexp(float(np.abs(equations.y).max(initial=0.0)))[1] - 1)
    found = least_quadratic(equations.in_units_of(unit), np.ones(equations.X.shape[1]))
    return replace(found, predictor=unit * found.predictor, nu=found.nu.scaled(unit))


def _seen(equations: Equations, vector: Float) -> Solution:
    """The part of a vector in the span of the rows, and its coefficients."""
    return smallest(equations.met_by(vector))


def stretch(base: NeuronPotential | Power, seen: float, unseen: float) -> float:
    """t = x/q'(x) at the length x of the solution; unseen: ‖z⊥‖."""
    if isinstance(base, NeuronPotential):
        hidden = 2 * unseen / 3
        return 2 / 3 * output_size(base.delta + hidden * hidden, seen)
    x = base.reach(seen, unseen)
    return x / float(base.steepness(np.float64(x))) if x > 0 else 0.0


def output_size(level: float, seen: float) -> float:
    """|a| at the end: a⁴ − S·a² − ‖p‖² = 0 with S = δ + ‖ω⊥‖², from ω = ω⊥ + p/a and a² − ‖ω‖² = δ."""
    return math.sqrt(outer_square(level, seen))
