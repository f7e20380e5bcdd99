r"""Losses for stopped flows: −∂L/∂f (called the pull), its slope, and the loss as a function of it.

Along ν' = −∂L/∂f the pull is the rate of ν, which the integrator interpolates within a step. Stopping points
are therefore found without evaluating predictors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from tacit.data.arrays import Float
from tacit.numerics.rounding import EPS


class StoppedLoss(Protocol):
    """Interface of a loss; linear: whether the pull is an affine function of the outputs."""

    linear: bool

    def pull(self, outputs: Float) -> Float:
        """−∂L/∂f."""

    def slope(self, pull: Float) -> Float:
        """−∂pull/∂f for each sample, as a function of the pull."""

    def log_loss(self, pull: Float) -> Float:
        """log L as a function of the pull; over leading axes."""


@dataclass(frozen=True, eq=False)
class StoppedSquare:
    """L = (1/2N)·Σ(f − y)²."""

    y: Float
    samples: int
    linear = True

    def pull(self, outputs: Float) -> Float:
        """(y − f)/N."""
        return (self.y - outputs) / self.samples

    def slope(self, pull: Float) -> Float:
        """1/N."""
        return np.full_like(pull, 1 / self.samples)

    def log_loss(self, pull: Float) -> Float:
        """log (N/2)Σ pull²."""
        return np.asarray(np.log(np.einsum("...n,...n->...", pull, pull)) + np.log(self.samples / 2))


@dataclass(frozen=True, eq=False)
class StoppedExponential:
    """L = mean of e^{−y f}, for labels y of ±1."""

    y: Float
    linear = False

    def pull(self, outputs: Float) -> Float:
        """y·e^{−y f}/N."""
        return np.asarray(self.y * np.exp(-self.y * outputs) / len(self.y))

    def slope(self, pull: Float) -> Float:
        """|pull|."""
        return np.abs(pull)

    def log_loss(self, pull: Float) -> Float:
        """log Σ|pull|."""
        return np.asarray(np.log(np.abs(pull).sum(axis=-1)))


@dataclass(frozen=True, eq=False)
class StoppedLogistic:
    """L = mean of log(1 + e^{−y f}), for labels y of ±1."""

    y: Float
    linear = False

    def _shares(self, pull: Float) -> Float:
        """p = 1/(1 + e^m) = N·|pull| for margins m."""
        return np.minimum(len(self.y) * np.abs(pull), 1 - EPS)

    def pull(self, outputs: Float) -> Float:
        """y/(1 + e^{y f})/N."""
        return np.asarray(self.y * expit(-self.y * outputs) / len(self.y))

    def slope(self, pull: Float) -> Float:
        """p(1 − p)/N."""
        shares = self._shares(pull)
        return shares * (1 - shares) / len(self.y)

    def log_loss(self, pull: Float) -> Float:
        """log of the mean of −log(1 − p)."""
        return np.asarray(np.log(-np.log1p(-self._shares(pull)).mean(axis=-1)))
