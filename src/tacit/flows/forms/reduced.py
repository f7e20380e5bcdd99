"""The flow of the smallest network that is equivalent to the model."""

from __future__ import annotations

from typing import Any

from tacit.data.arrays import Float
from tacit.flows.forms.weights import WeightFlow
from tacit.flows.segments import Problem
from tacit.flows.steps.two_layers import TwoLayers
from tacit.models.reduction import Weights


class Reduced(WeightFlow):
    """The flow of the smallest equivalent network."""

    name = "weights, width taken out"

    def __init__(self, problem: Problem):
        self.parametrization = problem.model.parametrization
        found = self.parametrization.reduced(problem.model.start(problem.X.shape[1]), problem.X)
        self.names = found.two_layers
        self.X, self._rebuild, self.restore = found.X, found.predictor, found.restore
        super().__init__(problem, found.weights, self._pull)

    def _pull(self, flat: Float) -> Float:
        weights = self.layout.unpack(flat)
        pulled = self.problem.loss.pull(self.parametrization.outputs(weights, self.X), self.problem.y)
        return self.layout.flat(self.parametrization.pull(weights, self.X, pulled))

    def _solver(self) -> Any:
        """The stiff one of networks with one output and of neurons, or else any."""
        names, loss, y = self.names, self.problem.loss, self.problem.y
        if names is None or not loss.quadratic or y.ndim > 1:
            return super()._solver()
        start = self.layout.unpack(self.start)
        U, v = start[names[0]].reshape(self.X.shape[1], -1), start[names[1]].ravel()

        def flat(U: Float, v: Float) -> Float:
            return self.layout.flat(dict(zip(names, (U, v), strict=True)))

        return TwoLayers(U, v, self.X, y, loss.factor(len(y)), self.rtol, flat)

    def predictor(self, weights: Weights) -> Float:
        """The predictor of the network that was asked about."""
        return self._rebuild(weights)
