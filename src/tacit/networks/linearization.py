r"""The linearization of a network at initialization, and gradient flow on it.

    f̄(θ, x) = f(θ₀, x) + J(x)(θ − θ₀),    θ − θ₀ = Jᵀc,    f̄(X) = f(0) + K c

The square loss a·Σ(f − y)² has a closed form: with K = V Λ Vᵀ, r(t) = V e^{−2aΛt} Vᵀ r(0). For other losses
the coefficients c are trained by the same gradient descent as networks. (Chizat et al. 2019, Section 2.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.descent import CoefficientTraining, Descent, Trained
from tacit.networks.network import Network
from tacit.numerics.roots import crossing

_MORE_STEPS = 5  # times the number of steps allowed for a network: steps are cheap here
_STRIDE = 0.25  # largest step in units of 1/λ: half that of networks
_RECORDS = 100  # accuracies recorded along the way
_RECORDED = (-4.0, 40.0)  # range of log(λ₁·slope·t) in which they are recorded
_LOG_TIMES = (-600.0, 600.0)  # range of log(λ₁·slope·t) that is searched; floats hold its exponentials


@dataclass(frozen=True, eq=False)
class Linearization:
    """The linearization of a network at initialization, on inputs X with targets y."""

    network: Network
    X: Any
    y: Float
    loss: Loss
    start: Float  # (N, m)
    kernel: Float

    @classmethod
    def of(cls, network: Network, X: Any, y: Float, loss: Loss) -> Linearization:
        """Linearize a network; the kernel is kept in double precision."""
        kernel = np.asarray(network.tangent_kernel(X), dtype=np.float64)
        return cls(network, X, y, loss, np.asarray(network.outputs(X), dtype=np.float64), kernel)

    @cached_property
    def _eigen(self) -> tuple[Float, Float]:
        """Eigenvalues in decreasing order, with round-off set to 0, and eigenvectors in columns."""
        values, vectors = np.linalg.eigh((self.kernel + self.kernel.T) / 2)
        round_off = len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)
        return np.where(values > round_off, values, 0.0)[::-1], vectors[:, ::-1]

    @property
    def eigenvalues(self) -> Float:
        """Eigenvalues of the kernel in decreasing order; values that are round-off are set to 0."""
        return self._eigen[0]

    @property
    def top(self) -> Float:
        """The eigenvector of the largest eigenvalue."""
        return self._eigen[1][:, 0]

    @cached_property
    def slope(self) -> float:
        """The second derivative of the loss with respect to an output at the start, averaged."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], self.start.size)
        descent = Descent(self.loss, self.y, math.inf, 0)
        unit = math.exp(-descent.accuracy(self.start)) if self.loss.relative else 1.0
        return unit * float(abs(np.mean(descent.times_hessian(self.start, signs) * signs)))

    @property
    def time_scales(self) -> Float:
        """Time scales 1/(λᵢ·slope) on which the eigenvectors are learned; ∞ if λᵢ = 0."""
        rates = self.eigenvalues * self.slope
        return np.where(rates > 0, 1 / np.where(rates > 0, rates, 1.0), np.inf)

    def until(self, accuracy: float, most_steps: int) -> Trained:
        """The linearized model trained to this accuracy, or as close to it as possible; its state is c."""
        if self.loss.quadratic:
            return self._closed_form(accuracy)
        subject = CoefficientTraining(self.kernel, self.start, self.top)
        descent = Descent(self.loss, self.y, accuracy, _MORE_STEPS * most_steps, stride=_STRIDE)
        return descent.run(subject, np.zeros(self.start.size))

    def _closed_form(self, accuracy: float) -> Trained:
        """The flow on the square loss, in closed form."""
        values, vectors = self._eigen
        if not values[0] > 0:
            return self._at(np.zeros(len(values)), accuracy, 0.0)
        unit = 1 / float(values[0] * self.slope)
        first = vectors.T @ (self.y.reshape(-1) - self.start.ravel())

        def at(log: float) -> Trained:
            learned = -np.expm1(-values / values[0] * np.exp(log))  # fraction of each eigenvector
            parts = np.where(values > 0, learned / np.where(values > 0, values, 1.0), 0.0) * first
            return self._at(vectors @ parts, accuracy, unit * float(np.exp(log)))

        def excess(log: float) -> float:
            return float(np.clip(at(log).accuracy - accuracy, -1e3, 1e3))  # finite, for the root finder

        never = excess(_LOG_TIMES[1]) <= 0
        if never or excess(_LOG_TIMES[0]) >= 0:
            log = _LOG_TIMES[1] if never else _LOG_TIMES[0]
        else:
            log = crossing(excess, *_LOG_TIMES, xtol=1e-12)
        logs = np.linspace(min(_RECORDED[0], log), min(log, _RECORDED[1]), _RECORDS)
        levels = np.array([at(each).accuracy for each in logs])
        return replace(at(log), reached=not never, times=unit * np.exp(logs), accuracies=levels)

    def _at(self, coefficients: Float, accuracy: float, time: float) -> Trained:
        f = (self.start.ravel() + self.kernel @ coefficients).reshape(self.start.shape)
        level = float(self.loss.accuracy(f.reshape(self.y.shape), self.y))
        path = np.array([level]), np.array([time])
        return Trained(coefficients, f, level, time, 0, level >= accuracy, "", *path)

    def change(self, coefficients: Float) -> Float:
        """The change of the weights, θ − θ₀ = Jᵀc."""
        gradient = self.network.vjp(self.X, coefficients.reshape(self.start.shape))
        return np.asarray(gradient, dtype=np.float64)

    def outputs(self, X: Any, change: Float) -> Float:
        """Outputs f̄ at other inputs, f(θ₀, x) + J(x)(θ − θ₀), (N, m)."""
        return np.asarray(self.network.outputs(X) + self.network.jvp(X, change), dtype=np.float64)
