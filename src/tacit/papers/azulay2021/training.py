"""Data and training for the figures on neurons and networks of Azulay et al. 2021.

The limits of single neurons in the kernel regime, and distances from them: Azulay et al. 2021, Section 7.2.

Code shared by the figures on linear networks: Proposition 1 and Theorem 3 of Azulay et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float
from tacit.potentials import Quadratic
from tacit.show.figures import KERNEL, RICH, TRUTH

RESIDUAL = 1e-10  # ‖Xw − y‖/‖y‖ at which training stops
_HORIZON = 1e4


@dataclass(frozen=True, eq=False)
class Regression:
    """Samples as rows of X, one target for each, and the minimum-norm solution, which has norm 1."""

    X: Float
    y: Float
    smallest: Float

    def unseen(self, vector: Float) -> Float:
        """P⊥v: the part of a vector (or of each column) orthogonal to the row space of the data."""
        rows = np.linalg.svd(self.X, full_matrices=False)[2]
        return np.asarray(vector - rows.T @ (rows @ vector))

    def accuracy(self, residual: float) -> float:
        """The accuracy −log(loss) at this relative residual."""
        return float(-np.log(self.y @ self.y / (2 * len(self.y))) - 2 * np.log(residual))


def draw_problem(samples: int, features: int, rng: np.random.Generator) -> Regression:
    """Draw independent Gaussian entries, and targets such that the minimum-norm solution has norm 1."""
    X = rng.standard_normal((samples, features))
    rows = np.linalg.svd(X, full_matrices=False)[2]
    smallest = rows.T @ rng.standard_normal(samples)
    smallest /= np.linalg.norm(smallest)
    return Regression(X, X @ smallest, smallest)


def follow(model: Any, problem: Regression, *, rtol: float = 1e-9) -> tuple[Float, bool]:
    """The predictor at the end of gradient flow, a vector, and whether it reached the residual.

    For large initial weights, round-off may end it slightly earlier.
    """
    run = tacit.flow(model, problem.X, problem.y, rtol=rtol, at=[problem.accuracy(RESIDUAL)])
    return run.predictor[-1].ravel(), run.converged


def train_layers(inner: Float, outer: Float, problem: Regression) -> tuple[Float, Float]:
    """U and V (one output) at the end of gradient flow on all weights, by an explicit method.

    It shares no code with `tacit.flow`. The residual is relative to the initial one if that is larger than y,
    since integration errors are proportional to it.
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


def kernel_metric(shape: float, orientation: Float) -> Float:
    """B = I − (1−s)²/(2(1+s²))·uuᵀ (equation 27)."""
    pressed = (1 - shape) ** 2 / (2 * (1 + shape**2))
    return np.asarray(np.eye(len(orientation)) - pressed * np.outer(orientation, orientation))


def kernel_end(model: Any, problem: Regression) -> Float:
    """argmin (w−w̃(0))ᵀB(w−w̃(0)) subject to X w = y, with B of equation 27."""
    start = model.predictor()
    metric = kernel_metric(model.shape, start / np.linalg.norm(start))
    change = tacit.limit(Quadratic(metric), problem.X, problem.y - problem.X @ start)
    return np.asarray(start + change.predictor)


def to_ends(model: Any, problem: Regression, predictor: Float) -> tuple[float, float]:
    """Distances to the minimum-norm solution and, relative to that of w̃(0), to the kernel end."""
    way = np.linalg.norm(predictor - model.predictor())
    to_kernel = np.linalg.norm(predictor - kernel_end(model, problem)) / way
    return float(np.linalg.norm(predictor - problem.smallest)), float(to_kernel)


def far_from_kernel(shape: float, seen: float) -> float:
    """The distance to the kernel end as α → ∞, if the row space contains a share `seen` of u.

    With ρ = ‖w∥‖²/a² at the start, w̃ ends at a√(1−ρ)·w⊥ and the kernel end is a/(1+ρ)·w⊥, to leading order.
    """
    rho = ((1 - shape) / (1 + shape) * seen) ** 2
    end, hidden = np.sqrt(1 - rho), np.sqrt(1 - seen**2)
    return float(hidden * abs(end - 1 / (1 + rho)) / np.hypot(seen, hidden * (1 - end)))


def unit_vector(size: int, rng: np.random.Generator) -> Float:
    """A vector of length 1 in a random direction."""
    drawn = rng.standard_normal(size)
    return np.asarray(drawn / np.linalg.norm(drawn))


TO_LEAST = r"$\|\tilde w(\infty)-\hat w\|\,/\,\|\hat w\|$"  # label of an axis
COLOURS = (KERNEL, RICH, TRUTH, "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")


def gap(found: Float, expected: Float) -> float:
    """‖found − expected‖/‖expected‖."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def middle_of(chosen: np.ndarray) -> int | None:
    """The index of the middle one of the selected points, where the label of a level set is placed."""
    places = np.flatnonzero(chosen)
    return int(places[len(places) // 2]) if places.size else None


def around(values: Float) -> tuple[float, float]:
    """Limits of a logarithmic axis that ignore values that cannot be drawn."""
    return float(values.min()) / 1.6, float(values.max()) * 1.6
