r"""Integrals along gradient flow, from which the end of gradient descent is predicted.

    J±_j = ∫ g_j² w±^{D−2} dt,    K±_j = ∫ Var_j w±^{D−2} dt,    A = ∫ L dt,    g = Xᵀ(Xw − y)/N

with Var_j the variance of g_j over the draw of a batch of b samples without replacement,
(N − b)/(b(N − 1))·(mean_n (x_nj r_n)² − g_j²). The flow itself is integrated by the steps of `tacit.flow` in
mirror space, and each step by Gauss' rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.driver import drive
from tacit.flows.fitting import fitting
from tacit.flows.form import Problem
from tacit.flows.forms.dual import DualSquare
from tacit.flows.segments import Segment
from tacit.flows.termination import Stall
from tacit.losses import Square
from tacit.models.model import Model
from tacit.models.weight_pair import WeightPair
from tacit.numerics.rounding import quiet
from tacit.numerics.subspaces import Range

_GAUSS = np.polynomial.legendre.leggauss(4)
NODES, WEIGHTS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2
# Of the flow; J is then accurate to eight digits, while the prediction is only of second order in the step.
_RTOL = 1e-6
# Relative residual at which the flow is stopped: the rest of the integrals is of the order of its square.
_DONE = 1e-9


@dataclass
class Integrals:
    """The integrals J and K, (2, d) for + and −, that of the variance of g², and the area under the loss."""

    pair: WeightPair
    X: Float
    y: Float
    batch: int | None
    J: Float = field(init=False)
    K: Float = field(init=False)
    scatter: Float = field(init=False)
    area: float = 0.0

    def __post_init__(self) -> None:
        self.J, self.K = np.zeros((2, self.X.shape[1])), np.zeros((2, self.X.shape[1]))
        self.scatter = np.zeros((2, self.X.shape[1]))
        self._squares = self.X**2

    def add(self, w: Float, plus: Float, minus: Float, duration: float, shrunk: float) -> None:
        """Add the integrands at w with these weights, for a duration. shrunk: e^{−(D−2)Λ} after decay Λ."""
        N, power = len(self.y), self.pair.depth - 2
        r = self.X @ w - self.y
        g = r @ self.X / N
        size = shrunk * (np.array([np.abs(plus), np.abs(minus)]) ** power if power else np.ones((2, 1)))
        self.J += duration * g**2 * size
        self.area += duration * float(r @ r) / (2 * N)
        if self.batch is not None and self.batch < N:
            b = self.batch
            variance = (N - b) / (b * (N - 1)) * np.maximum(r**2 @ self._squares / N - g**2, 0.0)
            self.K += duration * variance * size
            self.scatter += duration * (2 * variance**2 + 4 * variance * g**2) * size**2


@quiet
def integrate(into: Integrals, pair: WeightPair, model: Model, within: Range, shrunk: float = 1.0) -> str:
    """Add the integrals along the flow from a pair of weights to its end.

    shrunk: the power D − 2 of the factor by which decay has multiplied the weights so far. Returns the reason
    why the flow ended early; empty if it did not.
    """
    X, y = into.X, into.y
    problem = fitting(Problem(model, X, y, Square(), _RTOL), within).problem
    form = DualSquare(problem, pair.mirror_form())
    speed, target = np.exp(-form.form.log_speed), _DONE * float(np.linalg.norm(y))

    def follow(segment: Segment) -> bool:
        length = segment.end - segment.start
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            there = form._there(segment.state(segment.start + node * length))
            weights = pair.at_rapidity(there.rapidity)
            into.add(there.predictor, *weights, float(weight * length * speed), shrunk)
        end = form._there(segment.last).predictor
        return float(np.linalg.norm(X @ end - y)) <= target

    start = pair.predictor(pair.plus, pair.minus)
    if float(np.linalg.norm(X @ start - y)) <= target:
        return ""
    try:
        drive(form, follow)
    except Stall as stall:
        return str(stall)
    return ""
