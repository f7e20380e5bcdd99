"""Limits of gradient descent with steps, momentum, batches, decay and noise: `limit(…, training=…)`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, kept
from tacit.data.prepared import Design
from tacit.errors import InputError, NoPotentialError
from tacit.models.weight_pair import WeightPair
from tacit.numerics.lasso import lasso
from tacit.potentials import L1
from tacit.results.limit import Limit
from tacit.results.trained import Trained
from tacit.solvers.table import Family
from tacit.training.prediction import EXACT, SECOND, effective_start
from tacit.training.settings import Training
from tacit.verbs.flow import flow

_WARN = 0.8  # share of the stable range beyond which predictions have half of the error of the flow's limit
_HALF = 0.5  # measured: error/distance_to_flow ≤ 0.5·edge without momentum (see tests/training)


def check_training(training: Any, intercept: bool = False, standardize: bool = False) -> Training:
    """Raise unless training is a `Training`, and the features are not transformed."""
    if not isinstance(training, Training):
        raise InputError(f"training must be a tacit.Training, got {training!r}; write tacit.Training(step=…)")
    if intercept or standardize:
        name = "intercept" if intercept else "standardize"
        raise InputError(
            f"{name} is not available with training=…, whose steps act on the weights of the given "
            "features: centre and scale X and y yourself before the call"
        )
    return training


def trained_limit(
    family: Family, model: Any, design: Design, y: Float, tol: float, training: Training
) -> Limit:
    """The predicted end of a training, as the limit of the flow from the effective start."""
    X = design.features
    training.check_samples(len(y))
    if not hasattr(model, "weight_pair"):
        raise InputError(
            "training=… needs a model, because a potential has no weights that steps could change"
        )
    pair = model.weight_pair(X.shape[1])
    plain = family.limit(model, X, y, design.samples, tol, flow) if not training.decay_stays else None
    if plain is None:
        return _with_decay(family, model, pair, design, y, tol, training)
    edge = training.step * sharpness(pair, X, plain.predictor) / 2
    _check_edge(edge, training)
    start = effective_start(pair, model, X, y, training, design.range, 2 * edge / (training.step or 1.0))
    found = family.limit(start.model, X, y, design.samples, tol, flow)
    edge = training.step * sharpness(start.model.weight_pair(X.shape[1]), X, found.predictor, pair) / 2
    _check_edge(edge, training, warn=True)
    moved = float(np.linalg.norm(found.predictor - plain.predictor) / np.linalg.norm(found.predictor))
    small = edge if start.inertial or not training.momentum else training.delay * 2 * edge / training.step
    error = 0.0 if start.order == EXACT else moved * min(1.0, _HALF * small)
    error += moved * start.scatter / (start.shift or 1.0)
    note = "" if start.order == SECOND or not training.batch else "single runs vary with the draw of batches"
    trained = Trained(training, start.order, plain.predictor, error, edge, training.stable_up_to, note, model)
    return replace(found, trained=trained)


def sharpness(pair: WeightPair, X: Float, w: Float, moving: WeightPair | None = None) -> float:
    """The largest eigenvalue of the Hessian of the loss at the limit of the flow from a pair of weights.

    moving: the pair whose weights take the steps; D equal layers move at a different rate than tied weights.
    """
    gains = (moving or pair).sensitivity(*pair.at(w))
    return float(np.linalg.norm(X * np.sqrt(gains), 2) ** 2 / len(X))


def _check_edge(edge: float, training: Training, warn: bool = False) -> None:
    """Raise beyond the edge of stability, and warn near it."""
    share = edge / training.stable_up_to
    if not share < 1:
        raise InputError(
            f"step = {training.step:g} is beyond the edge of stability: step·sharpness/2 = {edge:.3g} at "
            f"the end, and the weights oscillate from {training.stable_up_to:.3g} on; choose step below "
            f"{training.step / share:.3g}, or run the training with tacit.descend, whose effective start "
            "is exact for any step"
        )
    if warn and share > _WARN:
        warnings.warn(
            f"step·sharpness/2 = {edge:.3g} is close to the edge of stability, "
            f"{training.stable_up_to:.3g}: the prediction is inaccurate there; use tacit.descend, "
            "which runs the training",
            UserWarning,
            stacklevel=4,
        )


def _with_decay(
    family: Family, model: Any, pair: WeightPair, design: Design, y: Float, tol: float, training: Training
) -> Limit:
    """argmin 1/(2N)·‖Xb − y‖² + c·‖b‖₁: the end of training at depth 2 with decay that stays on.

    c is λ/2 for tied weights and λ for two layers.
    """
    X, N = design.features, len(y)
    if pair.depth > 2:
        raise NoPotentialError(
            f"weight decay that stays on is not convex at depth {pair.depth:g}: where it ends depends on "
            "the start. Set decay_time to switch it off, or run the training with tacit.descend"
        )
    if callable(training.decay):
        raise InputError("decay is a function of time: give decay_time, the time after which it is 0")
    if training.batch not in (None, N) or training.label_noise:
        raise NoPotentialError(
            "with weight decay that stays on, training with batches or label noise does not "
            "converge: leave them out, "
            "set decay_time, or run the training with tacit.descend"
        )
    penalty = training.decay / pair.rate
    b, violation = lasso(X, y, N * penalty)
    fitted = kept(X @ b)
    found = family.limit(L1(penalty), X, fitted, design.samples, tol, flow)
    unfitted = float(np.linalg.norm(y - fitted) / (np.linalg.norm(y) or 1.0))
    plus = np.sqrt(np.maximum(b, 0.0)), np.sqrt(np.maximum(-b, 0.0))
    edge = training.step * float(np.linalg.norm(X * np.sqrt(pair.sensitivity(*plus)), 2) ** 2 / N) / 2
    _check_edge(edge, training)
    note = (
        f"the Lasso with penalty {penalty:g}, the fixed point of training with weight decay at any step size"
    )
    plain = family.limit(model, X, design.samples.fittable(y), design.samples, tol, flow).predictor
    trained = Trained(training, EXACT, plain, 0.0, edge, training.stable_up_to, note, model)
    certificate: dict[str, Any] = {
        "stationarity": violation,
        "dual": (y - fitted) / N,
        "value": float(penalty * np.abs(b).sum()),
    }
    return replace(found, predictor=b, unfitted=unfitted, trained=trained, **certificate)
