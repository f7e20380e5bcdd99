"""The raw weights of any model, differentiated by JAX: slow, and independent of its potential Q.

Nothing here asks the model for more than its parametrization and its start. Steps, tolerances, clock and
stopping rule are those of `WeightFlow`, which sees weights, outputs and gradients of the loss.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tacit.autodiff import jax
from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.flows.form import Premise, Problem
from tacit.flows.forms.weights import Layout, WeightFlow

INDEPENDENT = Premise("independent of Q")
_TOO_MANY = 4000  # weights whose Jacobian no machine wants to factorize


@partial(jax.jit, static_argnums=(0, 1, 2))
def velocity(parametrization: Any, loss: Any, layout: Layout, flat: Any, X: Any, y: Any) -> Any:
    """−∇L (square loss) or −∇L/L (the others), by reverse differentiation of the outputs."""
    outputs, pull_back = jax.vjp(lambda theta: parametrization.outputs(layout.unpack(theta), X), flat)
    return pull_back(loss.pull(outputs, y))[0]


@partial(jax.jit, static_argnums=(0, 1, 2))
def velocity_jacobian(parametrization: Any, loss: Any, layout: Layout, flat: Any, X: Any, y: Any) -> Any:
    """The derivative of the velocity, by forward differentiation."""
    return jax.jacfwd(lambda theta: velocity(parametrization, loss, layout, theta, X, y))(flat)


class Parameters(WeightFlow):
    """LSODA on all weights, with JAX's Jacobian; DOP853 where that would have too many entries."""

    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        model, X = problem.model, problem.X.dense() if isinstance(problem.X, Entries) else problem.X
        start = model.start(problem.features)
        layout = Layout.of(start)
        flat = layout.flat(start)
        if not np.isfinite(flat).all():
            raise InputError("the weights at the start overflow; take a smaller scale, or method='auto'")
        self.X, self.parametrization = X, model.parametrization
        given = (self.parametrization.smoothed(start, X), problem.loss, layout)
        with jax.enable_x64(True):
            data = jax.numpy.asarray(X), jax.numpy.asarray(problem.y)
        call = partial(_call, given, data)
        implicit = layout.size <= _TOO_MANY
        self.name = f"raw weights ({'LSODA' if implicit else 'DOP853'})"
        jacobian = partial(call, velocity_jacobian) if implicit else None
        super().__init__(problem, start, partial(call, velocity), jacobian)
        # A function of θ may start at 0; the weights of models with forms of their own have underflowed.
        if self.parametrization.written_out and not flat.any() and not np.any(self.velocity(flat)):
            raise InputError(
                "the weights at the start underflow to 0, where the gradient is 0; use method='auto', which "
                "follows their logarithms"
            )
        if given[0] is not self.parametrization:
            self.rtol = max(0.1 * self.rtol, 1e-13)


def _call(given: tuple[Any, ...], data: tuple[Any, Any], function: Any, flat: Float) -> Float:
    """A JAX function on NumPy arrays, in double precision whatever the user's setting."""
    with jax.enable_x64(True):
        return np.asarray(function(*given, flat, *data))
