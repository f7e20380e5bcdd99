r"""Gradient flow with weight decay λ(t), in mirror space, until the decay is switched off.

D = 2:    w± = w±(0)·e^{−Λ ± rate·Xᵀν},                                        Λ = ∫λ dt
D > 2:    w± = e^{−Λ}·(w±(0)^{2−D} ∓ (D−2)·rate·Xᵀν)^{−1/(D−2)},    ν' = e^{−(D−2)Λ}·(y − Xw)/N
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.data.arrays import Float
from tacit.errors import NotConvergedError
from tacit.models.weight_pair import WeightPair
from tacit.numerics.rounding import quiet
from tacit.training.along_flow import NODES, WEIGHTS, Integrals
from tacit.training.settings import Training

_RTOL, _ATOL = 1e-7, 1e-10  # tolerance of ν; slopes are of the order of 1, or of w(0)^{2−D}


class _Decaying:
    """The flow in the unknowns ν and Λ."""

    def __init__(self, pair: WeightPair, X: Float, y: Float, training: Training):
        self.pair, self.X, self.y, self.training = pair, X, y, training
        self.unit = 1.0 if pair.depth == 2 else float(np.mean(pair.scale)) ** (2 - pair.depth)  # of slopes

    def weights(self, state: Float) -> tuple[Float, Float]:
        """w₊ and w₋."""
        D, slopes = self.pair.depth, self.pair.rate * self.unit * (state[:-1] @ self.X)
        if D == 2:
            return self.pair.plus * np.exp(slopes - state[-1]), self.pair.minus * np.exp(-slopes - state[-1])
        powers = (
            self.pair.plus ** (2 - D) - (D - 2) * slopes,
            self.pair.minus ** (2 - D) + (D - 2) * slopes,
        )
        plus, minus = (np.exp(-state[-1]) * each ** (1 / (2 - D)) for each in powers)
        return plus, minus

    def _clock(self, decayed: float) -> float:
        return float(np.exp((2 - self.pair.depth) * decayed) / (len(self.y) * self.unit))

    def velocity(self, time: float, state: Float) -> Float:
        """ν' and λ."""
        residual = self.y - self.X @ self.pair.predictor(*self.weights(state))
        return np.append(self._clock(state[-1]) * residual, self.training.decay_at(time))

    def jacobian(self, time: float, state: Float) -> Float:
        """∂(ν', λ)/∂(ν, Λ)."""
        D, (plus, minus) = self.pair.depth, self.weights(state)
        w, clock = self.pair.predictor(plus, minus), self._clock(state[-1])
        # ∂w±/∂slope = ±w±^{D−1}·e^{(D−2)Λ}
        gain = self.unit * self.pair.sensitivity(plus, minus) * np.exp((D - 2) * state[-1])
        n = len(self.y)
        J = np.zeros((n + 1, n + 1))
        J[:n, :n] = -clock * (self.X * gain) @ self.X.T
        J[:n, n] = (2 - D) * clock * (self.y - self.X @ w) + clock * D * (self.X @ w)
        return J


@quiet
def integrate_decay(into: Integrals, training: Training) -> WeightPair:
    """Follow the flow until the decay is switched off, and add its integrals. The pair there."""
    flow = _Decaying(into.pair, into.X, into.y, training)
    start = np.zeros(len(into.y) + 1)
    found: Any = solve_ivp(
        flow.velocity,
        (0.0, float(training.decay_time)),
        start,
        method="Radau",
        jac=flow.jacobian,
        dense_output=True,
        rtol=_RTOL,
        atol=_ATOL,
    )
    if not found.success:
        raise NotConvergedError(f"the flow with weight decay could not be integrated: {found.message}")
    for first, last in zip(found.t[:-1], found.t[1:], strict=True):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            state = found.sol(first + node * (last - first))
            weights = flow.weights(state)
            shrunk = float(np.exp((2 - into.pair.depth) * state[-1]))
            into.add(into.pair.predictor(*weights), *weights, weight * (last - first), shrunk)
    pair, (plus, minus) = into.pair, flow.weights(found.y[:, -1])
    return WeightPair(plus, minus, pair.depth, pair.rate, pair.lift, pair.model)
