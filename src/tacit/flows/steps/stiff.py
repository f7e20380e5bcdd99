r"""One step of Radau IIA for x' = F(x) whose Jacobian is −S, with S symmetric and no eigenvalue below 0.

Such are gradient flows of convex functions, and the flow of ν in mirror space under the square loss. Real
data make S span sixteen decades. Newton's equations for the rates k₁, …, k₅ at the nodes, with S at the
beginning, are (I + hA ⊗ S)δ = r, and one eigendecomposition of S solves them for every step length h (Hairer
and Wanner, Solving Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import LAGRANGE, ORDER, POWERS, STAGES, TOP, A, C
from tacit.potentials.arrays import quiet

_ITERATIONS, _ATTEMPTS = 12, 120
_SETTLED = 1e-2  # of the tolerance, for the last step of Newton
_FASTER = 5.0  # growth of the length from step to step, at most
_SMALLEST, _HUGE = 1e-300, 1e100


@dataclass(frozen=True, eq=False)
class Step:
    """A step of length h, from 0: the rates at its beginning and at its nodes, and the length to try next."""

    h: float
    first: Float
    rates: Float  # (stages, n)
    next_h: float

    def at(self, clock: float) -> Float:
        """x at an instant of the step."""
        weights: Float = self.h * ((clock / self.h) ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        return np.asarray(weights @ self.rates)


@dataclass(frozen=True, eq=False)
class Field:
    """x' = F(x) from x = 0. rate: F over leading axes. values, turn: eigenvalues and -vectors of S at 0.

    size: of an error of x that is tolerated, for each coordinate. noise: what rounding makes of F along each
    eigenvector, at most.
    """

    rate: Callable[[Float], Float]
    values: Float
    turn: Float
    size: Float
    noise: Float

    @quiet
    def step(self, h: float | None, last: Step | None) -> Step | None:
        """The next step, as long as the tolerance allows; None if there is none."""
        first = self.rate(np.zeros_like(self.size))
        h = self._first_length(first) if h is None else h
        for _ in range(_ATTEMPTS):
            if not h > _SMALLEST:
                break
            rates = self._solved(h, self._guess(h, first, last))
            error = np.inf if rates is None else self._error(h, first, rates)
            if rates is not None and error <= 1:
                growth = min(_FASTER, 0.9 * max(error, 1e-12) ** ORDER)
                return Step(h, first, rates, h * growth)
            h *= max(0.1, 0.9 * error**ORDER) if np.isfinite(error) else 0.25
        return None

    def _first_length(self, first: Float) -> float:
        """A time in which neither x nor its rate changes much."""
        moves = float(np.abs(first / self.size).max())
        return 1e-3 / max(float(self.values.max(initial=0.0)), 1e-9 * moves, _SMALLEST)

    def _guess(self, h: float, first: Float, last: Step | None) -> Float:
        """The polynomial of the last step's rates, or the rates of the linear flow with S."""
        if last is not None and h <= 3 * last.h:
            return np.asarray(
                np.vander(1 + C * h / last.h, STAGES, increasing=True) @ LAGRANGE @ last.rates, dtype=float
            )
        decay = 1 / (1 + h * C[:, None] * self.values)
        return np.asarray((first @ self.turn * decay) @ self.turn.T)

    def _solved(self, h: float, rates: Float) -> Float | None:
        """The rates at the nodes, by Newton's method with S of the beginning; None if it does not settle."""
        inverse = np.linalg.inv(np.eye(STAGES) + h * self.values[:, None, None] * A)
        before = np.inf
        for _ in range(_ITERATIONS):
            wrong = (self.rate(h * A @ rates) - rates) @ self.turn
            change = np.einsum("nij,jn->in", inverse, wrong)
            rates = rates + change @ self.turn.T
            now = self._measured(h, np.abs(change).max(axis=0))
            if not np.isfinite(now) or now > 2 * before:
                return None
            if now <= _SETTLED:
                return rates
            before = now
        return None

    def _error(self, h: float, first: Float, rates: Float) -> float:
        """The last divided difference of the rates, as far as the step follows it."""
        top = TOP @ np.vstack([first, rates]) @ self.turn
        return self._measured(h, top / (1 + h * self.values))

    def _measured(self, h: float, rates: Float) -> float:
        """A change of rates over the step, in the eigenbasis, relative to what is tolerated.

        Less what rounding makes of them, which no step can avoid.
        """
        noise = self.noise / (1 + h * self.values)
        told = np.sign(rates) * np.maximum(np.abs(rates) - noise, 0.0) @ self.turn.T
        relative = h * told / self.size
        largest = float(np.abs(relative).max())
        return largest if not largest < _HUGE else float(np.sqrt(np.mean(relative**2)))
