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
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair, as_pair
from tacit.numerics.normal_equations import factorize
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import quiet

ROUNDOFF = EPS / 2
_PROBES = 4  # random draws of rounding errors, of which the worst counts
_REFINED = 6  # passes of refinement; each gains as many digits as the factor has
_VANISHING = 4.0  # coordinates up to this many changes of the last bits may as well be 0
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
) -> float:
    """An estimate of ‖w − w*‖/‖w*‖ in the ℓ2 norm; of divided features, the larger of that and their own.

    move: the change of w that ρ and g ask for. gap: g, of which each entry is known up to its rounding. What
    rounding and the last bits of the data move is tried in some directions, drawn once and for all.
    """
    metrics = [
        metric / _largest(metric * w) for metric in equations.metrics if np.any(w)
    ]  # or norms overflow
    if not metrics or len(equations.y) == 0:
        return np.inf if np.any(equations.y) else 0.0

    def moved(rho: Float, g: Float) -> Float:
        change = move(rho, g)
        return np.array([np.linalg.norm(metric * change) for metric in metrics])

    due = moved(equations.y - equations.X @ w, gap + np.zeros_like(w))
    doubt, rng = equations.doubt(w), np.random.default_rng(0)
    # Signs alone would leave slopes of features that are tied equal in each sixteenth draw.
    draws = [(rng.choice([-1.0, 1.0], len(doubt)), rng.standard_normal(len(w))) for _ in range(_PROBES)]
    hidden = np.max([moved(doubt * rows, rounding * columns) for rows, columns in draws], axis=0)
    sizes = np.array([np.linalg.norm(metric * w) for metric in metrics])
    error = float(((due + 2 * hidden) / sizes).max())
    return error if np.isfinite(error) else np.inf


def _largest(values: Float) -> float:
    return float(np.abs(values).max())


@quiet
def diagonal_step(equations: Equations, W: Float, w: Float, slope: Float | float) -> Step:
    """For an inverse Hessian that is diagonal, at slopes of this size: dν, and the change of the slopes.

    Coordinates that are too stiff to take up a change of the last bits do so when their slopes have changed
    by as much as they are: none is taken for stiffer than that. Those no larger than such a change are taken
    for just as stiff: near the end of its slopes one looks loose, and loses its slope as it vanishes. The
    changes of slopes that a rounding of them would spoil are computed in pairs of floats.
    """
    size, bits = float(np.abs(slope).max()) or 1.0, float(equations.doubt(w).max(initial=0.0))
    W = np.where(np.abs(w) <= _VANISHING * bits, bits / size, np.maximum(W, bits / size))
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


@quiet
def slope_rounding(equations: Equations, nu: Pair | Float) -> Float:
    """By how much Xᵀν may be off: in floats, and where X changes in its last bits."""
    nu = as_pair(nu)
    products = np.abs(equations.X).T @ np.abs(nu.value)
    return np.asarray(ROUNDOFF * products + equations.slope_doubt(nu))
