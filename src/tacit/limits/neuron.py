r"""Where the flow of a neuron ends (Azulay et al. 2021, Theorems 2 and 4).

A neuron f = a·σ(ω·x) keeps δ = a² − ‖ω‖² and moves ω only within the span of the samples, so that its end is
known in closed form once the sign of a there is. For δ > 0 that is the sign at the start. Otherwise a passes
through 0 only together with the predictor, at the loss of the predictor 0: a flow that starts below that loss
keeps its sign, and of others the flow itself must tell.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.data import Float
from tacit.errors import NoPotentialError
from tacit.limits.imbalance import visible
from tacit.models import Neuron
from tacit.potentials.arrays import quiet

_BALANCED = 1e-12  # δ this small, relative to the weights, may be rounding


def neuron_targets(model: Neuron, y: Float) -> Float:
    """Targets of the linear predictor: X w̃ = σ⁻¹(y) for a > 0 and −σ⁻¹(−y) for a < 0."""
    steep = y < 0 if model.output > 0 else y > 0
    return np.where(steep, y / model.slope, y)


def check_sign(model: Neuron, X: Float, y: Float) -> None:
    """Return if the output weight keeps its sign on these data; `NoPotentialError` says why not."""
    if model.output == 0:
        raise NoPotentialError(
            "the output weight starts at 0: so does the predictor, which does not tell in which direction it "
            "leaves, and no potential does (Theorem 2 of Azulay et al. 2021 asks for a start that is not 0); "
            "give it a small positive or negative value"
        )
    size = model.output**2 + float(model.weights @ model.weights)
    if model.delta > _BALANCED * size or not y.any() or _loss(model, X, y) < float(y @ y):
        return
    _follow(model, X, y)


@quiet
def _loss(model: Neuron, X: Float, y: Float) -> float:
    outputs = np.asarray(model.parametrization.outputs(model.start(X.shape[1]), X))
    return float(np.sum((outputs - y) ** 2))


def _follow(model: Neuron, X: Float, y: Float) -> None:
    """Run the flow until its loss is below that of the predictor 0, and look at the sign."""
    from tacit.flows import flow  # it is only needed for these starts

    level = -math.log(float(y @ y) / (2 * len(y)))
    run = flow(model, X, y, until=level + 1e-3 * max(1.0, abs(level)))
    if not run.converged:
        raise NoPotentialError(
            "the flow of this neuron does not come below the loss of the predictor 0, where it has a saddle "
            f"({run.reason}); start from other weights"
        )
    if _flipped(model, X, run.predictor[-1], run.outputs[-1]):
        raise NoPotentialError(
            "the output weight of this neuron changes sign on these data (its inner layer is not the smaller "
            "one, and the start is worse than the predictor 0): no potential describes such a flow (Azulay "
            "et al. 2021, Theorem 2, holds while the sign is kept); tacit.flow runs it"
        )


def _flipped(model: Neuron, X: Float, predictor: Float, outputs: Float) -> bool:
    """Has a the other sign? The part of w that X does not see is a·ω⊥, and a leaky output tells too."""
    if model.slope < 1:
        linear = X @ predictor
        own = np.where((linear < 0) == (model.output > 0), model.slope * linear, linear)
        other = np.where((linear < 0) != (model.output > 0), model.slope * linear, linear)
        return bool(np.abs(outputs - own).sum() > np.abs(outputs - other).sum())
    basis = visible(X)[2]
    unseen = model.weights - basis @ (basis.T @ model.weights)
    if np.linalg.norm(unseen) <= 1e-12 * np.linalg.norm(model.weights):
        return False  # one solution, whatever the sign
    return bool((unseen @ predictor) * model.output < 0)
