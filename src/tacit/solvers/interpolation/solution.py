"""Results that solvers return, and the flows that they may run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.double_double import Pair
from tacit.results.limit import Estimate, Limit
from tacit.results.trajectory import Trajectory

Assess = Callable[[], float]
# `tacit.flow`, for solvers that cannot determine a limit without it. They do not import flows: it is given.
Follow = Callable[..., Trajectory]


def no_error() -> float:
    """Error estimate of an exact solution: 0."""
    return 0.0


def unknown_error() -> float:
    """Error estimate of a predictor that is not a solution: ∞."""
    return math.inf


class Assessed:
    """A result with an error estimate that is computed on first use (it costs about one Newton step)."""

    assess: Assess

    @cached_property
    def estimate(self) -> Estimate:
        """The error estimate, as an object that results store."""
        return Estimate(self.assess)

    @property
    def error(self) -> float:
        """Estimated relative forward error of the predictor in the ℓ2 norm."""
        return self.estimate.value


@dataclass(frozen=True, eq=False)
class Solution(Assessed):
    """Predictor and multipliers of X w = y.

    iterations: the number of factorizations. settled: whether the method converged.
    """

    predictor: Float
    nu: Pair
    iterations: int
    settled: bool
    assess: Assess

    @classmethod
    def unmoved(cls, start: Float, samples: int, settled: bool = True) -> Solution:
        """The start, where it is the solution or, if not `settled`, in place of one that overflows."""
        error = no_error if settled else unknown_error
        return cls(start.copy(), Pair.of(np.zeros(samples)), 0, settled, error)


def limit_result(solution: Solution, problem: tuple[Any, Float, Float, float], **fields: Any) -> Limit:
    """The `Limit` of a solution; problem: model, X, y and tol; fields: its other fields."""
    model, X, y, tol = problem
    known: dict[str, Any] = {"predictor": solution.predictor, "_error": solution.estimate, "seconds": 0.0}
    known |= {"iterations": solution.iterations, "settled": solution.settled}
    return Limit(model=model, X=X, y=y, tol=float(tol), **known | fields)


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """A maximum-margin predictor; lists: what is known about the other solutions (see `Margin`)."""

    predictor: Float
    intercept: float
    dual: Float
    unique: bool | None
    error: float
    settled: bool = True
    lists: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ends:
    """The limits at infinite and at zero scale, in the shape of the predictor.

    metrics: the tangent metrics at initialization and at the limit, up to a factor; empty if the rotation of
    the tangent kernel is computed from weights instead.
    """

    kernel: Float
    rich: Float
    metrics: tuple[Float, ...] = ()


class FlowCounter:
    """Runs flows and counts them."""

    def __init__(self, follow: Follow) -> None:
        self.follow, self.runs = follow, 0

    def __call__(self, *arguments: Any, **options: Any) -> Trajectory:
        """Run a flow."""
        self.runs += 1
        return self.follow(*arguments, **options)

    def describe(self, method: str, what: str) -> str:
        """The description of a method, with what the flows showed if any were run."""
        flows = "a flow" if self.runs == 1 else f"{self.runs} flows"
        return f"{method}; {flows} showed {what}" if self.runs else method
