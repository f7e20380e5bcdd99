r"""The length scale of a map near θ₀: the distance over which its Jacobian J changes.

‖θ₀‖ is not this length: (1 + θ₁)·θ₂ contains the constant 1, and near every small θ₀ the map behaves as near
0. With ρ(r) = ‖J(θ₀ + ru) − J(θ₀)‖ along a unit vector u, rows of J in units of their norms at θ₀, the length
scale is the r at which ρ reaches ½, extrapolated from smaller r if necessary; the smallest over some
directions u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.smooth_map import Jets

_DIRECTIONS = 6  # random unit vectors u
_CHANGED = 0.5  # the ρ that defines the length scale
_PER_DECADE = 2  # radii in each decade
_NEAR, _FAR = 1e-15, 1e15  # smallest and largest radius, relative to ‖θ₀‖ and to max(1, ‖θ₀‖)
# Bisection for the radius at which ρ = ½: 15 intervals per round, 9 rounds: to 3e-11 of half a decade.
_POINTS, _ROUNDS = 16, 9
_JUMP = 0.1  # change of ρ over the last interval that indicates a kink or the end of the domain
_NOISE = 10.0  # multiple of the ρ at radii below the resolution of floats, which is round-off
_SMALL = 1e-11  # values of ρ that may be round-off; they decide no verdict, since sizes up to 1e-9 count as 0
# A smooth J changes about ten times as much at ten times the radius; round-off of J does not grow.
_GROWTH = 3.0
_EXTRAPOLATION = 10.0  # how far beyond the largest radius observed a rate is extrapolated
_ROUNDINGS = 20.0  # roundings of θ below which the error estimate of an integrator is noise


def _jacobian_changes(jets: Jets, theta: Any, direction: Any, norms: Any, radii: Any) -> Any:
    """ρ at each radius, NaN where J is not finite."""
    origin = jets.jacobian(theta)

    def change(radius: Any) -> Any:
        gap = jnp.linalg.norm(jets.jacobian(theta + radius * direction) - origin, axis=1)
        return jnp.max(jnp.where(norms > 0, gap / jnp.where(norms > 0, norms, 1.0), 0.0))

    return jax.lax.map(change, radii)


def row_norms(J: Float) -> Float:
    """The norms of the rows of J, and 1 for rows of zeros: the units of the entries of w."""
    norms = np.linalg.norm(J, axis=1)
    return np.where(norms > 0, norms, 1.0)


def unit_singular_values(J: Float) -> Float:
    """The singular values of J after its rows are divided by their norms."""
    return np.asarray(np.linalg.svd(J / row_norms(J)[:, None], compute_uv=False))


def length_scale(jets: Jets, start: Float, seed: int = 0, directions: int = _DIRECTIONS) -> float:
    """The length scale of the map near θ₀; ‖θ₀‖, or 1 at θ₀ = 0, if J is constant."""
    size = float(np.linalg.norm(start))
    smallest = _NEAR * (size or 1.0)
    decades = np.log10(_FAR * max(1.0, size) / smallest)
    radii = smallest * 10.0 ** (np.arange(int(decades * _PER_DECADE) + 1) / _PER_DECADE)
    norms = np.linalg.norm(jets.slopes(start), axis=1)
    rng, found = np.random.default_rng(seed), []
    for _ in range(directions):
        direction = rng.standard_normal(len(start))
        direction /= np.linalg.norm(direction)
        found.append(_length_along(jets, start, direction, norms, radii))
    length = min(found)
    return length if np.isfinite(length) else size or 1.0


def tolerance(tight: float, theta: Float, length: float) -> float:
    """The tolerance for steps from θ in units of the length: `tight`, or the resolution of floats at θ."""
    return max(tight, _ROUNDINGS * np.finfo(float).eps * float(np.abs(theta).max()) / length)


def sampling_width(start: Float, length: float) -> float:
    """The standard deviation of random points around 0: the size of θ₀ or the length scale, per entry."""
    return float(max(np.sqrt(np.mean(start**2)), length / np.sqrt(len(start))))


def _length_along(jets: Jets, start: Float, direction: Float, norms: Float, radii: Float) -> float:
    """The length scale in one direction; inf if J does not change, or changes only at a kink."""

    def change(at: Float) -> Float:  # padded to batches of equal size, so that JAX compiles it once
        padded = np.concatenate([at, np.full(-len(at) % _POINTS, at[-1])]).reshape(-1, _POINTS)
        rho = [jets(_jacobian_changes, start, direction, norms, batch) for batch in padded]
        return np.asarray(np.concatenate(rho)[: len(at)])

    rho = change(radii)
    outside = np.flatnonzero(~(rho <= _CHANGED))
    end, kink = np.inf, False
    if len(outside) and outside[0] > 0:
        end, kink = _crossing(change, radii[outside[0] - 1], radii[outside[0]])
    inside = radii < end
    smooth_at_first = outside.size == 0 or outside[0] >= _PER_DECADE
    noise = _NOISE * float(np.max(rho[:_PER_DECADE], initial=0.0)) if smooth_at_first else 0.0
    seen = inside & (rho > max(noise, _SMALL)) & _grows(rho, int(inside.sum()))
    if not seen.any():
        return np.inf if kink else end
    lengths = radii[seen] * _CHANGED / rho[seen]
    shortest = float(lengths.min())
    known = float(radii[seen][lengths <= 2 * shortest].max())
    return shortest if kink else min(end, shortest, _EXTRAPOLATION * known)


def _grows(rho: Float, inside: int) -> Any:
    """Positions where ρ grows by the factor _GROWTH over a decade of radii, for the first `inside` radii.

    In 1 + θ a step of 1e-17 may change the rounding: J then jumps by its round-off, which looks like a fast
    change.
    """
    later = np.append(rho[_PER_DECADE:inside], np.full(min(_PER_DECADE, inside), np.inf))
    return np.append(later >= _GROWTH * rho[:inside], np.zeros(len(rho) - inside, dtype=bool))


def _crossing(change: Callable[[Float], Float], low: float, high: float) -> tuple[float, bool]:
    """The radius at which ρ passes ½, and whether it jumps there between two finite values, as at a kink."""
    before = after = 0.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, _POINTS)
        rho = change(points)
        at = next((k for k in range(1, len(points)) if not rho[k] <= _CHANGED), _POINTS - 1)
        low, high, before, after = (
            float(points[at - 1]), float(points[at]), float(rho[at - 1]), float(rho[at])
        )  # fmt: skip
        if after - before <= _JUMP:
            break
    return low, bool(np.isfinite(after) and after - before > _JUMP)
