r"""The map's own length near θ₀: how far one can go before its Jacobian J becomes another one.

‖θ₀‖ is no such length: in (1 + θ₁)·θ₂ the 1 is an offset, and the map is what it is near 0 at every small θ₀.
With rows of J in units of their own size at θ₀, ρ(r) = ‖J(θ₀ + ru) − J(θ₀)‖ along a unit vector u, the length
is the r at which ρ reaches ½, or would at the rate that was seen; the smallest over some directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.smooth_map import Jets

_DIRECTIONS = 6
_CHANGED = 0.5  # of J, at its own length
_STEPS = 2  # radii in a decade
_NEAR, _FAR = 1e-15, 1e15  # radii, of ‖θ₀‖ and of max(1, ‖θ₀‖): what floats resolve, and as much beyond
_PARTS, _ROUNDS = 16, 9  # radii at once; 15⁹ parts of half a decade reach down to 3e-11 of it
_JUMP = 0.1  # of J, over the smallest interval: a kink, or an end of the domain
_NOISE = 10.0  # times what J changes over radii that no float resolves
_SMALL = 1e-11  # change of J that may be its round-off, and decides no verdict: sizes up to 1e-9 count as 0
_GROWTH = 3.0  # over a decade of radii: a smooth J changes ten times as much, or more, and round-off as much
_RESOLVED = 20.0  # roundings of θ, below which an error estimate is noise
_AHEAD = 10.0  # how much further than it was seen a rate is believed


@dataclass(frozen=True)
class _Changes:
    """(θ, u, sizes, radii) ↦ ρ at each radius, NaN where J is not finite."""

    def __call__(self, jets: Jets) -> Callable[..., Any]:
        def changes(theta: Any, along: Any, sizes: Any, radii: Any) -> Any:
            first = jets.jacobian(theta)

            def one(radius: Any) -> Any:
                gap = jnp.linalg.norm(jets.jacobian(theta + radius * along) - first, axis=1)
                return jnp.max(jnp.where(sizes > 0, gap / jnp.where(sizes > 0, sizes, 1.0), 0.0))

            return jax.lax.map(one, radii)

        return changes


_CHANGES = _Changes()


def row_sizes(J: Float) -> Float:
    """The lengths of the rows of J, and 1 for rows of zeros: units of the entries of w."""
    sizes = np.linalg.norm(J, axis=1)
    return np.where(sizes > 0, sizes, 1.0)


def own_length(jets: Jets, start: Float, seed: int = 0, directions: int = _DIRECTIONS) -> float:
    """The map's length near θ₀; ‖θ₀‖, or 1 at 0, where J does not change at all."""
    size = float(np.linalg.norm(start))
    radii = _radii(size)
    sizes = np.linalg.norm(jets.slopes(start), axis=1)
    rng, found = np.random.default_rng(seed), []
    for _ in range(directions):
        along = rng.standard_normal(len(start))
        along /= np.linalg.norm(along)
        found.append(_along(jets, start, along, sizes, radii))
    length = min(found)
    return length if np.isfinite(length) else size or 1.0


def _radii(size: float) -> Float:
    first = _NEAR * size if size > 0 else _NEAR
    decades = np.log10(_FAR * max(1.0, size) / first)
    return np.asarray(first * 10.0 ** (np.arange(int(decades * _STEPS) + 1) / _STEPS))


def _along(jets: Jets, start: Float, along: Float, sizes: Float, radii: Float) -> float:
    """The length in one direction; inf where J does not change, or only at a kink."""

    def change(at: Float) -> Float:  # always as many radii, so that JAX compiles it once
        padded = np.concatenate([at, np.full(-len(at) % _PARTS, at[-1])]).reshape(-1, _PARTS)
        rho = [jets(_CHANGES, start, along, sizes, each) for each in padded]
        return np.asarray(np.concatenate(rho)[: len(at)])

    rho = change(radii)
    left = np.flatnonzero(~(rho <= _CHANGED))
    end, kink = np.inf, False
    if len(left) and left[0] > 0:
        end, kink = _end(change, radii[left[0] - 1], radii[left[0]])
    inside = radii < end
    noise = _NOISE * float(np.max(rho[:_STEPS], initial=0.0)) if left.size == 0 or left[0] >= _STEPS else 0.0
    seen = inside & (rho > max(noise, _SMALL)) & _growing(rho, int(inside.sum()))
    if not seen.any():
        return np.inf if kink else end
    ahead = radii[seen] * _CHANGED / rho[seen]
    fastest = float(ahead.min())
    known = float(radii[seen][ahead <= 2 * fastest].max())
    return fastest if kink else min(end, fastest, _AHEAD * known)


def _growing(rho: Float, inside: int) -> Any:
    """Where the change of J keeps growing with the radius, as far as the first radii, those inside, go.

    In 1 + θ a step of 1e-17 may tip the rounding: J jumps by its round-off, which looks like a fast change.
    """
    ahead = np.append(rho[_STEPS:inside], np.full(min(_STEPS, inside), np.inf))
    return np.append(ahead >= _GROWTH * rho[:inside], np.zeros(len(rho) - inside, dtype=bool))


def _end(change: Callable[[Float], Float], low: float, high: float) -> tuple[float, bool]:
    """Where ρ passes ½, and whether it jumps there from one finite value to another, as at a kink."""
    first = last = 0.0
    for _ in range(_ROUNDS):
        parts = np.linspace(low, high, _PARTS)
        rho = change(parts)
        at = next((k for k in range(1, len(parts)) if not rho[k] <= _CHANGED), _PARTS - 1)
        low, high, first, last = float(parts[at - 1]), float(parts[at]), float(rho[at - 1]), float(rho[at])
        if last - first <= _JUMP:
            break
    return low, bool(np.isfinite(last) and last - first > _JUMP)


def tolerance(tight: float, theta: Float, length: float) -> float:
    """Of steps from θ in units of the length: the tight one, or what floats resolve of θ if that is more."""
    return max(tight, _RESOLVED * np.finfo(float).eps * float(np.abs(theta).max()) / length)
