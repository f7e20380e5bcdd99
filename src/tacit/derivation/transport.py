r"""The tangent space of an orbit by fields that flows carry along (Sussmann's orbit theorem).

Gradient fields at a point that a flow reaches, carried back by that flow, are tangent to the orbit at its
start, and those of all flows span its tangent space there. Along flows as long as the map's own length the
brackets of level k weigh about 2⁻ᵏ/k!, far above the tolerance of the integrator for every level that
matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax
from tacit.data.arrays import Float
from tacit.derivation.orbits import followed, unit_pull
from tacit.derivation.scale import tolerance
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import Span

_TIGHT = 1e-12  # of the integrator, over the map's own length
_PIECE = 0.25  # of that length: each of the two pieces of a flow
_IDLE = 2  # flows in a row that carry nothing new, after which there is nothing


def _carried(jets: Jets) -> Callable[..., Any]:
    """(θ, V, c) ↦ the unit field of c at θ, and its derivative along each row of V."""
    field = unit_pull(jets)

    def rates(theta: Any, V: Any, c: Any) -> Any:
        along = jax.vmap(lambda v: jax.jvp(lambda at: field(at, c), (theta,), (v,))[1])(V)
        return field(theta, c), along

    return rates


def transported(
    jets: Jets, theta: Float, span: Span, sizes: Float, length: float, rng: np.random.Generator
) -> None:
    """What fields carried back to θ add to the span; sizes: of the rows of J."""
    idle, p, doubt = 0, len(theta), 0.0
    while idle < _IDLE and span.dimension < p:
        pulls = [rng.standard_normal(len(sizes)) / sizes for _ in range(2)]
        there, lengths = theta, []
        for pull in pulls:
            there, went = followed(jets, there, pull, _PIECE * length)
            lengths.append(went)
        fields = jets.slopes(there) / sizes[:, None]
        fields /= np.linalg.norm(fields, axis=1).max()
        for pull, went in zip(reversed(pulls), reversed(lengths), strict=True):
            there, fields = _back(jets, there, fields, pull, went, length)
        idle = 0 if span.add(fields) else idle + 1
        doubt = max(doubt, span.doubt) if idle else 0.0
    span.doubt = doubt


def _back(
    jets: Jets, theta: Float, fields: Float, pull: Float, went: float, length: float
) -> tuple[Float, Float]:
    """Both at the start of the piece that ended at θ; positions are steps from θ in units of the length."""
    d, p = fields.shape

    def rate(_: float, state: Float) -> Float:
        V = state[p:].reshape(d, p)
        step, along = jets(_carried, theta + length * state[:p], V, pull)
        return -np.concatenate([step, length * np.ravel(along)])

    begun = np.concatenate([np.zeros(p), np.ravel(fields)])
    atol = tolerance(_TIGHT, theta, length)
    done = solve_ivp(rate, (0.0, went / length), begun, method="DOP853", rtol=_TIGHT, atol=atol)
    end = done.y[:, -1]
    return theta + length * end[:p], end[p:].reshape(d, p)
