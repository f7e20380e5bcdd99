r"""Gradient flow on few samples to its limit, by an exponential integrator exact for constant kernels.

With residuals r = f(θ) − y and J = ∂f/∂θ the flow on ½‖r‖² is

    θ' = −Jᵀr,    r' = −K r,    K = JJᵀ,

and for constant J and K, θ(h) = θ − Jᵀ∫₀ʰ e^{−tK}r dt for any step h. The step is limited only by the change
of J: large eigenvalues of K cause no instability, and small ones need no long waiting. A first step with
constant J and K gives J₁ and K₁ at its end, and then

    θ ← θ − Jᵀ ∫₀ʰ (1 − t/h) e^{−tK̄}r dt − J₁ᵀ ∫₀ʰ (t/h) e^{−tK̄}r dt,    K̄ = (K + K₁)/2,

is of second order. The difference between the two steps is the error estimate. For wide networks, or near
the end, a few steps replace millions of steps of gradient descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit.errors import InputError
from tacit.networks.network import Network

_SERIES = 1e-4  # below this z = λh the integrals are evaluated by their series, whose error is z³/24
_ROUND_OFF = 1e-13  # eigenvalues relative to the largest, or changes relative to the weights, that count as 0
_SHORTEST = 1e-12  # shortest step, in units of 1/tr K at the start; kinks of the network cannot shorten it
_FIRST_STEP = 1e-2  # in the same units


@dataclass(frozen=True, eq=False)
class Settled:
    """The end of a flow: the network, its mean square residual, the time and the number of steps.

    converged: whether the loss is as small as requested; if not, the flow came to rest at a larger loss or
    reached the largest number of steps.
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

    For networks in JAX with one output, in double precision. tol: error of a step, relative to the norm of
    all weights. most: largest number of steps. The memory is that of J, N times that of the weights.
    """
    from tacit.autodiff import jax, jnp
    from tacit.networks.in_jax import InJax

    backend = network._backend
    if not isinstance(backend, InJax):
        raise InputError("this integrator needs a network in JAX, tacit.Network(apply, params); got PyTorch")
    with jax.enable_x64(True):
        start, X, y = (jnp.asarray(each, float) for each in (network.weights, X, y))
        end = jax.jit(_steps, static_argnums=0)(backend, start, X, y, loss, tol, most)
        mean = float(jnp.mean(end.residual**2))
        last = network.with_weights(np.asarray(end.weights))
    return Settled(last, mean, float(end.time), int(end.count), mean <= loss)


class State(NamedTuple):
    """The state of the integration. rests: whether a long step no longer changes the weights."""

    weights: Any
    residual: Any
    jacobian: Any
    step: Any
    time: Any
    count: Any
    rests: Any


def _steps(backend: Any, start: Any, X: Any, y: Any, loss: Any, tol: Any, most: Any) -> State:
    """Integrate until the mean square residual is at most `loss`, the flow rests, or after `most` steps.

    JAX compiles this function.
    """
    from tacit.autodiff import jax, jnp

    def linearize(weights: Any) -> tuple[Any, Any]:
        """Residuals and their Jacobian."""

        def residual(flat: Any) -> Any:
            return backend.traced(backend.parts(flat), X)[:, 0] - y

        return residual(weights), jax.jacrev(residual)(weights)

    def unfinished(now: State) -> Any:
        mean = jnp.mean(now.residual**2)
        return (mean > loss) & jnp.isfinite(mean) & (now.count < most) & ~now.rests

    residual, J = linearize(start)
    shortest = _SHORTEST / jnp.sum(J**2)

    def advance(now: State) -> State:
        w, r, J, h = now.weights, now.residual, now.jacobian, now.step
        constant, _ = _integrals(J @ J.T, r, h)
        first = w - J.T @ constant
        _, J1 = linearize(first)
        whole, late = _integrals((J @ J.T + J1 @ J1.T) / 2, r, h)
        second = w - J.T @ (whole - late) - J1.T @ late
        error = jnp.linalg.norm(second - first) / (tol * jnp.linalg.norm(second))
        taken = (error <= 1) | (h <= shortest)
        factor = jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-12)), 0.2, 5.0)
        rests = (h * jnp.sum(J**2) > 1) & (jnp.linalg.norm(second - w) <= _ROUND_OFF * jnp.linalg.norm(w))
        after = State(second, *linearize(second), h, now.time + h, now.count, rests)
        state = jax.tree.map(partial(jnp.where, taken), after, now)
        return state._replace(step=jnp.maximum(h * factor, shortest), count=now.count + 1)

    zeros = jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), bool)
    return jax.lax.while_loop(
        unfinished, advance, State(start, residual, J, _FIRST_STEP / jnp.sum(J**2), *zeros)
    )


def _integrals(K: Any, r: Any, h: Any) -> tuple[Any, Any]:
    """The integrals ∫₀ʰ e^{−tK}r dt and ∫₀ʰ (t/h) e^{−tK}r dt."""
    from tacit.autodiff import jnp

    rates, modes = jnp.linalg.eigh(K)
    z = jnp.maximum(rates, 0) * h
    large = jnp.maximum(z, _SERIES)
    decayed = -jnp.expm1(-large)
    whole = jnp.where(z < _SERIES, 1 - z / 2 + z**2 / 6, decayed / large)
    late = jnp.where(z < _SERIES, 1 / 2 - z / 3 + z**2 / 8, (decayed - large * jnp.exp(-large)) / large**2)
    parts = jnp.where(rates > _ROUND_OFF * rates[-1], h * (modes.T @ r), 0)
    return modes @ (whole * parts), modes @ (late * parts)
