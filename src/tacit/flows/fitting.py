r"""Projection of the samples onto the range of X, the part that a linear predictor can fit.

With an orthonormal basis B of the range of X (`numerics.subspaces`), gradient flow on the projected samples
BᵀX, Bᵀy has the same weights at the same times, and ends at a residual of zero. On the original samples the
residual that cannot be fitted never vanishes, and in mirror space ν would grow without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.form import Problem
from tacit.losses import Square
from tacit.numerics.subspaces import Range


@dataclass(frozen=True)
class _ProjectedSquare(Square):
    """Square loss of projected samples, normalized by the original number of samples."""

    samples: int = 1

    def factor(self, samples: int) -> float:
        """c for the original number of samples."""
        return super().factor(self.samples)


@dataclass(frozen=True, eq=False)
class Fitting:
    """A flow on the part of the data that can be fitted, and the map back to all samples.

    problem: with projected samples if not every y can be fitted. basis: B, or None if every y can be fitted.
    unfitted: ‖y − BBᵀy‖ relative to ‖y‖, 0 if that is round-off. log_floor: log of the least-squares loss.

    The *level* of a state is its accuracy on `problem`, which is unbounded; the accuracy on all samples is
    not.
    """

    problem: Problem
    basis: Float | None = None
    unfitted: float = 0.0
    log_floor: float = -math.inf

    @property
    def max_accuracy(self) -> float:
        """The supremum of the accuracy over all predictors."""
        return -self.log_floor

    def outputs(self, projected: Float) -> Float:
        """f(x₁), …, f(x_N) from the outputs of projected samples."""
        return projected if self.basis is None else self.basis @ projected

    def accuracy(self, level: float) -> float:
        """−log of the total loss: the loss on `problem` plus the least-squares loss."""
        return level if self.log_floor == -math.inf else 0.0 - float(np.logaddexp(-level, self.log_floor))

    def level(self, accuracy: float) -> float:
        """The level at which the accuracy has this value; ∞ if it is never reached."""
        if self.log_floor == -math.inf:
            return accuracy
        gap = accuracy + self.log_floor
        return accuracy - math.log(-math.expm1(gap)) if gap < 0 else math.inf


def fitting(problem: Problem, within: Range | None) -> Fitting:
    """Project the problem onto the range of X, if the model is linear in X and not every y can be fitted.

    within: the range of X; None for single entries of a matrix, which can always be fitted, and for networks,
    whose range of outputs is unknown.
    """
    loss = problem.loss
    linear = problem.model.parametrization.linear
    if within is None or not isinstance(loss, Square) or not linear or within.full:
        return Fitting(problem)
    y, rest = within.split(problem.y)
    X = within.projected.reshape(len(y), *problem.X.shape[1:])
    projected = replace(problem, X=X, y=y, loss=_ProjectedSquare(loss.normalization, len(problem.X)))
    residual = float(np.linalg.norm(rest))
    if residual == 0:
        return Fitting(projected, within.basis)
    log_floor = math.log(loss.factor(len(problem.X))) + 2 * math.log(residual)
    return Fitting(projected, within.basis, residual / float(np.linalg.norm(problem.y)), log_floor)
