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
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.networks.network import Network


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
    from tacit.networks.exponential_steps import steps
    from tacit.networks.in_jax import InJax

    backend = network._backend
    if not isinstance(backend, InJax):
        raise InputError("this integrator needs a network in JAX, tacit.Network(apply, params); got PyTorch")
    with jax.enable_x64(True):
        start, X, y = (jnp.asarray(each, float) for each in (network.weights, X, y))
        end = steps(backend, start, X, y, loss, tol, most)
        mean = float(jnp.mean(end.residual**2))
        last = network.with_weights(np.asarray(end.weights))
    return Settled(last, mean, float(end.time), int(end.count), mean <= loss)
