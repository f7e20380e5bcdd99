r"""The metric on an orbit: is it a Hessian, or does a change of clock make it one?

Where w is a coordinate on the orbit, M = JJᵀ is the inverse metric, H = M⁻¹, and the vector e_k has the lift
J⁺e_k = JᵀHe_k. With

    T_ijk = ∂_k H_ij − ∂_j H_ik,      T_ijk + v_k H_ij − v_j H_ik = 0,  v = ∇log g

T = 0 makes H a Hessian, and a curl-free v that solves the second equation makes gH one (Azulay et al. 2021,
Section 5). Everything is measured in frames that are orthonormal in H, in which lengths are those of θ; there
the least-squares solution is v_k = −Σ_i T_iik/(d−1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp, solve_triangular
from tacit.data.arrays import Float
from tacit.derivation.closure import FLOOR, ZERO
from tacit.derivation.length_scale import row_norms
from tacit.derivation.smooth_map import Jets
from tacit.numerics.rounding import EPS
from tacit.show.progress import progress


@dataclass(frozen=True)
class Metric:
    """Properties of the metric at points of an orbit: relative sizes, the largest over the points.

    spread: the change of M, up to a factor, in directions of the orbit in which w does not change; drift: the
    change of M itself there; both are 0 if w is a coordinate. violation: |T|. residual: the remainder of T
    for the best v. curl: that of v. noise: the change of the last three with the last bits of θ.
    """

    spread: float
    drift: float
    violation: float
    residual: float
    curl: float
    noise: float = 0.0


def orthonormal_frame(jets: Jets, theta: Any) -> tuple[Any, Any]:
    """L and Q with J = LQᵀ, QᵀQ = I: the columns of L are orthonormal in H, and Q contains their lifts."""
    Q, R = jnp.linalg.qr(jets.jacobian(theta).T)
    return R.T, Q


def _metric_change(jets: Jets, theta: Any, L: Any, Q: Any, direction: Any) -> Any:
    """∂M in the frame, L⁻¹ ∂M L⁻ᵀ, along a direction of θ."""
    change = jax.jvp(jets.jacobian, (theta,), (direction,))[1]
    half = solve_triangular(L, change @ Q, lower=True)
    return half + half.T


def _metric_derivative(jets: Jets, theta: Any, L: Any, Q: Any) -> Any:
    """∂_c H_ab = −∂_c M_ab in the frame, as [a, b, c]."""
    return -jax.vmap(lambda column: _metric_change(jets, theta, L, Q, column), in_axes=1, out_axes=-1)(Q)


def _antisymmetrized(derivative: Any) -> Any:
    """T in the frame."""
    return derivative - jnp.swapaxes(derivative, 1, 2)


def _frame_components(T: Any) -> Any:
    """v in the frame; 0 in one dimension."""
    return -jnp.einsum("aac->c", T) / max(len(T) - 1, 1)


def warp_in_frame(jets: Jets, theta: Any, L: Any, Q: Any) -> Any:
    """v = ∇log g at θ by least squares in H, from the frame L, Q; 0 in one dimension."""
    T = _antisymmetrized(_metric_derivative(jets, theta, L, Q))
    return solve_triangular(L, _frame_components(T), lower=True, trans="T")


def warp_field(jets: Jets, theta: Any) -> Any:
    """v = ∇log g at θ by least squares in H; 0 in one dimension."""
    return warp_in_frame(jets, theta, *orthonormal_frame(jets, theta))


def torsion(jets: Jets, theta: Any) -> Any:
    """|T|, |∂H|, |T + v∧H| in the frame, and |v|²."""
    L, Q = orthonormal_frame(jets, theta)
    derivative, identity = _metric_derivative(jets, theta, L, Q), jnp.eye(len(L))
    T = _antisymmetrized(derivative)
    v = _frame_components(T)
    rest = T + v[None, None, :] * identity[:, :, None] - v[None, :, None] * identity[:, None, :]
    return jnp.array([*(jnp.linalg.norm(each.ravel()) for each in (T, derivative, rest)), v @ v])


def _curl(jets: Jets, theta: Any) -> Any:
    """|curl v|, |∂v| in the frame; one direction after the other, since each takes d³ numbers."""
    L, Q = orthonormal_frame(jets, theta)
    field = partial(warp_field, jets)
    changes = jax.lax.map(lambda u: jax.jvp(field, (theta,), (u,))[1], Q.T)
    rate = L.T @ changes.T
    return jnp.array([jnp.linalg.norm((rate - rate.T).ravel()), jnp.linalg.norm(rate.ravel())])


def metric_bytes(p: int, d: int) -> float:
    """The memory for the tensors: derivatives of J in d directions, and a few arrays of d³ numbers."""
    return 8.0 * (2 * d * d * p + 6 * d**3)


def violations_at(jets: Jets, theta: Float, length: float) -> Float:
    """|T|, |T + v∧H| and |curl v| at θ, relative; the last is 0 if T is, since then v = 0."""
    T, derivative, rest, square = np.asarray(jets(torsion, theta))
    scale = derivative + FLOOR * np.sqrt(len(jets.value(theta))) / length
    curl = 0.0
    if ZERO * scale < T:
        rotation, rate = np.asarray(jets(_curl, theta))
        curl = rotation / (rate + square + FLOOR / length**2)
    return np.array([T / scale, rest / scale, curl])


def perturbed(theta: Float, by: float = EPS) -> Float:
    """θ with its last bits changed, or larger digits, to measure the effect of round-off."""
    signs = np.where(np.arange(len(theta)) % 2 == 0, 4.0, -6.0)
    return np.asarray(theta * (1 + signs * by))


def _metric_changes(jets: Jets, theta: Any, directions: Any) -> Any:
    """∂M in the frame along each direction."""
    L, Q = orthonormal_frame(jets, theta)
    return jax.vmap(lambda along: _metric_change(jets, theta, L, Q, along))(directions)


def measure(jets: Jets, points: Float, spans: tuple[Float, ...], length: float) -> Metric:
    """The metric at points where J has full rank, with bases of the orbit's tangent space at each."""
    violations, changes, noise = [], [], 0.0
    for theta, basis in progress(list(zip(points, spans, strict=True)), "metric"):
        violations.append(violations_at(jets, theta, length))
        if violations[-1][0] > ZERO:
            change = violations_at(jets, perturbed(theta), length) - violations[-1]
            noise = max(noise, float(np.abs(change).max()))
        changes.append(_changes_along_fibres(jets, theta, basis, length))
    spread, drift = (float(each) for each in np.max(changes, axis=0))
    violation, residual, curl = (float(each) for each in np.max(violations, axis=0))
    return Metric(spread, drift, violation, residual, curl, noise)


def _changes_along_fibres(jets: Jets, theta: Float, basis: Float, length: float) -> tuple[float, float]:
    """The changes of M, up to a factor and in all, in directions of the orbit in which w is constant."""
    J = jets.slopes(theta)
    d, floor = len(J), FLOOR * np.sqrt(len(J)) / length
    fibre = np.linalg.svd(J / row_norms(J)[:, None] @ basis.T)[2][d:] @ basis
    if not len(fibre):
        return 0.0, 0.0
    derivative = float(np.asarray(jets(torsion, theta))[1])
    change = np.asarray(jets(_metric_changes, theta, fibre))
    trace = np.trace(change, axis1=1, axis2=2)[:, None, None] / d
    whole = float(np.linalg.norm(change, axis=(1, 2)).max())
    size = max(whole, derivative) + floor
    return float(np.linalg.norm(change - trace * np.eye(d), axis=(1, 2)).max()) / size, whole / size
