r"""Gradient flow with inertia, λẅ + ẇ = −∇L, which gradient descent with momentum follows to second order.

In ℓ± = log w± and ρ± = ℓ±' it is λ(ρ' + ρ²) + ρ = ∓rate·g·w±^{D−2}, from rest. It ends at the limit of the
gradient flow that starts at

    D = 2:    log w±ᵉ = log w±(0) − λ∫ρ±² dt                            (Papazov et al. 2024)
    D > 2:    (w±ᵉ)^{2−D} = w±(0)^{2−D} + (D−1)(D−2)λ∫w±^{2−D}ρ±² dt
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.integrate import DOP853, LSODA

from tacit.data.arrays import Float
from tacit.errors import NotConvergedError
from tacit.models.weight_pair import WeightPair
from tacit.training.along_flow import NODES, WEIGHTS

_RTOL, _ATOL = 1e-8, 1e-9  # of log w and of λρ
# Relative residual, and λρ, at which the motion counts as ended: the integrals are of second order in them.
_DONE = 1e-6
_STEPS = 20_000
DENSE = 400  # features up to which the dense Jacobian of an implicit method is affordable
_CROSSING = 30.0  # value of −λρ at which a weight decreases so fast that it is about to cross 0


class _Motion:
    """The motion in the unknowns (ℓ₊, ℓ₋, λρ₊, λρ₋)."""

    def __init__(self, pair: WeightPair, X: Float, y: Float, delay: float):
        self.pair, self.X, self.y, self.delay = pair, X, y, delay
        self.sides = np.array([[1.0], [-1.0]])
        self.gram = X.T @ X / len(y) if X.shape[1] <= DENSE else None

    def split(self, state: Float) -> tuple[Float, Float, Float]:
        """w±, λρ±, and X w − y."""
        logs, rates = state.reshape(2, 2, -1)
        W = np.exp(logs)
        return W, rates, self.X @ self.pair.predictor(*W) - self.y

    def velocity(self, _: float, state: Float) -> Float:
        """The derivatives."""
        W, rates, residual = self.split(state)
        pull = self._pull(W, residual)
        return np.concatenate([rates / self.delay, pull - rates / self.delay - rates**2 / self.delay]).ravel()

    def _pull(self, W: Float, residual: Float) -> Float:
        g = residual @ self.X / len(self.y)
        return np.asarray(-self.sides * self.pair.rate * g * W ** (self.pair.depth - 2))

    def jacobian(self, _: float, state: Float) -> Float:
        """Its derivatives by ℓ and λρ."""
        (W, rates, residual), D, d = self.split(state), self.pair.depth, self.X.shape[1]
        assert self.gram is not None
        J = np.zeros((4 * d, 4 * d))
        J[: 2 * d, 2 * d :] = np.eye(2 * d) / self.delay
        outer = (self.sides * self.pair.rate * W ** (D - 2)).ravel()
        inner = (self.sides * D * W**D).ravel()
        J[2 * d :, : 2 * d] = -outer[:, None] * np.tile(self.gram, (2, 2)) * inner
        J[2 * d :, : 2 * d] += np.diag((D - 2) * self._pull(W, residual).ravel())
        J[2 * d :, 2 * d :] = np.diag((-(1 + 2 * rates) / self.delay).ravel())
        return J

    def integrand(self, state: Float) -> Float:
        """w±^{2−D}ρ±²."""
        W, rates, _ = self.split(state)
        return np.asarray(W ** (2 - self.pair.depth) * (rates / self.delay) ** 2)


def integrate_inertia(pair: WeightPair, X: Float, y: Float, delay: float) -> Float | None:
    """∫w±^{2−D}ρ±² dt, (2, d), along the motion with λ = delay; None if a weight would cross 0 on the way."""
    motion = _Motion(pair, X, y, delay)
    start = np.concatenate([np.log([pair.plus, pair.minus]), np.zeros((2, X.shape[1]))]).ravel()
    options: dict[str, Any] = {"rtol": _RTOL, "atol": _ATOL, "first_step": 1e-3 * delay}
    if motion.gram is None:
        solver: Any = DOP853(motion.velocity, 0.0, start, np.inf, **options)
    else:
        solver = LSODA(motion.velocity, 0.0, start, np.inf, jac=motion.jacobian, **options)
    J = np.zeros((2, X.shape[1]))
    for _ in range(_STEPS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # failures are reported by the status
            solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            return None
        dense, length = solver.dense_output(), solver.t - solver.t_old
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            J += weight * length * motion.integrand(dense(solver.t_old + node * length))
        _, rates, residual = motion.split(solver.y)
        if -rates.min() > _CROSSING:
            return None
        if np.linalg.norm(residual) <= _DONE * np.linalg.norm(y) and np.abs(rates).max() <= _DONE:
            return J
    raise NotConvergedError(
        f"the flow with inertia did not converge within {_STEPS:,} steps; use tacit.descend, which "
        "runs the training"
    )
