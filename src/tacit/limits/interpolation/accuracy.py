r"""How near is the answer? The forward error of a solution, conditioning included.

At a predictor w with multipliers ν, ρ = y − Xw, g = Xᵀν − ∇Q(w) and W = ∇²Q(w)⁻¹, the solution is to first
order

    w + W(Xᵀdν + g),      (X W Xᵀ) dν = ρ − X W g:

the next Newton step. Its size is the error as far as ρ and g are known. Nobody knows ρ better than to the
last bits of X and y, so what changing them would move is part of the estimate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.data.arrays import Float
from tacit.limits.interpolation.equations import Equations
from tacit.numerics.normal import factorize
from tacit.numerics.pairs import Pair
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import quiet

ROUNDOFF = EPS / 2
_PROBES = 4  # random signs of rounding errors, of which the worst counts
_REFINED = 6  # passes of refinement; each gains as many digits as the factor has
_SETTLED = 0.1  # of an error, which is wanted to one digit
_LOOSE = (
    1e3  # relative change of w for a relative change of its slope, from which on rounding of slopes counts
)
Move = Callable[[Float, Float], Float]
Step = Callable[[Float, Float], tuple[Pair, Float, Float]]


@quiet
def forward_error(
    equations: Equations,
    move: Move,
    w: Float,
    gap: Float | float,
    rounding: Float | float,
    doubt: Float | None = None,
) -> float:
    """An estimate of ‖w − w*‖/‖w*‖ in the ℓ2 norm.

    move: the change of w that ρ and g ask for. gap: g, of which each entry is known up to its rounding. What
    rounding and the last bits of the data move is tried in some directions, drawn once and for all. doubt: by
    how much the last bits change ρ, where the equations do not know it.
    """
    unit = float(np.abs(equations.units * w).max(initial=0.0))  # norms of large numbers would overflow
    if unit == 0 or len(equations.y) == 0:
        return np.inf if np.any(equations.y) else 0.0

    def moved(rho: Float, g: Float) -> float:
        return float(np.linalg.norm(equations.units * move(rho, g) / unit))

    due = moved(equations.y - equations.X @ w, gap + np.zeros_like(w))
    doubt, rng = equations.doubt(w) if doubt is None else doubt, np.random.default_rng(0)
    signs = [(rng.choice([-1.0, 1.0], len(doubt)), rng.choice([-1.0, 1.0], len(w))) for _ in range(_PROBES)]
    hidden = max(moved(doubt * rows, rounding * columns) for rows, columns in signs)
    error = (due + 2 * hidden) / float(np.linalg.norm(equations.units * w / unit))
    return error if np.isfinite(error) else np.inf


@quiet
def diagonal_step(equations: Equations, W: Float, w: Float, slope: Float | float) -> Step:
    """For an inverse Hessian that is diagonal, at slopes of this size: dν, and the change of the slopes.

    Coordinates that are too stiff to take up a change of the last bits do so when their slopes have changed
    by as much as they are: none is taken for stiffer than that. The changes of slopes that a rounding of
    them would spoil are computed in pairs of floats.
    """
    size = float(np.abs(slope).max()) or 1.0
    W = np.maximum(W, float(equations.doubt(w).max(initial=0.0)) / size)
    loose = np.flatnonzero(W * size > _LOOSE * np.abs(w).max())
    factor = factorize(equations.X, W, careful=len(loose) > 0)

    def step(rho: Float, g: Float) -> tuple[Pair, Float, Float]:
        nu, change = factor.direction(rho, g)
        total = Pair.of(nu)
        for _ in range(_REFINED if len(loose) else 0):
            missing = np.zeros_like(change)
            missing[loose] = equations.slopes(total, loose).value + g[loose] - change[loose]
            nu, more = factor.direction(rho - equations.X @ (W * change), missing)
            total, change = total + nu, change + more
            if np.abs(W * more).max() <= _SETTLED * np.abs(W * change).max():
                break
        return total, change, W * change

    return step


def diagonal_move(equations: Equations, W: Float, w: Float, slope: Float | float) -> Move:
    """The change of w in that step."""
    step = diagonal_step(equations, W, w, slope)
    return lambda rho, g: step(rho, g)[2]


def slope_rounding(equations: Equations, nu: Float) -> Float:
    """By how much Xᵀν in floats may be off."""
    return np.asarray(2 * ROUNDOFF * (np.abs(equations.X).T @ np.abs(nu)))
