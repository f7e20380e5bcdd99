r"""The tangent space of an orbit, from fields transported along flows (Sussmann's orbit theorem).

A gradient field at a point that a flow reaches, transported back along this flow, is tangent to the orbit at
the start, and the fields of all flows span the tangent space there. Along flows as long as the map's length
scale, brackets of level k contribute about 2⁻ᵏ/k!, which is far above the tolerance of the integrator for all
levels that matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax
from tacit.data.arrays import Float
from tacit.derivation.length_scale import tolerance
from tacit.derivation.orbits import follow, unit_field
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import Span

_RTOL = 1e-12  # of the integrator, in units of the length scale
_PIECE = 0.25  # length of each of the two pieces of a flow, in units of the length scale
_IDLE = 2  # the search ends after this many consecutive flows without a new direction


def _linearized_field(jets: Jets) -> Callable[..., Any]:
    """(θ, V, c) ↦ the unit field of c at θ, and its derivative along each row of V."""
    field = unit_field(jets)

    def rates(theta: Any, V: Any, c: Any) -> Any:
        along = jax.vmap(lambda v: jax.jvp(lambda at: field(at, c), (theta,), (v,))[1])(V)
        return field(theta, c), along

    return rates


def add_transported(
    jets: Jets, theta: Float, span: Span, norms: Float, length: float, rng: np.random.Generator
) -> None:
    """Extend the span at θ by fields transported back to θ; norms: those of the rows of J."""
    idle, borderline = 0, 0.0
    while idle < _IDLE and span.dimension < len(theta):
        end, pieces = theta, []
        for c in [rng.standard_normal(len(norms)) / norms for _ in range(2)]:
            end, piece = follow(jets, end, c, _PIECE * length)
            pieces.append((c, piece))
        fields = jets.slopes(end) / norms[:, None]
        fields /= np.linalg.norm(fields, axis=1).max()
        for c, piece in reversed(pieces):
            end, fields = _transport_back(jets, end, fields, c, piece, length)
        idle = 0 if span.add(fields) else idle + 1
        borderline = max(borderline, span.borderline) if idle else 0.0
    span.borderline = borderline


def _transport_back(
    jets: Jets, theta: Float, fields: Float, c: Float, piece: float, length: float
) -> tuple[Float, Float]:
    """The start of the piece that ended at θ, and the fields there; steps are in units of the length."""
    d, p = fields.shape

    def rate(_: float, state: Float) -> Float:
        V = state[p:].reshape(d, p)
        step, along = jets(_linearized_field, theta + length * state[:p], V, c)
        return -np.concatenate([step, length * np.ravel(along)])

    initial = np.concatenate([np.zeros(p), np.ravel(fields)])
    atol = tolerance(_RTOL, theta, length)
    solution = solve_ivp(rate, (0.0, piece / length), initial, method="DOP853", rtol=_RTOL, atol=atol)
    end = solution.y[:, -1]
    return theta + length * end[:p], end[p:].reshape(d, p)
