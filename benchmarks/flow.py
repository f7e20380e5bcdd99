r"""Gradient flow along its way: Tacit against what one would use instead, side by side.

    θ' = −∇L(θ)  on diagonal networks of depth 2 whose weights start at α,  square and exponential loss

Every method follows the same flows in the same run and hands over the predictor at the same training
accuracies −log L; its error is the largest there. The stiff solvers of SciPy get the loosest tolerance with
which they are as accurate as Tacit; the search for it is not timed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF, DOP853, LSODA, Radau
from scipy.optimize import brentq

import tacit
from tacit.problems import sparse_regression

Float = NDArray[np.float64]
Point = tuple[Float, Callable[[float], Float] | None, float]  # weights, those since the last point, clock
SOLVERS: dict[str, Any] = {"LSODA, weights": LSODA, "BDF, weights": BDF, "Radau, weights": Radau}
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
GOAL = 1e-8  # the error asked for; where Tacit's is larger, that
RESIDUALS = (0.5, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8)  # ‖Xβ − y‖/‖y‖ at which flows on the square loss are compared
NORMALIZED_STEP = 1e-3  # Moroshko et al. 2020, Appendix H.5
REPEATS, ENOUGH = 3, 3.0  # runs of one case at most, and seconds after which there is no other
SIGNS = np.array([[1.0], [-1.0]])  # of w₊² and w₋² in β
WIDTHS = (500, 10_000)


class TimeUp(Exception):  # noqa: N818 (it is a result)
    """The method has used its time."""


@dataclass(frozen=True, eq=False)
class Case:
    """A flow, and the training accuracies at which it is compared."""

    name: str
    X: Float
    y: Float
    alpha: float
    levels: Float
    loss: str = "exp"

    def accuracy(self, beta: Float) -> float:
        """−log L."""
        if self.loss == "square":
            return -math.log(np.mean((self.X @ beta - self.y) ** 2) / 2)
        margins = self.y * (self.X @ beta)
        return float(margins.min() - math.log(np.mean(np.exp(margins.min() - margins))))

    def pull(self, beta: Float) -> tuple[Float, Float]:
        """−∂L/∂f and its derivative −∂²L/∂f² (square loss), or those of −log L in the clock ds = L dt."""
        if self.loss == "square":
            return (self.y - self.X @ beta) / len(self.y), -np.eye(len(self.y)) / len(self.y)
        margins = self.y * (self.X @ beta)
        share = np.exp(margins.min() - margins)
        share /= share.sum()
        pull = share * self.y
        return pull, np.outer(pull, pull) - np.diag(share)

    def distance(self, path: Float, reference: Float) -> float:
        """The largest relative distance of predictors; of their directions where they grow for ever."""
        if self.loss == "exp":
            path, reference = (p / np.linalg.norm(p, axis=1, keepdims=True) for p in (path, reference))
        gaps = np.linalg.norm(path - reference, axis=1) / np.linalg.norm(reference, axis=1)
        return float(gaps.max())


class Run(NamedTuple):
    """What a method did: predictors at the levels if it reached them, the time it took, and a remark."""

    path: Float | None
    seconds: float
    note: str
    late: bool = False


def predictor(w: Float) -> Float:
    """β = w₊² − w₋²."""
    return w[0] * w[0] - w[1] * w[1]


def by_tacit(case: Case, rtol: float = 1e-8) -> Run:
    """tacit.flow as it comes."""
    model = tacit.Diagonal(depth=2, scale=case.alpha)
    flow = tacit.flow(model, case.X, case.y, loss=case.loss, at=case.levels, rtol=rtol)
    return Run(flow.predictor if flow.converged else None, flow.seconds, f"{flow.steps} steps")


def solver_points(case: Case, solver: Any, rtol: float, deadline: float) -> Iterator[Point]:
    """A stiff solver of SciPy on the 2d weights, with their exact Jacobian."""
    shape, gram = (2, case.X.shape[1]), case.X.T @ case.X / len(case.y)

    def rates(_: float, flat: Float) -> Float:
        if time.perf_counter() > deadline:
            raise TimeUp
        w = flat.reshape(shape)
        return (2 * SIGNS * w * (case.pull(predictor(w))[0] @ case.X)).ravel()

    def jacobian(_: float, flat: Float) -> Float:
        w = flat.reshape(shape)
        pull, change = case.pull(predictor(w))
        slope = (2 * SIGNS * w).ravel()
        matrix = np.tile(-gram if case.loss == "square" else case.X.T @ change @ case.X, (2, 2))
        matrix *= slope
        matrix *= slope[:, None]
        matrix[np.diag_indices_from(matrix)] += (2 * SIGNS * (pull @ case.X)).ravel()
        return matrix

    start = np.full(shape, case.alpha)
    yield start, None, 0.0
    options = {"rtol": rtol, "atol": 1e-3 * rtol * case.alpha, "jac": jacobian}
    ode = solver(rates, 0.0, start.ravel(), 1e300, **options)
    while True:
        trouble = ode.step()
        if ode.status == "failed":
            raise ArithmeticError(trouble)
        dense = ode.dense_output()
        yield ode.y.reshape(shape), lambda clock, dense=dense: dense(clock).reshape(shape), ode.t


def descent_points(case: Case, deadline: float) -> Iterator[Point]:
    """Gradient descent on the 2d weights; for the exponential loss on −log L, which is normalized descent.

    The step for the square loss is N/(4b‖X‖²), with b the largest coefficient of one feature alone: between
    1/45 and 1/25 of the largest stable one at the end. A larger one is faster and less accurate.
    """
    largest = np.max(np.abs(case.X.T @ case.y) / np.einsum("nd,nd->d", case.X, case.X))
    stable = len(case.y) / (4 * largest * np.linalg.norm(case.X, 2) ** 2)
    rate = 2 * SIGNS * (stable if case.loss == "square" else NORMALIZED_STEP)
    w = np.full((2, case.X.shape[1]), case.alpha)
    for steps in itertools.count():
        yield w, None, steps
        if time.perf_counter() > deadline:
            raise TimeUp
        w = w * (1 + rate * (case.pull(predictor(w))[0] @ case.X))


def follow(case: Case, points: Callable[[float], Iterator[Point]], limit: float) -> Run:
    """The predictors at the levels: from the solver's interpolant if it has one, or the first point beyond."""
    begun, left, path, steps, accuracy, before = time.perf_counter(), list(case.levels), [], -1, 0.0, 0.0
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for w, inside, clock in points(begun + limit):
                accuracy, steps = case.accuracy(predictor(w)), steps + 1
                if not math.isfinite(accuracy):
                    raise ArithmeticError("numbers are no longer finite")
                while left and accuracy >= left[0]:
                    path.append(predictor(w if inside is None else locate(case, inside, left[0], before, clock)))
                    left.pop(0)
                if not left:
                    break
                before = clock
    except TimeUp:
        return Run(None, limit, f"{steps} steps, to accuracy {accuracy:.3g} of {left[-1]:.3g}", late=True)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as failure:
        note = f"gave up at accuracy {accuracy:.3g} of {left[-1]:.3g}: {failure}"
        return Run(None, time.perf_counter() - begun, note.splitlines()[0])
    return Run(np.array(path), time.perf_counter() - begun, f"{steps} steps")


def locate(case: Case, inside: Callable[[float], Float], level: float, start: float, end: float) -> Float:
    """The weights at which the accuracy is the level; rounding aside, it lies within the step."""

    def excess(clock: float) -> float:
        return case.accuracy(predictor(inside(clock))) - level

    ends = excess(start), excess(end)
    if ends[0] >= 0 or ends[1] <= 0:
        return inside(start if ends[0] >= 0 else end)
    return inside(brentq(excess, start, end, xtol=1e-300, rtol=1e-15))
