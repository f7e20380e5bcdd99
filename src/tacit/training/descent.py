r"""Gradient descent on the two weight vectors of a diagonal network.

A step multiplies w± by 1 − x±, x± = ±γ·rate·g·w±^{D−2}, without momentum and decay. For any run, the sum S of
γ·rate·g over its steps lies in the row space of X, and so does the change of log w± along any flow (D = 2;
for D > 2, of w±^{2−D}), with opposite signs for + and −. Hence the run ends at the limit
of the flow that starts at

    D = 2:    log w±ᵉ = log w± ± S/(1 − β)    = log w±(0) + Σ [log|1 − x±| + x±] without momentum
    D > 2:    (w±ᵉ)^{2−D} = w±^{2−D} ∓ (D−2)·S/(1 − β)

with the weights w± at the end of the run (Even et al. 2023 for D = 2 without momentum). With momentum the
factor 1/(1 − β) is a choice: it removes all terms of first order in γ, so that w±ᵉ is close to the start.
Weight decay multiplies w± by factors that w±ᵉ includes; for D > 2, each step in S then has the weight
A_k^{D−2}, where A_k is the product of these factors before the step, and S is divided by A^{D−2}.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError
from tacit.models.model import Model
from tacit.models.weight_pair import WeightPair, checked_positive
from tacit.numerics.rounding import quiet
from tacit.training.draws import Draws
from tacit.training.settings import Training

_POWERS = 8  # integer powers up to which repeated multiplication is faster than NumPy's power


@dataclass
class State:
    """Weights (2, d), velocity, S with its round-off, and the number of steps."""

    W: Float
    V: Float
    total: Float
    lost: Float
    log_decayed: float = 0.0  # log A
    steps: int = 0

    def copy(self) -> State:
        """An independent copy."""
        W, V, total, lost = (each.copy() for each in (self.W, self.V, self.total, self.lost))
        return State(W, V, total, lost, self.log_decayed, self.steps)

    def add(self, part: Float) -> None:
        """Add to S by compensated summation (Neumaier)."""
        after = self.total + part
        larger = np.abs(self.total) >= np.abs(part)
        self.lost += np.where(larger, (self.total - after) + part, (part - after) + self.total)
        self.total = after


@dataclass
class Descent:
    """Steps of a training on (X, y), in place and without allocation."""

    pair: WeightPair
    X: Float
    y: Float
    training: Training
    draws: Draws
    state: State = field(init=False)

    def __post_init__(self) -> None:
        d = self.X.shape[1]
        W = np.array([self.pair.plus, self.pair.minus], dtype=float)
        self.state = State(W, np.zeros_like(W), np.zeros(d), np.zeros(d))
        self.X = np.ascontiguousarray(self.X)
        self._x, self._t, self._P = (np.empty_like(W) for _ in range(3))
        self._beta, self._part = np.empty(d), np.empty(d)
        self._r = np.empty(len(self.y))

    @property
    def residual(self) -> Float:
        """Xw − y of all samples."""
        return np.asarray(self.X @ self.pair.predictor(*self.state.W) - self.y)

    @quiet
    def run(self, steps: int) -> bool:
        """Take this many steps; return False if the given batches end before."""
        self._part[:] = 0.0
        done = self._several(steps)
        self.state.add(self._part)
        return done

    def _several(self, steps: int) -> bool:
        state, training, draws = self.state, self.training, self.draws
        W, V, x, t, part = state.W, state.V, self._x, self._t, self._part
        momentum, nesterov, deep = training.momentum, training.nesterov, self.pair.depth > 2
        until = min(training.decay_steps, state.steps + steps)
        self._set_powers(W)
        for k in range(state.steps, state.steps + steps):
            try:
                batch = None if draws.all else draws.batch_of_step()
            except StopIteration:
                return False
            self._pull(W, batch, k < training.noise_steps)
            if deep and state.log_decayed:
                part += np.exp((self.pair.depth - 2) * state.log_decayed) * x[0]
            else:
                part += x[0]
            np.negative(x[0], out=x[1])
            if deep:
                np.multiply(x, self._P, out=x)
            if k < until:
                shrinkage = training.step * training.decay_at(k * training.time_step)
                x += shrinkage
                state.log_decayed += np.log1p(-shrinkage) / (1 - momentum)
            np.multiply(x, W, out=t)
            if momentum:
                V *= momentum
                V -= t
                if nesterov:
                    np.multiply(V, momentum, out=x)
                    np.subtract(x, t, out=t)
                    W += t
                else:
                    W += V
            else:
                np.subtract(W, t, out=W)
            self._set_powers(W)
            state.steps = k + 1
        return True

    def _pull(self, W: Float, batch: Any, noisy: bool) -> None:
        """x[0] = γ·rate·g of the batch at the current predictor."""
        X, y, r = (self.X, self.y, self._r) if batch is None else (self.X[batch], self.y[batch], None)
        r = np.dot(X, self._beta, out=r)
        r -= y
        if noisy:
            r -= self.training.label_noise * self.draws.signs(len(y))
        r *= self.training.step * self.pair.rate / len(y)
        np.dot(r, X, out=self._x[0])

    def _set_powers(self, W: Float) -> None:
        """w±^{D−2}, and the predictor w₊^D − w₋^D."""
        t, P, D = self._t, self._P, self.pair.depth
        np.multiply(W, W, out=t)
        if D > 2:
            power = D - 2
            if power == int(power) and power <= _POWERS:
                np.copyto(P, W)
                for _ in range(int(power) - 1):
                    np.multiply(P, W, out=P)
            else:
                np.power(W, power, out=P)
            np.multiply(t, P, out=t)
        np.subtract(t[0], t[1], out=self._beta)

    @quiet
    def effective(self) -> Model:
        """The effective start: the model whose flow ends at the end of the run. Raises `NoPotentialError` if
        there is none."""
        state, D = self.state, self.pair.depth
        S = (state.total + state.lost) / (1 - self.training.momentum)
        plus, minus = np.abs(state.W)
        for weights, name in ((plus, "w₊"), (minus, "w₋")):
            checked_positive(weights, f"the final {name}")
        if D == 2:
            return self._model(plus * np.exp(S), minus * np.exp(-S))
        if D % 2 and (state.W < 0).any():
            i = int(np.argmax((state.W < 0).any(axis=0)))
            raise NoPotentialError(
                f"a weight of coordinate {i} changed its sign during the run, which no flow of depth {D:g} "
                "does: choose a smaller step"
            )
        S = S * (D - 2) * np.exp((2 - D) * state.log_decayed)
        powers = plus ** (2 - D) - S, minus ** (2 - D) + S
        if not (np.array(powers) > 0).all():
            i = int(np.argmin(np.array(powers).min(axis=0)))
            raise NoPotentialError(
                f"the steps of coordinate {i} were so large that no flow of depth {D:g} ends there (x ≥ "
                "1): choose a smaller step"
            )
        return self._model(*(each ** (1 / (2 - D)) for each in powers))

    def _model(self, plus: Float, minus: Float) -> Model:
        for weights in (plus, minus):
            checked_positive(weights, "the effective start")
        found: Model = self.pair.model(plus, minus)
        return found
