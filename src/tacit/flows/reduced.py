r"""Two-layer models with their width taken out.

U' = G V and V' = Gᵀ U with G = −∂L/∂(UVᵀ), so the stacked matrix Z = [U; V] obeys Z' = A(t) Z with A small:
its columns move only within the span that they start in. A factor C of few columns, Z(0) = C Qᵀ with QᵀQ = I,
is therefore a network of its own with the same predictor, and a width of 10,000 costs what a width of 100
costs. The part of U outside the row space of X never moves at all (Min et al. 2021, Section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from tacit.data import Float
from tacit.flows.losses import Square
from tacit.flows.segments import Problem, Restore, same
from tacit.flows.two_layers import TwoLayers
from tacit.flows.weights import WeightFlow
from tacit.models.parametrizations import Factors, Layers, Perceptron, Weights

_TWO_LAYERS = {Layers: ("U", "V"), Perceptron: ("w", "a")}  # names of U and v where the predictor is Uv


@dataclass(frozen=True, eq=False)
class Widened:
    """The way back to all the weights: inner weights basis·inner·Qᵀ + outside, outer ones outer·Qᵀ.

    outside: the part of the inner weights that never moves. Q: None where the width was not reduced.
    """

    inner: str
    outer: str
    basis: Float | None = None
    outside: Float | float = 0.0
    Q: Float | None = None

    def __call__(self, weights: Weights) -> Weights:
        """All the weights, from those of the small network."""
        inner, outer = weights[self.inner], weights[self.outer]
        if self.Q is not None:
            inner, outer = inner @ self.Q.T, outer @ self.Q.T
        inner = inner if self.basis is None else self.basis @ inner
        return {**weights, self.inner: inner + self.outside, self.outer: outer}


@dataclass(frozen=True)
class Reduction:
    """Weights and inputs of a smaller network that computes the same outputs, and the way back."""

    weights: Weights
    X: Float
    predictor: Callable[[Weights], Float]
    restore: Restore = same


def reduce(parametrization: Any, weights: Weights, X: Float) -> Reduction:
    """The smallest network that follows the same flow."""
    match parametrization:
        case Layers():
            return _reduce_layers(weights, X)
        case Factors():
            return _reduce_factors(weights, X)
        case Perceptron(slope=1.0):
            return _reduce_neuron(weights, X)
    return Reduction(weights, X, parametrization.predictor)


def row_space(X: Float) -> Float:
    """An orthonormal basis of the rows of X, as columns."""
    _, sizes, rows = np.linalg.svd(X, full_matrices=False)
    rank = int((sizes > max(X.shape) * np.finfo(float).eps * sizes.max()).sum())
    return rows[: max(rank, 1)].T


def _narrow(Z: Float) -> tuple[Float, Float | None]:
    """C and Q with Z = C Qᵀ and no more columns in C than rows; Q is None where Z is narrow already."""
    if Z.shape[1] <= Z.shape[0]:
        return Z, None
    Q, R = scipy.linalg.qr(Z.T, mode="economic", check_finite=False)
    return np.asarray(R.T, dtype=float), np.asarray(Q, dtype=float)


def _reduce_layers(weights: Weights, X: Float) -> Reduction:
    basis = row_space(X)
    inner = basis.T @ weights["U"]
    outside = weights["U"] - basis @ inner
    narrow, Q = _narrow(np.vstack([inner, weights["V"]]))
    beside = outside if Q is None else outside @ Q
    rank = basis.shape[1]

    def predictor(small: Weights) -> Float:
        return basis @ (small["U"] @ small["V"].T) + beside @ small["V"].T

    small = {"U": narrow[:rank].copy(), "V": narrow[rank:].copy()}
    return Reduction(small, X @ basis, predictor, Widened("U", "V", basis, outside, Q))


def _reduce_factors(weights: Weights, X: Float) -> Reduction:
    rows = len(weights["U"])
    narrow, Q = _narrow(np.vstack([weights["U"], weights["V"]]))
    small = {"U": narrow[:rows].copy(), "V": narrow[rows:].copy()}
    return Reduction(small, X, lambda now: now["U"] @ now["V"].T, Widened("U", "V", Q=Q))


def _reduce_neuron(weights: Weights, X: Float) -> Reduction:
    basis = row_space(X)
    inner = basis.T @ weights["w"]
    outside = weights["w"] - basis @ inner

    def predictor(small: Weights) -> Float:
        return small["a"] * (basis @ small["w"] + outside)

    return Reduction({**weights, "w": inner}, X @ basis, predictor, Widened("w", "a", basis, outside))


class Reduced(WeightFlow):
    """The flow of the smallest equivalent network."""

    name = "weights, width taken out"

    def __init__(self, problem: Problem):
        self.parametrization = problem.model.parametrization
        found = reduce(self.parametrization, problem.model.start(problem.X.shape[1]), problem.X)
        self.X, self._rebuild, self.restore = found.X, found.predictor, found.restore
        super().__init__(problem, found.weights, self._pull)

    def _pull(self, flat: Float) -> Float:
        weights = self.layout.unpack(flat)
        pulled = self.problem.loss.pull(self.parametrization.outputs(weights, self.X), self.problem.y)
        return self.layout.flat(self.parametrization.pull(weights, self.X, pulled))

    def _solver(self) -> Any:
        """The stiff one of networks with one output and of neurons, or else any."""
        names = _TWO_LAYERS.get(type(self.parametrization))
        loss, y = self.problem.loss, self.problem.y
        if names is None or not isinstance(loss, Square) or y.ndim > 1:
            return super()._solver()
        start = self.layout.unpack(self.start)
        U, v = start[names[0]].reshape(self.X.shape[1], -1), start[names[1]].ravel()

        def flat(U: Float, v: Float) -> Float:
            return self.layout.flat(dict(zip(names, (U, v), strict=True)))

        return TwoLayers(U, v, self.X, y, loss.factor(len(y)), self.rtol, flat)

    def predictor(self, weights: Weights) -> Float:
        """The predictor of the network that was asked about."""
        return self._rebuild(weights)
