"""What the figures on neurons and networks of Azulay et al. 2021 are computed from: data and training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float
from tacit.papers.measures import slope

RESIDUAL = 1e-10  # ‖Xw − y‖/‖y‖ at which training ends
_HORIZON = 1e4


@dataclass(frozen=True, eq=False)
class Regression:
    """Samples as rows of X, one response for each, and the solution of least norm, of length 1."""

    X: Float
    y: Float
    smallest: Float

    def unseen(self, vector: Float) -> Float:
        """P⊥v: the part of a vector (or of each column) that the data do not see."""
        rows = np.linalg.svd(self.X, full_matrices=False)[2]
        return np.asarray(vector - rows.T @ (rows @ vector))

    def accuracy(self, residual: float) -> float:
        """−log loss at this relative residual."""
        return float(-np.log(self.y @ self.y / (2 * len(self.y))) - 2 * np.log(residual))


def exponent(x: Float, y: Float) -> float:
    """The fitted slope of log y against log x; NaN where there is nothing to fit."""
    if not (np.isfinite(y).all() and (y > 0).all()):
        return float("nan")
    return slope(np.log(x), np.log(y))


def draw_problem(samples: int, features: int, rng: np.random.Generator) -> Regression:
    """Independent Gaussian entries, and responses such that the solution of least norm has length 1."""
    X = rng.standard_normal((samples, features))
    rows = np.linalg.svd(X, full_matrices=False)[2]
    smallest = rows.T @ rng.standard_normal(samples)
    smallest /= np.linalg.norm(smallest)
    return Regression(X, X @ smallest, smallest)


def follow(model: Any, problem: Regression, *, rtol: float = 1e-9) -> tuple[Float, bool]:
    """The predictor at the end of gradient flow, a vector; and did it get to the residual asked for?

    Where the start is large, rounding may end it a little earlier.
    """
    run = tacit.flow(model, problem.X, problem.y, rtol=rtol, at=[problem.accuracy(RESIDUAL)])
    return run.predictor[-1].ravel(), run.converged


def train_layers(inner: Float, outer: Float, problem: Regression) -> tuple[Float, Float]:
    """U and V (one output) at the end of gradient flow: every weight of every unit, by an explicit method.

    It shares no code with `tacit.flow`, and unlike that verb gives the weights. The residual is relative to
    that at the start where that is larger than y: errors of a large start would hide smaller ones.
    """
    X, y, shape = problem.X, problem.y, (len(inner) + 1, inner.shape[1])

    def residual(state: Float) -> Float:
        layers = state.reshape(shape)
        return np.asarray(y - X @ (layers[:-1] @ layers[-1]))

    def rate(_: float, state: Float) -> Float:
        layers = state.reshape(shape)
        pull = residual(state) @ X / len(y)
        return np.vstack([np.outer(pull, layers[-1]), pull @ layers[:-1]]).ravel()

    start = np.vstack([inner, outer]).ravel()
    target = RESIDUAL * max(np.linalg.norm(y), np.linalg.norm(residual(start)))

    def excess(_: float, state: Float) -> float:
        return float(np.linalg.norm(residual(state)) - target)

    excess.terminal = True  # type: ignore[attr-defined]
    tolerances = {"rtol": 1e-12, "atol": 1e-14 * np.abs(start).max()}
    run = solve_ivp(rate, (0, _HORIZON), start, method="DOP853", events=excess, **tolerances)
    if run.status != 1:
        raise tacit.NotConvergedError(f"the network did not fit its data within a time of {_HORIZON:g}")
    layers = run.y[:, -1].reshape(shape)
    return layers[:-1], layers[-1]
