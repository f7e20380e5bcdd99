r"""Points that gradient flows from θ₀ reach: θ' = Σ cᵢ∇Fᵢ(θ) for random c, and whether F is smooth there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.scale import row_sizes, tolerance
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, NotConvergedError
from tacit.show.progress import progress

_NODES = 32  # of Gauss and Legendre: exact for what is smooth on the scale of an orbit
_JUMP = 1e-6  # of F or J, relative to how much they change, that no quadrature of a smooth map leaves
_ROUNDING = 1e-9  # of F or J itself: what they change by less may be the round-off of the function
_SATURATED = 1e-8  # of w, changed by θ as large as θ₀: half of the digits of its derivatives are lost
_TIGHT = 1e-13  # of the integrator: points off the orbit would break laws that hold on it alone
_MOST = 3_000  # evaluations for one piece, of which a smooth map takes some hundred
_CANCELLED = 1e-6  # of the terms of Jᵀc: the integrator closes in on a zero to its tolerance
_UNDERFLOW = 1e-290  # numbers below have lost digits, or lose them in products
_HALVINGS = 6  # of a piece on which F seems to jump
NOT_FINITE = "value is not finite"
_SHORTER = 12  # halvings of a piece on which the map is not finite


def orbit_points(jets: Jets, start: Float, length: float, samples: int, rng: np.random.Generator) -> Float:
    """θ₀ and the ends of orbits of two pieces, each half of the length long in θ, or shorter where F ends."""
    found, sizes = [start], row_sizes(jets.slopes(start))
    for _ in progress(range(samples - 1), "orbits"):
        theta = start
        for _ in range(2):
            pull = rng.standard_normal(len(sizes)) / sizes
            theta = _smooth_piece(jets, theta, pull, length / 2)
        found.append(theta)
    return np.array(found)


def _smooth_piece(jets: Jets, theta: Float, pull: Float, length: float) -> Float:
    """Where the pull leads, on a way on which the map is smooth."""
    for _ in range(_SHORTER):
        ahead, length = followed(jets, theta, pull, length)
        jumps = jumping(jets, theta, ahead)
        if jumps != NOT_FINITE:
            break
        length /= 2
    if jumps:
        raise InputError(_at_rest(jets, theta) or _not_smooth(jumps))
    return ahead


def _not_smooth(jumps: str) -> str:
    return (
        f"the parametrization is not smooth: its {jumps} on an orbit from theta0; a smaller radius stays "
        "on one smooth piece"
    )


def _at_rest(jets: Jets, theta: Float) -> str:
    """Which w hardly moves at θ because it is saturated, as a softmax near 1; "" if all move."""
    value, sizes = jets.value(theta), row_sizes(jets.slopes(theta))
    for at in np.flatnonzero(sizes * np.linalg.norm(theta) < _SATURATED * np.abs(value)):
        return (
            f"w[{at}] = {value[at]:.3g} is saturated at theta0: it changes so little with theta that its "
            "derivatives are lost to round-off; choose a start nearer to 0"
        )
    return ""


def unit_pull(jets: Jets) -> Callable[..., Any]:
    """(θ, c) ↦ Jᵀc, of length 1."""

    def pull(theta: Any, c: Any) -> Any:
        field = jax.vjp(jets.flat, theta)[1](c)[0]
        size = jnp.linalg.norm(field)
        return field / jnp.where(size > 0, size, 1.0)

    return pull


def followed(jets: Jets, theta: Float, pull: Float, length: float) -> tuple[Float, float]:
    """Where the unit field of the pull leads after this length, or after the halves of it that are finite."""
    for _ in range(_SHORTER):
        end = _followed(jets, theta, pull, length)
        if end is not None:
            return end, length
        length /= 2
    raise InputError(
        "the parametrization has no finite derivative on an orbit from theta0: it is not smooth there; "
        "choose another start, or a smaller radius"
    )


class _NotFiniteError(Exception):
    """The map has no derivative at a point of an orbit."""


class _CriticalPointError(Exception):
    """The field of a pull vanishes at a point of its orbit."""


def _vanishing(jets: Jets, theta: Float, pull: Float) -> bool:
    """Do the terms of Jᵀc cancel at θ? At a kink of F they do not."""
    terms = jets.slopes(theta) * pull[:, None]
    return bool(np.linalg.norm(terms.sum(axis=0)) < _CANCELLED * np.linalg.norm(terms))


def _followed(jets: Jets, theta: Float, pull: Float, length: float) -> Float | None:
    """In steps from θ, which floats resolve where they are much smaller than θ; None where F ends.

    Also None where the flow ends in a critical point of c·F, as flows on a curve do: the unit field turns
    around there.
    """
    calls = 0

    def rate(_: float, step: Float) -> Float:
        nonlocal calls
        calls += 1
        if calls > _MOST:
            if _vanishing(jets, theta + length * step, pull):
                raise _CriticalPointError
            raise InputError(
                f"an orbit from theta0 cannot be followed in {_MOST:,} evaluations: the parametrization is "
                "not smooth there, or bends very sharply; choose another start, or a smaller radius"
            )
        found = np.asarray(jets(unit_pull, theta + length * step, pull))
        if not np.isfinite(found).all():
            raise _NotFiniteError
        return found

    try:
        atol = tolerance(_TIGHT, theta, length)
        done = solve_ivp(rate, (0.0, 1.0), np.zeros_like(theta), method="DOP853", rtol=_TIGHT, atol=atol)
    except (_NotFiniteError, _CriticalPointError):
        return None
    if not done.success:
        raise NotConvergedError(f"an orbit from theta0 could not be followed: {done.message}")
    end = np.asarray(theta + length * done.y[:, -1])
    return end if np.isfinite(jets.value(end)).all() and np.isfinite(jets.slopes(end)).all() else None


def _changes(jets: Jets) -> Callable[..., Any]:
    """Of F and J along a straight piece: the change, ∫ dF or ∫ dJ, the largest rate, the size."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def integrals(first: Any, last: Any) -> Any:
        step = last - first
        points = first + (nodes[:, None] + 1) / 2 * step

        def both(theta: Any) -> Any:
            return jets.flat(theta), jets.jacobian(theta)

        rates = jax.lax.map(lambda theta: jax.jvp(both, (theta,), (step,))[1], points)
        sums = [jnp.tensordot(jnp.asarray(weights) / 2, rate, 1) for rate in rates]
        return [
            (b - a, total, abs(rate).max(), jnp.maximum(abs(a).max(), abs(b).max()))
            for a, b, total, rate in zip(both(first), both(last), sums, rates, strict=True)
        ]

    return integrals


def jumping(jets: Jets, first: Float, last: Float) -> str:
    """What does not change by the integral of its derivative, in words, or "" where all does."""
    names = ("value", "derivative")
    for (change, total, rate, size), name in zip(jets(_changes, first, last), names, strict=True):
        moved = max(float(np.abs(change).max()), float(rate))
        gap = float(np.abs(change - total).max())
        if not np.isfinite(gap):
            return NOT_FINITE
        if gap > max(_JUMP * moved, _ROUNDING * float(size), _UNDERFLOW):
            return f"{name} jumps"
    return ""


def smooth_between(jets: Jets, first: Float, last: Float, halvings: int = _HALVINGS) -> bool:
    """Is F smooth on a straight piece, which may be long?

    The quadrature of one piece does not resolve e^θ over hundreds of units, that of its parts does; a jump is
    one in the part that has it, however short.
    """
    jumps = jumping(jets, first, last)
    if not jumps or jumps == NOT_FINITE or halvings == 0:
        return not jumps
    middle = (first + last) / 2
    return smooth_between(jets, first, middle, halvings - 1) and smooth_between(
        jets, middle, last, halvings - 1
    )
