"""The raw weights of any model: slow, and independent of its potential Q.

Nothing here asks the model for more than its parametrization and its start. Steps, tolerances, clock and
stopping rule are those of `WeightFlow`, which sees weights, outputs and gradients of the loss.
"""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.errors import InputError
from tacit.flows.forms.weights import Layout, WeightFlow
from tacit.flows.segments import Premise, Problem

INDEPENDENT = Premise("independent of Q")
_TOO_MANY = 4000  # weights whose Jacobian no machine wants to factorize


class Parameters(WeightFlow):
    """LSODA on all weights, with its Jacobian; DOP853 where that would have too many entries."""

    premise = INDEPENDENT

    def __init__(self, problem: Problem):
        model, X = problem.model, problem.X.dense() if isinstance(problem.X, Entries) else problem.X
        start = model.start(problem.features)
        layout = Layout.of(start)
        flat = layout.flat(start)
        if not np.isfinite(flat).all():
            raise InputError("the weights at the start overflow; take a smaller scale, or method='auto'")
        self.X, self.parametrization = X, model.parametrization
        self.smooth = self.parametrization.smoothed(start, X)
        implicit = layout.size <= _TOO_MANY
        self.name = f"raw weights ({'LSODA' if implicit else 'DOP853'})"
        super().__init__(problem, start, self._velocity, self._velocity_jacobian if implicit else None)
        # A function of θ may start at 0; the weights of models with forms of their own have underflowed.
        if self.parametrization.written_out and not flat.any() and not np.any(self.velocity(flat)):
            raise InputError(
                "the weights at the start underflow to 0, where the gradient is 0; use method='auto', which "
                "follows their logarithms"
            )
        if self.smooth is not self.parametrization:
            self.rtol = max(0.1 * self.rtol, 1e-13)

    def _velocity(self, flat: Float) -> Float:
        """−∇L (square loss) or −∇L/L (the others): Jᵀp, p the pull of the loss on the outputs."""
        weights = self.layout.unpack(flat)
        pull = self.problem.loss.pull(self.smooth.outputs(weights, self.X), self.problem.y)
        return self.layout.flat(self.smooth.pull(weights, self.X, pull))

    def _velocity_jacobian(self, flat: Float) -> Float:
        """Jᵀp'J + Σ pₙ∇²fₙ."""
        weights, loss, y = self.layout.unpack(flat), self.problem.loss, self.problem.y
        outputs = self.smooth.outputs(weights, self.X)
        J = self.smooth.jacobian(weights, self.X)
        bent = self.smooth.curvature(weights, self.X, loss.pull(outputs, y))
        return np.asarray(J.T @ loss.pull_jacobian(outputs, y) @ J + bent)
