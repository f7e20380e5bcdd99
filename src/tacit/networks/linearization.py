r"""The linearized network, and what training it does: in closed form for the square loss.

    f̄(θ, x) = f(θ₀, x) + J(x)(θ − θ₀),    θ − θ₀ = Jᵀc,    f̄(X) = f(0) + K c

Square loss c·Σ(f − y)²: with K = V Λ Vᵀ, r(t) = V e^{−2cΛt} Vᵀ r(0). Other losses are followed on the
coefficients by the descent that networks are trained by. (Chizat et al. 2019, Section 2.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.descent import Descent, OfCoefficients
from tacit.networks.network import Network
from tacit.numerics.roots import crossing

_STEPS = 5  # times as many as a network has: they are cheap here
_STRIDE = 0.25  # and shorter
_INSTANTS = 100  # of the way there
_DRAWN = (-4.0, 40.0)  # of the same clock, where it is looked at
_CLOCK = (-600.0, 600.0)  # of log(λ₁·slope·t), which floats hold


@dataclass(frozen=True, eq=False)
class Linearized:
    """Where the linearized model is. coefficients: (N·m,); reached: has it the accuracy asked for?

    accuracies, at times: on the way there.
    """

    coefficients: Float
    accuracy: float
    time: float
    reached: bool
    times: Float = field(default_factory=lambda: np.zeros(0), repr=False)
    accuracies: Float = field(default_factory=lambda: np.zeros(0), repr=False)


@dataclass(frozen=True, eq=False)
class Linearization:
    """A network at its start, on inputs X with targets y."""

    network: Network
    X: Any
    y: Float
    loss: Loss
    start: Float  # (N, m)
    kernel: Float

    @classmethod
    def of(cls, network: Network, X: Any, y: Float, loss: Loss) -> Linearization:
        """With its kernel, in double precision."""
        kernel = np.asarray(network.tangent_kernel(X), dtype=np.float64)
        return cls(network, X, y, loss, np.asarray(network.outputs(X), dtype=np.float64), kernel)

    @cached_property
    def _eigen(self) -> tuple[Float, Float]:
        """Eigenvalues from the largest on, and eigenvectors in columns."""
        values, vectors = np.linalg.eigh((self.kernel + self.kernel.T) / 2)
        noise = len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)
        return np.where(values > noise, values, 0.0)[::-1], vectors[:, ::-1]

    @property
    def eigenvalues(self) -> Float:
        """Of the kernel, from the largest on; those that are rounding are 0."""
        return self._eigen[0]

    @property
    def top(self) -> Float:
        """The eigenvector of the largest."""
        return self._eigen[1][:, 0]

    @cached_property
    def slope(self) -> float:
        """How fast −∂L/∂f changes with the outputs at the start, on average over directions."""
        if self.loss.quadratic:
            return 2 * self.loss.factor(len(self.y))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], self.y.shape)
        f = self.start.reshape(self.y.shape)
        small = 1e-6
        pulls = [self._gradient(f + way * small * signs) for way in (-1, 1)]
        return float(abs(np.sum((pulls[0] - pulls[1]) * signs)) / (2 * small) / signs.size)

    def _gradient(self, f: Float) -> Float:
        """−∂L/∂f."""
        pull = np.asarray(self.loss.pull(f, self.y))
        return pull * np.exp(-self.loss.accuracy(f, self.y)) if self.loss.relative else pull

    @property
    def time_scales(self) -> Float:
        """1/(λᵢ·slope): how long each direction of the outputs takes, ∞ for those that never come."""
        rates = self.eigenvalues * self.slope
        return np.where(rates > 0, 1 / np.where(rates > 0, rates, 1.0), np.inf)

    def until(self, accuracy: float, most_steps: int) -> Linearized:
        """The linearized model when its training has come to this accuracy, or as near as it comes."""
        if self.loss.quadratic:
            return self._closed(accuracy)
        subject = OfCoefficients(self.kernel, self.start, self.top)
        descent = Descent(self.loss, self.y, accuracy, _STEPS * most_steps, stride=_STRIDE)
        found = descent.run(subject, np.zeros(self.start.size))
        path = found.times, found.accuracies
        return Linearized(found.state, found.accuracy, found.time, found.reached, *path)

    def _closed(self, accuracy: float) -> Linearized:
        """The square loss in closed form."""
        values, vectors = self._eigen
        if not values[0] > 0:
            return self._at(np.zeros(len(values)), accuracy, 0.0)
        unit = 1 / float(values[0] * self.slope)
        first = vectors.T @ (self.y.reshape(-1) - self.start.ravel())

        def at(log: float) -> Linearized:
            share = -np.expm1(-values / values[0] * np.exp(log))  # of each direction, done
            parts = np.where(values > 0, share / np.where(values > 0, values, 1.0), 0.0) * first
            return self._at(vectors @ parts, accuracy, unit * float(np.exp(log)))

        def beyond(log: float) -> float:
            return float(np.clip(at(log).accuracy - accuracy, -1e3, 1e3))

        never = beyond(_CLOCK[1]) <= 0
        if never or beyond(_CLOCK[0]) >= 0:
            log = _CLOCK[1] if never else _CLOCK[0]
        else:
            log = crossing(beyond, *_CLOCK, xtol=1e-12)
        logs = np.linspace(min(_DRAWN[0], log), min(log, _DRAWN[1]), _INSTANTS)
        levels = np.array([at(each).accuracy for each in logs])
        return replace(at(log), reached=not never, times=unit * np.exp(logs), accuracies=levels)

    def _at(self, coefficients: Float, accuracy: float, time: float) -> Linearized:
        f = (self.start.ravel() + self.kernel @ coefficients).reshape(self.y.shape)
        level = float(self.loss.accuracy(f, self.y))
        return Linearized(coefficients, level, time, level >= accuracy)

    def change(self, coefficients: Float) -> Float:
        """θ − θ₀ = Jᵀc."""
        found = self.network.vjp(self.X, coefficients.reshape(self.start.shape))
        return np.asarray(found, dtype=np.float64)

    def outputs(self, X: Any, change: Float) -> Float:
        """f̄ at other inputs: f(θ₀, x) + J(x)(θ − θ₀), (N, m)."""
        return np.asarray(self.network.outputs(X) + self.network.jvp(X, change), dtype=np.float64)
