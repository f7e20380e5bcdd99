r"""Points that gradient flows from θ₀ reach: θ' = Σ cᵢ∇Fᵢ(θ) for random c, and whether F is smooth there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, NotConvergedError

_NODES = 32  # of Gauss and Legendre: exact for what is smooth on the scale of an orbit
_JUMP = 1e-6  # of F or J, relative to how much they change, that no quadrature of a smooth map leaves
_TIGHT = 1e-13  # of the integrator: points off the orbit would break laws that hold on it alone
_MOST = 3_000  # evaluations for one piece, of which a smooth map takes some hundred


def orbit_points(jets: Jets, start: Float, length: float, samples: int, rng: np.random.Generator) -> Float:
    """θ₀ and the ends of orbits of two pieces, each half of the length long in θ."""
    found = [start]
    for _ in range(samples - 1):
        theta = start
        for _ in range(2):
            pull = rng.standard_normal(len(jets.value(start)))
            ahead = _followed(jets, theta, pull / np.linalg.norm(pull), length / 2)
            _refuse_jumps(jets, theta, ahead)
            theta = ahead
        found.append(theta)
    return np.array(found)


def _unit_pull(jets: Jets) -> Callable[..., Any]:
    def pull(theta: Any, c: Any) -> Any:
        field = jax.vjp(jets.flat, theta)[1](c)[0]
        size = jnp.linalg.norm(field)
        return field / jnp.where(size > 0, size, 1.0)

    return pull


def _followed(jets: Jets, theta: Float, pull: Float, length: float) -> Float:
    """Where the unit field of the pull leads after this length."""
    calls = 0

    def rate(_: float, at: Float) -> Float:
        nonlocal calls
        calls += 1
        if calls > _MOST:
            raise InputError(
                f"an orbit from theta0 cannot be followed in {_MOST:,} evaluations: the parametrization is "
                "not smooth there, or bends very sharply; choose another start, or a smaller radius"
            )
        found = np.asarray(jets(_unit_pull, at, pull))
        if not np.isfinite(found).all():
            raise InputError(
                "the parametrization has no finite derivative on an orbit from theta0: it is not smooth "
                "there; choose another start, or a smaller radius"
            )
        return found

    size = float(np.linalg.norm(theta)) or length
    done = solve_ivp(rate, (0.0, length), theta, method="DOP853", rtol=_TIGHT, atol=_TIGHT * size)
    if not done.success:
        raise NotConvergedError(f"an orbit from theta0 could not be followed: {done.message}")
    return np.asarray(done.y[:, -1])


def _changes(jets: Jets) -> Callable[..., Any]:
    """F, J and their integrals ∫ dF, ∫ dJ along a straight piece."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def integrals(first: Any, last: Any) -> Any:
        step = last - first
        points = first + (nodes[:, None] + 1) / 2 * step

        def both(theta: Any) -> Any:
            return jets.flat(theta), jets.jacobian(theta)

        rates = jax.vmap(lambda theta: jax.jvp(both, (theta,), (step,))[1])(points)
        sums = [jnp.tensordot(jnp.asarray(weights) / 2, rate, 1) for rate in rates]
        return [
            (b - a, total, abs(rate).max())
            for a, b, total, rate in zip(both(first), both(last), sums, rates, strict=True)
        ]

    return integrals


def _refuse_jumps(jets: Jets, first: Float, last: Float) -> None:
    """A map whose values or slopes do not change by the integral of their derivatives is not smooth."""
    for (change, total, rate), what in zip(jets(_changes, first, last), ("value", "derivative"), strict=True):
        size = max(float(np.abs(change).max()), float(rate))
        if size > 0 and not float(np.abs(change - total).max()) <= _JUMP * size:
            raise InputError(
                f"the parametrization is not smooth: its {what} jumps on an orbit from theta0; a smaller "
                "radius stays on one smooth piece"
            )
