r"""The metric on a leaf: is it a Hessian, or does a change of clock make it one?

On a leaf w is a coordinate, M = JJᵀ the inverse metric, H = M⁻¹, and e_k is lifted to J⁺e_k = Jᵀ H e_k. With

    T_ijk = ∂_k H_ij − ∂_j H_ik,      T_ijk + v_k H_ij − v_j H_ik = 0,  v = ∇log g

T = 0 makes H a Hessian, and a curl-free v that solves the second equation makes gH one (Azulay et al. 2021,
Section 5). All is measured in frames that are orthonormal in H, where lengths are those of θ; there v is
solved for by least squares in closed form, v_k = −Σ_i T_iik/(d−1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp, solve_triangular
from tacit.data.arrays import Float
from tacit.derivation.closure import FLOOR
from tacit.derivation.smooth_map import Jets


@dataclass(frozen=True)
class Metric:
    """What the metric does at points of an orbit; relative sizes, the largest over the points.

    spread: how M, up to a factor, changes where w does not; drift: the same for M itself; both 0 where w is a
    coordinate. violation: |T|. residual: what the best v leaves of it. curl: that of v.
    """

    spread: float
    drift: float
    violation: float
    residual: float
    curl: float


def framed(jets: Jets, theta: Any) -> tuple[Any, Any]:
    """L and Q with J = LQᵀ, QᵀQ = I: columns of L are a frame that is orthonormal in H, and Q lifts them."""
    Q, R = jnp.linalg.qr(jets.jacobian(theta).T)
    return R.T, Q


def _change(jets: Jets, theta: Any, L: Any, Q: Any, along: Any) -> Any:
    """∂M in the frame, L⁻¹ ∂M L⁻ᵀ, where θ moves along this direction."""
    moved = jax.jvp(jets.jacobian, (theta,), (along,))[1]
    half = solve_triangular(L, moved @ Q, lower=True)
    return half + half.T


def _bend(jets: Jets, theta: Any, L: Any, Q: Any) -> Any:
    """∂_c H_ab = −∂_c M_ab in the frame, [a, b, c]."""
    return -jax.vmap(lambda along: _change(jets, theta, L, Q, along), in_axes=1, out_axes=-1)(Q)


def _warp(bend: Any) -> Any:
    """v in the frame; 0 in one dimension."""
    T = bend - jnp.swapaxes(bend, 1, 2)
    return -jnp.einsum("aac->c", T) / max(len(T) - 1, 1)


def frame_warp(jets: Jets, theta: Any, L: Any, Q: Any) -> Any:
    """v = ∇log g at θ, by least squares in the metric; 0 in one dimension. L, Q: those of `framed`."""
    return solve_triangular(L, _warp(_bend(jets, theta, L, Q)), lower=True, trans="T")


def warp_field(jets: Jets) -> Callable[[Any], Any]:
    """θ ↦ v = ∇log g, by least squares in the metric; 0 in one dimension."""

    def field(theta: Any) -> Any:
        return frame_warp(jets, theta, *framed(jets, theta))

    return field


def _tensors(jets: Jets) -> Callable[[Any], Any]:
    """|T|, |∂H|, |T + v∧H|, |curl v|, |∂v| + |v|² in the frame."""

    def tensors(theta: Any) -> Any:
        L, Q = framed(jets, theta)
        bend, same = _bend(jets, theta, L, Q), jnp.eye(len(L))
        v = _warp(bend)
        T = bend - jnp.swapaxes(bend, 1, 2)
        rest = T + v[None, None, :] * same[:, :, None] - v[None, :, None] * same[:, None, :]
        field = warp_field(jets)
        rate = L.T @ jax.vmap(lambda u: jax.jvp(field, (theta,), (u,))[1], in_axes=1, out_axes=-1)(Q)
        sizes = [jnp.linalg.norm(each.ravel()) for each in (T, bend, rest, rate - rate.T, rate)]
        return jnp.array([*sizes[:4], sizes[4] + v @ v])

    return tensors


def _vertical(jets: Jets) -> Callable[..., Any]:
    """∂M in the frame along each of some directions."""

    def changes(theta: Any, directions: Any) -> Any:
        L, Q = framed(jets, theta)
        return jax.vmap(lambda along: _change(jets, theta, L, Q, along))(directions)

    return changes


def measured(jets: Jets, points: Float, spans: tuple[Float, ...], length: float) -> Metric:
    """At points where J has full rank; spans: the orbit's tangent space at each."""
    found, spreads, drifts = [], [0.0], [0.0]
    for theta, basis in zip(points, spans, strict=True):
        T, bend, rest, curl, rate = np.asarray(jets(_tensors, theta))
        J = jets.slopes(theta)
        d = len(J)
        scale = bend + FLOOR * np.sqrt(d) / length
        found.append((T / scale, rest / scale, curl / (rate + FLOOR / length**2)))
        still = np.linalg.svd(J @ basis.T)[2][d:] @ basis
        if len(still):
            change = np.asarray(jets(_vertical, theta, still))
            trace = np.trace(change, axis1=1, axis2=2)[:, None, None] / d
            size = max(float(np.linalg.norm(change, axis=(1, 2)).max()), bend) + FLOOR * np.sqrt(d) / length
            spreads.append(float(np.linalg.norm(change - trace * np.eye(d), axis=(1, 2)).max()) / size)
            drifts.append(float(np.linalg.norm(change, axis=(1, 2)).max()) / size)
    violation, residual, curl = (float(each) for each in np.max(found, axis=0))
    return Metric(max(spreads), max(drifts), violation, residual, curl)
