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
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.network import Network


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
    from tacit.autodiff import jax, jnp
    from tacit.networks.exponential_steps import steps
    from tacit.networks.in_jax import InJax

    backend = network._backend
    if not isinstance(backend, InJax):
        raise InputError("networks of few samples are followed to their ends in JAX; this one is in PyTorch")
    with jax.enable_x64(True):
        problem = (jnp.asarray(X, float), jnp.asarray(y, float))
        end = steps(backend, jnp.asarray(network.weights, float), *problem, loss, tol, most)
        mean = float(jnp.mean(end.residual**2))
        found = network.with_weights(np.asarray(end.weights))
    return Settled(found, mean, float(end.time), int(end.count), mean <= loss)
