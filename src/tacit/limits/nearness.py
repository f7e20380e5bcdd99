"""How near a given predictor is to the minimizer, however it was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data import Float
from tacit.limits.accuracy import diagonal_move, forward_error, slope_rounding
from tacit.limits.ends import vertex_error
from tacit.limits.equations import Equations
from tacit.limits.geometry import as_separable
from tacit.limits.kkt import best_multipliers
from tacit.limits.metric import metric_move
from tacit.limits.newton import Separable
from tacit.limits.rich import multipliers_at
from tacit.limits.separable import balanced
from tacit.potentials import L1, Bregman, Quadratic
from tacit.potentials.arrays import quiet
from tacit.potentials.radial import Radial, length
from tacit.potentials.separable import DiagonalPotential


def nearness(potential: Any, equations: Equations, w: Float) -> float:
    """An estimate of the relative distance from w to argmin Q(w) subject to X w = y."""
    if not w.any() or len(equations.y) == 0:
        return 0.0 if not equations.y.any() else np.inf
    base = potential.potential if isinstance(potential, Bregman) else potential
    if isinstance(base, DiagonalPotential):
        return _of_diagonal(as_separable(potential, len(w)), equations, w)
    if isinstance(base, L1):
        return vertex_error(equations, w)
    nu = best_multipliers(potential, equations.X, w)
    gap, rounding = equations.X.T @ nu - potential.gradient(w), slope_rounding(equations, nu)
    if isinstance(base, Quadratic) and np.ndim(base.metric) == 2:
        return forward_error(equations, metric_move(base.metric, equations.X), w, gap, rounding)
    W = np.broadcast_to(_stiffness(base, w), w.shape)
    return forward_error(equations, diagonal_move(equations, W, w, gap), w, gap, rounding)


@quiet
def _of_diagonal(separable: Separable, equations: Equations, w: Float) -> float:
    equations, separable, columns = balanced(equations, separable)
    unit = 2.0 ** np.frexp(np.abs(w * columns).max())[1]
    return multipliers_at(
        equations.in_units_of(unit), separable.in_units_of(unit), w * columns / unit
    ).assess()


def _stiffness(base: Any, w: Float) -> Any:
    """The diagonal of the inverse Hessian; of a potential of the length, its part around the sphere."""
    if isinstance(base, Radial):
        x = length(np, w)
        return x / base.steepness(np.float64(x))
    return 1 / np.asarray(base.metric, dtype=float)
