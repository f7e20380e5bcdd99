"""Data and gradient descent for the figures of Min et al. 2021."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.numerics.rounding import EPS
from tacit.papers.arguments import arrived
from tacit.potentials import Quadratic

AVERAGED = tacit.losses.Square("mean")  # the loss of Section 4, ‖Y − XUVᵀ‖²/n


@dataclass(frozen=True, eq=False)
class Regression:
    """Samples as rows of X, and one target for each."""

    X: Float
    y: Float

    @cached_property
    def svd(self) -> tuple[Float, Float, Float]:
        """W, Σ_x^{1/2} as a vector, and Φ₁ᵀ, of X = W Σ_x^{1/2} Φ₁ᵀ (equation 4)."""
        left, sizes, rows = np.linalg.svd(self.X, full_matrices=False)
        return left, sizes, rows

    @cached_property
    def minimum(self) -> Float:
        """Θ̂, the minimum-norm solution (equation 11)."""
        return np.asarray(tacit.limit(Quadratic(), self.X, self.y).predictor)

    def unseen(self, predictor: Float) -> Float:
        """Φ₂Φ₂ᵀw: the part of a predictor outside the row space of the data."""
        rows = self.svd[2]
        return np.asarray(predictor - rows.T @ (rows @ predictor))


def gaussian_inputs(samples: int, features: int, rng: np.random.Generator) -> Regression:
    """Inputs with independent entries x ~ N(0, 1/D) (Appendix A.2)."""
    return _respond(rng.standard_normal((samples, features)) / np.sqrt(features), rng)


def white_inputs(samples: int, features: int, rng: np.random.Generator) -> Regression:
    """Gaussian inputs with all singular values set to 1, so that Σ_x = I (Appendix A.1)."""
    left, _, rows = np.linalg.svd(rng.standard_normal((samples, features)), full_matrices=False)
    return _respond(left @ rows, rng)


def _respond(X: Float, rng: np.random.Generator) -> Regression:
    """Targets y = XΘ + ε with Θ ~ N(0, I/D) and ε ~ N(0, 0.01²)."""
    samples, features = X.shape
    truth = rng.standard_normal(features) / np.sqrt(features)
    return Regression(X, X @ truth + 0.01 * rng.standard_normal(samples))


def follow(model: Any, problem: Regression, at: Any, rtol: float) -> Any:
    """Gradient flow on the averaged loss, recorded at these accuracies; raises if it does not converge."""
    trajectory = tacit.flow(model, problem.X, problem.y, loss=AVERAGED, at=at, rtol=rtol)
    return arrived(trajectory, f"the flow of {model!r} stopped early: {trajectory.reason}")


@dataclass(frozen=True, eq=False)
class Descent:
    """Gradient descent: the accuracy −log(loss) of every iterate, and the last predictor."""

    accuracy: Float
    predictor: Float

    @property
    def iterations(self) -> int:
        """Number of steps."""
        return len(self.accuracy) - 1


def descend(model: Any, problem: Regression, *, step: float, loss: float, most: int) -> Descent:
    r"""Run gradient descent on the averaged loss until it is below `loss` (Appendix A).

    With X = W S Φ₁ᵀ, E = WᵀY − S U₁Vᵀ and G = (2η/n) S E, a step is U₁ ← U₁ + G V and V ← V + Gᵀ U₁. It
    multiplies [U₁; V] from the left and does not change U₂. Hidden units are therefore rotated such that [U₁;
    V] is zero except in as many units as it has nonzero singular values; the iterates are those at full
    width.
    """
    left, sizes, rows = problem.svd
    inner = rows @ model.inner
    turn, carried, units = np.linalg.svd(np.vstack([inner, model.outer]), full_matrices=False)
    units = units[carried > len(turn) * EPS * carried[0]]
    outside = (model.inner - rows.T @ inner) @ units.T
    U, v, target = inner @ units.T, model.outer[0] @ units.T, left.T @ problem.y
    losses = []
    while True:  # einsum, because threads slow down matrix products of this size
        error = target - sizes * np.einsum("ij,j", U, v)
        losses.append(error @ error / len(problem.y))
        if losses[-1] < loss or len(losses) > most:
            break
        pull = 2 * step / len(problem.y) * sizes * error
        U, v = U + pull[:, None] * v, v + np.einsum("i,ij", pull, U)
    return Descent(-np.log(losses), (rows.T @ U + outside) @ v)
