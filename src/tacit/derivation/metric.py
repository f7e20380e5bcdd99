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
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import ZERO
from tacit.numerics.rounding import EPS
from tacit.show.progress import progress


@dataclass(frozen=True)
class Metric:
    """What the metric does at points of an orbit; relative sizes, the largest over the points.

    spread: how M, up to a factor, changes where w does not; drift: the same for M itself; both 0 where w is a
    coordinate. violation: |T|. residual: what the best v leaves of it. curl: that of v. noise: how much the
    last three change with the last bits of θ.
    """

    spread: float
    drift: float
    violation: float
    residual: float
    curl: float
    noise: float = 0.0


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


def torsion(jets: Jets) -> Callable[[Any], Any]:
    """|T|, |∂H|, |T + v∧H| in the frame, and |v|²."""

    def sizes(theta: Any) -> Any:
        L, Q = framed(jets, theta)
        bend, same = _bend(jets, theta, L, Q), jnp.eye(len(L))
        v = _warp(bend)
        T = bend - jnp.swapaxes(bend, 1, 2)
        rest = T + v[None, None, :] * same[:, :, None] - v[None, :, None] * same[:, None, :]
        return jnp.array([*(jnp.linalg.norm(each.ravel()) for each in (T, bend, rest)), v @ v])

    return sizes


def _curl(jets: Jets) -> Callable[[Any], Any]:
    """|curl v|, |∂v| in the frame; one direction after the other, since each takes d³ numbers."""

    def sizes(theta: Any) -> Any:
        L, Q = framed(jets, theta)
        field = warp_field(jets)
        moved = jax.lax.map(lambda u: jax.jvp(field, (theta,), (u,))[1], Q.T)
        rate = L.T @ moved.T
        return jnp.array([jnp.linalg.norm((rate - rate.T).ravel()), jnp.linalg.norm(rate.ravel())])

    return sizes


def metric_bytes(p: int, d: int) -> float:
    """What the tensors of the metric take: derivatives of J along d directions, and a few arrays of d³."""
    return 8.0 * (2 * d * d * p + 6 * d**3)


def sizes_at(jets: Jets, theta: Float, length: float) -> Float:
    """|T|, |T + v∧H| and |curl v| at θ, relative; the last is 0 where T is, and with it v."""
    T, bend, rest, square = np.asarray(jets(torsion, theta))
    d = len(jets.value(theta))
    scale = bend + FLOOR * np.sqrt(d) / length
    curl = 0.0
    if ZERO * scale < T:
        turned, rate = np.asarray(jets(_curl, theta))
        curl = turned / (rate + square + FLOOR / length**2)
    return np.array([T / scale, rest / scale, curl])


def nudged(theta: Float, by: float = EPS) -> Float:
    """θ with its last bits changed, or digits before them, by which round-off shows."""
    signs = np.where(np.arange(len(theta)) % 2 == 0, 4.0, -6.0)
    return np.asarray(theta * (1 + signs * by))


def _vertical(jets: Jets) -> Callable[..., Any]:
    """∂M in the frame along each of some directions."""

    def changes(theta: Any, directions: Any) -> Any:
        L, Q = framed(jets, theta)
        return jax.vmap(lambda along: _change(jets, theta, L, Q, along))(directions)

    return changes


def measured(jets: Jets, points: Float, spans: tuple[Float, ...], length: float) -> Metric:
    """At points where J has full rank; spans: the orbit's tangent space at each; length: the map's own."""
    found, spreads, drifts, noise = [], [0.0], [0.0], 0.0
    for theta, basis in progress(list(zip(points, spans, strict=True)), "metric"):
        found.append(sizes_at(jets, theta, length))
        if found[-1][0] > ZERO:
            noise = max(noise, float(np.abs(sizes_at(jets, nudged(theta), length) - found[-1]).max()))
        spread, drift = _along_fibres(jets, theta, basis, length)
        spreads.append(spread)
        drifts.append(drift)
    violation, residual, curl = (float(each) for each in np.max(found, axis=0))
    return Metric(max(spreads), max(drifts), violation, residual, curl, noise)


def _along_fibres(jets: Jets, theta: Float, basis: Float, length: float) -> tuple[float, float]:
    """How M changes, beyond a factor and at all, in directions of the orbit in which w does not."""
    J, floor = jets.slopes(theta), FLOOR * np.sqrt(len(jets.value(theta))) / length
    d = len(J)
    still = np.linalg.svd(J / row_sizes(J)[:, None] @ basis.T)[2][d:] @ basis
    if not len(still):
        return 0.0, 0.0
    bend = float(np.asarray(jets(torsion, theta))[1])
    change = np.asarray(jets(_vertical, theta, still))
    trace = np.trace(change, axis1=1, axis2=2)[:, None, None] / d
    size = max(float(np.linalg.norm(change, axis=(1, 2)).max()), bend) + floor
    spread = float(np.linalg.norm(change - trace * np.eye(d), axis=(1, 2)).max()) / size
    return spread, float(np.linalg.norm(change, axis=(1, 2)).max()) / size
