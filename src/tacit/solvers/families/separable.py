"""Potentials of diagonal networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Memory, name_of
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.solvers.families.l1 import cached_l1
from tacit.solvers.interpolation.geometry import Separable, as_separable
from tacit.solvers.interpolation.rich import error_at
from tacit.solvers.interpolation.separable import balanced, kernel_solution, minimize_separable
from tacit.solvers.interpolation.solution import Ends, MarginSolution, Solution
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import at_kernel_scale, hold_from, margin_solution

METHOD = "interior path and Newton's method"


def interpolate(potential: Potential, equations: Equations, memory: Memory) -> Solution:
    """argmin Q(w) subject to X w = y, warm-started from cached solutions at similar scales."""
    geometry = as_separable(potential, equations.X.shape[1])
    level, key = float(geometry.log_scale.max()), _key(geometry, equations)
    cached = memory.near(key, level)
    found = minimize_separable(equations, geometry, extrapolate(cached, level) if cached else None)
    if found.settled:
        memory.keep(key, level, geometry.rapidity(found.predictor))
    return found


def maximize_margin(potential: Potential, margins: Margins) -> MarginSolution:
    """Maximum margin by continuation from a scale at which the potential is quadratic."""
    geometry = as_separable(potential, margins.Z.shape[1])
    start, log_scale = at_kernel_scale(margins, geometry)
    return margin_solution(hold_from(margins, geometry, start, -log_scale))


@quiet
def error_estimate(potential: Potential, equations: Equations, w: Float) -> float:
    """Error estimate: the size of the next Newton step, in balanced units."""
    equations, separable, columns = balanced(equations, as_separable(potential, len(w)))
    unit = 2.0 ** np.frexp(np.abs(w * columns).max())[1]
    return error_at(equations.in_units_of(unit), separable.in_units_of(unit), w * columns / unit)


@quiet
def inverse_hessian(potential: Potential, w: Float) -> Float:
    """The diagonal of (∇²Q)⁻¹, in units of the largest scale."""
    return _metric(as_separable(potential, len(w)), w)


def ends(potential: Potential, equations: Equations, w: Float, memory: Memory) -> Ends:
    """Minimizers of a weighted ℓ2 distance from the origin, and of the weighted ℓ1 norm."""
    separable = as_separable(potential, len(w))
    first, last = (_metric(separable, at) for at in (potential.start(len(w)), w))
    key = _key(separable, equations)
    kernel = memory.once(("kernel", key), lambda: kernel_solution(equations, separable))
    rich = cached_l1(equations, separable.weight, memory).predictor
    return Ends(kernel, rich, (first / first.max(), last / last.max()))


def extrapolate(known: list[tuple[float, Float]], level: float) -> Float:
    """The polynomial through known (level, values) pairs, evaluated at a level."""
    powers = np.vander([at - level for at, _ in known], increasing=True)
    return np.asarray(np.linalg.inv(powers)[0] @ np.array([values for _, values in known]))


def _key(geometry: Separable, equations: Equations) -> tuple[Any, ...]:
    """Cache key that identifies the problem up to its scale."""
    shape = geometry.log_scale - geometry.log_scale.max()
    origin = 0.0 if geometry.origin is None else geometry.origin
    return name_of(equations.y, geometry.power, shape, geometry.weight, origin)


def _metric(separable: Separable, w: Float) -> Float:
    level = separable.shifted(-float(separable.log_scale.max()))
    return level.inverse_hessian(separable.rapidity(w))
