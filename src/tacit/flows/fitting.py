r"""What of the data a linear predictor can fit, with the samples turned so that nothing else is left.

With an orthonormal basis B of the range of X (`numerics.subspaces`), gradient flow on the turned samples BᵀX,
Bᵀy is the same flow, of the same weights in the same time, and ends at a residual of zero. On the samples as
they are, it would push for ever along a residual that nothing can fit: in mirror space ν grows without bound.
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
class _Turned(Square):
    """The square loss of a number of samples that are given as fewer, turned ones."""

    samples: int = 1

    def factor(self, samples: int) -> float:
        """c for the number of samples that there were."""
        return super().factor(self.samples)


@dataclass(frozen=True, eq=False)
class Fitting:
    """A flow on what can be fitted, and the way back to all samples.

    problem: with turned samples, where they cannot all be fitted. basis: B, or None where every y can be.
    unfitted: ‖y − BBᵀy‖ relative to ‖y‖, 0 where that is rounding. log_floor: log of the loss there.

    The *level* of a state is the accuracy on `problem`, which rises without end; the accuracy does not.
    """

    problem: Problem
    basis: Float | None = None
    unfitted: float = 0.0
    log_floor: float = -math.inf

    @property
    def most(self) -> float:
        """The accuracy that no predictor exceeds."""
        return -self.log_floor

    def outputs(self, turned: Float) -> Float:
        """f(x₁), …, f(x_N) from the outputs of turned samples."""
        return turned if self.basis is None else self.basis @ turned

    def accuracy(self, level: float) -> float:
        """−log of (loss on what can be fitted + loss of least squares)."""
        return level if self.log_floor == -math.inf else 0.0 - float(np.logaddexp(-level, self.log_floor))

    def level(self, accuracy: float) -> float:
        """The level at which the accuracy is that; infinite where it never is."""
        if self.log_floor == -math.inf:
            return accuracy
        gap = accuracy + self.log_floor
        return accuracy - math.log(-math.expm1(gap)) if gap < 0 else math.inf


def fitting(problem: Problem, within: Range | None) -> Fitting:
    """The same flow on samples that can be fitted; the problem itself where that is not known beforehand.

    within: the range of X, where there is one; each single entry of a matrix can be fitted, and of the
    outputs of networks nothing is known.
    """
    loss = problem.loss
    if (
        within is None
        or not isinstance(loss, Square)
        or not problem.model.parametrization.linear
        or within.full
    ):
        return Fitting(problem)
    seen, rest = within.split(problem.y)
    turned = replace(
        problem,
        X=within.turned.reshape(len(seen), *problem.X.shape[1:]),
        y=seen,
        loss=_Turned(loss.normalization, len(problem.X)),
    )
    left = float(np.linalg.norm(rest))
    if left == 0:
        return Fitting(turned, within.basis)
    log_floor = math.log(loss.factor(len(problem.X))) + 2 * math.log(left)
    return Fitting(turned, within.basis, left / float(np.linalg.norm(problem.y)), log_floor)
