r"""Estimate the forward error of a solution, including the conditioning of the problem.

At a predictor w with multipliers ν, let ρ = y − Xw, g = Xᵀν − ∇Q(w) and W = ∇²Q(w)⁻¹. To first order the
solution is

    w + W(Xᵀdν + g),      (X W Xᵀ) dν = ρ − X W g,

the next Newton step, whose size is therefore the error if ρ and g are exact. But ρ is known only up to the
round-off of X and y, so the change of w due to their last bits is added to the estimate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.double_double import Pair, as_pair
from tacit.numerics.normal_equations import factorize
from tacit.numerics.rounding import ROUNDOFF
from tacit.potentials.arrays import quiet

_PROBES = 4  # random draws of rounding errors, of which the largest effect counts
_REFINEMENTS = 6  # passes of iterative refinement; each gains as many digits as the factorization has
_VANISHING = 4.0  # coordinates up to this many times the uncertainty of the data are treated as possibly 0
_SETTLED = 0.1  # relative size of a refinement that may be omitted: the error is wanted to one digit
# Relative change of w per relative change of its slope above which the round-off of slopes matters, so that
# changes of slopes are computed in double-double arithmetic.
_SENSITIVE = 1e3
Move = Callable[[Float, Float], Float]  # (ρ, g) ↦ change of w
Step = Callable[[Float, Float], tuple[Pair, Float, Float]]  # (ρ, g) ↦ dν, change of the slopes, change of w


@quiet
def forward_error(
    equations: Equations, move: Move, w: Float, gap: Float | float, rounding: Float | float
) -> float:
    """Estimate ‖w − w*‖/‖w*‖ in the ℓ2 norm; for scaled features, the larger one of both units.

    move: the change of w for given ρ and g. gap: g. rounding: the round-off of each entry of g. The effect of
    round-off, and of the last bits of the data, is probed in a few fixed random directions.
    """
    metrics = [  # normalized, since norms could overflow
        metric / _largest(metric * w) for metric in equations.metrics if np.any(w)
    ]
    if not metrics or len(equations.y) == 0:
        return np.inf if np.any(equations.y) else 0.0

    def moved(rho: Float, g: Float) -> Float:
        change = move(rho, g)
        return np.array([np.linalg.norm(metric * change) for metric in metrics])

    newton = moved(equations.y - equations.X @ w, gap + np.zeros_like(w))
    uncertainty, rng = equations.uncertainty(w), np.random.default_rng(0)
    # Random signs would give two tied features equal changes in all four draws with probability 1/16.
    draws = [(rng.choice([-1.0, 1.0], len(uncertainty)), rng.standard_normal(len(w))) for _ in range(_PROBES)]
    probed = np.max([moved(uncertainty * rows, rounding * columns) for rows, columns in draws], axis=0)
    sizes = np.array([np.linalg.norm(metric * w) for metric in metrics])
    error = float(((newton + 2 * probed) / sizes).max())
    return error if np.isfinite(error) else np.inf


def _largest(values: Float) -> float:
    return float(np.abs(values).max())


@quiet
def diagonal_step(equations: Equations, W: Float, w: Float, slope: Float | float) -> Step:
    """The Newton step (ρ, g) ↦ (dν, change of the slopes, change of w) for a diagonal inverse Hessian W.

    slope: the size of the slopes. The linearization must hold for changes as large as the uncertainty of the
    data. W is therefore bounded below by uncertainty/slope: a coordinate changes by the uncertainty once its
    slope has changed by its own size. Coordinates no larger than the uncertainty take exactly that value:
    near the end of its slopes such a coordinate has a large W, which drops as it vanishes. Changes of slopes
    that would be lost in round-off are computed in double-double arithmetic.
    """
    size, bits = float(np.abs(slope).max()) or 1.0, float(equations.uncertainty(w).max(initial=0.0))
    W = np.where(np.abs(w) <= _VANISHING * bits, bits / size, np.maximum(W, bits / size))
    sensitive = np.flatnonzero(W * size > _SENSITIVE * np.abs(w).max())
    factor = factorize(equations.X, W, careful=len(sensitive) > 0)

    def step(rho: Float, g: Float) -> tuple[Pair, Float, Float]:
        nu, change = factor.direction(rho, g)
        total = Pair.of(nu)
        for _ in range(_REFINEMENTS if len(sensitive) else 0):
            missing = np.zeros_like(change)
            missing[sensitive] = equations.slopes(total, sensitive).value + g[sensitive] - change[sensitive]
            nu, more = factor.direction(rho - equations.X @ (W * change), missing)
            total, change = total + nu, change + more
            if np.abs(W * more).max() <= _SETTLED * np.abs(W * change).max():
                break
        return total, change, W * change

    return step


def diagonal_move(equations: Equations, W: Float, w: Float, slope: Float | float) -> Move:
    """The change of w in the step of `diagonal_step`."""
    step = diagonal_step(equations, W, w, slope)
    return lambda rho, g: step(rho, g)[2]


def diagonal_error(
    equations: Equations, W: Float, w: Float, slope: Float | float, gap: Float | float, nu: Pair | Float
) -> float:
    """`forward_error` of w with multipliers ν for a diagonal inverse Hessian W; slope, gap: as above."""
    move = diagonal_move(equations, W, w, slope)
    return forward_error(equations, move, w, gap, slope_rounding(equations, nu))


@quiet
def slope_rounding(equations: Equations, nu: Pair | Float) -> Float:
    """A bound on the error of Xᵀν, from round-off and from the last bits of X."""
    nu = as_pair(nu)
    products = np.abs(equations.X).T @ np.abs(nu.value)
    return np.asarray(ROUNDOFF * products + equations.slope_doubt(nu))
