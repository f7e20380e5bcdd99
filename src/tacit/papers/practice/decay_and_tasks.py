r"""Weight decay and consecutive tasks, which change only the start of the flow.

Decay λ(t) multiplies both weights of a coordinate by e^{−∫λ} and does not change their ratio; once it is
switched off, the flow ends at the limit of the smaller scale, at every depth.
If it stays on, the loss with the decay of w₊ and w₋ is that of the Lasso at depth 2, because w₊² + w₋² ≥ |w₊²
− w₋²|. The weights at the end of one limit are the start of the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.practice.simulation import simulated
from tacit.papers.practice.steps import diagonal_network

_FITTED = 30  # accuracy −log L, a residual of about 1e-7
_EQUAL = 1e-6  # relative; tolerances of two integrators, amplified during the rest of the flow
_DECAYED = 0.5  # ∫λ dt
_KKT = 1e-8  # of the Lasso


@theorem("practice/decay-off", about=("Decay switched off",), flows=2)
def decay_off(model: Any, X: Any, y: Any, time: float = 5.0) -> Parts:
    """Gradient flow with decay λ(t) that is switched off ends at the limit of log α − ∫λ dt.

    Simulated with the raw weights until the decay is off. time: when it is switched off.
    """
    tied = isinstance(model, tacit.Diagonal) and float(model.depth).is_integer()
    yield Setting("the model is Diagonal, and its depth is a whole number", tied)
    D, (X, y) = int(model.depth), (np.asarray(each, dtype=float) for each in (X, y))

    def velocity(t: float, weights: Any) -> Any:
        W = weights.reshape(2, -1)
        g = X.T @ (X @ (W[0] ** D - W[1] ** D) - y) / len(y)
        pull = D * np.array([g, -g]) * W ** (D - 1) + _DECAYED / time * W
        return -pull.ravel()

    start = np.concatenate(list(model.start(X.shape[1]).values()))
    try:
        W = simulated(velocity, time, start, 1e-10, 1e-12).reshape(2, -1)
    except tacit.NotConvergedError as error:
        yield Premise(f"the raw weights can be followed until the decay is off ({error})", False)
        return
    later = tacit.UntiedDiagonal.from_layers([W[0]] * D, [W[1]] * D)
    run = tacit.flow(later, X, y, method="parameters")
    yield Premise("the flow of the raw weights reaches its limit", run.converged)
    training = tacit.Training(0.0, decay=_DECAYED / time, decay_time=time)
    found = tacit.limit(model, X, y, training=training).predictor
    distance = np.linalg.norm(run.predictor[-1] - found) / np.linalg.norm(found)
    yield Bound("distance of the simulated end from the limit, relative", float(distance), at_most=_EQUAL)


@theorem("practice/lasso", about=("Decay that stays on",))
def lasso(model: Any, X: Any, y: Any, decay: float = 0.01) -> Parts:
    """With decay λ that stays on, depth 2 ends at argmin 1/(2N)·‖Xb − y‖² + (λ/2)·‖b‖₁, the Lasso."""
    yield Setting("the model is Diagonal of depth 2", isinstance(model, tacit.Diagonal) and model.depth == 2)
    X, y = (np.asarray(each, dtype=float) for each in (X, y))
    size = float(np.abs(X.T @ y).max()) / len(y)
    b = tacit.limit(model, X, y, training=tacit.Training(0.0, decay=decay * size)).predictor
    slopes = X.T @ (y - X @ b) / (len(y) * decay * size / 2)
    violation = np.where(b == 0, np.maximum(np.abs(slopes) - 1, 0), np.abs(slopes - np.sign(b)))
    yield Bound("violation of the optimality conditions", float(violation.max()), at_most=_KKT)


@theorem("practice/fine-tuning", about=("Consecutive tasks",), flows=2)
def fine_tuning(model: Any, X: Any, y: Any) -> Parts:
    """The weights at the end of one task are the start of the next, so that two tasks are a limit of a limit.

    The second task is −y.
    """
    yield diagonal_network(model)
    y = np.asarray(y, dtype=float)
    first = tacit.limit(model, X, y).model()
    limit = tacit.limit(first, X, -y)
    yield Premise("the limit of the second task is certified", limit.converged)
    run, second = tacit.flow(first, X, -y, method="parameters"), limit.predictor
    # at depth 3 and scales below 1e-8, double precision cannot distinguish the saddle at the start from a
    # minimum
    yield Premise("the flow of the raw weights fits the second task", bool(run.accuracy[-1] > _FITTED))
    distance = np.linalg.norm(run.predictor[-1] - second) / (np.linalg.norm(second) or 1.0)
    text = "distance of the flow of the second task from its limit, relative"
    yield Bound(text, float(distance), at_most=_EQUAL)
