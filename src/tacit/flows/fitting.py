r"""What of the data a linear predictor can fit, with the samples turned so that nothing else is left.

With an orthonormal basis B of the range of X, of rank r below the number of samples,

    c‖X w − y‖² = c‖BᵀX w − Bᵀy‖² + c‖y − BBᵀy‖²

and the last term, the loss of least squares, is a constant. So gradient flow on the r turned samples BᵀX, Bᵀy
is the same flow, of the same weights in the same time, and ends at a residual of zero. On the samples as they
are, it would push for ever along a residual that nothing can fit: in mirror space ν grows without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.flows.form import Problem
from tacit.losses import Square
from tacit.numerics.rounding import EPS
from tacit.numerics.ties import Ties, product

_ROUNDING = 8.0  # times the rounding of a sum of as many terms as there are features


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


def fitting(problem: Problem) -> Fitting:
    """The same flow on samples that can be fitted; the problem itself where that is not known beforehand."""
    if isinstance(problem.X, Entries):  # each of another entry, so that every y can be fitted
        return Fitting(problem)
    loss, X = problem.loss, problem.X.reshape(len(problem.X), -1)
    if not isinstance(loss, Square) or not problem.model.parametrization.linear or _has_full_row_rank(X):
        return Fitting(problem)
    scaled = _unit_columns(X)
    basis, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
    rank = _rank(sizes, X.shape)
    basis, y = basis[:, : max(rank, 1)], problem.y
    seen = basis.T @ y if rank else np.zeros_like(basis.T @ y)
    rest = y - basis @ seen
    solution = rows[:rank].T @ (seen[:rank] / _as_column(sizes[:rank], seen))
    terms = np.linalg.norm(np.abs(scaled) @ np.abs(solution) + np.abs(y))
    doubt = _ROUNDING * math.sqrt(X.shape[1]) * EPS * float(terms)
    turned = replace(
        problem,
        X=product(basis.T, X, Ties.of(X)).reshape(len(seen), *problem.X.shape[1:]),
        y=seen,
        loss=_Turned(loss.normalization, len(X)),
    )
    left = float(np.linalg.norm(rest))
    if left <= doubt:
        return Fitting(turned, basis)
    log_floor = math.log(loss.factor(len(X))) + 2 * math.log(left)
    return Fitting(turned, basis, left / float(np.linalg.norm(y)), log_floor)


def _unit_columns(X: Float) -> Float:
    """The columns at length 1, which changes nothing of what they span."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0, largest, 1.0)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=0), 1.0))


def _has_full_row_rank(X: Float) -> bool:
    """Can every y be fitted? In any unit of features and of samples."""
    if len(X) > X.shape[1]:
        return False
    even = _unit_columns(_unit_columns(X).T)
    triangle = scipy.linalg.qr(even, mode="r", check_finite=False)[0][: len(X)]
    return _rank(np.asarray(np.linalg.svd(triangle, compute_uv=False), dtype=float), X.shape) == len(X)


def _rank(sizes: Float, shape: tuple[int, ...]) -> int:
    return int((sizes > max(shape) * EPS * sizes.max()).sum())


def _as_column(sizes: Float, like: Float) -> Float:
    return sizes if like.ndim == 1 else sizes[:, None]
