r"""Weight decay as a clock: the solution along slow decay is the limit at the decayed scale.

With decay, θ' = −∇L − λθ, the power mean of w₊ and w₋ that the flow conserves falls like e^{−λt}. At every
time the predictor minimizes the potential at the decayed scale among all predictors with the same outputs.
For small λ the outputs stay at y up to terms of order λ, divided by the rate at which the data are fitted. On
held-out data the predictor changes long after that, which is known as grokking.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import limit_of
from tacit.papers.arguments import arrived
from tacit.papers.practice.simulation import simulated

_SLOW = 400.0  # rate at which the data are fitted at the start, relative to the decay
_CLOCK = 0.5  # λt at the end of the comparison
# Bound on terms of order λ over that rate, which falls with the scale by up to e^{(2D−2)λt}; the factor is a
# safety margin for other data.
_ORDER = 2.0
_EXACT = 1e-4  # thirty times the worst error of simulations with this tolerance
_LARGE = -3.0  # log of scale over size of the predictor, above which the data are fitted immediately
_RTOL = 1e-7  # of the simulation, relative to the predictor
# Of the simulation, relative to the weights: the accuracy that LSODA attains in double precision.
_FINEST = 1e-12


@theorem("practice/slow-decay", about=("Slow decay",), flows=20)
def slow_decay(model: Any, X: Any, y: Any) -> Parts:
    """Along weight decay λ from a large scale the predictor at time t is the limit at log α − λt, up to O(λ).

    Without approximation, it is the minimizer of Q at that scale among the predictors with the same outputs.
    Compared with raw weights after the scale has fallen by a factor e^{−1/2}.
    """
    yield Setting("the model is Diagonal", isinstance(model, tacit.Diagonal))
    X, y = check_problem(X, y)
    end = yield from limit_of(model, X, y)
    arrived(end, f"the limit did not converge ({end.reason})")
    size = float(np.abs(end.predictor).max())
    yield Premise("the targets are not zero", size > 0)
    scale = float(np.min(model.potential(X.shape[1]).log_scale)) - math.log(size)
    yield Premise("the scale of the predictor is at least 5% of its size", scale >= _LARGE)
    # w₊ᴰ − w₋ᴰ cancels if it is far below its scale; the weights must then be correspondingly more accurate.
    rtol = _RTOL * math.exp(-max(scale, 0.0))
    yield Premise(f"the predictor is at least {_FINEST / _RTOL:g} of its scale", rtol >= _FINEST)
    rates = np.linalg.eigvalsh(model.tangent_kernel(X)) / len(X)
    text = "the tangent kernel is within the floating-point range"
    yield Premise(text, bool(np.isfinite(rates).all() and rates.max() > 0))
    rate = float(rates[rates > 1e-9 * rates.max()].min())
    decay = rate / _SLOW
    predicted = tacit.decay_path(model, X, y, decay, times=[_CLOCK / decay]).predictors[0]
    simulated = _simulated(model, X, y, decay, rtol)
    gap = float(np.linalg.norm(simulated - predicted) / np.linalg.norm(predicted))
    allowed = _ORDER * model.depth / _SLOW * math.exp((2 * model.depth - 2) * _CLOCK) / 2
    yield Bound("distance of the simulated predictor, relative", gap, at_most=allowed)
    left = model.potential(X.shape[1]).shifted(-model.depth * _CLOCK)
    same = arrived(tacit.limit(left, X, X @ simulated), "the limit at the decayed scale did not converge")
    gap = float(np.linalg.norm(simulated - same.predictor) / np.linalg.norm(simulated))
    yield Bound("distance from the minimizer with the same outputs, relative", gap, at_most=_EXACT)


def _simulated(model: tacit.Diagonal, X: Float, y: Float, decay: float, rtol: float) -> Float:
    """The predictor of raw weights under gradient flow with decay, by SciPy."""
    D, d = model.depth, X.shape[1]
    start = np.concatenate(list(model.start(d).values()))
    signs = np.repeat([1.0, -1.0], d)

    def predictor(weights: Float) -> Float:
        return weights[:d] ** D - weights[d:] ** D

    def velocity(time: float, weights: Float) -> Float:
        weights = np.maximum(weights, 0.0)  # trial steps of the integrator overshoot
        slope = X.T @ (X @ predictor(weights) - y) / len(y)
        return np.asarray(-signs * D * np.tile(slope, 2) * weights ** (D - 1) - decay * weights)

    unit = float(start.max())
    return predictor(simulated(velocity, _CLOCK / decay, start, rtol, rtol * unit))
