r"""Points that gradient flows θ' = Σ cᵢ∇Fᵢ(θ) from θ₀ reach, and tests of whether F is smooth there."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.length_scale import row_norms, tolerance
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, NotConvergedError
from tacit.show.progress import progress

NOT_FINITE = "value is not finite"
_NODES = 32  # Gauss–Legendre nodes: exact for functions that are smooth on the length scale of an orbit
_JUMP = 1e-6  # quadrature error, relative to the change of F or J, above which they jump
_ROUNDING = 1e-9  # relative change of F or J that may be round-off of the user's function
_UNDERFLOW = 1e-290  # absolute changes below this have lost digits by underflow
_SATURATED = 1e-8  # relative change of w on a piece below which half of the digits of J are lost
_RTOL = 1e-13  # of the integrator: conserved quantities would drift visibly at points off the orbit
_EVALUATIONS = 3_000  # limit for one piece of an orbit; a smooth map takes a few hundred
_CANCELLED = 1e-6  # ‖Jᵀc‖ relative to its terms: near a zero the integrator takes ever smaller steps
_HALVINGS = 6  # halvings of a piece before F counts as not smooth on it
_SHORTENINGS = 12  # halvings of the length of a piece on which F is not finite


class _OrbitEndsError(Exception):
    """The field Jᵀc is not finite at a point of its orbit, or vanishes there."""


def orbit_points(jets: Jets, start: Float, length: float, samples: int, rng: np.random.Generator) -> Float:
    """θ₀ and the ends of random orbits of two pieces, each half of the length, or shorter if F ends there."""
    points, norms = [start], row_norms(jets.slopes(start))
    for _ in progress(range(samples - 1), "orbits"):
        theta = start
        for _ in range(2):
            c = rng.standard_normal(len(norms)) / norms
            theta = _follow_smooth(jets, theta, c, length / 2)
        points.append(theta)
    return np.array(points)


def _follow_smooth(jets: Jets, theta: Float, c: Float, length: float) -> Float:
    """Follow the unit field of Jᵀc; raises `InputError` if F is not smooth on the way."""
    for _ in range(_SHORTENINGS):
        end, length = follow(jets, theta, c, length)
        jump = find_jump(jets, theta, end)
        if jump != NOT_FINITE:
            break
        length /= 2
    if jump:
        raise InputError(
            _saturated(jets, theta, length)
            or f"the parametrization is not smooth: its {jump} on an orbit from theta0; choose a smaller "
            "radius, so that orbits stay on one smooth piece"
        )
    return end


def _saturated(jets: Jets, theta: Float, length: float) -> str:
    """A message that names a saturated entry of w, as of a softmax near 1; "" if there is none."""
    value, norms = jets.value(theta), row_norms(jets.slopes(theta))
    for at in np.flatnonzero(norms * length < _SATURATED * np.abs(value)):
        return (
            f"w[{at}] = {value[at]:.3g} is saturated at theta0: it changes so little with theta that its "
            "derivatives are lost to round-off; choose a start nearer to 0"
        )
    return ""


def unit_field(jets: Jets, theta: Any, c: Any) -> Any:
    """Jᵀc/‖Jᵀc‖."""
    gradient = jax.vjp(jets.flat, theta)[1](c)[0]
    size = jnp.linalg.norm(gradient)
    return gradient / jnp.where(size > 0, size, 1.0)


def follow(jets: Jets, theta: Float, c: Float, length: float) -> tuple[Float, float]:
    """The end of the orbit of the unit field of c, and its length, halved until the orbit is finite."""
    for _ in range(_SHORTENINGS):
        end = _integrate(jets, theta, c, length)
        if end is not None:
            return end, length
        length /= 2
    raise InputError(
        "the parametrization has no finite derivative on an orbit from theta0: it is not smooth there; "
        "choose another start, or a smaller radius"
    )


def _integrate(jets: Jets, theta: Float, c: Float, length: float) -> Float | None:
    """The end of the orbit, integrated in steps from θ, so that steps much smaller than θ are resolved.

    None if F is not finite on the orbit, or if it ends in a critical point of c·F, as on a curve: the unit
    field changes its direction there.
    """
    calls = 0

    def rate(_: float, step: Float) -> Float:
        nonlocal calls
        calls += 1
        if calls > _EVALUATIONS:
            if _vanishes(jets, theta + length * step, c):
                raise _OrbitEndsError
            raise InputError(
                _saturated(jets, theta, length)
                or f"an orbit from theta0 cannot be followed in {_EVALUATIONS:,} evaluations: the "
                "parametrization is not smooth there, or bends very sharply; choose another start, or a "
                "smaller radius"
            )
        field = np.asarray(jets(unit_field, theta + length * step, c))
        if not np.isfinite(field).all():
            raise _OrbitEndsError
        return field

    try:
        atol = tolerance(_RTOL, theta, length)
        solution = solve_ivp(rate, (0.0, 1.0), np.zeros_like(theta), method="DOP853", rtol=_RTOL, atol=atol)
    except _OrbitEndsError:
        return None
    if not solution.success:
        raise NotConvergedError(f"an orbit from theta0 could not be followed: {solution.message}")
    end = np.asarray(theta + length * solution.y[:, -1])
    return end if np.isfinite(jets.value(end)).all() and np.isfinite(jets.slopes(end)).all() else None


def _vanishes(jets: Jets, theta: Float, c: Float) -> bool:
    """Whether the terms of Jᵀc cancel at θ; at a kink of F they do not."""
    terms = jets.slopes(theta) * c[:, None]
    return bool(np.linalg.norm(terms.sum(axis=0)) < _CANCELLED * np.linalg.norm(terms))


def _changes(jets: Jets, first: Any, last: Any) -> Any:
    """Change, integral of the derivative, its maximum, and size of F and of J on a straight piece."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    step = last - first

    def both(theta: Any) -> Any:
        return jets.flat(theta), jets.jacobian(theta)

    points = first + (nodes[:, None] + 1) / 2 * step
    rates = jax.lax.map(lambda theta: jax.jvp(both, (theta,), (step,))[1], points)
    sums = [jnp.tensordot(jnp.asarray(weights) / 2, rate, 1) for rate in rates]
    return [
        (b - a, total, abs(rate).max(), jnp.maximum(abs(a).max(), abs(b).max()))
        for a, b, total, rate in zip(both(first), both(last), sums, rates, strict=True)
    ]


def find_jump(jets: Jets, first: Float, last: Float) -> str:
    """The name of F or J if its change between two points is not the integral of its derivative; otherwise
    ""."""
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
    """Whether F is smooth on a straight piece, which may be long.

    The quadrature on one piece does not resolve e^θ over hundreds of units, but the quadrature on its halves
    does; a true jump remains one in the part that contains it.
    """
    jump = find_jump(jets, first, last)
    if not jump or jump == NOT_FINITE or halvings == 0:
        return not jump
    middle = (first + last) / 2
    return smooth_between(jets, first, middle, halvings - 1) and smooth_between(
        jets, middle, last, halvings - 1
    )
