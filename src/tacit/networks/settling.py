r"""Gradient flow on few samples, to its end, in steps that are exact while the kernel is constant.

With residuals r = f(θ) − y and J = ∂f/∂θ the flow on ½‖r‖² is

    θ' = −Jᵀr,    r' = −K r,    K = JJᵀ,

and while J and K stay what they are, θ(h) = θ − Jᵀ∫₀ʰ e^{−tK}r dt whatever h: neither a large eigenvalue of K
bounds the step, nor is a small one waited for. What bounds it is how J changes. A first step with J and K as
they are gives J₁ and K₁ where it ends, and then

    θ ← θ − Jᵀ ∫₀ʰ (1 − t/h) e^{−tK̄}r dt − J₁ᵀ ∫₀ʰ (t/h) e^{−tK̄}r dt,    K̄ = (K + K₁)/2,

which is of second order; the difference of the two is the estimate of the error. In wide networks, or near
the end, a few steps do what takes gradient descent millions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.errors import InputError
from tacit.networks.in_jax import InJax
from tacit.networks.network import Network

_SMALL = 1e-4  # below it the integrals are their series: z³/24 is left out
_NOTHING = 1e-13  # of the largest eigenvalue of K, or of the weights: rounding, which moves nothing
_SHORTEST = 1e-12  # of the time scale 1/tr K at the start: a step that no kink may shorten


@dataclass(frozen=True, eq=False)
class Settled:
    """Where a flow ended: the network, its mean square residual, and at which time after how many steps.

    converged: with residuals as small as was asked for. Where not, it rests elsewhere, or ran out of steps.
    """

    network: Network
    loss: float
    time: float
    steps: int
    converged: bool


def settle(
    network: Network, X: Any, y: Any, *, loss: float = 1e-9, tol: float = 1e-2, most: int = 20_000
) -> Settled:
    """Follow gradient flow on ½Σ(f(x_n) − y_n)² until the mean square residual is below `loss`.

    For networks in JAX with one output. tol: error of a step, relative to the size of all weights. most:
    steps after which it gives up. In double precision; J is held, which is N times the weights.
    """
    backend = network._backend
    if not isinstance(backend, InJax):
        raise InputError("networks of few samples are followed to their ends in JAX; this one is in PyTorch")
    with jax.enable_x64(True):
        problem = (jnp.asarray(X, float), jnp.asarray(y, float))
        end = _settle(backend, jnp.asarray(network.weights, float), *problem, loss, tol, most)
        mean = float(jnp.mean(end.residual**2))
        found = network.with_weights(np.asarray(end.weights))
    return Settled(found, mean, float(end.time), int(end.count), mean <= loss)


class _State(NamedTuple):
    weights: Any
    residual: Any
    jacobian: Any
    step: Any
    time: Any
    count: Any
    rests: Any


@partial(jax.jit, static_argnums=0)
def _settle(backend: InJax, start: Any, X: Any, y: Any, loss: Any, tol: Any, most: Any) -> _State:
    def around(weights: Any) -> tuple[Any, Any]:
        """Residuals and their Jacobian."""

        def residual(flat: Any) -> Any:
            return backend.traced(backend.parts(flat), X)[:, 0] - y

        return residual(weights), jax.jacrev(residual)(weights)

    def unfinished(now: _State) -> Any:
        mean = jnp.mean(now.residual**2)
        return (mean > loss) & jnp.isfinite(mean) & (now.count < most) & ~now.rests

    residual, J = around(start)
    shortest = _SHORTEST / jnp.sum(J**2)

    def advance(now: _State) -> _State:
        w, r, J, h = now.weights, now.residual, now.jacobian, now.step
        plain, _ = _integrals(J @ J.T, r, h)
        first = w - J.T @ plain
        _, ahead = around(first)
        whole, late = _integrals((J @ J.T + ahead @ ahead.T) / 2, r, h)
        second = w - J.T @ (whole - late) - ahead.T @ late
        error = jnp.linalg.norm(second - first) / (tol * jnp.linalg.norm(second))
        taken = (error <= 1) | (h <= shortest)
        factor = jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-12)), 0.2, 5.0)
        rests = (h * jnp.sum(J**2) > 1) & (jnp.linalg.norm(second - w) <= _NOTHING * jnp.linalg.norm(w))
        there = _State(second, *around(second), h, now.time + h, now.count, rests)
        kept = jax.tree.map(partial(jnp.where, taken), there, now)
        return kept._replace(step=jnp.maximum(h * factor, shortest), count=now.count + 1)

    begin = _State(
        start, residual, J, 1e-2 / jnp.sum(J**2), jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), bool)
    )
    return jax.lax.while_loop(unfinished, advance, begin)


def _integrals(K: Any, r: Any, h: Any) -> tuple[Any, Any]:
    """∫₀ʰ e^{−tK}r dt and ∫₀ʰ (t/h) e^{−tK}r dt."""
    rates, modes = jnp.linalg.eigh(K)
    z = jnp.maximum(rates, 0) * h
    moving = rates > _NOTHING * rates[-1]
    large = jnp.maximum(z, _SMALL)
    decayed = -jnp.expm1(-large)
    whole = jnp.where(z < _SMALL, 1 - z / 2 + z**2 / 6, decayed / large)
    late = jnp.where(z < _SMALL, 1 / 2 - z / 3 + z**2 / 8, (decayed - large * jnp.exp(-large)) / large**2)
    share = jnp.where(moving, h * (modes.T @ r), 0)
    return modes @ (whole * share), modes @ (late * share)
