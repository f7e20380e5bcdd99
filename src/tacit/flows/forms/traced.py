"""Raw weights and gradient descent with derivatives and compilation by JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.flows.form import Problem
from tacit.flows.forms.descent import Descent, Iterate
from tacit.flows.forms.parameters import Kinked, Parameters, check_start
from tacit.flows.forms.weights import Layout


@partial(jax.jit, static_argnums=(0, 1, 2))
def velocity(parametrization: Any, loss: Any, layout: Layout, flat: Any, X: Any, y: Any) -> Any:
    """−∇L, or −∇L/L for relative losses, by reverse-mode differentiation."""
    outputs, pull_back = jax.vjp(lambda theta: parametrization.outputs(layout.unpack(theta), X), flat)
    return pull_back(loss.pull(outputs, y))[0]


@partial(jax.jit, static_argnums=(0, 1, 2))
def velocity_jacobian(parametrization: Any, loss: Any, layout: Layout, flat: Any, X: Any, y: Any) -> Any:
    """The Jacobian of the velocity, by forward-mode differentiation."""
    return jax.jacfwd(lambda theta: velocity(parametrization, loss, layout, theta, X, y))(flat)


class TracedParameters(Parameters):
    """`Parameters` with derivatives by JAX."""

    def _velocity(self, flat: Float) -> Float:
        """−∇L, or −∇L/L for relative losses."""
        return self._traced(velocity, flat)

    def _velocity_jacobian(self, flat: Float) -> Float:
        """The Jacobian of the velocity."""
        return self._traced(velocity_jacobian, flat)

    def _traced(self, function: Any, flat: Float) -> Float:
        """Call a JAX function on NumPy arrays in double precision, regardless of the user's setting."""
        with jax.enable_x64(True):
            return np.asarray(
                function(self.smooth, self.problem.loss, self.layout, flat, self.X, self.problem.y)
            )


class TracedGradients(Kinked, TracedParameters):
    """A network in JAX."""

    def __init__(self, problem: Problem):
        check_start(problem)
        super().__init__(problem)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run(
    parametrization: Any,
    loss: Any,
    layout: Layout,
    normalized: bool,
    flat: Any,
    X: Any,
    y: Any,
    step: Any,
    count: Any,
) -> Any:
    """Take `count` steps; also return log of their time, Σ step or (normalized) Σ step/L."""

    def advance(_: Any, carry: Any) -> Any:
        theta, log_time = carry
        direction = velocity(parametrization, loss, layout, theta, X, y)
        if not loss.relative:
            return theta + step * direction, jnp.logaddexp(log_time, jnp.log(step))
        accuracy = loss.accuracy(parametrization.outputs(layout.unpack(theta), X), y)
        if normalized:
            return theta + step * direction, jnp.logaddexp(log_time, jnp.log(step) + accuracy)
        return theta + step * jnp.exp(-accuracy) * direction, jnp.logaddexp(log_time, jnp.log(step))

    return jax.lax.fori_loop(0, count, advance, (flat, -jnp.inf))


class TracedDescent(Descent):
    """`Descent` with loops compiled by JAX."""

    def _steps(self, here: Iterate, count: int) -> Iterate:
        """Take `count` steps."""
        given = (self.parametrization, self.problem.loss, self.layout, self.normalized)
        with jax.enable_x64(True):
            flat, elapsed = _run(*given, here.flat, self.X, self.problem.y, self.step_size, count)
        return Iterate(np.asarray(flat), float(np.logaddexp(here.log_time, elapsed)))
