"""The flow of the smallest network that is equivalent to the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Premise, Problem
from tacit.flows.forms.weights import WeightFlow
from tacit.flows.steps.lifted import LiftedFlow
from tacit.flows.steps.two_layers import TwoLayers
from tacit.models.reduction import Weights

_LIFTED = Premise("W Wᵀ of the stacked raw weights W, independent of Q")
_ROWS, _MEASUREMENTS = 120, 1000  # of a lifted matrix, above which implicit steps are too expensive


def is_small(rows: int, measurements: int) -> bool:
    """Whether an implicit method is affordable for a lifted matrix of this size."""
    return rows <= _ROWS and measurements <= _MEASUREMENTS


class Reduced(WeightFlow):
    """The flow of the smallest equivalent network."""

    name = "weights, reduced width"
    premise = Premise("raw weights of the smallest network with the same flow, independent of Q")

    def __init__(self, problem: Problem):
        self.parametrization = problem.model.parametrization
        found = self.parametrization.reduced(problem.model.start(problem.features), problem.X)
        self.names, self.lift = found.two_layers, found.lift
        self.X, self._rebuild, self.restore = found.X, found.predictor, found.restore
        super().__init__(problem, found.weights, self.gradient_velocity)

    def first_stepper(self) -> Any:
        """A stiff stepper for factorizations and for networks with one output, else a general one."""
        names, loss, y = self.names, self.problem.loss, self.problem.y
        if self.lift is not None and loss.quadratic:
            rows = sum(len(layer) for layer in self.layout.unpack(self.start).values())
            if is_small(rows, len(y)):
                return self._lifted()
        if names is None or not loss.quadratic or y.ndim > 1:
            return super().first_stepper()
        start = self.layout.unpack(self.start)
        U, v = start[names[0]].reshape(self.X.shape[1], -1), start[names[1]].ravel()

        def flat(U: Float, v: Float) -> Float:
            return self.layout.flat(dict(zip(names, (U, v), strict=True)))

        return TwoLayers(U, v, self.X, y, loss.factor(len(y)), self.rtol, flat, self._state)

    def _lifted(self) -> LiftedFlow:
        """The stepper for the layers stacked on top of each other."""
        layers = self.layout.unpack(self.start)
        places = np.cumsum([len(layer) for layer in layers.values()])[:-1]

        def flat(W: Float) -> Float:
            return self.layout.flat(dict(zip(layers, np.split(W, places), strict=True)))

        W, loss, y = np.vstack(list(layers.values())), self.problem.loss, self.problem.y
        self.name, self.premise = "lifted matrix, reduced width (Radau IIA)", _LIFTED
        return LiftedFlow(W, self.lift, y, loss.factor(len(y)), 10 * self.rtol, flat, self._state)

    def predictor(self, weights: Weights) -> Float:
        """The predictor of the original network."""
        return self._rebuild(weights)
