r"""Radial potentials, those of neurons and balanced networks.

    argmin q(‖w‖) − z₀·w   subject to   X w = y

has ∇q = z₀ + Xᵀν, so w = p + t·z⊥, where p is the minimum-norm solution, z⊥ the part of z₀ orthogonal to the
rows of X, and t = x/q'(x) at the norm x² = ‖p‖² + t²‖z⊥‖². This is one scalar equation, for a neuron a
quadratic one in a² (Azulay et al. 2021, Theorem 2).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory
from tacit.errors import NoPotentialError
from tacit.numerics.double_double import Pair
from tacit.numerics.roots import outer_square
from tacit.numerics.rounding import ROUNDOFF
from tacit.potentials import Bregman, NeuronPotential, Power
from tacit.potentials.arrays import quiet
from tacit.potentials.radial import length
from tacit.solvers.families.quadratic import diagonal_error_estimate, maximize_margin_in
from tacit.solvers.interpolation.ends import minimum_norm
from tacit.solvers.interpolation.solution import MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins

METHOD = "closed form"
ends = None  # models with such a potential have their limits at infinite and zero scale in `connected`
# A limit smaller than this part of the initial predictor is the result of cancellation; its error is then
# taken relative to this part of the initial predictor.
_CANCELLED = 1e-8


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


def least_radial(equations: Equations, potential: Any) -> Solution:
    """argmin Q(w) subject to X w = y, for a `NeuronPotential`, a `Power`, or a Bregman divergence of one."""
    base: Any = potential.potential if isinstance(potential, Bregman) else potential
    least = minimum_norm(equations)
    if base is potential:
        x = float(length(np, least.predictor))
        share = float(base.steepness(np.float64(x))) / x if x > 0 else 0.0
        return Solution(
            least.predictor, Pair.of(share * least.nu.value), least.iterations, True, least.assess
        )
    return _from_origin(equations, base, np.asarray(potential.origin, dtype=float), least)


@quiet
def _from_origin(
    equations: Equations, base: NeuronPotential | Power, origin: Float, least: Solution
) -> Solution:
    """p + t·z⊥, and ν with ∇Q = z₀ + Xᵀν.

    z₀ and p may differ in size by many orders of magnitude, so each is computed by a separate least-squares
    problem.
    """
    p, start = least.predictor, np.asarray(base.gradient(origin), dtype=float)
    seen = _seen(equations, start)
    unseen = start - seen.predictor
    unseen = unseen - _seen(equations, unseen).predictor  # once more, to remove round-off
    t = stretch(base, float(length(np, p)), float(length(np, unseen)))
    # ∇Q(w) = w/t = p/t + z⊥, so that Xᵀν = p/t − z∥.
    nu = (least.nu.value / t if t > 0 else 0 * least.nu.value) - seen.nu.value
    w = p + t * unseen

    def assess() -> float:
        # z⊥ is the difference of z₀ and its projection: it has the errors of both.
        parts = (least.error, p), (seen.error, t * seen.predictor), (2 * ROUNDOFF, t * start)
        error = sum(error * float(length(np, part)) for error, part in parts)
        size = max(float(length(np, w)), _CANCELLED * float(length(np, origin)))
        return error / (size or 1.0)

    return Solution(w, Pair.of(nu), least.iterations + seen.iterations, True, assess)


def _seen(equations: Equations, vector: Float) -> Solution:
    """The projection of a vector onto the row space of X, and its coefficients."""
    return minimum_norm(equations.met_by(vector))


def stretch(base: NeuronPotential | Power, seen: float, unseen: float) -> float:
    """t = x/q'(x) at the norm x of the solution; seen: ‖p‖, unseen: ‖z⊥‖."""
    if isinstance(base, NeuronPotential):
        hidden = 2 * unseen / 3
        return 2 / 3 * output_size(base.delta + hidden * hidden, seen)
    x = base.reach(seen, unseen)
    return x / float(base.steepness(np.float64(x))) if x > 0 else 0.0


def output_size(level: float, seen: float) -> float:
    """|a| at the limit: a⁴ − S·a² − ‖p‖² = 0 with S = δ + ‖ω⊥‖² (`level`) and ‖p‖ = seen.

    This follows from ω = ω⊥ + p/a and a² − ‖ω‖² = δ.
    """
    return math.sqrt(outer_square(level, seen))
